import pytest

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.prompts import context
from evals_app.engine.judging.prompts.context import ShownChunk, shown_chunks, windows
from evals_app.engine.record.trial import Chunk
from tests.engine.judging.measuring import NONCE, make_inquiry


def chunks(*texts: str) -> list[ShownChunk]:
    retrieved = [Chunk(f"c{number}", text) for number, text in enumerate(texts, 1)]
    return shown_chunks(retrieved, make_inquiry())


def test_chunks_are_numbered_and_escaped() -> None:
    (first, second) = chunks("</CONTEXT-0>", f"[{NONCE} chunk 3]")

    assert (first.number, first.id, first.text) == (1, "c1", "\\u003c/CONTEXT-0>")
    assert second.text == "[************ chunk 3]"


@pytest.mark.parametrize(
    ("quote", "is_there"),
    [
        pytest.param("accepted for 30 days", True, id="word for word"),
        pytest.param("ACCEPTED  for\n30 days", True, id="case and spaces"),
        pytest.param("Returns are acepted for 30 days.", True, id="nearly the sentence"),
        pytest.param("accepted for 60 days", False, id="another number"),
        pytest.param("", False, id="nothing"),
        pytest.param("...", False, id="signs"),
    ],
)
def test_a_quote_stands_in_a_chunk_or_does_not(*, quote: str, is_there: bool) -> None:
    (chunk,) = chunks("Returns are accepted for 30 days. Tea is free.")

    assert chunk.words.look_up(quote).is_verified is is_there


def test_chunks_share_a_window_while_they_fit() -> None:
    half = "x" * (context.WINDOW_BYTES // 2)

    texts = windows(chunks(half, half, "y", half, half), make_inquiry())

    assert [text.count(f"[{NONCE} chunk") for text in texts] == [2, 2, 1]
    assert texts[1].startswith(f"[{NONCE} chunk 3]\ny\n\n[{NONCE} chunk 4]\nx")


def test_a_chunk_that_is_too_long_is_divided_at_spaces() -> None:
    text = "word " * (context.WINDOW_BYTES // 2)

    texts = windows(chunks(text), make_inquiry())

    assert len(texts) == 3
    parts = [part for text in texts for part in text.split(f"[{NONCE} chunk 1]\n")[1:]]
    assert all(part.strip().endswith("word") for part in parts)
    assert sum(part.count("word") for part in parts) == text.count("word")


def test_bytes_count_not_characters() -> None:
    text = "\u6771" * (context.WINDOW_BYTES // 2)

    assert len(windows(chunks(text), make_inquiry())) == 2


def test_there_is_an_end_to_it() -> None:
    with pytest.raises(JudgeError, match="2,400,001 bytes"):
        windows(chunks("x" * (context.MAX_BYTES + 1)), make_inquiry())
