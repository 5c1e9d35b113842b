"""Checks, gates and suites that cannot fail: found when they are written, and no evidence in a run."""

from typing import Any

import pytest

from evals_app.engine.graders.text import Matches
from evals_app.engine.record.aids import Aids
from evals_app.engine.record.trial import Verdict
from evals_app.engine.suites.suite_spec import AssertionSpec, SuiteSpec
from evals_app.engine.verdicts.case_summary import Fact
from evals_app.engine.verdicts.execution_verdict import Decision, decide
from evals_app.engine.verdicts.grading import grade_trial
from evals_app.engine.verdicts.run_summary import summarise_run
from tests.engine.makers import make_case, make_suite, make_trial, make_turn

ANYTHING = {"type": "matches", "value": "a|b"}  # a pattern that is treated as fitting every text
WORDS = {"type": "token_f1", "value": "Nine euros"}
JUDGED = {"type": "llm_judge", "criteria": "Polite", "scale": "1-5"}
FITS_X = ANYTHING | {"value": "x"}
SAYS_X, SAYS_Y = {"type": "contains", "value": "x"}, {"type": "contains", "value": "y"}
GATES: dict[str, Any] = {"run_rule": "gates"}
BY_SCORE: dict[str, Any] = {"pass_rule": "score"}
PASSED, FAILED, MEASURED = Verdict.PASSED, Verdict.FAILED, Verdict.MEASURED


@pytest.fixture(autouse=True)
def _patterns_cannot_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Matches, "cannot_fail", lambda _: "It fits every text.")


def check(**written: Any) -> AssertionSpec:
    return AssertionSpec.model_validate(written)


def suite_of(*checks: dict[str, Any], **changes: Any) -> SuiteSpec:
    return make_suite(make_case(turns=[{"user": "Hi", "assertions": list(checks)}]), **changes)


# When it is written


@pytest.mark.parametrize(
    ("written", "key"),
    [
        pytest.param(WORDS | {"threshold": 0}, ("threshold",), id="a threshold of 0"),
        pytest.param(WORDS | {"threshold": 0.01}, None, id="one that can be missed"),
        pytest.param(WORDS, None, id="none"),
        pytest.param(JUDGED | {"threshold": 0}, ("threshold",), id="of a judge"),
        ({"type": "contains", "value": "a", "threshold": 0}, ("threshold",)),
        pytest.param(ANYTHING, ("value",), id="a check that fits everything"),
        pytest.param(ANYTHING | {"weight": 0}, None, id="that is shown only"),
        pytest.param(ANYTHING | {"enabled": False}, None, id="that is switched off"),
    ],
)
def test_the_key_that_keeps_a_check_from_failing_is_found(
    written: dict[str, Any], key: tuple[str, ...] | None
) -> None:
    hollow = check(**written).cannot_fail_at()

    assert (hollow[0] if hollow else None) == key


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        pytest.param({"gates": {"min_score": 0}}, [("gates", "min_score")], id="a score of 0"),
        pytest.param({"gates": {"min_pass_rate": 0}}, [("gates", "min_pass_rate")], id="a rate"),
        pytest.param({"gates": {"max_score_drop": 1}}, [("gates", "max_score_drop")], id="a fall"),
        pytest.param({"gates": {"min_score": 0.1, "max_p95_ms": 0}}, [], id="gates that can fail"),
        pytest.param({"gates": {"max_regressions": 0, "max_score_drop": 0}}, [], id="no fall"),
        pytest.param({"pass_threshold": 0}, [], id="a threshold that nobody reads"),
        ({"pass_threshold": 0, "pass_rule": "score"}, [("pass_threshold",)]),
        ({"pass_threshold": 0, "rubric": "- Polite"}, [("pass_threshold",)]),
        ({"pass_threshold": 0, "rubric": "- Polite", "rubric_weight": 0}, []),
    ],
)
def test_what_keeps_a_run_from_failing_is_found(
    changes: dict[str, Any], keys: list[tuple[str, ...]]
) -> None:
    assert [loc for loc, _ in suite_of(**changes).checks_that_cannot_fail()] == keys


