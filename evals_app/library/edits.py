"""Who edited what since its last import, and what imports leave in the history of their objects."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db.models import CharField, Model, Q
from django.db.models.functions import Cast

from evals_app.library.changes import Change, Edit, Kind
from evals_app.library.comparing import Compared
from evals_app.models import Agent, Case, Provider, Suite
from fixtures_app.models import EntityType, Fixture

MODELS: Mapping[Kind, type[Model]] = {
    "entity type": EntityType,
    "fixture": Fixture,
    "provider": Provider,
    "agent": Agent,
    "suite": Suite,
}
# Stands for whoever may use the command line, where nobody says who it is.
COMMAND_LINE = "command-line"


def edit_of(found: Compared[Any]) -> Edit | None:
    """Tell who edited the row that a spec would change since its last import; None: nobody did.

    Rows that an import marked are compared with what it wrote. Of others, made by a person or
    imported before there were marks, the history tells: forms leave entries in it.
    """
    row = found.row
    if row is None or found.what != "updated":
        return None
    is_comparable = "" not in {row.imported_digest, found.digest_before}
    if is_comparable and found.digest_before == row.imported_digest:
        return None
    last = _last_entry(row)
    if last is None:
        return Edit("", None) if is_comparable else None
    is_own = row.imported_at is None and not getattr(row, "source", "")
    return Edit(last.user.get_username(), last.action_time, is_own=is_own)


def _last_entry(row: Any) -> LogEntry | None:  # noqa: ANN401 - a row that files can hold
    """Give the last entry since the last import in the history of a row, or of one of its cases."""
    own = Q(content_type=ContentType.objects.get_for_model(row), object_id=str(row.pk))
    if isinstance(row, Suite):
        cases = row.cases.annotate(key=Cast("pk", CharField())).values("key")
        own |= Q(content_type=ContentType.objects.get_for_model(Case), object_id__in=cases)
    entries = LogEntry.objects.filter(own).select_related("user").order_by("-action_time", "-pk")
    if row.imported_at is not None:
        entries = entries.filter(action_time__gt=row.imported_at)
    return entries.first()


def note_changes(
    changes: Sequence[Change],
    *,
    user: Any,  # noqa: ANN401 - a user, or nobody
    at: datetime,
    note: str,
) -> None:
    """Leave an entry in the history of each object that was added or changed.

    `note` says how; `{path}` in it stands for the file. Nobody is whoever used the command line.
    """
    changed = [each for each in changes if each.what != "unchanged"]
    if not changed:
        return
    author = user or _whoever_uses_the_command_line()
    entries = [each for kind in MODELS for each in _entries(kind, changed, author.pk, at, note)]
    LogEntry.objects.bulk_create(entries, batch_size=500)


def _entries(
    kind: Kind, changes: Iterable[Change], user_id: int, at: datetime, note: str
) -> Iterable[LogEntry]:
    found = {each.slug: each for each in changes if each.kind == kind}
    if not found:
        return
    model = MODELS[kind]
    content_type = ContentType.objects.get_for_model(model)
    names = "slug" if kind == "entity type" else "name"
    rows = model._default_manager.filter(slug__in=found)  # noqa: SLF001 - how Django names it
    for pk, slug, name in rows.values_list("pk", "slug", names):
        change = found[slug]
        is_gone = change.what == "archived"
        yield LogEntry(
            user_id=user_id,
            content_type=content_type,
            object_id=str(pk),
            object_repr=name[:200],
            action_flag=ADDITION if change.what == "created" else CHANGE,
            change_message="Archived: its file is gone."
            if is_gone
            else note.format(path=change.path),
            action_time=at,
        )


def _whoever_uses_the_command_line() -> Any:  # noqa: ANN401 - whatever the site has for users
    """Give a user who cannot sign in: entries need one, and the command line knows none."""
    users: Any = get_user_model()._default_manager  # noqa: SLF001 - how Django names it
    found = users.filter(username=COMMAND_LINE).first()
    return found or users.create_user(COMMAND_LINE, is_active=False)
