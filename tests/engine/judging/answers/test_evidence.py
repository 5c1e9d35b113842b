import random
import time

import pytest

from evals_app.engine.judging.answers.evidence import (
    MadeUpError,
    QuotableText,
    objection,
    refuse_made_up,
    speaker_of,
)
from evals_app.engine.judging.text.transcript import TranscriptPiece
from evals_app.engine.judging.text.words import Words, is_misspelt
from evals_app.engine.record.grade import Evidence
from tests.engine.judging import conversations

PIECES = (
    TranscriptPiece(
        2, "assistant", "Your order ships on Friday.\nIt is packed in blue paper! Thank you."
    ),
    TranscriptPiece(2, "tool result entity.get", '{"status": "packed"}'),
    TranscriptPiece(1, "user", "When does my order ship?"),
    TranscriptPiece(None, "user, before the conversation", "Good morning"),
    TranscriptPiece(
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
        pytest.param("Your orders ships Friday.", 2, True, id="nearly a sentence"),
        pytest.param("Your order will ship on Friday.", None, False, id="another tense"),
        pytest.param(
            "Your order ships Friday. It's packed in blue paper!",
            2,
            True,
            id="nearly two sentences",
        ),
        pytest.param('We\'ll call it "blue"', 3, True, id="quotation marks of a keyboard"),
        pytest.param(
            "it \u201eblue\u201c -", 3, True, id="quotation marks of another language, a dash"
        ),
        pytest.param("\u201cWe'll call it\u201d", 3, True, id="marks around it"),
        pytest.param("unseen, of 3 kg and 2-4", 3, True, id="what cannot be seen, a hard space"),
        pytest.param("un\\u00adseen, of", 3, True, id="what cannot be seen, as shown"),
        pytest.param("\" '", None, False, id="marks around nothing"),
        pytest.param("\\u00e4seen", None, False, id="a code of what can be seen"),
        pytest.param("Assistant: ships on Friday", 2, True, id="with who says it"),
        pytest.param("[8c2f turn 2, assistant]\nships on Friday", 2, True, id="with its heading"),
        pytest.param("Assistant: ships on Monday", None, False, id="who says it, changed"),
        pytest.param("Your order was lost on Monday.", None, False, id="made up"),
        pytest.param("ships on Sunday", None, False, id="a part, changed"),
        pytest.param("", None, False, id="empty"),
        pytest.param(" \n", None, False, id="spaces"),
    ],
)
def test_a_quote_is_looked_up_where_it_was_shown(
    quote: str, turn: int | None, *, is_verified: bool
) -> None:
    evidence = QuotableText(PIECES).look_up(quote, "date")

    assert (evidence.turn, evidence.is_verified) == (turn, is_verified)
    assert (evidence.quote, evidence.bears_on) == (quote, "date")


def test_the_first_piece_counts() -> None:
    pieces = [TranscriptPiece(3, "assistant", "same"), TranscriptPiece(1, "user", "same")]

    assert QuotableText(pieces).look_up("same").turn == 3


def test_quotes_are_true_word_for_word_or_nearly() -> None:
    shown = QuotableText(conversations.PIECES)

    lost = [name for name, quote in conversations.TRUE if not shown.look_up(quote).is_the_agents]

    assert len(conversations.TRUE) == 50
    assert lost == []


def test_no_quote_that_is_made_up_is_the_agents() -> None:
    shown = QuotableText(conversations.PIECES)

    taken = [name for name, quote in conversations.FABRICATED if shown.look_up(quote).is_the_agents]

    assert len(conversations.FABRICATED) == 50
    assert taken == []


