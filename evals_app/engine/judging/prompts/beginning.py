"""What a judge is shown of an execution: where all questions about the same View begin.

APIs charge a fraction for what they have read before, if a request begins with the very same text.
So whatever differs from check to check comes after this, and the nonce is the execution's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from evals_app.engine.judging.text.blocks import block, escape_text, make_nonce
from evals_app.engine.judging.text.transcript import (
    MAX_SUBMISSION_CHARS,
    TranscriptPiece,
    attached_files,
    conversation,
    cut,
    pieces_text,
    visible_pieces,
)
from evals_app.engine.llm.call import FileContent
from evals_app.engine.record.trial import ShownFile, Trial
from evals_app.engine.record.view import View

_MAX_TOOLS = 200
_EMPTY = "(empty)"
_ABOUT = frozenset({"TOOLS", "TODAY"})


@dataclass(frozen=True, slots=True)
class Beginning:
    """Blocks that every question about a View begins with; nothing in `text` depends on a check.

    `pieces` are what a judge may quote, the submission first. `nonce` is what delimiters carry, also
    those of the blocks that follow. `script` is what the rules of a scripted judge see of it: the
    names of tools and the day would match rules about the conversation. `files` are the images and
    PDFs that the user showed.
    """

    text: str
    nonce: str
    pieces: tuple[TranscriptPiece, ...]
    script: str
    files: tuple[FileContent, ...] = ()


def beginning(view: View, *, secret: bytes) -> Beginning:
    """Write what a judge is shown of a View; the same inputs give the same text."""
    trial = view.trial
    nonce = make_nonce(secret, trial.case, trial.number)  # the agent never sees it
    context, graded, pieces = _conversation(view, nonce)
    contents = {
        "AGENT_SYSTEM_PROMPT": escape_text(trial.system_prompt, nonce),
        "TOOLS": escape_text(_tools(trial), nonce),
        "TODAY": escape_text(_today(trial), nonce),
        "TRANSCRIPT": pieces_text(context, nonce),
        "SUBMISSION": graded if graded.strip() else _EMPTY,
    }
    blocks = {n: block(n, text, nonce) for n, text in contents.items() if text.strip()}
    script = (text for name, text in blocks.items() if name not in _ABOUT)
    files = as_contents(attached_files(view))
    return Beginning("\n\n".join(blocks.values()), nonce, tuple(pieces), "\n\n".join(script), files)


def as_contents(files: Iterable[ShownFile]) -> tuple[FileContent, ...]:
    """Return images and PDFs as they are sent to a model."""
    return tuple(FileContent(file.name, file.media_type, file.data) for file in files)


def _conversation(
    view: View, nonce: str
) -> tuple[list[TranscriptPiece], str, list[TranscriptPiece]]:
    """Return the earlier messages, the graded text, and all of it as pieces."""
    transcript = visible_pieces(conversation(view), nonce)
    if view.turn is None:
        # The whole conversation is graded; earlier messages are only its context.
        context = [piece for piece in transcript if piece.is_history]
        pieces = [piece for piece in transcript if not piece.is_history]
        return context, pieces_text(pieces, nonce), [*pieces, *context]
    text = cut(escape_text(view.reply, nonce), MAX_SUBMISSION_CHARS)
    numbers = (n for n, turn in enumerate(view.trial.turns, 1) if turn == view.turn)
    graded = TranscriptPiece(next(numbers, view.turn.index), "assistant", text)
    return transcript, text, [graded, *reversed(transcript)]


def _tools(trial: Trial) -> str:
    lines = [
        f"{tool.name}: {tool.description}" if tool.description else tool.name
        for tool in trial.tools[:_MAX_TOOLS]
    ]
    if (left := len(trial.tools) - _MAX_TOOLS) > 0:
        lines.append(f"[... {left} tools left out here ...]")
    return "\n".join(lines)


def _today(trial: Trial) -> str:
    """Return what time it was for the agent; without a frozen clock the day is enough."""
    moment = trial.clock or trial.started_at
    try:
        form = "%A, %Y-%m-%d %H:%M %Z" if trial.clock else "%A, %Y-%m-%d"
        return datetime.fromisoformat(moment).strftime(form).strip()
    except ValueError:
        return moment
