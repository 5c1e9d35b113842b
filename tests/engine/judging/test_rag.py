from typing import get_args

import pytest

from evals_app.engine.aids import RagMetric, RagQuestion
from evals_app.engine.judging.claims import ClaimsKept
from evals_app.engine.judging.rag import measure_rag
from evals_app.engine.trial import Cause
from tests.engine.judging.makers import FakeModel
from tests.engine.judging.measuring import claims, make_inquiry, rag_view, sourced, verdicts

pytestmark = pytest.mark.anyio
WITH_CONTEXT = sorted(set(get_args(RagMetric)) - {"answer_relevancy"})


@pytest.mark.parametrize("metric", WITH_CONTEXT)
async def test_no_context_at_all_is_the_fault_of_the_case(metric: RagMetric) -> None:
    model = FakeModel()
    question = RagQuestion(metric=metric, view=rag_view(chunks=None, expected="Thirty days."))

    found = await measure_rag(question, make_inquiry(model), kept=ClaimsKept())

    assert (found.score, found.cause) == (None, Cause.CASE)
    assert model.asked == []


@pytest.mark.parametrize("metric", [each for each in WITH_CONTEXT if each != "faithfulness"])
async def test_a_search_that_found_nothing_is_0_without_a_call(metric: RagMetric) -> None:
    model = FakeModel()
    question = RagQuestion(metric=metric, view=rag_view(chunks=(), expected="Thirty days."))

    found = await measure_rag(question, make_inquiry(model), kept=ClaimsKept())

    assert (found.score, found.reason) == (0.0, "The search found nothing.")
    assert model.asked == []


@pytest.mark.parametrize(
    ("metric", "replies", "score"),
    [
        pytest.param(
            "faithfulness",
            [claims("Books can be returned within 30 days."), sourced("supported 1: 30 days")],
            1.0,
            id="faithfulness",
        ),
        pytest.param(
            "answer_relevancy",
            [verdicts("direct", answers_question="fully")],
            1.0,
            id="answer relevancy",
        ),
        pytest.param(
            "contextual_relevancy", [verdicts("relevant", "irrelevant")], 0.5, id="relevancy"
        ),
        pytest.param("contextual_precision", [verdicts("not", "not")], 0.0, id="precision"),
        pytest.param("contextual_recall", [sourced("attributable 1: 30 days")], 1.0, id="recall"),
    ],
)
async def test_each_metric_takes_as_many_calls_as_it_says(
    metric: RagMetric, replies: list[dict[str, object]], score: float
) -> None:
    model = FakeModel(*replies)
    question = RagQuestion(metric=metric, view=rag_view(expected="Thirty days."))

    found = await measure_rag(question, make_inquiry(model), kept=ClaimsKept())

    assert found.score == score
    assert len(model.asked) == len(replies)
    assert {"items", "flags", "counts"} <= found.details.keys()
