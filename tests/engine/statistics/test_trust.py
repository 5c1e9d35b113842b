"""Judges that a suite does not trust only inform."""

import pytest

from evals_app.engine.record.grade import Grade, GradedAssertion, JudgedCriterionSpec
from evals_app.engine.record.trial import Cause, Trial, Verdict
from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.statistics.trust import ONLY_INFORMS, JudgeTrust, Standing, standing_of
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.execution_verdict import decide
from evals_app.engine.verdicts.grading import graded_by

SUITE = SuiteSpec.model_validate({"suite": "S", "slug": "s", "agent": "a", "cases": []})
BY_SCORE = SUITE.model_copy(update={"pass_rule": "score"})
TRIAL = Trial("A case", 1, 0, "a")


def criterion(digest: str = "a", *items: str) -> JudgedCriterionSpec:
    return JudgedCriterionSpec(
        digest=digest,
        type="llm_judge",
        criterion="Is polite",
        scale="pass_fail",
        judges=("openai/large",),
        prompt_version=3,
        items=items,
    )


def trust(*trusted: str, **compared: tuple[int, int]) -> JudgeTrust:
    return JudgeTrust(least=0.8, trusted=dict.fromkeys(trusted, "Is polite"), compared=compared)


def judged_check(
    *, passed: bool = False, digest: str = "a", is_rubric: bool = False
) -> GradedAssertion:
    return GradedAssertion(
        type="llm_judge",
        label="Is polite",
        family="judged",
        turn=1,
        position=0,
        weight=0.5 if is_rubric else 2.0,
        threshold=None,
        grade=Grade(
            float(passed), passed, "It is rude.", cause=None if passed else Cause.ASSERTION
        ),
        is_rubric=is_rubric,
        judged_criterion=criterion(digest),
    )


def contains(*, passed: bool = True) -> GradedAssertion:
    grade = Grade(float(passed), passed, "It is there.", cause=None if passed else Cause.ASSERTION)
    return GradedAssertion("contains", "Has a date", "text", 1, 1, 1.0, None, grade)


@pytest.mark.parametrize(
    ("agreement", "least", "standing"),
    [
        pytest.param(Agreement(), None, Standing.NOT_COMPARED, id="none"),
        pytest.param(Agreement(9, 0, 0, 10), None, Standing.TOO_FEW, id="19"),
        pytest.param(Agreement(10, 0, 0, 10), 1.0, Standing.MAY_DECIDE, id="20"),
        pytest.param(Agreement(16, 3, 8, 3), None, Standing.WORSE, id="19 of 30, a constant 24"),
        pytest.param(Agreement(19, 0, 1), None, Standing.WORSE, id="a false alarm, no failure"),
        pytest.param(Agreement(26, 2, 2, 2), 0.5, Standing.NO_BETTER, id="28 of 32, as a constant"),
        pytest.param(Agreement(0, 0, 4, 16), 0.8, Standing.NO_BETTER, id="fails everything"),
        pytest.param(Agreement(28, 4, 2, 6), 0.85, Standing.MAY_DECIDE, id="exactly what is asked"),
        pytest.param(Agreement(28, 4, 2, 6), 0.86, Standing.TOO_RARELY, id="less than is asked"),
        pytest.param(Agreement(28, 4, 2, 6), None, Standing.MAY_DECIDE, id="nothing is asked"),
        pytest.param(Agreement(20), 1.0, Standing.ONE_SIDED, id="people passed all"),
        pytest.param(Agreement(0, 0, 0, 20), None, Standing.ONE_SIDED, id="people failed all"),
    ],
)
def test_a_judge_may_decide_if_it_beats_a_constant_verdict_and_agrees_as_often_as_asked(
    agreement: Agreement, least: float | None, standing: Standing
) -> None:
    found = standing_of(agreement, least=least)

    assert found is standing
    is_open = standing in {Standing.NOT_COMPARED, Standing.TOO_FEW}
    assert [found.is_trusted, found.is_distrusted].count(True) == (0 if is_open else 1)


