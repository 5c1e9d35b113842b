"""Delete what people wrote, unless something uses it; suites are archived instead."""

from collections.abc import Sequence
from typing import Literal

from django.db import transaction

from evals_app.library.changes.edits import note_deletion, note_edit
from evals_app.models import Agent, Case, Provider, Schedule, Suite
from evals_app.models.authored.suites import delete_cases
from fixtures_app.models import Fixture


class InUseError(Exception):
    """What should be deleted is used: by the suites with these slugs, or these schedules."""

    def __init__(self, kind: Literal["suite", "schedule"], users: Sequence[str]) -> None:
        super().__init__(", ".join(users))
        self.kind = kind
        self.users = users


@transaction.atomic
def delete_written(row: Agent | Fixture | Provider, *, by: object, note: str) -> None:
    """Delete an agent, a fixture or a provider.

    Raises:
        InUseError: suites or schedules use it.
    """
    # Locked, so that nothing begins to use it.
    type(row)._default_manager.select_for_update().get(pk=row.pk)  # noqa: SLF001 - how Django names it
    if not isinstance(row, Provider):
        users = list(row.suites.order_by("slug").values_list("slug", flat=True))
        if users:
            raise InUseError("suite", users)
    if isinstance(row, Agent) and (schedules := Schedule.objects.filter(agent=row).order_by("pk")):
        raise InUseError("schedule", list(map(str, schedules)))
    note_deletion(row, user=by, note=note)
    row.delete()


@transaction.atomic
def delete_case(case: Case, *, by: object, note: str) -> None:
    """Delete a case with its turns and checks."""
    note_deletion(case, user=by, note=note)
    delete_cases([case.pk])


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
