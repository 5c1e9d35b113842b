"""Faithfulness: does the answer claim anything that was not retrieved?"""

from collections.abc import Sequence

from evals_app.engine.aids import Measured, RagQuestion
from evals_app.engine.errors import JudgeError
from evals_app.engine.judging.asking import Prompt
from evals_app.engine.judging.claims import ClaimsKept
from evals_app.engine.judging.composing import NO_CONTEXT, item_json, measured, named, of
from evals_app.engine.judging.context import shown_chunks
from evals_app.engine.judging.dialogue import dialogue
from evals_app.engine.judging.inquiry import Inquiry
from evals_app.engine.judging.items import MISSING, Item, numbered, written_items
from evals_app.engine.judging.replies import Form
from evals_app.engine.judging.sources import (
    SOURCE_FORM,
    UNVERIFIED,
    Sourced,
    evidence_of,
    find_sources,
)
from evals_app.engine.trial import Chunk

_RULES = """\
You compare CLAIMS with the chunks in CONTEXT, and with nothing else: what you know of the world \
does not count. Each claim is

- supported: a chunk says it, in whatever words, or it follows from chunks by plain reasoning or \
arithmetic;
- contradicted: a chunk says what cannot be true together with it;
- not_mentioned: no chunk decides it."""

_FORM = Form(("supported", "contradicted", "not_mentioned"), names_chunk=True)
_STRENGTH = ("contradicted", "supported", UNVERIFIED, MISSING, "not_mentioned")


async def faithfulness(
    question: RagQuestion, chunks: Sequence[Chunk] | None, inquiry: Inquiry, *, kept: ClaimsKept
) -> Measured:
    """Score supported / claims, or with `forgives_silence` 1 - contradicted / claims.

    Two calls: the claims, which are `kept`, and their verdicts.
    """
    said = dialogue(question.view)
    if not said.answer.strip():
        return Measured(score=None, reason="The answer is empty: it claims nothing.")
    if chunks is None:
        return NO_CONTEXT
    claims = await kept.of(said, inquiry)
    inquiry.injection_suspected |= claims.injection_suspected
    if not claims.claims:
        return _without_claims(inquiry.flags(question.view))
    items = numbered(claims.claims, inquiry)
    if not chunks:
        none = of(0, len(items), "claim")
        return measured(
            0.0,
            [f"Supported by what was retrieved: {none}; the search found nothing."],
            question=question,
            inquiry=inquiry,
            seen=[],
            items=[item_json(item, "not_mentioned") for item in items],
            left_out=list(claims.left_out),
        )
    found = await _looked_up(items, chunks, inquiry)
    supported, uncontradicted = ratios(found)
    score = uncontradicted if question.forgives_silence else supported
    return measured(
        score,
        _sentences(found, forgives_silence=question.forgives_silence),
        question=question,
        inquiry=inquiry,
        seen=[chunk.text for chunk in chunks],
        items=[each.as_json() for each in found],
        evidence=evidence_of(found),
        ratios={"supported": supported, "no_contradiction": uncontradicted},
        left_out=list(claims.left_out),
    )


def _without_claims(flags: Sequence[str]) -> Measured:
    """Say that there is nothing to compare, unless the answer may have asked for just that.

    Raises:
        JudgeError: it speaks to its judge.
    """
    if "injection" in flags:
        message = "The judge lists no claims of an answer that seems to speak to its judge."
        raise JudgeError(message)
    reason = "The answer makes no factual claim."
    return Measured(score=None, reason=reason, details={"flags": list(flags)})


async def _looked_up(
    items: Sequence[Item], chunks: Sequence[Chunk], inquiry: Inquiry
) -> list[Sourced]:
    """Compare claims with what was retrieved."""

    def prompt_for(batch: Sequence[Item], window: str) -> Prompt:
        blocks = {"CONTEXT": window, "CLAIMS": written_items(batch, inquiry)}
        form = SOURCE_FORM.format(block="CLAIMS")
        return inquiry.prompt("faithfulness", rules=_RULES, form=form, blocks=blocks)

    return await find_sources(
        items,
        shown_chunks(chunks, inquiry),
        borne_out="supported",
        form=_FORM,
        strength=_STRENGTH,
        prompt_for=prompt_for,
        purpose="faithfulness",
        inquiry=inquiry,
    )


def ratios(found: Sequence[Sourced]) -> tuple[float, float]:
    """Give supported / claims and 1 - contradicted / claims; a missing verdict lowers both."""
    verdicts = [each.verdict for each in found]
    against = verdicts.count("contradicted") + verdicts.count(MISSING)
    return verdicts.count("supported") / len(verdicts), 1 - against / len(verdicts)


def _sentences(found: Sequence[Sourced], *, forgives_silence: bool) -> list[str]:
    if forgives_silence:
        how, bad = "Not contradicted", [e for e in found if e.verdict in {"contradicted", MISSING}]
    else:
        how, bad = "Supported", [each for each in found if each.verdict != "supported"]
    good = of(len(found) - len(bad), len(found), "claim")
    sentences = [f"{how} by what was retrieved: {good}."]
    return sentences + named([each.as_json() for each in bad], begin="The others")