@pytest.mark.parametrize(
    ("given", "known", "says"),
    [
        pytest.param(criterion(), trust("a"), [], id="trusted"),
        pytest.param(criterion(), trust(), ["not been compared", "20"], id="not compared"),
        pytest.param(criterion(), trust(a=(12, 12)), ["12 answers", "20"], id="too few"),
        pytest.param(criterion(), trust(a=(1, 1)), ["1 answer;"], id="one"),
        pytest.param(criterion(), trust(a=(40, 30)), ["30 of 40", "80"], id="too rarely"),
        pytest.param(
            criterion(), trust(a=(20, 16)), ["16 of 20", "more common"], id="as a constant verdict"
        ),
        pytest.param(criterion(), trust("b"), ["not been compared"], id="another wording trusted"),
        pytest.param(criterion("a", "x", "y"), trust("x", "y"), [], id="every bullet"),
        pytest.param(criterion("a", "x", "y"), trust("x"), ["1 of 2 bullets"], id="one bullet"),
        pytest.param(criterion("a", "x"), trust("a"), [], id="the rubric as a whole"),
    ],
)
def test_a_judge_that_is_not_trusted_says_why(
    given: JudgedCriterionSpec, known: JudgeTrust, says: list[str]
) -> None:
    why = known.why_not(given)

    assert bool(why) is bool(says)
    assert known.trusts(given) is not bool(says)
    assert [part for part in says if part not in why] == []


@pytest.mark.parametrize("is_rubric", [False, True])
def test_its_grade_keeps_its_verdict_but_counts_nowhere(*, is_rubric: bool) -> None:
    check = graded_by(trust(a=(12, 12)), judged_check(is_rubric=is_rubric))

    assert (check.weight, check.decides, check.grade.passed) == (0.0, False, False)
    assert check.grade.reason.startswith("It is rude. ")
    assert check.grade.reason.endswith(check.grade.details[ONLY_INFORMS])


@pytest.mark.parametrize(
    ("known", "check"),
    [
        pytest.param(None, judged_check(), id="no gate"),
        pytest.param(trust("a"), judged_check(), id="trusted"),
        pytest.param(trust(), contains(), id="no judge"),
    ],
)
def test_everything_else_stays_as_it_is(known: JudgeTrust | None, check: GradedAssertion) -> None:
    assert graded_by(known, check) is check


@pytest.mark.parametrize("suite", [SUITE, BY_SCORE], ids=["all checks", "by score"])
@pytest.mark.parametrize(
    ("known", "verdict"),
    [(None, Verdict.FAILED), (trust(), Verdict.PASSED), (trust("a"), Verdict.FAILED)],
    ids=["no gate", "not trusted", "trusted"],
)
def test_the_other_checks_decide(
    suite: SuiteSpec, known: JudgeTrust | None, verdict: Verdict
) -> None:
    graded = [graded_by(known, judged_check()), contains()]

    assert decide(TRIAL, graded, suite=suite).verdict is verdict


@pytest.mark.parametrize("suite", [SUITE, BY_SCORE], ids=["all checks", "by score"])
@pytest.mark.parametrize("passed", [True, False])
def test_where_nothing_else_decides_nothing_passes_silently(
    suite: SuiteSpec, *, passed: bool
) -> None:
    decision = decide(TRIAL, [graded_by(trust(), judged_check(passed=passed))], suite=suite)

    assert (decision.verdict, decision.cause) == (Verdict.ERRORED, Cause.CASE)
    assert trust().why_not(criterion()) in decision.reason


def test_a_judge_that_only_informs_and_cannot_be_reached_errs_nothing() -> None:
    unreached = judged_check()
    unreached = GradedAssertion(
        *("llm_judge", "Is polite", "judged", 1, 0, 1.0, None),
        Grade.without_result(Cause.PROVIDER, "Nobody answers."),
        judged_criterion=unreached.judged_criterion,
    )

    decision = decide(TRIAL, [graded_by(trust(), unreached), contains()], suite=SUITE)

    assert decision.verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("judged_checks", "deciding", "says"),
    [(4, 4, []), (4, 1, ["3 of 4 judged checks"]), (1, 0, ["1 of 1 judged check "]), (0, 0, [])],
    ids=str,
)
def test_a_run_says_how_many_checks_only_inform(
    judged_checks: int, deciding: int, says: list[str]
) -> None:
    words = JudgeTrust(least=0.8, judged=judged_checks, deciding=deciding).in_words

    assert bool(words) is bool(says)
    assert [part for part in says if part not in words] == []
