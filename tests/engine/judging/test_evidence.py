import random

import pytest

from evals_app.engine.judging.evidence import check_quotes
from evals_app.engine.judging.transcript import Piece

PIECES = (
    Piece(2, "assistant", "Your order ships on Friday.\nIt is packed in blue paper! Thank you."),
    Piece(2, "tool result entity.get", '{"status": "packed"}'),
    Piece(1, "user", "When does my order ship?"),
    Piece(None, "user, before the conversation", "Good morning"),
    Piece(
        3,
        "assistant",
        "We\u2019ll call it \u201cblue\u201d \u2013 un\\u00adseen, of 3\u00a0kg and 2\u22124 m",
    ),
)


@pytest.mark.parametrize(
    ("quote", "turn", "is_verified"),
    [
        pytest.param("ships on Friday", 2, True, id="letter by letter"),
        pytest.param("SHIPS on  friday.\nIt is", 2, True, id="case and spaces"),
        pytest.param("\uff33hips on Friday", 2, True, id="full width"),
        pytest.param('"status": "packed"', 2, True, id="tool result"),
        pytest.param("When does my order ship?", 1, True, id="earlier turn"),
        pytest.param("Good morning", None, True, id="before the first turn"),
        pytest.param("Your order will ship on Friday.", 2, True, id="nearly a sentence"),
        pytest.param(
            "Your order ships Friday. It's packed in blue paper!",
            2,
            True,
            id="nearly two sentences",
        ),
        pytest.param('We\'ll call it "blue"', 3, True, id="quotation marks of a keyboard"),
        pytest.param(
            "\u201eblue\u201c -", 3, True, id="quotation marks of another language, a dash"
        ),
        pytest.param("\u201cWe'll call it\u201d", 3, True, id="marks around it"),
        pytest.param("unseen, of 3 kg and 2-4", 3, True, id="what cannot be seen, a hard space"),
        pytest.param("un\\u00adseen", 3, True, id="what cannot be seen, as shown"),
        pytest.param("\" '", None, False, id="marks around nothing"),
        pytest.param("\\u00e4seen", None, False, id="a code of what can be seen"),
        pytest.param("Your order was lost on Monday.", None, False, id="made up"),
        pytest.param("ships on Sunday", None, False, id="a part, changed"),
        pytest.param("", None, False, id="empty"),
        pytest.param(" \n", None, False, id="spaces"),
    ],
)
def test_a_quote_is_looked_up_where_it_was_shown(
    quote: str, turn: int | None, *, is_verified: bool
) -> None:
    (evidence,) = check_quotes([(quote, "date")], PIECES)

    assert (evidence.turn, evidence.is_verified) == (turn, is_verified)
    assert (evidence.quote, evidence.bears_on) == (quote, "date")


def test_the_first_piece_counts() -> None:
    pieces = [Piece(3, "assistant", "same"), Piece(1, "user", "same")]

    (evidence,) = check_quotes([("same", "")], pieces)

    assert evidence.turn == 3


def test_each_quote_is_checked_by_itself() -> None:
    checked = check_quotes([("blue paper", ""), ("red paper", "")], PIECES)

    assert [each.is_verified for each in checked] == [True, False]


def test_a_long_hostile_text_is_checked_in_bounded_time() -> None:
    words = "ab ba " * 80
    pieces = [Piece(1, "assistant", f"{words}. " * 250)]

    (evidence,) = check_quotes([("ba ab " * 80 + "x", "")], pieces)

    assert evidence.quote


def test_nearly_a_sentence_is_found_among_many_of_the_same_words() -> None:
    draw = random.Random(33)  # most others are found by their letters alone
    words = [
        "the",
        "order",
        "ships",
        "on",
        "friday",
        "and",
        "we",
        "will",
        "send",
        "a",
        "mail",
        "with",
        "all",
        "of",
        "your",
        "details",
    ]
    sentences = [" ".join(draw.choices(words, k=60)) + "." for _ in range(200)]
    near = " ".join(word for n, word in enumerate(sentences[170].split()) if n % 5)

    (evidence,) = check_quotes([(near, "")], [Piece(1, "assistant", " ".join(sentences))])

    assert evidence.is_verified


def test_however_many_quotes_are_made_up_those_that_stand_there_are_found() -> None:
    pieces = [Piece(1, "assistant", "It comes on Friday. Nothing else is known.")]
    made_up = [(f"They sent {n} parcels at once.", "") for n in range(300)]

    checked = check_quotes([*made_up, ("nothing else", "")], pieces)

    assert [each.is_verified for each in checked] == [False] * 300 + [True]
