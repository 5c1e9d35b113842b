"""Gradings of many real conversations: a row has what is wanted, and a worker starts the runs.

A run is written in batches and appears once it is complete. A worker that is killed leaves a run
that no one sees: the next one starts it again, and skips those that are started already.
"""

import logging
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from evals_app.engine.basics.errors import CannotError
from evals_app.models import Activity, ConversationGrading, ConversationSet, Run, Suite
from evals_app.models.people.activity import acts_from, note_act
from evals_app.runs.ground.patience import AWAY
from evals_app.runs.recorded.grade_conversations import (
    WantedConversations,
    by_import,
    plan_grading,
    start_grading,
)
from evals_app.runs.regrading.start_regrade import NothingToGradeError
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.preparing import abandon

log = logging.getLogger(__name__)

MAX_AT_ONCE = 1_000  # conversations that are prepared while someone waits
CLAIMED_FOR = timedelta(minutes=2)  # without a sign of life: then another process goes on
MAX_ATTEMPTS = 5  # for one run
_DIED = "The worker died {} times while it prepared the run. Grade fewer conversations at once."
_GONE = "The suite was deleted."
_INTERNAL = "Internal error in Evalwell. The worker's log has the kind of error. Start it again."


class LostGradingError(CannotError):
    """A grading was cancelled, or another process has taken it over."""


def ask_for_grading(
    target: ConversationSet,
    suite: Suite,
    wanted: WantedConversations,
    *,
    by: User | None = None,
    max_cost_usd: Decimal | None = None,
) -> list[Run] | ConversationGrading:
    """Start grading: return its runs, or, of many conversations, what a worker starts.

    Raises:
        CannotStartError: there is nothing to grade, or something is missing.
    """
    limit = {"max_cost_usd": max_cost_usd}
    total = sum(part.count for part in by_import(target, wanted))
    if total <= MAX_AT_ONCE:
        return start_grading(target, suite, wanted, by=by, **limit)
    with plan_grading(target, suite, wanted, by=by.pk if by else None, **limit):
        pass  # what is missing is said now
    complete = target.imports.exclude(finished_at=None).values_list("run", flat=True)
    wanted = replace(wanted, imports=tuple(complete))
    stored = {"wanted": wanted.to_json(), "total": total, "created_by": by, **limit}
    return ConversationGrading.objects.create(conversation_set=target, suite=suite, **stored)


def has_waiting_gradings() -> bool:
    """Whether a grading waits to be started."""
    return _waiting().exists()


def _waiting() -> QuerySet[ConversationGrading]:
    is_free = Q(claimed_until=None) | Q(claimed_until__lt=timezone.now())
    return ConversationGrading.objects.filter(is_free, finished_at=None, failure="").order_by("pk")


@dataclass
class _Claim:
    """A grading that this process works on; `steps` counts conversations read and written."""

    row: ConversationGrading
    key: UUID = field(default_factory=uuid4)
    steps: int = 0

    def note(self, count: int) -> None:
        """Note progress, which keeps the claim.

        Raises:
            LostGradingError: it is not ours any more.
        """
        self.steps += count
        done = min(self.steps // 2, self.row.total)
        if not self.update(done=done, claimed_until=timezone.now() + CLAIMED_FOR):
            raise LostGradingError("The grading was cancelled, or another process works on it.")

    def update(self, **values: object) -> int:
        mine = ConversationGrading.objects.filter(pk=self.row.pk, claim=self.key)
        return mine.update(**values)

    def end(self, *, failure: str = "") -> None:
        finished_at = None if failure else timezone.now()
        released = {"claim": None, "claimed_until": None}
        self.update(failure=failure, finished_at=finished_at, **released)


def start_waiting_gradings() -> None:
    """Start the gradings that wait, one after the other."""
    while row := _waiting().select_related("conversation_set", "suite", "created_by").first():
        claim = _Claim(row)
        until = timezone.now() + CLAIMED_FOR
        mine = _waiting().filter(pk=row.pk)
        if mine.update(claim=claim.key, claimed_until=until, attempts=F("attempts") + 1):
            with acts_from(Activity.Origin.WORKER):
                _start(claim)


def _start(claim: _Claim) -> None:
    """Start the runs of a grading, or note why that cannot be done."""
    row = claim.row
    try:
        if row.attempts >= MAX_ATTEMPTS:
            return claim.end(failure=_DIED.format(row.attempts))
        if row.suite is None:
            return claim.end(failure=_GONE)
        _start_runs(claim, row.suite)
    except AWAY as error:
        log.warning("The database did not answer during grading %d. (%s)", row.pk, type(error))
        raise
    except LostGradingError:
        return None
    except CannotStartError as error:
        return claim.end(failure=" ".join(error.problems))
    except Exception as error:  # noqa: BLE001 - its text may have what people said
        log.error("Grading %d failed: %s.", row.pk, type(error).__name__)  # noqa: TRY400
        return claim.end(failure=_INTERNAL)
    return claim.end()


def _start_runs(claim: _Claim, suite: Suite) -> None:
    """Start a run for each import, unless it is started already."""
    row = claim.row
    parts = by_import(row.conversation_set, WantedConversations.from_json(row.wanted))
    how: dict[str, Any] = {"by": row.created_by, "max_cost_usd": row.max_cost_usd}
    how["group"] = row.group if len(parts) > 1 else None
    empty: list[NothingToGradeError] = []
    for part in parts:
        key = row.key_of(part.run.pk)
        before = Run.all_runs.filter(idempotency_key=key).first()
        if before is not None and before.status != Run.PREPARING:
            claim.note(2 * before.total)
            continue
        if before is not None:
            abandon(before)  # its process is dead, or has lost its claim
        how |= {"idempotency_key": key, "progress": claim.note}
        try:
            run = part.regrade(by_suite=suite, **how)
        except NothingToGradeError as error:
            empty.append(error)
        else:
            if not ConversationGrading.objects.filter(pk=row.pk).exists():
                run.cancel()  # at the last moment
        claim.update(attempts=0)
    if len(empty) == len(parts):
        raise empty[0]


def cancel_grading(row: ConversationGrading, *, by: User | None = None) -> bool:
    """Remove a grading that has not started, with runs that have; return whether there was one."""
    runs = list(row.runs)
    with transaction.atomic():
        deleted, _ = ConversationGrading.objects.filter(pk=row.pk, finished_at=None).delete()
        if deleted:
            text = f"Cancelled a grading by {row.suite} before it started."
            note_act(Activity.Kind.RUN, text, user=by, row=row.conversation_set)
    for run in runs if deleted else ():
        run.cancel()
    return bool(deleted)
