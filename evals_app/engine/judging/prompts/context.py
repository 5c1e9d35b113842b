"""Retrieved chunks as a judge reads them: numbered, escaped, in as many windows as they need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.answers.evidence import QuotableText
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.judging.text.transcript import TranscriptPiece
from evals_app.engine.record.trial import Chunk

WINDOW_BYTES = 120_000  # about 30,000 tokens
MAX_BYTES = 20 * WINDOW_BYTES


@dataclass(frozen=True)
class ShownChunk:
    """A chunk as shown; `number` is its rank, counted from 1."""

    number: int
    id: str
    text: str

    @cached_property
    def words(self) -> QuotableText:
        """The chunk, ready to look quotes up in it."""
        return QuotableText([TranscriptPiece(None, "CHUNKS", self.text)])


def shown_chunks(chunks: Sequence[Chunk], inquiry: Inquiry) -> list[ShownChunk]:
    """Number and escape chunks."""
    return [
        ShownChunk(number, chunk.id, inquiry.escape(chunk.text))
        for number, chunk in enumerate(chunks, 1)
    ]


def windows(chunks: Sequence[ShownChunk], inquiry: Inquiry) -> list[str]:
    """Write chunks into texts of up to WINDOW_BYTES; one that is longer is divided.

    Raises:
        JudgeError: there are more than MAX_BYTES.
    """
    total = sum(size(chunk.text) for chunk in chunks)
    if total > MAX_BYTES:
        raise JudgeError(f"The context has {total:,} bytes; a judge reads at most {MAX_BYTES:,}.")
    texts: list[list[str]] = []
    room = 0
    for chunk in chunks:
        for part in _parts(chunk.text):
            room -= size(part)
            if room < 0 or not texts:
                texts.append([])
                room = WINDOW_BYTES - size(part)
            texts[-1].append(f"[{inquiry.nonce} chunk {chunk.number}]\n{part}")
    return ["\n\n".join(parts) for parts in texts]


def _parts(text: str) -> Iterator[str]:
    most = WINDOW_BYTES // 4  # characters; none has more than four bytes
    while size(text) > WINDOW_BYTES:
        end = text.rfind(" ", 1, most) + 1 or most
        yield text[:end]
        text = text[end:]
    yield text


def size(text: str) -> int:
    """Count the bytes of a text; four make about a token."""
    return len(text.encode("utf-8", "surrogatepass"))
