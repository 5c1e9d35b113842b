"""Edits since the last import, and the entries that imports leave in the history."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db.models import CharField, Model, Q
from django.db.models.functions import Cast

from evals_app.library.changes.import_report import Kind, LastEdit, ObjectChange
from evals_app.library.changes.spec_changes import Compared
from evals_app.models import Activity, Agent, Case, Provider, Suite
from evals_app.models.people.activity import COMMAND_LINE, note_act
from evals_app.reports.words.figures import count_text
from fixtures_app.models import EntityType, Fixture

MODELS: Mapping[Kind, type[Model]] = {
    "entity type": EntityType,
    "fixture": Fixture,
    "provider": Provider,
    "agent": Agent,
    "suite": Suite,
}
_MAX_NAMED = 10  # cases in a sentence


def edit_of(entry: Compared[Any]) -> LastEdit | None:
    """Return the last edit, since its last import, of the row that a spec would change.

    Rows that an import marked are compared with what it wrote. For others, the history counts:
    forms leave entries in it.
    """
    row = entry.row
    if row is None or entry.what != "updated":
        return None
    is_comparable = "" not in {row.imported_digest, entry.digest_before}
    if is_comparable and row.imported_digest in entry.marks_before:
        return None
    last = _last_entry(row)
    if last is None:
        return LastEdit("", None) if is_comparable else None
    is_own = row.imported_at is None and not getattr(row, "source", "")
    return LastEdit(last.user.get_username(), last.action_time, is_own=is_own)


def _last_entry(row: Any) -> LogEntry | None:
    """Return the last entry since the last import in the history of a row or of its cases."""
    own = Q(content_type=ContentType.objects.get_for_model(row), object_id=str(row.pk))
    if isinstance(row, Suite):
        cases = row.cases.annotate(key=Cast("pk", CharField())).values("key")
        own |= Q(content_type=ContentType.objects.get_for_model(Case), object_id__in=cases)
    entries = LogEntry.objects.filter(own).select_related("user").order_by("-action_time", "-pk")
    if row.imported_at is not None:
        entries = entries.filter(action_time__gt=row.imported_at)
    return entries.first()


def note_changes(changes: Sequence[ObjectChange], *, user: Any, at: datetime, note: str) -> None:
    """Leave an entry in the history of each object that was added or changed.

    `note` is its text, in which `{path}` becomes the file. Without a user, the entry is by the
    command line.
    """
    changed = [change for change in changes if change.what != "unchanged"]
    if not changed:
        return
    author = user or command_line_user()
    entries = [entry for kind in MODELS for entry in _entries(kind, changed, author.pk, at, note)]
    for change in changed:
        entries += _case_entries(change, author.pk, at, note.format(path=change.path))
    LogEntry.objects.bulk_create(entries, batch_size=500)
    note_act(Activity.Kind.IMPORTED, _in_one_line(changed), user=author)


def _in_one_line(changes: Sequence[ObjectChange]) -> str:
    names = [f"{change.kind} {change.slug} ({change.what})" for change in changes[:_MAX_NAMED]]
    more = [f"{len(changes) - _MAX_NAMED:,} more"] if len(changes) > _MAX_NAMED else []
    return f"Imported {', '.join(names + more)}."


DECIDED = Activity.Kind.DECIDED
# What people do with runs.
CANCELLED = "Cancelled."
RESUMED = "Resumed."
REQUEUED = "Stuck conversations requeued."


def pin_note(*, is_pinned: bool) -> str:
    """Return what is noted when the transcripts of a run are kept, or no longer kept."""
    return f"Transcripts {'' if is_pinned else 'no longer '}kept indefinitely."


def note_edit(row: Model, *, user: Any, note: str, is_new: bool = False, kind: str = "") -> None:
    """Leave an entry in the history of one object; without a user, by the command line.

    `kind` is that of the act, if it is not adding or changing.
    """
    entry = _entry(row, user or command_line_user(), ADDITION if is_new else CHANGE, note)
    entry.kind_of_act = kind  # type: ignore[attr-defined]  # read when it is saved
    entry.save()


def _entry(row: Model, user: Any, flag: int, note: str) -> LogEntry:
    return LogEntry(
        user=user,
        content_type=ContentType.objects.get_for_model(row),
        object_id=str(row.pk),
        object_repr=str(row)[:200],
        action_flag=flag,
        change_message=note,
    )


def note_deletion(row: Model, *, user: Any, note: str = "") -> None:
    """Leave an entry for an object that is about to be deleted."""
    LogEntry.objects.log_actions(user.pk, [row], DELETION, change_message=note, single_object=True)


def note_cases(
    what: str, suite: Suite, cases: Sequence[Case], *, by: Any, flag: int = CHANGE, note: str = ""
) -> None:
    """Leave an entry in the history of cases, and one in that of their suite, which names them."""
    names = ", ".join(case.name for case in cases[:_MAX_NAMED])
    more = f" and {len(cases) - _MAX_NAMED:,} more" if len(cases) > _MAX_NAMED else ""
    sentence = f"{what}: {count_text(len(cases), 'case')} ({names}{more})."
    # For the suite it is a change, even if its cases are deleted.
    note_edit(suite, user=by, note=sentence)
    # Not saved one by one: they are one act.
    LogEntry.objects.bulk_create(_entry(case, by, flag, note or f"{what}.") for case in cases)


def _entries(
    kind: Kind, changes: Iterable[ObjectChange], user_id: int, at: datetime, note: str
) -> Iterable[LogEntry]:
    by_slug = {change.slug: change for change in changes if change.kind == kind}
    if not by_slug:
        return
    model = MODELS[kind]
    content_type = ContentType.objects.get_for_model(model)
    names = "slug" if kind == "entity type" else "name"
    rows = model._default_manager.filter(slug__in=by_slug)  # noqa: SLF001 - how Django names it
    for pk, slug, name in rows.values_list("pk", "slug", names):
        change = by_slug[slug]
        is_gone = change.what == "archived"
        yield LogEntry(
            user_id=user_id,
            content_type=content_type,
            object_id=str(pk),
            object_repr=name[:200],
            action_flag=ADDITION if change.what == "created" else CHANGE,
            change_message="Archived because its file is gone."
            if is_gone
            else " ".join(filter(None, [note.format(path=change.path), str(change.cases)])),
            action_time=at,
        )


def _case_entries(
    change: ObjectChange, user_id: int, at: datetime, note: str
) -> Iterator[LogEntry]:
    """Yield an entry for each case of a stored suite that is added, changed or deleted."""
    cases = change.cases
    flags = dict.fromkeys(cases.added, ADDITION) | dict.fromkeys(cases.changed, CHANGE)
    rows = Case.objects.filter(suite__slug=change.slug).values_list("name", "pk") if flags else ()
    content_type = ContentType.objects.get_for_model(Case)
    written = [(name, pk, flags[name]) for name, pk in rows if name in flags]
    removed = [(name, pk, DELETION) for name, pk in cases.removed.items()]
    for name, pk, flag in [*written, *removed]:
        yield LogEntry(
            user_id=user_id,
            content_type=content_type,
            object_id=str(pk),
            object_repr=name[:200],
            action_flag=flag,
            change_message=note,
            action_time=at,
        )


def command_line_user() -> Any:
    """Return a user who cannot sign in: entries need one, and the command line has none."""
    users = get_user_model()._default_manager  # noqa: SLF001 - how Django names it
    user = users.filter(username=COMMAND_LINE).first()
    return user or users.create_user(COMMAND_LINE, is_active=False)
