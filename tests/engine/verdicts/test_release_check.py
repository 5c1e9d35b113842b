"""May we ship? Each situation with its answer, its reason, and the exit code of a pipeline."""

from datetime import date
from typing import Any

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.statistics.check_counts import CheckCount, counts_text
from evals_app.engine.statistics.comparison import CaseOutcome, match_cases
from evals_app.engine.statistics.retest import Finding
from evals_app.engine.verdicts.gates import GateResult
from evals_app.engine.verdicts.release_check import (
    Acceptance,
    ComparedJudge,
    ReasonKind,
    ReleaseCheck,
    ReleaseFacts,
    ReleaseReason,
    check_release,
)

SLOW = GateResult("max_p95_increase", 0.2, 2.2, passed=False)
WORSE_GATE = GateResult("max_regressions", 0, 1, passed=False)
KNOWN = Acceptance("Fixed in May.", "ana", date(2026, 5, 31))
OPEN_GATE = GateResult("min_pass_rate", 0.8, 1.0, passed=None)


def cases(text: str) -> dict[str, CaseOutcome]:
    """Read cases as `name passed/trials`; after `=` the content, after `#` passes of its check.

    A trial less than the trials is a failure; `e` in place of the passes is an error, `m` measured.
    """
    found = {}
    for word in text.split(","):
        name, _, trials = word.strip().partition(" ")
        name, _, content = name.partition("=")
        trials, _, check = trials.partition("#")
        passed, _, total = trials.partition("/")
        known = {"e": Verdict.ERRORED, "m": Verdict.MEASURED}
        verdict = known.get(passed) or (Verdict.PASSED if passed == total else Verdict.FAILED)
        good = int(passed) if passed.isdecimal() else 0
        bad = int(total) - good if passed.isdecimal() else 0
        checks = counts_text(
            {"x": CheckCount(int(check), int(total) - int(check))} if check else {}
        )
        found[name] = CaseOutcome(
            name, content or name, verdict, good, bad, passed == "e", None, checks
        )
    return found


def check(base: str, head: str, **facts: Any) -> ReleaseCheck:
    pairs = tuple(match_cases(*(cases(run) if run else {} for run in (base, head))))
    return check_release(ReleaseFacts(pairs=pairs, has_base=bool(base), **facts))


def judges(*agreements: Agreement, least: float | None = None) -> tuple[ComparedJudge, ...]:
    return tuple(ComparedJudge("0", "Is polite", agreement, least) for agreement in agreements)


