from typing import Any

import pytest

from evals_app.engine.judging.metrics.relevancy import answer_relevancy, contextual_relevancy
from evals_app.engine.record.aids import MetricScore, RagQuestion
from evals_app.engine.record.trial import Message
from evals_app.engine.record.view import View
from tests.engine.graders.makers import make_trial, make_turn
from tests.engine.judging.makers import FakeModel
from tests.engine.judging.measuring import make_inquiry, prompt_of, rag_view, verdicts

pytestmark = pytest.mark.anyio
ANSWER = "Thirty days. With a receipt. We also sell tea. Tea is good."


async def of_answer(model: FakeModel, answer: str = ANSWER, **options: Any) -> MetricScore:
    view = options.pop("view", None) or rag_view(answer, chunks=None)
    question = RagQuestion(metric="answer_relevancy", view=view, **options)
    return await answer_relevancy(question, make_inquiry(model))


def reply(*words: str, answers: str = "fully") -> dict[str, Any]:
    return verdicts(*words, answers_question=answers)


GOOD = ("direct", "supporting", "direct", "supporting")


@pytest.mark.parametrize(
    ("words", "answers", "score", "forgiving"),
    [
        pytest.param(GOOD, "fully", 1.0, 1.0, id="all to the point"),
        pytest.param(("direct", *["irrelevant"] * 3), "fully", 0.25, 0.25, id="a quarter"),
        pytest.param(GOOD, "partly", 1.0, 1.0, id="partly is no cap"),
        pytest.param(GOOD, "no", 0.5, 0.5, id="not answered is capped"),
        pytest.param(("direct", *["irrelevant"] * 3), "no", 0.25, 0.25, id="below the cap"),
        pytest.param(GOOD, "refused", 0.0, 1.0, id="refused"),
    ],
)
async def test_the_score_is_the_share_of_parts_to_the_point(
    words: tuple[str, ...], answers: str, score: float, forgiving: float
) -> None:
    strict = await of_answer(FakeModel(reply(*words, answers=answers)))
    lenient = await of_answer(FakeModel(reply(*words, answers=answers)), forgives_refusal=True)

    assert (strict.score, lenient.score) == (score, forgiving)
    assert strict.details["answers_question"] == answers


async def test_an_empty_answer_is_0_without_a_call() -> None:
    model = FakeModel()

    result = await of_answer(model, " \n ")

    assert (result.score, "empty" in result.reason) == (0.0, True)
    assert model.asked == []


async def test_a_missing_verdict_is_neither_to_the_point_nor_beside_it() -> None:
    words = ["direct"] * 4
    model = FakeModel(reply(*words), reply())

    result = await of_answer(model, f"{ANSWER} Bye.")

    assert (result.score, result.highest) == (0.8, 1.0)
    assert result.details["items"][4]["verdict"] == "undecided"
    assert "could not decide 1 of 5 parts" in result.reason


@pytest.mark.parametrize(
    ("answers", "bounds"),
    [("no", (0.5, None)), ("refused", (0.0, None)), ("partly", (0.8, 1.0))],
    ids=str,
)
async def test_a_cap_holds_for_what_is_undecided_too(
    answers: str, bounds: tuple[float, float | None]
) -> None:
    model = FakeModel(reply(*["direct"] * 4, answers=answers), reply())

    result = await of_answer(model, f"{ANSWER} Bye.")

    assert (result.score, result.highest) == bounds


@pytest.mark.parametrize(
    ("answers", "options", "says", "names"),
    [
        pytest.param("fully", {}, "1 of 4 parts", True, id="answered"),
        pytest.param("no", {}, "at most 0.5", True, id="not answered"),
        pytest.param("refused", {"is_explained": False}, "declines", False, id="not explained"),
    ],
)
async def test_the_reason_is_put_together_by_us(
    answers: str, options: dict[str, Any], says: str, *, names: bool
) -> None:
    words = reply("direct", "direct", "direct", "irrelevant", answers=answers)

    reason = (await of_answer(FakeModel(words), **options)).reason

    assert says in reason
    assert ("“Tea is good.”" in reason) is names


async def test_one_call_shows_question_answer_and_parts() -> None:
    model = FakeModel(reply(*GOOD))
    first = make_turn("We have books.", user="What do you have?")
    second = make_turn(ANSWER, user="May I return them?", index=2)
    history = (Message("assistant", "Welcome to the shop."),)
    trial = make_trial(first, second, history=history)

    await of_answer(model, view=View(trial, second))

    (call,) = model.asked
    text = prompt_of(call)
    assert text.startswith("TASK: answer_relevancy\n")
    earlier, _, rest = text.partition("<QUESTION-")
    assert [part in earlier for part in ("Welcome", "What do you have?", "We have books.")] == [
        True
    ] * 3
    assert "May I return them?" in rest
    assert "2] With a receipt." in rest


async def of_context(model: FakeModel, *chunks: str, **options: Any) -> MetricScore:
    view = rag_view(chunks=chunks)
    question = RagQuestion(metric="contextual_relevancy", view=view, **options)
    return await contextual_relevancy(question, view.retrieved_chunks() or (), make_inquiry(model))


async def test_the_context_is_scored_by_segment_and_by_chunk() -> None:
    words = ["relevant", "irrelevant", "irrelevant", "irrelevant"]
    model = FakeModel(verdicts(*words))

    result = await of_context(model, "Returns: 30 days. We sell tea.", "", "Tea is good. Buy it.")

    assert result.score == 0.25
    assert result.details["chunks"] == [
        {"rank": 1, "id": "1", "relevant": 1, "segments": 2, "ratio": 0.5},
        {"rank": 2, "id": "2", "relevant": 0, "segments": 0, "ratio": None},
        {"rank": 3, "id": "3", "relevant": 0, "segments": 2, "ratio": 0.0},
    ]
    assert "3 of 4 retrieved passages" in result.reason
    assert "1 of 3 chunks" in result.reason
    (call,) = model.asked
    assert "chunk 3]\n" in prompt_of(call)


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        pytest.param(("One. Two.",) * 20, 1, id="forty segments"),
        pytest.param(("One. Two.",) * 21, 2, id="forty-two segments"),
        pytest.param(("word " * 2000,) * 12, 1, id="nearly 30,000 tokens"),
        pytest.param(("word " * 2000,) * 24, 2, id="nearly 60,000 tokens"),
    ],
)
async def test_calls_are_bounded_by_segments_and_by_tokens(
    chunks: tuple[str, ...], calls: int
) -> None:
    model = FakeModel(lambda _: verdicts(*["relevant"] * 100))

    result = await of_context(model, *chunks)

    assert (result.score, len(model.asked)) == (1.0, calls)


async def test_chunks_of_nothing_are_0_without_a_call() -> None:
    model = FakeModel()

    assert (await of_context(model, " ", "\n")).score == 0.0
    assert model.asked == []