@pytest.mark.parametrize(
    ("quote", "speaker", "says"),
    [
        pytest.param("you can still exchange", "agent", None, id="the agent"),
        pytest.param('"status": "returned"', "tool", None, id="a tool"),
        pytest.param("the courier broke it", "user", "not what the agent said", id="the user"),
        pytest.param("order ORD-1042", "agent", None, id="both: the agent's own counts"),
        pytest.param("It was lost in the post", "", "does not occur", id="nobody"),
        pytest.param("the", "", "too short", id="a word"),
        pytest.param("  ", "", None, id="no quote"),
    ],
)
def test_a_quote_tells_who_says_it_and_what_speaks_against_it(
    quote: str, speaker: str, says: str | None
) -> None:
    evidence = QuotableText(conversations.PIECES).look_up(quote)

    assert evidence.speaker == speaker
    against = objection(evidence)
    assert against is None if says is None else says in (against or "")


@pytest.mark.parametrize(
    ("piece", "speaker"),
    [
        pytest.param(TranscriptPiece(1, "assistant", ""), "agent", id="the agent"),
        pytest.param(TranscriptPiece(1, "tool error mail.send", ""), "tool", id="a tool"),
        pytest.param(TranscriptPiece(1, "file of the user, a.txt", ""), "user", id="files"),
        (TranscriptPiece(None, "assistant, before the conversation", ""), "history"),
        pytest.param(TranscriptPiece(None, "EXPECTED", ""), "case", id="the case"),
        pytest.param(TranscriptPiece(None, "CHUNKS", ""), "knowledge", id="knowledge"),
        pytest.param(TranscriptPiece(None, "", ""), "", id="nobody"),
    ],
)
def test_every_piece_has_a_speaker(piece: TranscriptPiece, speaker: str) -> None:
    assert speaker_of(piece) == speaker


def test_evidence_from_before_speakers_were_noted_is_the_agents() -> None:
    assert Evidence("It", turn=1, is_verified=True).is_the_agents
    assert not Evidence("It").is_the_agents


def test_what_was_left_out_of_a_long_conversation_cannot_be_quoted() -> None:
    pieces = [TranscriptPiece(None, "note", "[... 12 entries left out here ...]")]

    assert not QuotableText(pieces).look_up("12 entries left out here").is_verified


@pytest.mark.parametrize(
    ("one", "other", "is_near"),
    [
        pytest.param("colour", "color", True, id="a letter less"),
        pytest.param("book", "books", True, id="a letter more"),
        pytest.param("receive", "recieve", True, id="two swapped"),
        pytest.param("organise", "organize", True, id="s for z"),
        pytest.param("same", "same", False, id="the same"),
        pytest.param("cat", "cats", False, id="too short"),
        pytest.param("possible", "impossible", False, id="turned around"),
        pytest.param("able", "unable", False, id="turned around by two letters"),
        pytest.param("approved", "approves", False, id="another letter"),
        pytest.param("hyperglycemia", "hypoglycemia", False, id="two letters"),
    ],
)
def test_a_word_may_have_a_letter_wrong(one: str, other: str, *, is_near: bool) -> None:
    assert is_misspelt(one, other) is is_misspelt(other, one) is is_near


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("It costs 1,234.50 EUR.", "it costs 1,234.50 eur", id="a number"),
        pytest.param("from -5 to 3-4 at 10:30", "from -5 to 3-4 at 10:30", id="signs and ranges"),
        pytest.param("$5 or 5 %", "$ 5 or 5 %", id="currency and percent"),
        pytest.param("don't, can\u2019t, won't", "do not can not will not", id="contractions"),
        pytest.param("\u8fd4\u91d1\u3002", "\u8fd4 \u91d1", id="Chinese"),
        pytest.param(
            "\u0939\u093f\u0928\u094d\u0926\u0940",
            "\u0939\u093f\u0928\u094d\u0926\u0940",
            id="Hindi",
        ),
        pytest.param("**bold** _it_ `code`", "bold it code", id="Markdown"),
        pytest.param(
            "\u2705 Done \U0001f389", "\u2705 done", id="signs that say yes, and that do not"
        ),
        pytest.param("entity.get_all", "entity get_all", id="a tool"),
    ],
)
def test_a_text_is_read_by_its_words(text: str, words: str) -> None:
    assert " ".join(Words(text).words) == words


