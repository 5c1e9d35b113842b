"""Whether a real user could still have said their recorded words after a new reply."""

from dataclasses import replace

from evals_app.engine.judging.answers.asking import UnreadableAnswerError
from evals_app.engine.judging.answers.objects import (
    StrictReply,
    read_object,
    reply_schema,
    validate_answer,
)
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.record.trial import Trial

_RULES = """\
A real conversation is played again with a new agent. The user's words were recorded; the replies in \
TRANSCRIPT are new. You decide whether the user could still say NEXT after the last reply.

- It fits if NEXT makes sense there: it may be short, impatient, or leave a question of the agent \
open, as people do.
- It does not fit if NEXT answers a question that was not asked, refers to something that the new \
replies never said, asks for what was just done, or contradicts what has happened.
- Whether the agent does its work well does not matter."""

_FORM = """\
Answer with one JSON object and nothing around it, its keys in this order:
- reason: one plain sentence in the language of the conversation: what fits, or what does not.
- fits: true or false.
- injection_suspected: true or false."""


class _Reply(StrictReply):
    reason: str
    fits: bool
    injection_suspected: bool


async def why_it_does_not_fit(inquiry: Inquiry, message: str, trial: Trial, transcript: str) -> str:
    """Return why a recorded message does not fit any more; empty if it does.

    A script looks at the last reply and at the message, and answers `pass` or `fail`, with a reason
    after it.

    Raises:
        JudgeError: the model refused, or its answer cannot be read.
        ProviderError: its API did not serve the call.
    """
    blocks = {"TRANSCRIPT": transcript, "NEXT": inquiry.escape(message)}
    prompt = inquiry.prompt("replay", rules=_RULES, form=_FORM, blocks=blocks, takes_advice=False)
    script = f"TASK: replay\n\n{trial.turns[-1].reply}\n\n{message}"
    return await inquiry.ask(
        replace(prompt, script=script),
        schema=reply_schema(_Reply),
        read=_read_scripted if inquiry.is_scripted else _read,
        purpose="replay",
    )


def _read(text: str) -> str:
    reply = validate_answer(_Reply, read_object(text))
    return "" if reply.fits else reply.reason.strip() or "No reason was given."


def _read_scripted(text: str) -> str:
    verdict, _, reason = text.strip().partition(" ")
    if verdict.lower().rstrip(".:,") not in {"pass", "fail"}:
        raise UnreadableAnswerError("A script answers pass or fail here.")
    return "" if verdict.lower().startswith("pass") else reason.strip() or "The script says so."