@pytest.mark.parametrize(
    ("base", "head", "facts", "expected"),
    [
        pytest.param("", "a 1/1, b 1/1", {}, ("yes", "first_run", 2, 0), id="the first run"),
        pytest.param(
            "", "a 1/1, b 0/1", {}, ("no", "cases_failed", 1, 1), id="the first run fails"
        ),
        pytest.param(
            "", "a 1/1", {"not_run": 2}, ("not_yet", "not_run", 2, 3), id="two were added since"
        ),
        pytest.param(
            "",
            "a 1/1, b 0/1",
            {"is_released": True, "not_run": 2},
            ("not_yet", "not_run", 2, 3),
            id="the released version, two were added since",
        ),
        pytest.param(
            "a 1/1", "a 1/1", {"is_released": True}, ("yes", "released", 0, 0), id="as released"
        ),
        pytest.param(
            "", "a 1/1, b 0/1", {"is_released": True}, ("yes", "released", 1, 0), id="one failed"
        ),
        pytest.param(
            "",
            "a 1/1, b 0/1",
            {"all_must_pass": False},
            ("yes", "first_run", 1, 0),
            id="gates decide",
        ),
        pytest.param(
            "a 3/3, b 3/3", "a 3/3, b 3/3", {}, ("yes", "none_worse", 2, 0), id="all well"
        ),
        pytest.param(
            "a 3/3, b 0/3", "a 3/3, b 0/3", {}, ("yes", "none_worse", 2, 0), id="fails as before"
        ),
        pytest.param(
            "a 3/3, b 1/1", "a 0/3, b 1/1", {}, ("not_yet", "worse", 1, 1), id="one worse"
        ),
        pytest.param(
            "a 3/3, b 1/1",
            "a 0/3, b 1/1",
            {"gates": [WORSE_GATE]},
            ("not_yet", "worse", 1, 1),
            id="one worse, and a gate that counts it",
        ),
        pytest.param(
            "a 3/3, b 1/1",
            "a 0/3, b 1/1",
            {"allowed_worse": 1},
            ("yes", "none_worse", 2, 0),
            id="one worse may be",
        ),
        pytest.param(
            "a 3/3, b 1/1",
            "a 0/3, b 1/1",
            {"settled": {"a": Finding.REALLY_WORSE}},
            ("no", "really_worse", 1, 1),
            id="settled, really worse",
        ),
        pytest.param(
            "a 3/3, b 1/1",
            "a 2/3, b 1/1",
            {"settled": {"a": Finding.CANNOT_TELL}, "gates": [WORSE_GATE]},
            ("yes", "none_really_worse", 1, 0),
            id="settled, not worse",
        ),
        pytest.param(
            "a 3/3, b 1/1",
            "a 0/3, b 1/1",
            {"accepted": {"a": KNOWN}},
            ("yes", "accepted", 1, 0),
            id="accepted",
        ),
        pytest.param(
            "a 20/20, b 1/1", "a 0/20, b 1/1", {}, ("no", "collapsed", 1, 1), id="collapsed"
        ),
        pytest.param(
            "a 19/20, b 1/1", "a 17/20, b 1/1", {}, ("yes", "none_worse", 2, 0), id="chance"
        ),
        pytest.param(
            "a 0/3#3, b 1/1",
            "a 0/3#0, b 1/1",
            {},
            ("not_yet", "check_worse", 1, 1),
            id="a check worse",
        ),
        pytest.param(
            "a=1 1/1, gone 0/1",
            "a=2 1/1, new 1/1",
            {},
            ("yes", "none_compared", 2, 0),
            id="edited, removed",
        ),
        pytest.param(
            "a 1/1", "a 1/1, new 0/1", {}, ("no", "cases_failed", 1, 1), id="a new one fails"
        ),
        pytest.param(
            "a=1 3/3, b 1/1", "c=1 0/3, b 1/1", {}, ("not_yet", "worse", 1, 1), id="renamed"
        ),
        pytest.param(
            "a 1/1, b 1/1", "a 1/1, b e/1", {}, ("not_yet", "not_graded", 1, 3), id="ungraded"
        ),
        pytest.param(
            "a 1/1",
            "a 1/1",
            {"gates": [OPEN_GATE]},
            ("not_yet", "gate_undecided", 0, 3),
            id="open gate",
        ),
        pytest.param(
            "a 1/1, b 3/3",
            "a 1/1, b 0/3",
            {"gates": [SLOW]},
            ("no", "gate_missed", 0, 1),
            id="slower, and one worse",
        ),
        pytest.param(
            "a 1/1",
            "a 1/1",
            {"judges": judges(Agreement(19, 0, 8, 3))},
            ("not_yet", "judge_not_trusted", 22, 3),
            id="judge not trusted",
        ),
        pytest.param(
            "a 1/1",
            "a 1/1",
            {"judges": judges(Agreement(28, 4, 2, 6), Agreement(38, 2), Agreement(19, 0, 8, 3))},
            ("not_yet", "judge_not_trusted", 22, 3),
            id="one of three judges, the worst is named",
        ),
        pytest.param(
            "a 1/1",
            "a 1/1",
            {"judges": judges(Agreement(28, 4, 2, 6), least=0.9)},
            ("not_yet", "judge_not_trusted", 34, 3),
            id="a judge that agrees less often than the suite asks",
        ),
        pytest.param(
            "a 1/1",
            "a 1/1",
            {"judges": judges(Agreement(28, 4, 2, 6), Agreement(20), Agreement(3, 9))},
            ("yes", "none_worse", 1, 0),
            id="judges that may decide, or of which too little is known",
        ),
        pytest.param(
            "a 1/1",
            "a 1/1",
            {"obstacles": [ReleaseReason(ReasonKind.PART_OF_SUITE, 1, 40)]},
            ("not_yet", "part_of_suite", 1, 3),
            id="part of it",
        ),
        pytest.param(
            "",
            "a 1/1",
            {"obstacles": [ReleaseReason(ReasonKind.RUNNING)]},
            ("not_yet", "running", 0, 3),
            id="still running",
        ),
        pytest.param("a 1/1", "", {}, ("not_yet", "no_results", 0, 3), id="no results"),
        pytest.param("", "a m/1", {}, ("not_yet", "only_measured", 1, 3), id="only measured"),
        pytest.param(
            "", "a 0/1", {"all_must_pass": False}, ("no", "none_passed", 1, 1), id="a dead agent"
        ),
    ],
)
def test_each_situation_has_its_answer(
    base: str, head: str, facts: dict[str, Any], expected: tuple[str, str, int, int]
) -> None:
    """Expected are the answer, the first reason with its count, and the exit code."""
    found = check(base, head, **facts)

    first = found.reasons[0]
    assert (found.answer, first.kind.value, first.count, found.exit_code) == expected


def test_what_was_not_compared_and_what_failed_before_stands_beside_the_answer() -> None:
    found = check(
        "same 1/1, bad 0/1, edited=1 1/1, old=2 1/1, gone 0/1, less 3/3, better 0/1, noisy 3/4",
        "same 1/1, bad 0/1, edited=3 1/1, name=2 1/1, new 1/1, less 2/3, better 1/1, noisy 2/4",
        accepted={"less": KNOWN},
    )

    assert found.answer == "yes"
    assert {note.kind.value: [pair.name for pair in note.cases] for note in found.notes} == {
        "fail_as_before": ["bad", "noisy"],
        "new": ["new"],
        "removed": ["gone"],
        "edited": ["edited"],
        "renamed": ["name"],
    }
    assert [reason.kind.value for reason in found.reasons] == ["accepted", "none_worse"]
    assert found.better == 1


def test_cases_that_may_get_worse_are_noted() -> None:
    found = check("a 3/3, b 1/1", "a 0/3, b 1/1", allowed_worse=1)

    assert (found.answer, [note.kind.value for note in found.notes]) == ("yes", ["worse"])


def test_the_gravest_reason_comes_first() -> None:
    found = check("a 3/3, b 3/3, c 1/1", "a 0/3, b 0/3, c e/1", settled={"b": Finding.REALLY_WORSE})

    assert [reason.kind.value for reason in found.reasons] == [
        "really_worse",
        "not_graded",
        "worse",
    ]
