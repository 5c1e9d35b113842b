import pytest

from evals_app.engine.aids import RagQuestion
from evals_app.engine.judging.composing import item_json, measured, named, of
from evals_app.engine.judging.items import Item
from tests.engine.judging.measuring import make_inquiry, rag_view


@pytest.mark.parametrize(
    ("count", "total", "words"),
    [(0, 1, "0 of 1 claim"), (1, 1, "1 of 1 claim"), (1, 2, "1 of 2 claims")],
    ids=str,
)
def test_counts_are_words(count: int, total: int, words: str) -> None:
    assert of(count, total, "claim") == words


@pytest.mark.parametrize(
    ("count", "sentences"),
    [
        pytest.param(0, [], id="none"),
        pytest.param(1, ["So: “item 1” (not mentioned)."], id="one"),
        pytest.param(
            5,
            [f"So: {', '.join(f'“item {n}” (not mentioned)' for n in (1, 2, 3))} and 2 more."],
            id="many",
        ),
    ],
)
def test_a_sentence_names_a_few(count: int, sentences: list[str]) -> None:
    items = [item_json(Item(n, f"item {n}"), "not_mentioned") for n in range(1, count + 1)]

    assert named(items, begin="So") == sentences


def test_a_long_item_is_shown_shortened() -> None:
    assert len(item_json(Item(1, "x" * 10_000), "good")["text"]) < 600


@pytest.mark.parametrize(
    ("is_explained", "reason"), [(True, "One. Two."), (False, "One.")], ids=str
)
def test_a_reason_may_be_short(*, is_explained: bool, reason: str) -> None:
    question = RagQuestion(metric="answer_relevancy", view=rag_view(), is_explained=is_explained)
    items = [item_json(Item(1, "a"), "good"), item_json(Item(2, "b"), "good")]

    found = measured(
        0.5, ["One.", "Two."], question=question, inquiry=make_inquiry(), seen=[], items=items
    )

    assert found.reason == reason
    assert found.details["counts"] == {"good": 2}
