"""Two runs compared: the change of each case, and whether the whole suite changed."""

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import (
    CaseOutcome,
    ChangeKind,
    change_of,
    match_cases,
    match_names,
)


def outcome(
    passed: int,
    failed: int,
    *,
    name: str = "Refund",
    errored: int = 0,
    digest: str = "a",
    min_rate: float = 1.0,
) -> CaseOutcome:
    graded = passed + failed
    verdict = None
    if graded:
        verdict = Verdict.PASSED if passed / graded >= min_rate else Verdict.FAILED
    elif errored:
        verdict = Verdict.ERRORED
    return CaseOutcome(name, digest, verdict, passed, failed, errored, None)


MEASURED = CaseOutcome("a", "a", Verdict.MEASURED, 0, 0, 0, 0.9)


@pytest.mark.parametrize(
    ("base", "head", "change"),
    [
        pytest.param(outcome(3, 0), outcome(3, 0), ChangeKind.SAME, id="passed twice"),
        pytest.param(outcome(3, 0), outcome(2, 1), ChangeKind.WORSE, id="fails now"),
        pytest.param(outcome(0, 3), outcome(3, 0), ChangeKind.BETTER, id="passes now"),
        pytest.param(outcome(2, 1), outcome(3, 0), ChangeKind.FLAKY, id="was mixed, passes now"),
        (outcome(2, 1, min_rate=0.6), outcome(0, 3), ChangeKind.FLAKY),
        (outcome(19, 1, min_rate=0.8), outcome(0, 20), ChangeKind.WORSE),
        (outcome(0, 20), outcome(19, 1, min_rate=0.8), ChangeKind.BETTER),
        (outcome(1, 19), outcome(20, 0), ChangeKind.BETTER),
        pytest.param(
            outcome(4, 1, min_rate=0.8), outcome(0, 5), ChangeKind.WORSE, id="1 of 42 by chance"
        ),
        pytest.param(
            outcome(4, 1, min_rate=0.8), outcome(1, 4), ChangeKind.FLAKY, id="1 of 10 by chance"
        ),
        pytest.param(outcome(1, 0), outcome(0, 1), ChangeKind.WORSE, id="a single trial each"),
        pytest.param(outcome(19, 1), outcome(0, 20), ChangeKind.WORSE, id="failed, collapsed"),
        pytest.param(outcome(0, 20), outcome(19, 1), ChangeKind.BETTER, id="still fails, rose"),
        pytest.param(outcome(4, 1), outcome(0, 5), ChangeKind.FEWER, id="failed, fell a little"),
        (outcome(3, 0), outcome(2, 1, min_rate=0.6), ChangeKind.FEWER),
        (outcome(3, 0), outcome(0, 0, errored=3), ChangeKind.UNDECIDED),
        pytest.param(outcome(0, 0), outcome(3, 0), ChangeKind.UNDECIDED, id="did not run before"),
        pytest.param(outcome(3, 0), outcome(0, 3, digest="b"), ChangeKind.CHANGED, id="rewritten"),
        pytest.param(outcome(3, 0, digest=""), outcome(0, 3), ChangeKind.WORSE, id="old row"),
        pytest.param(MEASURED, MEASURED._replace(score=0.1), ChangeKind.SAME, id="measured twice"),
        pytest.param(MEASURED, outcome(0, 3), ChangeKind.UNDECIDED, id="measured, fails now"),
        pytest.param(None, outcome(0, 3), ChangeKind.NEW, id="new"),
        pytest.param(outcome(0, 3), None, ChangeKind.MISSING, id="missing"),
    ],
)
def test_a_case_changes_by_verdict_and_content(
    base: CaseOutcome | None, head: CaseOutcome | None, change: ChangeKind
) -> None:
    assert change_of(base, head) is change


def test_a_case_that_neither_run_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="case"):
        change_of(None, None)


@pytest.mark.parametrize(
    ("base", "head", "matched"),
    [
        pytest.param("a:1 b:2", "b:2 a:1", "a-a b-b", id="same"),
        pytest.param("a:1", "a:2", "a-a", id="edited"),
        pytest.param("a:1", "b:1", "a-b", id="renamed"),
        pytest.param("a:1", "b:2", "", id="new and removed"),
        pytest.param("a:1 b:2", "a:2 b:1", "a-b b-a", id="names exchanged"),
        pytest.param(
            "a:1 b:2", "a:3 c:1 b:2", "a-c b-b", id="copied under a new name, then edited"
        ),
        pytest.param("a:1 b:1", "a:1 c:1 d:1", "a-a b-c", id="several with one content"),
        pytest.param("a:1 b:1", "c:1 d:1", "a-c b-d", id="several with one content renamed"),
        pytest.param("a: b:", "a:1 c:1", "a-a", id="content not known in the base"),
        pytest.param("a:1", "a: c:", "a-a", id="content not known in the head"),
    ],
)
def test_cases_are_matched_by_name_and_content(base: str, head: str, matched: str) -> None:
    before, after = (dict(case.split(":") for case in run.split()) for run in (base, head))

    names = match_names(before, after)

    assert sorted(f"{old}-{new}" for new, old in names.items()) == matched.split()


def test_pairs_come_in_the_order_of_the_head_then_of_the_base() -> None:
    base = {name: outcome(3, 0, name=name, digest=name) for name in ("Old", "Both", "Rewritten")}
    head = {
        "New": outcome(3, 0, name="New", digest="?"),
        "Rewritten": outcome(0, 3, name="Rewritten", digest="b"),
        "Renamed": outcome(0, 3, name="Renamed", digest="Both"),
    }
    assert [(pair.name, pair.change) for pair in match_cases(base, head)] == [
        ("New", ChangeKind.NEW),
        ("Rewritten", ChangeKind.CHANGED),
        ("Renamed", ChangeKind.WORSE),
        ("Old", ChangeKind.MISSING),
    ]
