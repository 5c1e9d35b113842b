"""Groups of notes: made, filled, renamed, merged and removed; what goes wrong in the same way."""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from evals_app.models import Activity, NoteGroup, Reading, ReadingNote
from evals_app.models.judging.readings import MAX_GROUP
from evals_app.models.people.activity import note_act
from evals_app.reports.words.figures import count_text
from evals_app.runs.recorded.readings import CannotReadError, Kind
from fixtures_app.ground.storable import storable


def current_groups(reading: Reading) -> "list[NoteGroup]":
    """Return the groups that were not removed, by name."""
    return list(reading.groups.filter(removed_at=None).order_by("name", "pk"))


def find_or_make_group(reading: Reading, name: str, *, by: User) -> NoteGroup:
    """Return the group of this name, in upper or lower case; it is made where there is none.

    Raises:
        CannotReadError: it has no name, or one that is too long.
    """
    name = _valid_name(name)
    if known := _find(reading, name):
        return known
    group = NoteGroup.objects.create(reading=reading, name=name, created_by=by)
    _note(group, f"Made the group “{name}”.", by)
    return group


@transaction.atomic
def put_into_group(
    reading: Reading, notes: Collection[int], group: NoteGroup | None, *, by: User
) -> list[int]:
    """Put notes into a group, or with None into none; return the keys of those that moved.

    Notes of other readings, and those that say "fine", stay.
    """
    rows = ReadingNote.objects.filter(item__reading=reading, pk__in=notes, kind=Kind.WRONG)
    moved = list(rows.order_by("pk").values_list("pk", flat=True))
    ReadingNote.objects.filter(pk__in=moved).update(group=group)
    if moved:
        where = f"into the group “{group}”" if group else "out of their groups"
        _note(group or reading, f"Put {count_text(len(moved), 'note')} {where}.", by)
    return moved


@transaction.atomic
def rename_group(group: NoteGroup, name: str, *, by: User) -> None:
    """Rename a group.

    Raises:
        CannotReadError: another one has this name, or it is none.
    """
    name = _valid_name(name)
    other = _find(group.reading, name)
    if other is not None and other != group:
        raise CannotReadError(f"There is a group “{other}” already. Merge them instead.")
    was, group.name = group.name, name
    group.save(update_fields=["name"])
    _note(group, f"Renamed the group “{was}” to “{name}”.", by)


@transaction.atomic
def merge_group(group: NoteGroup, into: NoteGroup, *, by: User) -> list[int]:
    """Move the notes of a group into another one and remove it; return the keys of its notes.

    Raises:
        CannotReadError: the other one belongs to another reading, or is the same.
    """
    if into == group or into.reading_id != group.reading_id or into.removed_at is not None:
        raise CannotReadError("Choose another group of the same conversations.")
    notes = list(group.notes.order_by("pk").values_list("pk", flat=True))
    group.notes.update(group=into)
    _remove(group)
    _note(into, f"Merged the group “{group}” into it.", by)
    return notes


@transaction.atomic
def remove_group(group: NoteGroup, *, by: User) -> list[int]:
    """Remove a group and return the keys of its notes, which stay; both can come back."""
    notes = list(group.notes.order_by("pk").values_list("pk", flat=True))
    group.notes.update(group=None)
    _remove(group)
    _note(group, f"Removed the group “{group}”.", by)
    return notes


@transaction.atomic
def restore_group(group: NoteGroup, notes: Collection[int], *, by: User) -> None:
    """Bring a removed group back with these notes.

    Raises:
        CannotReadError: another group has its name by now.
    """
    if group.removed_at is not None and _find(group.reading, group.name):
        raise CannotReadError(f"There is a new group “{group}”. Rename that one first.")
    NoteGroup.objects.filter(pk=group.pk).update(removed_at=None)
    put_into_group(group.reading, notes, group, by=by)
    _note(group, f"Restored the group “{group}”.", by)


def _find(reading: Reading, name: str) -> NoteGroup | None:
    return reading.groups.filter(removed_at=None, name__iexact=name).order_by("pk").first()


def _remove(group: NoteGroup) -> None:
    NoteGroup.objects.filter(pk=group.pk).update(removed_at=Now())


def _valid_name(name: str) -> str:
    name = storable(" ".join(name.split()))
    if not name or len(name) > MAX_GROUP:
        raise CannotReadError(f"A group has a name of 1 to {MAX_GROUP} characters.")
    return name


def _note(row: NoteGroup | Reading, text: str, by: User) -> None:
    note_act(Activity.Kind.CHANGED, text, user=by, row=row)
