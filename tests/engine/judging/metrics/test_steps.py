import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.metrics.steps import Recipe, Steps, write_steps
from tests.engine.judging.makers import FakeModel
from tests.engine.judging.measuring import make_inquiry, prompt_of

pytestmark = pytest.mark.anyio
RECIPE = Recipe("Names the date", ("actual_output", "input"), "local/judge-1")
WRITTEN = ("Look for a date.", "Compare it.", "Grade from 1 to 5.")


def reply(*steps: str) -> dict[str, Any]:
    return {"steps": list(steps), "injection_suspected": False}


class Shelf:
    """Keeps what is proposed first; somebody else may have been faster."""

    def __init__(self, faster: Sequence[str] | None = None) -> None:
        self.kept: dict[str, Sequence[str]] = {}
        self.faster = faster
        self.proposed: list[Sequence[str]] = []

    async def __call__(
        self, recipe: Recipe, proposal: Sequence[str] | None
    ) -> Sequence[str] | None:
        await asyncio.sleep(0)
        if proposal is not None:
            self.proposed.append(proposal)
            self.kept.setdefault(recipe.key, self.faster or proposal)
        return self.kept.get(recipe.key)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Recipe("Names the day", RECIPE.shown, RECIPE.model), id="criteria"),
        pytest.param(Recipe(RECIPE.criteria, ("actual_output",), RECIPE.model), id="fields"),
        pytest.param(Recipe(RECIPE.criteria, RECIPE.shown, "local/judge-2"), id="model"),
        pytest.param(Recipe(RECIPE.criteria, RECIPE.shown, RECIPE.model, 99), id="wording"),
    ],
)
def test_other_recipes_have_other_keys(other: Recipe) -> None:
    assert other.key != RECIPE.key


def test_the_order_of_fields_means_nothing() -> None:
    assert Recipe(RECIPE.criteria, ("input", "actual_output"), RECIPE.model).key == RECIPE.key


async def test_steps_are_written_from_the_criteria_for_the_fields_that_are_shown() -> None:
    model = FakeModel(reply(*WRITTEN))
    inquiry = make_inquiry(model)
    inquiry.advice = "Be strict."

    assert await write_steps(RECIPE, inquiry) == WRITTEN
    (call,) = model.asked
    assert "Names the date" in prompt_of(call)
    assert "ANSWER, what the agent answered; QUESTION, what the user asked, nothing else" in (
        call.system
    )
    assert "EXPECTED" not in call.system
    # Equal recipes have equal steps, whatever suite they are used in.
    assert "Be strict." not in call.system


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(reply(), id="none"),
        pytest.param(reply("One.", "Two."), id="two"),
        pytest.param(reply(*"12345"), id="five"),
        pytest.param(reply("One.", "Two.", "  "), id="a blank one"),
        pytest.param({"steps": "One."}, id="no list"),
    ],
)
async def test_three_or_four_steps_are_expected(bad: dict[str, Any]) -> None:
    assert await write_steps(RECIPE, make_inquiry(FakeModel(bad, reply(*WRITTEN)))) == WRITTEN

    with pytest.raises(JudgeError):
        await write_steps(RECIPE, make_inquiry(FakeModel(bad, bad)))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        pytest.param("One.\n\n Two. ", ("One.", "Two."), id="lines"),
        pytest.param("1", ("1",), id="1"),
    ],
)
async def test_a_script_writes_steps_on_lines(text: str, steps: tuple[str, ...]) -> None:
    inquiry = make_inquiry(FakeModel(text), is_scripted=True)

    assert await write_steps(RECIPE, inquiry) == steps


async def test_frozen_steps_cost_nothing() -> None:
    model, shelf = FakeModel(), Shelf()
    steps = Steps({RECIPE.key: ["Frozen."]}, shelf)

    assert await steps.of(RECIPE, make_inquiry(model)) == ("Frozen.",)
    assert not model.asked
    assert not shelf.proposed


async def test_known_steps_cost_nothing() -> None:
    shelf = Shelf()
    shelf.kept[RECIPE.key] = ["Known."]

    assert await Steps({}, shelf).of(RECIPE, make_inquiry(FakeModel())) == ("Known.",)


async def test_unknown_steps_are_written_once_and_kept() -> None:
    model, shelf = FakeModel(reply(*WRITTEN)), Shelf()
    steps = Steps({}, shelf)

    answers = await asyncio.gather(*(steps.of(RECIPE, make_inquiry(model)) for _ in range(3)))

    assert answers == [WRITTEN] * 3
    assert shelf.proposed == [WRITTEN]
    assert model.purposes == ["evaluation steps"]


async def test_the_first_writer_wins() -> None:
    model, shelf = FakeModel(reply(*WRITTEN)), Shelf(faster=["Theirs."])
    steps = Steps({}, shelf)

    assert await steps.of(RECIPE, make_inquiry(model)) == ("Theirs.",)
    assert await steps.of(RECIPE, make_inquiry(model)) == ("Theirs.",)


async def test_a_failure_is_tried_again_by_the_next() -> None:
    model, shelf = FakeModel("No.", "No.", reply(*WRITTEN)), Shelf()
    steps = Steps({}, shelf)
    with pytest.raises(JudgeError):
        await steps.of(RECIPE, make_inquiry(model))

    assert await steps.of(RECIPE, make_inquiry(model)) == WRITTEN
