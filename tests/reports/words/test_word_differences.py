import random

import pytest

from evals_app.reports.words.word_differences import ComparedTexts, word_differences


def marked(wording: ComparedTexts) -> tuple[str, str]:
    """Return both texts with brackets around what is only there."""
    base, head = (
        "".join(f"[{piece.text}]" if piece.is_only_here else piece.text for piece in side)
        for side in (wording.base, wording.head)
    )
    return base, head


@pytest.mark.parametrize(
    ("base", "head", "shown"),
    [
        pytest.param("same words", "same words", ("same words", "same words"), id="same"),
        pytest.param(
            "It takes 30 days.", "It takes 14 days.", ("It takes [30] days.", "It takes [14] days.")
        ),
        pytest.param("We pay.", "We pay soon.", ("We pay.", "We pay [soon].")),
        pytest.param("Ok now", "Ok, now", ("Ok now", "Ok[,] now"), id="punctuation"),
        pytest.param("a b", "a   b", ("a b", "a   b"), id="white space is ignored"),
        pytest.param("one\ntwo", "one\nthree", ("one\n[two]", "one\n[three]"), id="lines"),
        pytest.param("可以退款三十天", "可以退款十天", ("可以退款[三]十天", "可以退款十天")),
        pytest.param("", "new", ("", "new"), id="nothing to compare with"),
    ],
)
def test_words_of_one_text_only_are_marked(base: str, head: str, shown: tuple[str, str]) -> None:
    assert marked(word_differences(base, head)) == shown


@pytest.mark.parametrize(
    ("base", "head", "is_similar", "is_same"),
    [
        ("We refund you.", "We refund you.", True, True),
        ("We refund you.", "We  refund\nyou.", True, True),
        ("We refund you.", "We refund nobody.", True, False),
        ("We refund you.", "Sorry, that is impossible today", False, False),
        ("We refund you.", "", False, False),
        ("", "", True, True),
    ],
)
def test_texts_with_little_in_common_are_not_marked_word_by_word(
    base: str, head: str, *, is_similar: bool, is_same: bool
) -> None:
    wording = word_differences(base, head)

    assert (wording.is_similar, wording.is_same) == (is_similar, is_same)
    if not is_similar:
        assert marked(wording) == (base, head)


def test_no_text_is_lost_however_long_it_is() -> None:
    draw = random.Random(7)
    words = [draw.choice(["refund", "the", "order\n", "paid", "€20", "not "]) for _ in range(9000)]
    base, head = " ".join(words), " ".join(word for word in words if word != "not ")

    wording = word_differences(base, head)

    assert "".join(piece.text for piece in wording.base) == base
    assert "".join(piece.text for piece in wording.head) == head
