"""Checks made from what happened, added to live cases."""

from typing import Any

import pytest

from evals_app.engine.proposing.expected_changes import CannotExpectError, happenings
from evals_app.engine.record.trial import Trial
from evals_app.formats.snapshots.run_snapshot import canonical_case
from evals_app.library.making.expecting import expect_changes, is_edited, live_case
from evals_app.library.making.observing import Observed
from evals_app.models import Case, Execution, SnapshotCase, Suite
from tests.authored import CONTAINS, a_case, write_case, write_suite
from tests.engine.makers import make_world
from tests.makers import make_run, make_trial

pytestmark = pytest.mark.django_db

REFUND = ("entity.update", {"id": "order-1", "data": {"total": 0}})
MORE = ("entity.create", {"type": "order", "data": {"total": 5}})


def trial_of(*calls: tuple[str, dict[str, Any]]) -> Trial:
    world = make_world()
    for name, args in calls:
        world.call(name, args)
    return make_trial(world_changes=world.changes(), world_journal=tuple(world.journal))


def everything(trial: Trial) -> set[str]:
    changes = happenings(trial)
    parts = [part for change in changes for part in change.parts]
    return {change.key for change in changes} | {part.key for part in parts}


def run_of(case: Case) -> Execution:
    """Return a passed execution of a case as it is now."""
    run = make_run({case.name: ["passed"]}, suite=case.suite)
    content = canonical_case(case.to_spec())
    SnapshotCase.objects.get_or_create(
        snapshot=run.snapshot, position=0, defaults={"content": content}
    )
    return run.executions.select_related("run").get()


def test_a_check_is_added_behind_the_others() -> None:
    case = write_case(final_assertions=[CONTAINS, CONTAINS | {"value": "order"}])
    before = case.updated_at
    trial = trial_of(REFUND, MORE)

    check = expect_changes(case, Observed(trial), kept=everything(trial), nothing_else=True)

    assert check.options == {
        "created": [{"type": "order", "data": {"total": 5}}],
        "updated": [{"id": "order-1", "data": {"total": 0}}],
        "nothing_else": True,
    }
    checks = case.final_assertions.order_by("position")
    assert [check.type for check in checks] == ["contains", "contains", "world_changes"]
    case.refresh_from_db()
    assert case.updated_at > before
    assert case.to_spec().final_assertions[-1].label.startswith("Creates order with total = 5")


def test_that_nothing_changed_can_be_expected_too() -> None:
    case = write_case()

    check = expect_changes(case, Observed(trial_of()), kept=(), nothing_else=True)

    assert check.options == {"nothing_else": True}
    assert check.position == 0


@pytest.mark.parametrize(
    ("kept", "nothing_else", "says"),
    [
        pytest.param([], False, "at least one", id="nothing"),
        pytest.param(["updated-9"], False, "at least one", id="nothing that is there"),
        pytest.param(["created-1"], True, "not selected", id="not all"),
    ],
)
def test_what_makes_no_check_is_refused(
    kept: list[str],
    nothing_else: bool,  # noqa: FBT001 - a column of the table
    says: str,
) -> None:
    case = write_case()

    with pytest.raises(CannotExpectError, match=says):
        expect_changes(case, Observed(trial_of(REFUND, MORE)), kept=kept, nothing_else=nothing_else)

    assert not case.final_assertions.exists()


def test_more_changes_than_fit_into_a_check_are_refused() -> None:
    numbers = range(101)
    trial = trial_of(*(("entity.create", {"type": "order", "data": {"total": n}}) for n in numbers))

    with pytest.raises(CannotExpectError, match="too many"):
        expect_changes(write_case(), Observed(trial), kept=everything(trial), nothing_else=False)


def test_the_same_check_is_not_added_twice() -> None:
    case, trial = write_case(), trial_of(REFUND)
    expect_changes(case, Observed(trial), kept=everything(trial), nothing_else=True)

    with pytest.raises(CannotExpectError, match="already has"):
        expect_changes(case, Observed(trial), kept=everything(trial), nothing_else=True)

    expect_changes(case, Observed(trial), kept=everything(trial), nothing_else=False)
    assert case.final_assertions.count() == 2


def test_a_case_is_found_by_suite_and_name() -> None:
    suite, other = write_suite([a_case("Order")]), write_suite([a_case("Order")], slug="other")
    execution = run_of(suite.cases.get())

    assert live_case(execution) == suite.cases.get() != other.cases.get()


def test_a_case_that_was_renamed_or_whose_suite_is_gone_is_not_found() -> None:
    case = write_case()
    execution = run_of(case)
    Case.objects.update(name="Another name")

    renamed = live_case(execution)
    Suite.objects.all().delete()
    execution.run.refresh_from_db()

    assert renamed is None
    assert live_case(execution) is None


@pytest.mark.parametrize(
    ("changes", "is_changed"),
    [
        pytest.param({}, False, id="as it was"),
        pytest.param({"position": 5}, False, id="moved"),
        pytest.param({"description": "Other words"}, True, id="described otherwise"),
        pytest.param({"clock": "2026-05-01T09:30:00+00:00"}, True, id="at another time"),
    ],
)
def test_it_is_known_whether_a_case_was_edited_since(
    changes: dict[str, Any],
    is_changed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    turns = [{"user": "One", "assertions": [CONTAINS]}, {"user": "Two", "assertions": []}]
    case = write_case(turns=turns, final_assertions=[CONTAINS])
    execution = run_of(case)

    Case.objects.update(**changes)

    assert is_edited(Case.objects.get(), since=execution) is is_changed


def test_a_case_with_another_check_is_edited() -> None:
    case, trial = write_case(), trial_of(REFUND)
    execution = run_of(case)

    expect_changes(case, Observed(trial), kept=everything(trial), nothing_else=False)

    assert is_edited(case, since=execution)


def test_a_case_that_cannot_be_compared_counts_as_edited() -> None:
    case = write_case()
    execution = run_of(case)
    SnapshotCase.objects.all().delete()

    assert is_edited(case, since=execution)