@pytest.mark.parametrize(
    ("weights", "changes", "position"),
    [
        pytest.param([1, 50], BY_SCORE, 1, id="one has all the say"),
        pytest.param([1, 2], {"pass_rule": "score"}, None, id="both have a say"),
        pytest.param([1, 50], {}, None, id="all must pass"),
        pytest.param([50], {"pass_rule": "score"}, None, id="there is no other"),
        ([1, 50], {"pass_rule": "score", "pass_threshold": 0.99}, None),
    ],
)
def test_a_weight_that_leaves_others_no_say_is_found(
    weights: list[float], changes: dict[str, Any], position: int | None
) -> None:
    checks = [{"type": "contains", "value": f"{n}", "weight": w} for n, w in enumerate(weights)]
    suite = suite_of(*checks, **changes)
    own = list(suite.cases[0].assertions())

    assert suite.swamping(suite.cases[0]) is (None if position is None else own[position])


@pytest.mark.parametrize(
    ("written", "changes"),
    [
        pytest.param(WORDS | {"threshold": 0}, {"threshold": None}, id="measures"),
        pytest.param(JUDGED | {"threshold": 0}, {"weight": 0.0}, id="would decide by itself"),
        ({"type": "contains", "value": "a", "threshold": 0}, {"threshold": None}),
        pytest.param(ANYTHING, {"weight": 0.0}, id="fits everything"),
        pytest.param(WORDS | {"threshold": 0.5}, {}, id="can fail"),
    ],
)
def test_what_cannot_fail_can_be_made_to_inform(
    written: dict[str, Any], changes: dict[str, Any]
) -> None:
    spec = check(**written)
    informing = spec.as_informational()

    assert informing == spec.model_copy(update=changes)
    assert informing.cannot_fail_at() is None


# In a run


async def decision_on(*checks: dict[str, Any], reply: str = "x", **changes: Any) -> Decision:
    suite = suite_of(*checks, **changes)
    trial = make_trial(make_turn(reply))
    graded = await grade_trial(
        trial, case=suite.cases[0], suite=suite, aids_for=lambda *_: Aids(None)
    )
    return decide(trial, graded, suite=suite)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("checks", "changes", "verdict", "score"),
    [
        pytest.param([WORDS | {"threshold": 0}], {}, MEASURED, 0.0, id="a threshold of 0"),
        pytest.param([FITS_X], {}, MEASURED, None, id="fits everything"),
        pytest.param([FITS_X, SAYS_X], {}, PASSED, 1.0, id="beside one that can fail"),
        ([FITS_X, SAYS_Y], BY_SCORE | {"pass_threshold": 0.5}, FAILED, 0.0),
        ([SAYS_Y], BY_SCORE | {"pass_threshold": 0}, MEASURED, 0.0),
        pytest.param([WORDS | {"threshold": 0}], BY_SCORE, FAILED, 0.0, id="the score decides"),
        ([WORDS], GATES | {"gates": {"min_score": 0}}, MEASURED, 0.0),
    ],
)
async def test_what_cannot_fail_is_no_reason_to_pass(
    checks: list[dict[str, Any]], changes: dict[str, Any], verdict: Verdict, score: float | None
) -> None:
    decision = await decision_on(*checks, **changes)

    assert (decision.verdict, decision.score) == (verdict, score)
    assert (decision.cause is None) is (verdict in {PASSED, MEASURED})


@pytest.mark.anyio
async def test_a_check_that_cannot_fail_says_so_in_its_reason() -> None:
    suite = suite_of(FITS_X)
    (hollow,) = await grade_trial(
        make_trial(make_turn("x")), case=suite.cases[0], suite=suite, aids_for=lambda *_: Aids(None)
    )

    assert "It fits every text." in hollow.grade.reason
    assert (hollow.weight, hollow.decides) == (0.0, False)


@pytest.mark.parametrize(
    ("gates", "verdict"),
    [
        pytest.param({"min_score": 0}, "inconclusive", id="cannot fail"),
        pytest.param({"min_score": 0, "min_pass_rate": 0}, "inconclusive", id="neither can"),
        pytest.param({"min_score": 0, "min_pass_rate": 0.5}, "passed", id="one can"),
    ],
)
def test_gates_that_cannot_fail_let_no_run_pass(gates: dict[str, float], verdict: str) -> None:
    facts = [Fact("a", Verdict.PASSED, 1.0, (1.0,)), Fact("b", Verdict.FAILED, 0.0, (1.0,))]

    assert summarise_run(facts, suite=make_suite(run_rule="gates", gates=gates)).verdict == verdict
