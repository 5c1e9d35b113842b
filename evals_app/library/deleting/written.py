"""Delete what people wrote, unless something uses it, so that it can be restored; archive suites."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from django.contrib.admin.models import DELETION
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model

from evals_app.library.changes.edits import note_cases, note_deletion, note_edit
from evals_app.library.deleting.kept_rows import AT_ONCE, TakenRows, reference, take_rows
from evals_app.models import Agent, Case, DeletedObject, Provider, Schedule, Suite, Webhook
from evals_app.models.people.names import author_of
from evals_app.reports.words.figures import count_text
from fixtures_app.models import EntityType, Fixture

Kind = DeletedObject.Kind
Restorable = Agent | Case | EntityType | Fixture | Suite
MODELS: Mapping[str, type[Restorable]] = {
    Kind.CASE: Case,
    Kind.SUITE: Suite,
    Kind.AGENT: Agent,
    Kind.FIXTURE: Fixture,
    Kind.ENTITY_TYPE: EntityType,
}
KINDS = {model._meta.label_lower: kind for kind, model in MODELS.items()}  # noqa: SLF001 - documented
_MAX_NAMED = 3  # cases in what is said about several


class InUseError(Exception):
    """What should be deleted is used: by the suites or fixtures with these slugs, or these schedules."""

    def __init__(
        self, kind: Literal["fixture", "suite", "schedule"], users: Sequence[Suite | Model]
    ) -> None:
        self.kind = kind
        self.rows = users
        self.users = [str(getattr(row, "slug", row)) for row in users]
        super().__init__(", ".join(self.users))


def refuse_if_used(row: object) -> None:
    """Refuse to delete what something else uses.

    Raises:
        InUseError: suites, schedules or fixtures use it.
    """
    if isinstance(row, Agent | Fixture) and (suites := list(row.suites.order_by("slug"))):
        raise InUseError("suite", suites)
    if isinstance(row, Agent) and (schedules := Schedule.objects.filter(agent=row).order_by("pk")):
        raise InUseError("schedule", list(schedules))
    if isinstance(row, EntityType):
        fixtures = Fixture.objects.filter(entities__type=row).distinct().order_by("slug")
        if fixtures:
            raise InUseError("fixture", list(fixtures))


@transaction.atomic
def delete_written(
    row: Agent | EntityType | Fixture | Provider | Suite, *, by: User, note: str = "Deleted."
) -> DeletedObject | None:
    """Delete what people wrote; all but a provider can be restored.

    Raises:
        InUseError: something else uses it.
    """
    # Locked, so that nothing begins to use it.
    type(row)._default_manager.select_for_update().get(pk=row.pk)  # noqa: SLF001 - how Django names it
    refuse_if_used(row)
    note_deletion(row, user=by, note=note)
    if isinstance(row, Provider):
        row.delete()
        return None
    entry = DeletedObject.objects.create(
        kind=KINDS[row._meta.label_lower],  # noqa: SLF001 - the documented API of models
        object_id=row.pk,
        name=str(row)[:200],
        about=_about(row),
        baseline_id=row.baseline_id if isinstance(row, Suite) else None,
        **author_of(by),
    )
    this: Any = type(row)._default_manager.filter(pk=row.pk)  # noqa: SLF001 - how Django names it
    taken = _take_suite(row) if isinstance(row, Suite) else [take_rows(this)]
    return _keep(entry, taken)


def delete_case(case: Case, *, by: User, note: str = "Deleted.") -> DeletedObject:
    """Delete a case with its turns and checks; it can be restored."""
    return delete_cases(case.suite, [case.pk], by=by, note=note)


@transaction.atomic
def delete_cases(
    suite: Suite, keys: Sequence[int], *, by: User, note: str | None = "Deleted."
) -> DeletedObject:
    """Delete cases of a suite, at least one; they can be restored together.

    Without a note, the caller leaves entries in the history.
    """
    rows = suite.cases.filter(pk__in=keys).order_by("position", "pk")
    cases = list(rows.select_for_update().only("suite", "name"))
    names = [case.name for case in cases]
    if note is not None:
        note_cases("Deleted", suite, cases, by=by, flag=DELETION, note=note)
    is_one = len(cases) == 1
    shown = ", ".join(names[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    entry = DeletedObject.objects.create(
        kind=Kind.CASE,
        object_id=cases[0].pk if is_one else None,
        name=names[0] if is_one else count_text(len(cases), "case"),
        about=f"Case of “{suite}”" if is_one else f"Of “{suite}”: {shown}{more}",
        suite_id=suite.pk,
        **author_of(by),
    )
    return _keep(entry, _take_cases([case.pk for case in cases]))


def _take_cases(keys: Sequence[int]) -> list[TakenRows]:
    parts = (keys[start : start + AT_ONCE] for start in range(0, len(keys), AT_ONCE))
    return [take_rows(Case.objects.filter(pk__in=part)) for part in parts]


def _take_suite(suite: Suite) -> list[TakenRows]:
    """Take out the cases of a suite, then the rest of it; webhooks about it alone are disabled."""
    enabled = Webhook.objects.filter(suites=suite, is_enabled=True)
    hooks = list(enabled.values_list("pk", flat=True))
    cases = _take_cases(list(suite.cases.order_by("pk").values_list("pk", flat=True)))
    taken = take_rows(Suite.objects.filter(pk=suite.pk))
    disabled = list(
        Webhook.objects.filter(pk__in=hooks, is_enabled=False).values_list("pk", flat=True)
    )
    if disabled:
        again = reference(Webhook, "is_enabled", emptied=False, value=True, rows=disabled)
        taken.references.append(again)
    return [*cases, taken]


def _keep(entry: DeletedObject, taken: Sequence[TakenRows]) -> DeletedObject:
    """Store what was taken out, and what must exist before it can come back."""
    for part in taken:
        entry.parts.create(content=part.content, references=part.references)
    own = frozenset[tuple[str, Any]]().union(*(part.keys for part in taken))
    targets = frozenset[tuple[str, Any]]().union(*(part.targets for part in taken)) - own
    entry.needs = sorted([KINDS[model], pk] for model, pk in targets if model in KINDS)
    entry.save(update_fields=["needs"])
    return entry


def _about(row: Restorable | Provider) -> str:
    """Return what is said about something deleted, beside its name."""
    if isinstance(row, Suite):
        runs = count_text(row.runs.count(), "run")
        return f"Suite with {count_text(row.cases.count(), 'case')} and {runs}"
    if isinstance(row, Fixture):
        entities = count_text(row.entities.count(), "entity", "entities")
        return f"Test data with {entities}"
    return str(Kind(KINDS[row._meta.label_lower]).label)  # noqa: SLF001 - the documented API of models


@transaction.atomic
def archive_suite(suite: Suite, *, by: object) -> None:
    """Archive a suite, if it is not archived yet: its runs and results are kept."""
    if Suite.objects.filter(pk=suite.pk).archive():
        note_edit(suite, user=by, note="Archived.")


@transaction.atomic
def restore_suite(suite: Suite, *, by: object) -> None:
    """Restore a suite, if it is archived."""
    if Suite.objects.filter(pk=suite.pk).restore():
        note_edit(suite, user=by, note="Restored.")
