from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders import GRADERS, GROUPS
from evals_app.engine.graders.rag import RagGrader
from evals_app.engine.record.aids import Aids, RagQuestion
from evals_app.engine.record.trial import Cause
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec
from tests.engine.graders.makers import FakeMeasure, view_of

_, METRICS = GROUPS["rag"]
WITH_EXPECTED = ("contextual_precision", "contextual_recall")


def make_grader(metric: str, **options: Any) -> RagGrader:
    grader = GRADERS[metric].model_validate(options)
    assert isinstance(grader, RagGrader)
    return grader


@pytest.mark.parametrize("metric", METRICS)
def test_each_asks_for_the_metric_of_its_name(metric: str) -> None:
    view = view_of("Hi")

    question = make_grader(metric).question(view, key="k")

    assert isinstance(question, RagQuestion)
    assert (question.metric, question.view, question.key) == (metric, view, "k")
    assert question.is_explained
    assert {question.forgives_silence, question.forgives_refusal} == {False}


@pytest.mark.parametrize(
    ("metric", "options", "changed"),
    [
        ("faithfulness", {"mode": "no_contradiction"}, "forgives_silence"),
        ("answer_relevancy", {"noncommittal": "ignore"}, "forgives_refusal"),
    ],
)
def test_options_say_what_is_forgiven(metric: str, options: dict[str, Any], changed: str) -> None:
    question = make_grader(metric, include_reason=False, **options).question(view_of("Hi"), key="k")

    assert isinstance(question, RagQuestion)
    assert getattr(question, changed) is True
    assert not question.is_explained


@pytest.mark.parametrize("metric", METRICS)
def test_only_some_need_an_expected_answer(metric: str) -> None:
    assert make_grader(metric).needs() == ({"expected"} if metric in WITH_EXPECTED else set())


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("expected", [None, "Thirty days."], ids=str)
def test_where_it_is_missing_the_case_is_refused(metric: str, expected: str | None) -> None:
    turn = {"user": "Hi", "expected": expected, "assertions": [{"type": metric}]}
    case = {"name": "c", "turns": [turn]}

    if metric in WITH_EXPECTED and expected is None:
        with pytest.raises(ValidationError, match="needs a turn with an expected text"):
            CaseSpec.model_validate(case)
    else:
        CaseSpec.model_validate(case)


@pytest.mark.anyio
@pytest.mark.parametrize("metric", WITH_EXPECTED)
@pytest.mark.parametrize("expected", ["", " \n"], ids=repr)
async def test_with_an_empty_one_nothing_is_asked(metric: str, expected: str) -> None:
    grader, measure = make_grader(metric), FakeMeasure()

    grade = await grader.grade_with(view_of("Hi", expected=expected), Aids(measure=measure))

    assert (grade.score, grade.cause, measure.asked) == (None, Cause.CASE, [])
    assert grade.reason == grader.expected_problem(expected)


@pytest.mark.parametrize(
    ("metric", "calls"), [("faithfulness", 2), ("answer_relevancy", 1), ("contextual_recall", 1)]
)
def test_calls_are_shown_in_advance(metric: str, calls: int) -> None:
    assert make_grader(metric).asks() == calls


# Written as HoloDeck does


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_may_be_named_by_its_type(metric: str) -> None:
    common = {"include_reason": False, "threshold": 0.8}

    spec = AssertionSpec.model_validate({"type": "rag", "metric_type": metric, **common})

    assert spec.model_dump(exclude_unset=True) == {"type": metric, **common}


@pytest.mark.parametrize(
    ("written", "where"),
    [
        pytest.param({"type": "rag"}, ("type",), id="no metric"),
        pytest.param({"type": "rag", "metric_type": "truth"}, ("metric_type",), id="unknown"),
        pytest.param({"type": "rag", "metric_type": ["x"]}, ("metric_type",), id="a list"),
    ],
)
def test_a_group_without_a_metric_names_those_there_are(
    written: dict[str, Any], where: tuple[str, ...]
) -> None:
    with pytest.raises(ValidationError, match="one of faithfulness, answer_relevancy") as refused:
        AssertionSpec.model_validate(written)

    (error,) = refused.value.errors()
    assert error["loc"] == where


def test_a_metric_by_its_own_name_takes_no_metric_type() -> None:
    with pytest.raises(ValidationError, match="Unknown key"):
        AssertionSpec.model_validate({"type": "faithfulness", "metric_type": "faithfulness"})
