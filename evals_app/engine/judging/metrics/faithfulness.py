"""Faithfulness: does the answer claim anything that was not retrieved?"""

from collections.abc import Sequence

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.answers.replies import UNDECIDED, Form
from evals_app.engine.judging.metrics.claims import ClaimMemory
from evals_app.engine.judging.metrics.composing import (
    NO_CONTEXT,
    MetricWording,
    compose_score,
    item_json,
    of,
    shares,
)
from evals_app.engine.judging.metrics.items import Task, to_items
from evals_app.engine.judging.metrics.sources import evidence_of, find_sources
from evals_app.engine.judging.prompts.dialogue import dialogue_of
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.record.aids import MetricScore, RagQuestion
from evals_app.engine.record.trial import Chunk

_RULES = """\
You compare CLAIMS with the chunks in CONTEXT, and with nothing else: what you know of the world \
does not count. Each claim is

- supported: a chunk says it, in whatever words, or it follows from chunks by plain reasoning or \
arithmetic;
- contradicted: a chunk says what cannot be true together with it;
- not_mentioned: no chunk decides it."""

_TASK = Task(
    "faithfulness",
    _RULES,
    Form(("supported", "contradicted", "not_mentioned"), names_chunk=True),
    block="CLAIMS",
)
_STRENGTH = ("contradicted", "supported", UNDECIDED, "not_mentioned")
_SOURCED = frozenset({"supported", "contradicted"})
_UNSUPPORTED = (
    MetricWording("claim", "not in the context", "in the context"),
    {"contradicted", "not_mentioned"},
)
_CONTRADICTED = MetricWording("claim", "contradicted by the context"), {"contradicted"}


async def faithfulness(
    question: RagQuestion, chunks: Sequence[Chunk] | None, inquiry: Inquiry, *, kept: ClaimMemory
) -> MetricScore:
    """Score supported / claims, or with `forgives_silence` 1 - contradicted / claims.

    Two calls: the claims, which are `kept`, and their verdicts.
    """
    dialogue = dialogue_of(question.view)
    if not dialogue.answer.strip():
        reason = "The reply is empty, so there is nothing to compare with the context."
        return MetricScore(score=None, reason=reason)
    if chunks is None:
        return NO_CONTEXT
    claims = await kept.of(dialogue, inquiry)
    inquiry.injection_suspected |= claims.injection_suspected
    if not claims.claims:
        return _without_claims(question, inquiry)
    items = to_items(claims.claims, inquiry)
    if not chunks:
        are = "is" if len(items) == 1 else "are"
        count = of(len(items), len(items), "claim")
        return compose_score(
            (0.0, 0.0),
            [f"{count} {are} not in the context: the search found nothing."],
            question=question,
            inquiry=inquiry,
            items=[item_json(item, "not_mentioned") for item in items],
            left_out=list(claims.left_out),
        )
    sourced = await find_sources(
        _TASK, items, chunks, inquiry, sourced=_SOURCED, strength=_STRENGTH
    )
    verdicts = [claim.verdict for claim in sourced]
    supported = shares(verdicts, {"supported"})
    uncontradicted = shares(verdicts, {"supported", "not_mentioned"})
    shown = [claim.as_json() for claim in sourced]
    wording, bad = _CONTRADICTED if question.forgives_silence else _UNSUPPORTED
    return compose_score(
        uncontradicted if question.forgives_silence else supported,
        wording.sentences(shown, bad, is_explained=question.is_explained),
        question=question,
        inquiry=inquiry,
        seen=[chunk.text for chunk in chunks],
        items=shown,
        evidence=evidence_of(sourced),
        ratios={"supported": supported[0], "no_contradiction": uncontradicted[0]},
        left_out=list(claims.left_out),
    )


def _without_claims(question: RagQuestion, inquiry: Inquiry) -> MetricScore:
    """Return no score, unless the judge may have been misled."""
    flags = inquiry.flags(question.view)
    if "injection" in flags:  # the reply may have asked its judge for just that
        raise JudgeError("The judge lists no claims, and the reply seems to address the judge.")
    reason = "The reply makes no factual claim, so there is nothing to compare with the context."
    return MetricScore(score=None, reason=reason, details={"flags": flags})
