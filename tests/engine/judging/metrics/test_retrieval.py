import re
from typing import Any

import pytest

from evals_app.engine.judging.metrics.retrieval import (
    contextual_precision,
    contextual_recall,
    precision,
    precision_bounds,
)
from evals_app.engine.llm.call import ModelCall
from evals_app.engine.record.aids import MetricScore, RagQuestion
from tests.engine.judging.makers import FakeModel
from tests.engine.judging.measuring import (
    make_inquiry,
    prompt_of,
    rag_view,
    source_verdicts,
    verdicts,
)

pytestmark = pytest.mark.anyio
EXPECTED = "Thirty days. With a receipt."


@pytest.mark.parametrize(
    ("useful", "score"),
    [
        pytest.param([1, 0, 1], 0.8333, id="1 0 1"),
        pytest.param([0, 1], 0.5, id="0 1"),
        pytest.param([1, 1, 1], 1.0, id="all"),
        pytest.param([1, 0, 0], 1.0, id="the first alone"),
        pytest.param([0, 0, 1], 0.3333, id="the last alone"),
        pytest.param([0, 0], 0.0, id="none"),
        pytest.param([], 0.0, id="nothing"),
    ],
)
def test_precision_is_higher_the_earlier_useful_chunks_come(
    useful: list[int], score: float
) -> None:
    assert precision([bool(word) for word in useful]) == pytest.approx(score, abs=5e-5)


def by_text(call: ModelCall) -> dict[str, Any]:
    """Judge chunks as useful that say so, in the order in which they are shown."""
    block = prompt_of(call).partition("<CHUNKS-")[2]
    texts = re.findall(r"\] (.*)", block)
    return verdicts(*["useful" if text.startswith("Useful") else "not" for text in texts])


async def precision_of(model: FakeModel, *chunks: str, **changes: Any) -> MetricScore:
    view = rag_view(chunks=chunks, expected=EXPECTED)
    question = RagQuestion(metric="contextual_precision", view=view)
    inquiry = make_inquiry(model, **changes)
    return await contextual_precision(question, view.retrieved_chunks() or (), inquiry)


@pytest.mark.parametrize(
    ("chunks", "score"),
    [
        pytest.param(("Useful 1", "Tea", "Useful 3"), 0.8333, id="1 0 1"),
        pytest.param(("Tea", "Useful"), 0.5, id="0 1"),
        pytest.param(("Tea", "Milk"), 0.0, id="none"),
        pytest.param(("Useful 1", "Tea", "Useful 3", *["Tea"] * 7), 0.8333, id="among many"),
        pytest.param((*["Tea"] * 9, "Useful 10"), 0.1, id="the last of many"),
    ],
)
async def test_verdicts_are_mapped_back_to_ranks(chunks: tuple[str, ...], score: float) -> None:
    result = await precision_of(FakeModel(by_text), *chunks)

    assert result.score == pytest.approx(score, abs=5e-5)
    assert [item["text"] for item in result.details["items"]] == list(chunks)


async def test_the_judge_does_not_see_the_ranks_and_always_the_same_order() -> None:
    model = FakeModel(by_text)
    chunks = [f"Chunk {number}" for number in range(10)]

    await precision_of(model, *chunks)
    await precision_of(model, *chunks)

    first, second = map(prompt_of, model.asked)
    shown = re.findall(r"\] (Chunk \d)", first)
    assert shown != chunks
    assert sorted(shown) == chunks
    assert first == second
    assert "Thirty days." in first


async def test_a_missing_verdict_is_neither() -> None:
    def silent_on_the_last(call: ModelCall) -> dict[str, Any]:
        reply = by_text(call)
        return reply | {"verdicts": [entry for entry in reply["verdicts"] if entry["id"] != 5]}

    silent: dict[str, Any] = verdicts()
    result = await precision_of(FakeModel(silent_on_the_last, silent), *["Useful"] * 5)

    assert result.details["counts"] == {"useful": 4, "undecided": 1}
    assert "no verdict" in next(
        item["note"] for item in result.details["items"] if item["verdict"] == "undecided"
    )
    assert result.highest == 1.0
    assert result.score is not None
    assert result.score < 1
    assert "could not decide 1 of 5 chunks" in result.reason


@pytest.mark.parametrize(
    ("verdicts", "bounds"),
    [
        pytest.param("useful not", (1.0, 1.0), id="all decided"),
        pytest.param("undecided useful", (0.5, 1.0), id="the first is open"),
        pytest.param("useful not undecided", (0.8333, 1.0), id="one more useful one lowers it"),
        pytest.param("undecided undecided", (0.0, 1.0), id="all are open"),
        pytest.param(" ".join(["undecided"] * 11), (0.0, 1.0), id="too many to try"),
    ],
)
def test_precision_is_between_what_undecided_chunks_may_make_of_it(
    verdicts: str, bounds: tuple[float, float]
) -> None:
    assert precision_bounds(verdicts.split()) == pytest.approx(bounds, abs=5e-5)


async def test_a_script_answers_in_the_order_of_the_ranks() -> None:
    chunks = [f"Chunk {number}" for number in range(10)]
    words = " ".join(["not"] * 9 + ["useful"])

    result = await precision_of(FakeModel(words), *chunks, is_scripted=True)

    assert result.score == 0.1
    assert "1 of 10 chunks is useful" in result.reason
    assert "rank 10" in result.reason


async def recall_of(model: FakeModel, **options: Any) -> MetricScore:
    view = rag_view(expected=EXPECTED)
    question = RagQuestion(metric="contextual_recall", view=view, **options)
    return await contextual_recall(question, view.retrieved_chunks() or (), make_inquiry(model))


@pytest.mark.parametrize(
    ("words", "score", "highest"),
    [
        (["attributable 1: for 30 days", "attributable 2: Tea is free"], 1.0, None),
        pytest.param(["attributable 1: for 30 days", "not"], 0.5, None, id="half"),
        pytest.param(["attributable 2: for 30 days", "not"], 0.0, 0.5, id="another chunk"),
        pytest.param(["attributable 1: with receipt", "not"], 0.0, 0.5, id="made up"),
        pytest.param(["attributable", "not"], 0.0, 0.5, id="no source"),
        pytest.param(["not", "not"], 0.0, None, id="none"),
    ],
)
async def test_recall_is_the_share_with_a_source_that_holds(
    words: list[str], score: float, highest: float | None
) -> None:
    result = await recall_of(FakeModel(lambda _: source_verdicts(*words)))

    assert (result.score, result.highest) == (score, highest)


async def test_the_reason_names_what_is_lacking() -> None:
    words = source_verdicts("attributable 1: for 30 days", "not")

    result = await recall_of(FakeModel(words))
    short = await recall_of(FakeModel(words), is_explained=False)

    assert "1 of 2 parts of the expected answer" in short.reason
    assert "receipt" not in short.reason
    assert "“With a receipt.”" in result.reason


async def test_the_answer_of_the_agent_is_not_shown() -> None:
    model = FakeModel(source_verdicts("not", "not"))

    await recall_of(model)

    assert "Books can be returned" not in prompt_of(model.asked[0])
    assert "2] With a receipt." in prompt_of(model.asked[0])
