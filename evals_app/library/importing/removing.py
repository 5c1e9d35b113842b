"""Remove the examples, but nothing that someone edited or that other objects use."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from evals_app.library.changes.edits import MODELS
from evals_app.library.changes.import_report import Kind, ObjectChange
from evals_app.library.deleting.written import delete_written
from evals_app.library.importing.examples import EXAMPLES, import_examples
from evals_app.library.importing.file_import import ChangedSinceError
from evals_app.library.importing.sources import is_same_file
from evals_app.models import Assertion, DeletedObject, Suite
from fixtures_app.models import Fixture

# Each kind is used by kinds before it, so this is also the order of deleting.
REMOVED: tuple[Kind, ...] = ("suite", "agent", "fixture", "entity type")
_NOTE = "Removed with the examples."


@dataclass(frozen=True, slots=True)
class KeptExample:
    """An example that stays, and why."""

    kind: Kind
    row: Any
    why: str


@dataclass(frozen=True, slots=True)
class Removal:
    """The examples to remove by kind, those to keep, and the version of what was compared.

    `deleted`: those that were removed, which can be restored.
    """

    rows: Mapping[Kind, Sequence[Any]]
    kept: Sequence[KeptExample]
    version: str
    deleted: Sequence[DeletedObject] = ()


def example_suites() -> QuerySet[Suite]:
    """Return the suites that came from files of the examples."""
    return Suite.objects.filter(source__in=_example_paths())


@cache
def _example_paths() -> list[str]:
    """Return how suites name the files of the examples: as the dashboard or a command does."""
    paths = [path for path in EXAMPLES.rglob("*.*") if path.is_file()]
    relative = [path.relative_to(EXAMPLES).as_posix() for path in paths]
    return [*relative, *(path.as_posix() for path in paths)]


def plan_removal() -> Removal:
    """Compare what is stored with the examples; nothing is removed.

    Raises:
        FormatError: something stored under the same name conflicts with them.
    """
    report = import_examples(dry_run=True)
    rows: dict[Kind, list[Any]] = {}
    kept: list[KeptExample] = []
    for kind in REMOVED:
        changes = {change.slug: change for change in report.changes if change.kind == kind}
        manager = MODELS[kind]._default_manager  # noqa: SLF001 - how Django names it
        stored: Iterable[Any] = manager.filter(slug__in=changes).order_by("slug")
        rows[kind] = []
        for row in stored:
            if why := _why_kept(changes[row.slug], row) or _USES[kind](row, rows):
                kept.append(KeptExample(kind, row, why))
            else:
                rows[kind].append(row)
    return Removal(rows, kept, report.before)


def _why_kept(change: ObjectChange, row: object) -> str:
    """Return why this is not the example any longer, or never was; empty if it is."""
    if change.edit is not None:
        return str(change.edit)
    if isinstance(row, Suite):
        return "" if is_same_file(row.source, change.path) else "not imported from the examples"
    # Only suites know their file, so of other kinds only equal objects are surely examples.
    return "" if change.what == "unchanged" else "not the same as the example"


def _use_of_suite(_row: object, _gone: Mapping[Kind, Collection[object]]) -> str:
    return ""


def _use_of_agent(agent: Any, gone: Mapping[Kind, Collection[Any]]) -> str:
    judge = f"scripted/{agent.slug}"
    if judge == settings.EVALS_JUDGE_MODEL:
        return "the judge of this site"
    stays = Suite.objects.exclude(pk__in=[suite.pk for suite in gone["suite"]])
    if suite := stays.filter(Q(agent=agent) | Q(judge_model=judge)).order_by("slug").first():
        return f"used by the suite {suite.slug!r}"
    named = Assertion.objects.annotate(options_text=Cast("options", TextField()))
    named = named.filter(options_text__contains=f'"{judge}"')
    of_suites = Q(suite__in=stays) | Q(case__suite__in=stays) | Q(turn__case__suite__in=stays)
    return "used by a check as its judge" if named.filter(of_suites).exists() else ""


def _use_of_fixture(fixture: Any, gone: Mapping[Kind, Collection[Any]]) -> str:
    others = fixture.suites.exclude(pk__in=[suite.pk for suite in gone["suite"]])
    suite = others.order_by("slug").first()
    return f"used by the suite {suite.slug!r}" if suite else ""


def _use_of_type(entity_type: Any, gone: Mapping[Kind, Collection[Any]]) -> str:
    others = Fixture.objects.filter(entities__type=entity_type)
    others = others.exclude(pk__in=[fixture.pk for fixture in gone["fixture"]])
    fixture = others.order_by("slug").first()
    return f"used by the test data {fixture.slug!r}" if fixture else ""


_USES: Mapping[Kind, Callable[[object, Mapping[Kind, Collection[object]]], str]] = {
    "suite": _use_of_suite,
    "agent": _use_of_agent,
    "fixture": _use_of_fixture,
    "entity type": _use_of_type,
}


def remove_examples(user: User, *, version: str) -> Removal:
    """Remove the examples as they were at `version`, so that they can be restored.

    Raises:
        ChangedSinceError: what is stored is not what it was then.
        FormatError: something stored under the same name conflicts with them.
        InUseError: something has begun to use one of them meanwhile.
    """
    removal = plan_removal()
    if removal.version != version:
        raise ChangedSinceError
    with transaction.atomic():
        rows = [row for kind in REMOVED for row in removal.rows[kind]]
        deleted = [delete_written(row, by=user, note=_NOTE) for row in rows]
    return replace(removal, deleted=[entry for entry in deleted if entry is not None])
