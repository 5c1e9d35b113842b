"""Checks of a case in two runs: which are the same, and which turned."""

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.check_counts import (
    NO_CHECKS,
    UNKNOWN,
    CheckCount,
    CheckIdentity,
    FlippedChecks,
    check_key,
    counts_text,
    number_checks,
    turned_checks,
)
from evals_app.engine.statistics.comparison import CaseOutcome, ChangeKind, change_of


def text(**counts: tuple[int, int]) -> str:
    """Write passed and failed trials of checks by key."""
    return counts_text({key: CheckCount(*count) for key, count in counts.items()})


@pytest.mark.parametrize(
    ("base", "head", "worse", "better"),
    [
        pytest.param(text(a=(3, 0)), text(a=(0, 3)), ["a"], [], id="all, then none"),
        pytest.param(text(a=(0, 3)), text(a=(3, 0)), [], ["a"], id="none, then all"),
        pytest.param(text(a=(1, 0)), text(a=(0, 1)), ["a"], [], id="one trial each"),
        pytest.param(text(a=(3, 0), b=(0, 3)), text(a=(0, 3), b=(3, 0)), ["a"], ["b"], id="both"),
        pytest.param(text(a=(2, 1)), text(a=(0, 3)), [], [], id="was mixed"),
        pytest.param(text(a=(3, 0)), text(a=(1, 2)), [], [], id="is mixed"),
        pytest.param(text(a=(3, 0)), text(a=(0, 0)), [], [], id="not graded now"),
        pytest.param(text(a=(3, 0)), text(b=(0, 3)), [], [], id="another check"),
        pytest.param(text(a=(3, 0)), UNKNOWN, [], [], id="an older run"),
        pytest.param(NO_CHECKS, text(a=(0, 3)), [], [], id="none before"),
    ],
)
def test_a_check_turns_if_all_trials_do(
    base: str, head: str, worse: list[str], better: list[str]
) -> None:
    assert turned_checks(base, head) == FlippedChecks(tuple(worse), tuple(better))


def test_equal_checks_of_one_turn_are_with_namesakes_by_their_order() -> None:
    twice = CheckIdentity(1, "text", "contains", "Reply contains “x”")
    other = twice._replace(turn=2)

    keys = [check_key(*named) for named in number_checks([twice, other, twice])]

    assert len(set(keys)) == 3
    assert keys == [check_key(*named) for named in number_checks([twice, other, twice])]


def outcome(passed: int, failed: int, checks: str) -> CaseOutcome:
    verdict = Verdict.FAILED if failed else Verdict.PASSED
    return CaseOutcome("A", "a", verdict, passed, failed, 0, None, checks)


FELL = (text(a=(3, 0), b=(0, 3)), text(a=(0, 3), b=(0, 3)))


@pytest.mark.parametrize(
    ("base", "head", "checks", "change"),
    [
        pytest.param((0, 3), (0, 3), FELL, ChangeKind.CHECK_WORSE, id="failed before and now"),
        pytest.param((0, 3), (0, 3), FELL[::-1], ChangeKind.CHECK_BETTER, id="the other way round"),
        pytest.param((3, 0), (3, 0), FELL, ChangeKind.CHECK_WORSE, id="passed before and now"),
        pytest.param((3, 0), (2, 1), FELL, ChangeKind.WORSE, id="its verdict is worse"),
        pytest.param((2, 1), (3, 0), FELL, ChangeKind.CHECK_WORSE, id="seemed flaky"),
        pytest.param((0, 3), (3, 0), FELL, ChangeKind.CHECK_WORSE, id="its verdict is better"),
        pytest.param((0, 3), (3, 0), FELL[::-1], ChangeKind.BETTER, id="everything is better"),
        pytest.param((2, 1), (1, 2), (UNKNOWN, UNKNOWN), ChangeKind.FEWER, id="a trial fewer"),
        pytest.param((1, 2), (2, 1), (UNKNOWN, UNKNOWN), ChangeKind.MORE, id="a trial more"),
        pytest.param((1, 2), (2, 4), (UNKNOWN, UNKNOWN), ChangeKind.SAME, id="the same rate"),
    ],
)
def test_a_check_that_turned_is_a_change_unless_the_verdict_is_worse(
    base: tuple[int, int], head: tuple[int, int], checks: tuple[str, str], change: ChangeKind
) -> None:
    before, after = checks

    assert change_of(outcome(*base, before), outcome(*head, after)) is change
