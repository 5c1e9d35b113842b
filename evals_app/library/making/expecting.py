"""Turn the changes that an agent made in its world into a check of its case."""

from collections.abc import Collection

from django.db import transaction
from django.db.models import Max, Prefetch
from pydantic import ValidationError

from evals_app.engine.proposing.expected_changes import CannotExpectError, changes_check
from evals_app.formats.snapshots.run_snapshot import read_case
from evals_app.library.changes.spec_changes import same
from evals_app.library.making.observing import Observed
from evals_app.models import Assertion, Case, Execution, SnapshotCase, Turn


def live_case(execution: Execution) -> Case | None:
    """Return the case as it is today, if it still exists."""
    cases = Case.objects.filter(suite=execution.run.suite_id, name=execution.case)
    return cases.first() if execution.run.suite_id is not None else None


def is_edited(case: Case, *, since: Execution) -> bool:
    """Whether a case has changed since an execution."""
    frozen = SnapshotCase.objects.filter(
        snapshot=since.run.snapshot_id, position=since.position
    ).first()
    if frozen is None:
        return True
    try:
        # Not compared as texts: an older version wrote fewer keys.
        return not same(read_case(frozen.content), _whole(case).to_spec())
    except ValidationError:
        return True


def _whole(case: Case) -> Case:
    checks = Assertion.objects.order_by("position", "pk")
    turns = Turn.objects.order_by("position", "pk")
    own = Prefetch("turns", turns.prefetch_related(Prefetch("assertions", checks)))
    return Case.objects.prefetch_related(own, Prefetch("final_assertions", checks)).get(pk=case.pk)


@transaction.atomic
def expect_changes(
    case: Case, observed: Observed, *, kept: Collection[str], nothing_else: bool
) -> Assertion:
    """Add a final check to a case that requires the changes of a conversation.

    `kept` are the keys of its changes and of their parts.

    Raises:
        CannotExpectError: nothing was chosen, the trial itself would not pass, or the case already
            has this check.
    """
    spec = changes_check(observed.trial, observed.changes(), kept=kept, nothing_else=nothing_else)
    # Two people may click at the same moment.
    Case.objects.select_for_update().get(pk=case.pk)
    columns = Assertion.columns_of(spec)
    checks = case.final_assertions.all()
    if any(all(getattr(row, name) == value for name, value in columns.items()) for row in checks):
        raise CannotExpectError("The case already has this check.")
    last = checks.aggregate(last=Max("position"))["last"]
    position = 0 if last is None else last + 1
    row = Assertion.objects.create(case=case, position=position, **columns)
    case.save(update_fields=["updated_at"])
    return row
