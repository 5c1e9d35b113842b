from collections.abc import Sequence
from typing import Any

import pytest

from evals_app.engine.aids import RagQuestion, StepsQuestion
from evals_app.engine.errors import JudgeError, UnavailableError
from evals_app.engine.judging.claims import ClaimsKept
from evals_app.engine.judging.measure import ModelMeasure
from evals_app.engine.judging.steps import Recipe, Steps
from tests.engine.judging.makers import FakeModel, make_asker, required
from tests.engine.judging.measuring import claims, rag_view, sourced

pytestmark = pytest.mark.anyio
VIEW = rag_view()
FAITHFULNESS = RagQuestion(metric="faithfulness", view=VIEW)
CLAIMS = claims("Books can be returned within 30 days.")
SUPPORTED = sourced("supported 1: accepted for 30 days")
GRADED = {
    "requirements": [required(quote="")],
    "critique": "Good.",
    "injection_suspected": False,
    "verdict": "graded",
    "score": 5,
}
STEPS = {"steps": ["One.", "Two.", "Three."], "injection_suspected": False}


async def nothing_kept(recipe: Recipe, proposal: Sequence[str] | None) -> Sequence[str] | None:
    return proposal


def make_measure(model: FakeModel) -> ModelMeasure:
    steps = Steps({}, nothing_kept)
    return ModelMeasure(asker=make_asker(model), claims=ClaimsKept(), steps=steps)


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
    found = await make_measure(FakeModel(*replies))(question)

    assert (found.score, len(found.calls)) == (1.0, 2)


@pytest.mark.parametrize(
    ("question", "replies", "error", "calls"),
    [
        pytest.param(FAITHFULNESS, [CLAIMS, "a", "b"], JudgeError, 3, id="off the schema"),
        pytest.param(
            FAITHFULNESS, [CLAIMS, UnavailableError("down")], UnavailableError, 1, id="provider"
        ),
        pytest.param(
            StepsQuestion(view=VIEW, criteria="Good"), [STEPS, "a", "b"], JudgeError, 3, id="G-Eval"
        ),
        pytest.param(
            StepsQuestion(view=VIEW, criteria="Good"), ["a", "b"], JudgeError, 2, id="no steps"
        ),
    ],
)
async def test_so_is_every_call_of_a_measure_that_came_to_nothing(
    question: RagQuestion | StepsQuestion, replies: list[Any], error: type[Exception], calls: int
) -> None:
    with pytest.raises(error) as failed:
        await make_measure(FakeModel(*replies))(question)

    assert len(failed.value.calls) == calls  # type: ignore[attr-defined]  # both errors have them
