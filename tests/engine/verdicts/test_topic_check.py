"""The answer about a topic, from the answers of its suites."""

from collections import Counter

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.verdicts.release_check import (
    ComparedJudge,
    ReasonKind,
    ReleaseAnswer,
    ReleaseCheck,
    ReleaseReason,
)
from evals_app.engine.verdicts.topic_check import (
    SuiteAnswer,
    TopicCases,
    TopicCheck,
    least_trusted,
)


def said(suite: str, answer: ReleaseAnswer, *kinds: ReasonKind) -> SuiteAnswer:
    return SuiteAnswer(suite, "0-1", ReleaseCheck(answer, tuple(map(ReleaseReason, kinds))))


GOOD = said("good", "yes", ReasonKind.NONE_WORSE)
OPEN = said("open", "not_yet", ReasonKind.NOT_GRADED)
WORSE = said("worse", "not_yet", ReasonKind.WORSE)
BAD = said("bad", "no", ReasonKind.CASES_FAILED, ReasonKind.WORSE)
REALLY = said("really", "no", ReasonKind.REALLY_WORSE)


@pytest.mark.parametrize(
    ("answers", "answer", "code", "reasons"),
    [
        pytest.param([GOOD], "yes", 0, ["good none_worse"], id="one suite"),
        pytest.param([GOOD, GOOD], "yes", 0, ["good none_worse"] * 2, id="two say yes"),
        pytest.param([GOOD, OPEN], "not_yet", 3, ["open not_graded"], id="one is open"),
        pytest.param(
            [OPEN, WORSE], "not_yet", 1, ["open not_graded", "worse worse"], id="one got worse"
        ),
        pytest.param(
            [OPEN, BAD, GOOD, REALLY],
            "no",
            1,
            ["really really_worse", "bad cases_failed", "bad worse", "open not_graded"],
            id="the gravest first",
        ),
    ],
)
def test_the_gravest_answer_counts(
    answers: list[SuiteAnswer], answer: str, code: int, reasons: list[str]
) -> None:
    check = TopicCheck(answers)

    assert (check.answer, check.exit_code) == (answer, code)
    assert [f"{of.of.suite} {of.reason.kind}" for of in check.reasons] == reasons


def test_a_share_is_of_what_passed_or_failed() -> None:
    verdicts = Counter(
        {
            Verdict.PASSED: 18,
            Verdict.FAILED: 2,
            Verdict.MEASURED: 3,
            Verdict.ERRORED: 1,
            None: 4,
        }
    )

    cases = TopicCases.of(verdicts, not_run=5)

    assert cases == (18, 2, 3, 5, 5)
    assert (cases.total, cases.decided) == (33, 20)
    assert cases.interval == pytest.approx((0.69897, 0.97213), abs=1e-5)


def test_nothing_decided_has_no_interval() -> None:
    assert TopicCases(not_run=8).interval is None


def test_cases_of_suites_add_up() -> None:
    assert TopicCases(1, 2, 3, 4, 5).and_those(TopicCases(10, 20, 30, 40, 50)) == (
        *(11, 22, 33, 44, 55),
    )


TRUSTED = Agreement(both_passed=20, both_failed=9, only_judge_passed=1)
FEW = Agreement(both_passed=5)
DISTRUSTED = Agreement(both_passed=15, only_judge_passed=5)


@pytest.mark.parametrize(
    ("agreements", "least"),
    [
        ([], None),
        ([TRUSTED], TRUSTED),
        ([TRUSTED, FEW], FEW),
        ([TRUSTED, FEW, Agreement()], Agreement()),
        ([Agreement(), DISTRUSTED, FEW], DISTRUSTED),
    ],
)
def test_the_least_trusted_judge_is_named(
    agreements: list[Agreement], least: Agreement | None
) -> None:
    judge = least_trusted([ComparedJudge("0", "Polite", one) for one in agreements])

    assert (judge and judge.agreement) == least
