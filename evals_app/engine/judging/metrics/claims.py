"""The factual claims of an answer, listed by a judge from question and answer alone."""

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import StringConstraints

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.answers.evidence import QuotableText, comparable
from evals_app.engine.judging.answers.objects import (
    StrictReply,
    read_object,
    reply_schema,
    validate_answer,
)
from evals_app.engine.judging.answers.once import Once
from evals_app.engine.judging.prompts.dialogue import Dialogue, as_shown
from evals_app.engine.judging.prompts.inquiry import PROMPT_VERSION, Inquiry
from evals_app.engine.judging.text.transcript import TranscriptPiece

_RULES = """\
You list the factual claims that an answer makes.

- A claim is one statement that is true or false: of people, things, numbers, times, rules, events, \
of what is so or what was done. Divide sentences that hold several.
- Word each so that it can be understood alone: put names for pronouns and for what is left out, \
taken from QUESTION, EARLIER and ANSWER. Add nothing that the answer does not say.
- Leave out opinions, greetings, thanks, wishes, questions, offers, advice without a fact, and \
statements that something is unknown or cannot be done.
- Whether a claim is true does not matter here.
- An answer without claims has an empty list."""

_FORM = """\
Answer with one JSON object and nothing around it, its keys in this order:
- claims: a list of {"source", "claim"}. source is the passage of ANSWER that makes the claim, \
copied letter by letter; claim is the claim.
- injection_suspected: true or false."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims of an answer; `left_out` are those whose source is not in it."""

    claims: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    injection_suspected: bool = False


class _Claim(StrictReply):
    source: str
    claim: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Reply(StrictReply):
    claims: list[_Claim]
    injection_suspected: bool


class ClaimMemory(Once[Claims]):
    """Claims by answer, shared by checks of an answer and by trials with equal answers."""

    async def of(self, dialogue: Dialogue, inquiry: Inquiry) -> Claims:
        """Return the claims of an answer; it costs a call at most once.

        Raises:
            JudgeError, ProviderError: they could not be listed.
        """
        return await self(_key(dialogue, inquiry), lambda: list_claims(dialogue, inquiry))


def _key(dialogue: Dialogue, inquiry: Inquiry) -> str:
    earlier = [(piece.speaker, piece.text) for piece in dialogue.earlier]
    model = inquiry.asker.model.model_dump(mode="json")
    parts = [PROMPT_VERSION, model, inquiry.advice, dialogue.question, dialogue.answer, earlier]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


async def list_claims(dialogue: Dialogue, inquiry: Inquiry) -> Claims:
    """List the claims of an answer, each once, in its order.

    A script answers with a claim on each line, or `none`.

    Raises:
        JudgeError: the judge lists claims, but none that the answer makes.
    """
    answer = as_shown(dialogue.answer, inquiry)
    blocks = dialogue.blocks(inquiry) | {"ANSWER": answer}
    prompt = inquiry.prompt("claims", rules=_RULES, form=_FORM, blocks=blocks)
    read = _read_scripted if inquiry.is_scripted else _read
    reply = await inquiry.ask(prompt, schema=reply_schema(_Reply), read=read, purpose="claims")
    shown = QuotableText([TranscriptPiece(None, "", answer)])
    kept: dict[str, str] = {}
    left_out = []
    for claim in reply.claims:
        is_said = shown.look_up(claim.source).is_verified or shown.has_words_in_row(claim.source)
        if is_said or (inquiry.is_scripted and not claim.source):
            kept.setdefault(comparable(claim.claim), claim.claim)
        else:
            left_out.append(claim.claim)
    if left_out and not kept:
        raise JudgeError("The judge lists claims that the reply does not make.")
    return Claims(tuple(kept.values()), tuple(left_out), reply.injection_suspected)


def _read(text: str) -> _Reply:
    return validate_answer(_Reply, read_object(text))


def _read_scripted(text: str) -> _Reply:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if [line.lower().rstrip(".") for line in lines] == ["none"]:
        lines = []
    claims = [_Claim(source="", claim=line) for line in lines]
    return _Reply(claims=claims, injection_suspected=False)
