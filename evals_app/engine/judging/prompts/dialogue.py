"""The question and the answer that a metric looks at, and the messages before them."""

from dataclasses import dataclass

from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.judging.text.transcript import (
    MAX_PIECE_CHARS,
    MAX_SUBMISSION_CHARS,
    TranscriptPiece,
    cut,
    pieces_text,
    visible_pieces,
)
from evals_app.engine.record.trial import ShownFile, TurnRecord
from evals_app.engine.record.view import View


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What the user asked and the agent answered, word for word; `replies` are the answer by turns.

    Documents that the user showed are a part of what they asked; `files` are images and PDFs.

    At the end of a conversation that is its last turn, or with `scope: conversation` all of them.
    `earlier` is without what tools returned.
    """

    question: str
    answer: str
    replies: tuple[TranscriptPiece, ...] = ()
    earlier: tuple[TranscriptPiece, ...] = ()
    files: tuple[ShownFile, ...] = ()

    def blocks(self, inquiry: Inquiry) -> dict[str, str]:
        """Return the blocks of the question and of the earlier messages."""
        before = visible_pieces(self.earlier, inquiry.nonce)
        return {
            "EARLIER": pieces_text(before, inquiry.nonce),
            "QUESTION": as_shown(self.question, inquiry),
        }


def dialogue_of(view: View) -> Dialogue:
    """Find what the View is about."""
    turns = view.trial.turns
    if view.whole_text:
        first = 0
    elif view.turn is None:
        first = max(0, len(turns) - 1)
    else:
        first = next((n for n, turn in enumerate(turns) if turn == view.turn), len(turns) - 1)
    last = len(turns) if view.whole_text else first + 1
    earlier = [
        TranscriptPiece(None, f"{message.role}, before the conversation", message.text)
        for message in view.trial.history
    ]
    for number, turn in enumerate(turns[:first], 1):
        earlier += [
            TranscriptPiece(number, "user", _user_text(turn)),
            TranscriptPiece(number, "assistant", turn.reply),
        ]
    asked = turns[first:last]
    return Dialogue(
        question="\n\n".join(map(_user_text, asked)),
        answer=view.reply,
        replies=tuple(
            TranscriptPiece(n, "assistant", turn.reply) for n, turn in enumerate(asked, first + 1)
        ),
        earlier=tuple(earlier),
        files=tuple(file for turn in asked for file in turn.files if file.data),
    )


def _user_text(turn: TurnRecord) -> str:
    """Return a message of the user with the documents that it came with."""
    return "\n\n".join([*map(_file_text, turn.files), turn.user])


def _file_text(file: ShownFile) -> str:
    if file.text is None:
        return f"[File {file.name}]"
    return f"[File {file.name}]\n{cut(file.text, MAX_PIECE_CHARS)}\n[End of {file.name}]"


def as_shown(text: str, inquiry: Inquiry) -> str:
    """Escape a text, and cut it if it is very long."""
    return cut(inquiry.escape(text), MAX_SUBMISSION_CHARS)
