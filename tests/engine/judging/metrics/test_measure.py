from collections.abc import Sequence
from typing import Any, get_args

import pytest

from evals_app.engine.basics.errors import JudgeError, UnavailableError
from evals_app.engine.judging.metrics.claims import ClaimMemory
from evals_app.engine.judging.metrics.measure import ModelMeasure
from evals_app.engine.judging.metrics.steps import Recipe, Steps
from evals_app.engine.record.aids import RagMetric, RagQuestion, StepsQuestion
from evals_app.engine.record.trial import Cause
from tests.engine.judging.makers import FakeModel, make_asker, requirement
from tests.engine.judging.measuring import claims, rag_view, source_verdicts, verdicts

pytestmark = pytest.mark.anyio
VIEW = rag_view()
FAITHFULNESS = RagQuestion(metric="faithfulness", view=VIEW)
CLAIMS = claims("Books can be returned within 30 days.")
SUPPORTED = source_verdicts("supported 1: accepted for 30 days")
GRADED = {
    "requirements": [requirement(quote="returned within 30 days")],
    "critique": "Good.",
    "injection_suspected": False,
    "verdict": "graded",
    "score": 5,
}
WITH_CONTEXT = sorted(set(get_args(RagMetric)) - {"answer_relevancy"})
STEPS = {"steps": ["One.", "Two.", "Three."], "injection_suspected": False}


async def nothing_kept(recipe: Recipe, proposal: Sequence[str] | None) -> Sequence[str] | None:
    return proposal


def make_measure(model: FakeModel) -> ModelMeasure:
    steps = Steps({}, nothing_kept)
    return ModelMeasure(asker=make_asker(model), claims=ClaimMemory(), steps=steps)


@pytest.mark.parametrize(
    ("question", "replies"),
    [
        pytest.param(FAITHFULNESS, [CLAIMS, SUPPORTED], id="a metric"),
        pytest.param(StepsQuestion(view=VIEW, criteria="Good"), [STEPS, GRADED], id="G-Eval"),
    ],
)
async def test_every_call_is_kept(
    question: RagQuestion | StepsQuestion, replies: list[dict[str, Any]]
) -> None:
    result = await make_measure(FakeModel(*replies))(question)

    assert (result.score, len(result.calls)) == (1.0, 2)


@pytest.mark.parametrize(
    ("question", "replies", "error", "calls"),
    [
        pytest.param(FAITHFULNESS, [CLAIMS, "a", "b"], JudgeError, 3, id="off the schema"),
        (FAITHFULNESS, [CLAIMS, UnavailableError("down")], UnavailableError, 1),
        (StepsQuestion(view=VIEW, criteria="Good"), [STEPS, "a", "b"], JudgeError, 3),
        (StepsQuestion(view=VIEW, criteria="Good"), ["a", "b"], JudgeError, 2),
    ],
)
async def test_so_is_every_call_of_a_measure_that_came_to_nothing(
    question: RagQuestion | StepsQuestion, replies: list[Any], error: type[Exception], calls: int
) -> None:
    with pytest.raises(error) as failed:
        await make_measure(FakeModel(*replies))(question)

    assert len(failed.value.calls) == calls  # type: ignore[attr-defined]  # both errors have them


@pytest.mark.parametrize("metric", WITH_CONTEXT)
async def test_no_context_at_all_is_the_fault_of_the_case(metric: RagMetric) -> None:
    model = FakeModel()
    question = RagQuestion(metric=metric, view=rag_view(chunks=None, expected="Thirty days."))

    result = await make_measure(model)(question)

    assert (result.score, result.cause) == (None, Cause.CASE)
    assert model.asked == []


@pytest.mark.parametrize("metric", [metric for metric in WITH_CONTEXT if metric != "faithfulness"])
async def test_a_search_that_found_nothing_is_0_without_a_call(metric: RagMetric) -> None:
    model = FakeModel()
    question = RagQuestion(metric=metric, view=rag_view(chunks=(), expected="Thirty days."))

    result = await make_measure(model)(question)

    assert (result.score, result.reason) == (0.0, "The search found nothing.")
    assert model.asked == []


@pytest.mark.parametrize(
    ("metric", "replies", "score"),
    [
        pytest.param(
            "faithfulness",
            [
                claims("Books can be returned within 30 days."),
                source_verdicts("supported 1: 30 days"),
            ],
            1.0,
            id="faithfulness",
        ),
        ("answer_relevancy", [verdicts("direct", answers_question="fully")], 1.0),
        ("contextual_relevancy", [verdicts("relevant", "irrelevant")], 0.5),
        pytest.param("contextual_precision", [verdicts("not", "not")], 0.0, id="precision"),
        pytest.param(
            "contextual_recall", [source_verdicts("attributable 1: 30 days")], 1.0, id="recall"
        ),
    ],
)
async def test_each_metric_takes_as_many_calls_as_it_says(
    metric: RagMetric, replies: list[dict[str, object]], score: float
) -> None:
    model = FakeModel(*replies)
    question = RagQuestion(metric=metric, view=rag_view(expected="Thirty days."))

    result = await make_measure(model)(question)

    assert result.score == score
    assert len(model.asked) == len(replies)
    assert {"items", "flags", "counts"} <= result.details.keys()