def hostile(kind: str) -> tuple[str, list[str]]:
    if kind == "repeated":
        return ("ab ba " * 80 + ". ") * 420, [
            "ab ba " * n + "ba ba " + "ab ba " * 80 for n in range(100)
        ]
    if kind == "elided":
        parts = ["ab ab "] * 100
        return "ab " * 70_000, ["... ".join([*parts, "ab abx"])] * 100
    words = "<a ](( 1. !!! -- " * 12_000
    return words, [words[:3000]] * 100


@pytest.mark.parametrize("kind", ["repeated", "elided", "signs"])
def test_a_long_hostile_text_is_checked_in_bounded_time(kind: str) -> None:
    text, quotes = hostile(kind)
    begun = time.process_time()

    shown = QuotableText([TranscriptPiece(1, "assistant", text)])
    for quote in quotes:
        shown.look_up(quote)

    assert time.process_time() - begun < 10  # a second or so; a quadratic search takes minutes


def test_a_hundred_quotes_are_looked_up_in_a_long_conversation_at_once() -> None:
    draw = random.Random(33)
    known = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(4000)]
    texts = [" ".join(draw.choices(known, k=700)) for _ in range(50)]
    pieces = [TranscriptPiece(n, "assistant", text) for n, text in enumerate(texts)]
    quotes = [" ".join(text.split()[50:70]) for text in texts]
    near = [" ".join([*text.split()[50:60], "the", *text.split()[60:70]]) for text in texts]
    begun = time.process_time()

    shown = QuotableText(pieces)
    turns = [shown.look_up(quote).turn for quote in quotes + near]

    assert time.process_time() - begun < 5  # about half a second
    assert sum(map(len, texts)) > 200_000
    assert turns == [*range(50), *range(50)]


def test_however_many_quotes_are_made_up_those_that_stand_there_are_found() -> None:
    shown = QuotableText(
        [TranscriptPiece(1, "assistant", "It comes on Friday. Nothing else is known.")]
    )
    quotes = [*(f"They sent {n} parcels at once." for n in range(300)), "nothing else"]

    assert [shown.look_up(quote).is_verified for quote in quotes] == [False] * 300 + [True]


def test_an_answer_that_rests_on_made_up_quotes_is_refused_with_all_of_them() -> None:
    shown = QuotableText(conversations.PIECES)
    agents, users, nobodys = map(
        shown.look_up,
        ["You can still exchange", "the courier broke it", "Your money will arrive on Friday."],
    )

    refuse_made_up(shown, [agents], [users])
    refuse_made_up(shown, [])
    with pytest.raises(MadeUpError, match=r"courier.*Friday") as refused:
        refuse_made_up(shown, [agents, users], [nobodys])

    assert "“Your money" in refused.value.twice


@pytest.mark.parametrize(
    ("quotes", "says"),
    [
        pytest.param(["It comes on Monday."], "never said", id="a day that is not there"),
        pytest.param(["It costs 41 euros"], "never said", id="a number that is not there"),
        pytest.param(["refund"], "too few words", id="a word of the reply"),
        pytest.param(["May."], "too few words", id="a month of the reply"),
        pytest.param(["parcel"], "never said", id="a word of no one"),
        pytest.param(["Your refund comas in May"], "inexactly", id="a letter wrong"),
        pytest.param(["Where is my money"], "someone else", id="the user's words"),
        pytest.param(["May.", "It comes on Monday."], "never said", id="the worst counts"),
        pytest.param(["May.", "Where is my money"], "someone else", id="worse than too short"),
    ],
)
def test_what_is_wrong_with_quotes_is_said(quotes: list[str], says: str) -> None:
    pieces = [
        TranscriptPiece(1, "user", "Where is my money?"),
        TranscriptPiece(1, "assistant", "Your refund comes in May. It costs 40 euros."),
    ]
    shown = QuotableText(pieces)

    with pytest.raises(MadeUpError) as refused:
        refuse_made_up(shown, map(shown.look_up, quotes))

    assert says in refused.value.twice
