"""A conversation as the judge reads it: numbered turns with tool calls and results, bounded in size."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from evals_app.engine.judging.text.blocks import escape_text
from evals_app.engine.record.trial import Message, ShownFile, TurnRecord
from evals_app.engine.record.view import View

# Characters; together well below the window of the smallest judge in use.
MAX_TRANSCRIPT_CHARS = 120_000
# Replies that are longer than a judge reads fail unread; this bounds what escaping adds.
MAX_SUBMISSION_CHARS = 250_000
MAX_PIECE_CHARS = 12_000
MAX_SPEAKER_CHARS = 300
_HEADING_CHARS = 30  # what a heading adds to the speaker

_IN_SUBMISSION = "(this is what stands in SUBMISSION)"


@dataclass(frozen=True, slots=True)
class TranscriptPiece:
    """A message or an action, as shown; `turn` is 1-based, None before the first turn."""

    turn: int | None
    speaker: str
    text: str
    is_history: bool = False


def cut(text: str, limit: int) -> str:
    """Cut a text in the middle and note how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out here ...]\n{text[-half:]}"


def conversation(view: View) -> list[TranscriptPiece]:
    """Return what happened before the reply of the turn in sight (at the end: all), uncut, unescaped."""
    pieces = list(_history(view.trial.history))
    attachments = count(1)
    for number, turn in enumerate(_in_sight(view), 1):
        pieces += _turn(number, turn, is_graded=turn == view.turn, attachments=attachments)
    return pieces


def attached_files(view: View) -> list[ShownFile]:
    """Return the images and PDFs of the user up to the View, in the order of their numbers."""
    return [file for turn in _in_sight(view) for file in turn.files if file.data]


def _in_sight(view: View) -> Sequence[TurnRecord]:
    turns = view.trial.turns
    graded = next((number for number, turn in enumerate(turns, 1) if turn == view.turn), None)
    return turns[:graded]


def _history(messages: Iterable[Message]) -> Iterator[TranscriptPiece]:
    for message in messages:
        for piece in _calls(None, message):
            yield replace(piece, is_history=True)
        speaker = f"{message.role}, before the conversation"
        yield TranscriptPiece(None, speaker, message.text, is_history=True)


def _turn(
    number: int, turn: TurnRecord, *, is_graded: bool, attachments: Iterator[int]
) -> Iterator[TranscriptPiece]:
    yield TranscriptPiece(number, "user", turn.user)
    for file in turn.files:
        yield _file(number, file, attachments)
    messages = list(turn.messages)
    for message in messages[:-1]:
        if message.text:
            yield TranscriptPiece(number, "assistant", message.text)
        yield from _calls(number, message)
    if messages:
        yield from _calls(number, messages[-1])
    if turn.calls_missing or not turn.reports_calls:
        yield TranscriptPiece(number, "note", "The tool calls of this turn are unknown.")
    yield TranscriptPiece(number, "assistant", _IN_SUBMISSION if is_graded else turn.reply)
    if turn.error is not None:
        yield TranscriptPiece(number, "error of the agent", turn.error)


def _file(number: int, file: ShownFile, attachments: Iterator[int]) -> TranscriptPiece:
    """Return a document's text as the agent saw it; of other files, only the name."""
    if file.text is not None:
        return TranscriptPiece(number, f"file of the user, {file.name}", file.text)
    if file.data:
        return TranscriptPiece(
            number, "note", f"The user showed {file.name}: attachment {next(attachments)}."
        )
    return TranscriptPiece(number, "note", f"The user showed {file.name}, which you are not shown.")


def _calls(number: int | None, message: Message) -> Iterator[TranscriptPiece]:
    for call in message.tool_calls:
        yield TranscriptPiece(number, f"tool call {call.name}", _json(call.args))
        if call.error is None:
            yield TranscriptPiece(number, f"tool result {call.name}", _json(call.result))
        else:
            yield TranscriptPiece(number, f"tool error {call.name}", call.error)


def _json(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "(cannot be shown: nested too deeply, or a number too long)"


def visible_pieces(pieces: Iterable[TranscriptPiece], nonce: str) -> list[TranscriptPiece]:
    """Cut and escape pieces; where all of them are too much, leave some out in the middle."""
    # Escaped first, because that can make a text ten times longer than its limit.
    cuts = [
        replace(
            piece,
            speaker=cut(escape_text(piece.speaker, nonce).replace("\n", " "), MAX_SPEAKER_CHARS),
            text=cut(escape_text(piece.text, nonce), MAX_PIECE_CHARS),
        )
        for piece in pieces
    ]
    if sum(_size(piece) for piece in cuts) <= MAX_TRANSCRIPT_CHARS:
        return cuts
    head = _fitting(cuts)
    tail = _fitting(cuts[:head:-1]) if head < len(cuts) else 0
    left_out = len(cuts) - head - tail
    if left_out <= 0:
        return cuts
    note = TranscriptPiece(None, "note", f"[... {left_out} entries left out here ...]")
    return [*cuts[:head], note, *cuts[len(cuts) - tail :]]


def _fitting(pieces: list[TranscriptPiece]) -> int:
    """Count the pieces from the start that fill half of the limit."""
    room = MAX_TRANSCRIPT_CHARS // 2
    for fitting, piece in enumerate(pieces):
        room -= _size(piece)
        if room < 0:
            return fitting
    return len(pieces)


def _size(piece: TranscriptPiece) -> int:
    return len(piece.text) + len(piece.speaker) + _HEADING_CHARS


def pieces_text(pieces: Iterable[TranscriptPiece], nonce: str) -> str:
    """Write pieces under headings that carry the nonce: a text cannot fake the next message."""
    return "\n\n".join(
        f"[{nonce} {'' if piece.turn is None else f'turn {piece.turn}, '}{piece.speaker}]\n{piece.text}"
        for piece in pieces
    )
