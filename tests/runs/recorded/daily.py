"""Daily imports in tests: a permitted folder, files that have been there for a while, and workers."""

import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Permission, User
from django.test import TestCase

from evals_app.models import ConversationSet, DailyImport, DueImport, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded.daily_imports import (
    note_due_imports,
    save_daily_import,
    work_on_due_imports,
)
from evals_app.runs.recorded.waiting_gradings import start_waiting_gradings
from evals_app.runs.recorded.waiting_imports import import_waiting
from tests.runs.recorded.conversations import content_of

NIGHT = datetime(2026, 11, 26, 3, tzinfo=UTC)
DAY = timedelta(days=1)
_RIGHTS = ("add_conversationset", "view_conversationset", "view_run", "add_run")


def owner(*rights: str) -> User:
    person, _ = User.objects.get_or_create(username="ann", defaults={"email": "ann@example.org"})
    person.user_permissions.set(Permission.objects.filter(codename__in=rights or _RIGHTS))
    return User.objects.get(pk=person.pk)


def put(folder: Path, name: str, rows: Iterable[object] | bytes, *, age_s: float = 120) -> Path:
    file = folder / name
    file.write_bytes(rows if isinstance(rows, bytes) else content_of(rows))
    at = time.time() - age_s
    os.utime(file, (at, at))
    return file


def every_day(
    target: ConversationSet, folder: Path | str = "", suite: Suite | None = None, **more: Any
) -> DailyImport:
    """Write a daily import that is due at NIGHT."""
    written: dict[str, Any] = {
        "folder": str(folder),
        "url": "",
        "headers": {},
        "is_masked": False,
    } | more
    by = written.pop("by", None) or owner()
    row = save_daily_import(target, by=by, suite=suite, **written)
    DailyImport.objects.filter(pk=row.pk).update(next_at=NIGHT)
    return DailyImport.objects.get(pk=row.pk)


def fire(now: datetime = NIGHT) -> DueImport:
    """Do all that is due, as workers do; return the last time."""
    note_due_imports(now)
    with TestCase.captureOnCommitCallbacks(execute=True):
        work_on_due_imports()
        import_waiting()
        work_on_due_imports()
        start_waiting_gradings()
    work()
    with TestCase.captureOnCommitCallbacks(execute=True):
        work_on_due_imports()
    return DueImport.objects.latest("due_at")
