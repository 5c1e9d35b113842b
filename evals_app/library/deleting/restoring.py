"""Restore what people deleted, or delete it for good."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.models import CHANGE
from django.contrib.auth.models import User
from django.db import transaction

from evals_app.engine.basics.errors import CannotError
from evals_app.library.changes.edits import note_cases, note_edit
from evals_app.library.deleting.kept_rows import insert_rows, read_rows, refer_again
from evals_app.library.deleting.written import MODELS, Kind
from evals_app.models import Case, DeletedObject, Suite
from fixtures_app.ground.words import free_name

GONE_MEANWHILE = "Someone has restored it, or deleted it for good, in the meantime."


@dataclass(frozen=True, slots=True)
class RestoredObject:
    """What came back: an object, or cases of a suite; `renamed` are new names of what was taken."""

    kind: str
    rows: Sequence[Any]
    renamed: Sequence[str]

    @property
    def name(self) -> str:
        return str(self.rows[0]) if len(self.rows) == 1 else f"{len(self.rows):,} cases"


def with_needed(entry: DeletedObject) -> list[DeletedObject]:
    """Return what is restored with an object: first what it needs, for example its suite.

    Raises:
        CannotError: something that it needs was deleted for good.
    """
    wanted: dict[int, DeletedObject] = {}
    for kind, pk in entry.needs:
        if MODELS[kind]._default_manager.filter(pk=pk).exists():  # noqa: SLF001 - how Django names it
            continue
        needed = DeletedObject.objects.filter(kind=kind, object_id=pk).first()
        if needed is None:
            raise CannotError(
                f"“{entry}” cannot be restored, because its {_noun(kind)} was deleted for good."
            )
        wanted |= {one.pk: one for one in with_needed(needed)}
    return [*wanted.values(), entry]


@transaction.atomic
def restore_deleted(entry: DeletedObject, *, by: User) -> RestoredObject:
    """Put back what was deleted, as it was; under another name if its name is taken.

    What it needs must exist: see `with_needed`.

    Raises:
        CannotError: it is no longer kept.
    """
    _lock(entry)
    roots = []
    renamed: list[str] = []
    for part in entry.parts.order_by("-pk"):  # a suite before its cases
        rows = read_rows(part.content)
        own = list(_roots(entry, rows))
        renamed += _rename(entry, own)
        insert_rows(rows)
        refer_again(part.references)
        roots += own
    entry.delete()
    if entry.kind == Kind.CASE:
        roots.sort(key=lambda case: (case.position, case.pk))
        note_cases("Restored", roots[0].suite, roots, by=by, flag=CHANGE, note="Restored.")
    else:
        note_edit(roots[0], user=by, note="Restored.")
    return RestoredObject(entry.kind, roots, renamed)


@transaction.atomic
def delete_for_good(entry: DeletedObject, *, by: User) -> None:
    """Remove what was deleted, so that no one can restore it.

    Raises:
        CannotError: something else that was deleted could not be restored without it.
    """
    _lock(entry)
    this = [entry.kind, entry.object_id]
    others = DeletedObject.objects.exclude(pk=entry.pk).order_by("pk")
    users = [str(other) for other in others if this in other.needs]
    if users:
        more = f" and {len(users) - 1:,} more" if len(users) > 1 else ""
        raise CannotError(
            f"“{entry}” stays, because “{users[0]}”{more} could not be restored without it. Delete"
            f" {'those' if more else 'that'} for good first."
        )
    for suite in Suite.objects.filter(pk__in=[entry.suite_id]):
        note_edit(suite, user=by, note=f"Deleted for good: {entry}.")
    entry.delete()


def _noun(kind: str) -> str:
    return str(Kind(kind).label).lower()


def _lock(entry: DeletedObject) -> None:
    if not DeletedObject.objects.select_for_update().filter(pk=entry.pk).exists():
        raise CannotError(GONE_MEANWHILE)


def _roots(entry: DeletedObject, rows: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows that were deleted themselves, not with something else."""
    for row in rows:
        if isinstance(row, MODELS[entry.kind]) and entry.object_id in {None, row.pk}:
            yield row


def _rename(entry: DeletedObject, rows: Sequence[Any]) -> Iterator[str]:
    """Rename rows whose name or slug someone else has taken since; yield the new names."""
    if entry.kind == Kind.CASE:
        names = Case.objects.filter(suite=entry.suite_id).values_list("name", flat=True)
        taken = {*names, *(row.name for row in rows)}
        is_free = set(names).isdisjoint
        for row in rows:
            if not is_free([row.name]):
                row.name = free_name(row.name, taken, length=200, word="(restored)")
                taken.add(row.name)
                yield row.name
        return
    others: Any = MODELS[entry.kind]._default_manager  # noqa: SLF001 - how Django names it
    for row in rows:
        if others.filter(slug=row.slug).exists():
            slugs = others.values_list("slug", flat=True)
            row.slug = free_name(row.slug, slugs, length=100, mark="-", word="restored")
            if hasattr(row, "name"):
                known = others.values_list("name", flat=True)
                row.name = free_name(row.name, known, length=200, word="(restored)")
            yield str(row)
