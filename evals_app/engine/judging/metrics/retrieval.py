"""Retrieval against the expected answer: are useful chunks ranked first, and is all of it there?"""

import random
from collections.abc import Sequence
from itertools import product

from evals_app.engine.judging.answers.replies import UNDECIDED, Form, Opinion
from evals_app.engine.judging.metrics.composing import (
    MetricWording,
    compose_score,
    item_json,
    of,
    shares,
)
from evals_app.engine.judging.metrics.items import ListedItem, Task, to_items
from evals_app.engine.judging.metrics.sources import evidence_of, find_sources
from evals_app.engine.judging.prompts.dialogue import as_shown, dialogue_of
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.judging.text.segments import segments
from evals_app.engine.record.aids import MetricScore, RagQuestion
from evals_app.engine.record.trial import Chunk
from fixtures_app.ground.quoting import join_list

_PRECISION_RULES = """\
You judge what a search has found. CHUNKS stand in no particular order; EARLIER is what was said \
before the question. Each chunk is

- useful: with it one comes nearer to EXPECTED as the answer to QUESTION;
- not: it does not help with that."""

_PRECISION = Task("contextual_precision", _PRECISION_RULES, Form(("useful", "not")), block="CHUNKS")

_RECALL_RULES = """\
You judge what a search has found. SEGMENTS are parts of the answer that is expected to QUESTION; \
EARLIER is what was said before it. With the chunks in CONTEXT, and nothing else, each segment is

- attributable: a chunk says it, in whatever words, or it follows from chunks by plain reasoning or \
arithmetic;
- not: no chunk does."""

_RECALL = Task("contextual_recall", _RECALL_RULES, Form(("attributable", "not"), names_chunk=True))
_STRENGTH = ("attributable", UNDECIDED, "not")
_PARTS = MetricWording(
    "part", "not in the context", "in the context", of_what=" of the expected answer"
)
_MAX_TRIED = 10  # undecided chunks whose every outcome is tried


async def contextual_precision(
    question: RagQuestion, chunks: Sequence[Chunk], inquiry: Inquiry
) -> MetricScore:
    """Score how early the useful chunks come. One call; the judge does not learn the ranks."""
    opinions = await _usefulness(question, chunks, inquiry)
    verdicts = [opinion.verdict for opinion in opinions]
    shown = [
        item_json(
            ListedItem(rank, chunk.text),
            opinion.verdict,
            f"{opinion.objection} Chunk {chunk.id}.".strip(),
        )
        for rank, (chunk, opinion) in enumerate(zip(chunks, opinions, strict=True), 1)
    ]
    return compose_score(
        precision_bounds(verdicts),
        _about_ranks(verdicts),
        question=question,
        inquiry=inquiry,
        seen=[chunk.text for chunk in chunks],
        items=shown,
    )


def _about_ranks(verdicts: Sequence[str]) -> list[str]:
    """Write which chunks are useful, and how many are undecided."""
    at = [str(rank) for rank, verdict in enumerate(verdicts, 1) if verdict == "useful"]
    are = "is" if len(at) == 1 else "are"
    which = "" if not at else f", at rank{'' if len(at) == 1 else 's'} {join_list(at)}"
    count = of(len(at), len(verdicts), "chunk") if at else f"None of the {len(verdicts)} chunks"
    sentences = [f"{count} {are if at else 'is'} useful for the expected answer{which}."]
    if is_open := verdicts.count(UNDECIDED):
        sentences.append(f"The judge could not decide {of(is_open, len(verdicts), 'chunk')}.")
    return sentences


async def _usefulness(
    question: RagQuestion, chunks: Sequence[Chunk], inquiry: Inquiry
) -> list[Opinion]:
    """Return the opinion on each chunk, in the order of the ranks; the judge sees another order."""
    ranks = list(range(1, len(chunks) + 1))
    if not inquiry.is_scripted:  # a script's verdicts are written in the order of the ranks
        random.Random(inquiry.nonce).shuffle(ranks)
    items = to_items((chunks[rank - 1].text for rank in ranks), inquiry)
    expected = as_shown(question.view.expected_value(None), inquiry)
    blocks = dialogue_of(question.view).blocks(inquiry) | {"EXPECTED": expected}
    judged = await _PRECISION.judge(items, inquiry, blocks)
    by_rank = {rank: judged.opinions[place] for place, rank in enumerate(ranks, 1)}
    return [by_rank[rank] for rank in sorted(by_rank)]


def precision(useful: Sequence[bool]) -> float:
    """Return the mean of the precision at each useful rank, 0 if there is none.

    [1, 0, 1] is 0.8333, [0, 1] is 0.5: what is useful should come first.
    """
    hits = 0
    total = 0.0
    for rank, is_useful in enumerate(useful, 1):
        if is_useful:
            hits += 1
            total += hits / rank
    return total / hits if hits else 0.0


def precision_bounds(verdicts: Sequence[str]) -> tuple[float, float]:
    """Return the lowest and highest precision that the undecided chunks allow.

    Another useful chunk may lower it, so all outcomes are tried; with too many, any score is possible.
    """
    is_open = [place for place, verdict in enumerate(verdicts) if verdict == UNDECIDED]
    if len(is_open) > _MAX_TRIED:
        return 0.0, 1.0
    precisions = []
    for outcome in product((False, True), repeat=len(is_open)):
        decided = dict(zip(is_open, outcome, strict=True))
        precisions.append(
            precision([decided.get(n, word == "useful") for n, word in enumerate(verdicts)])
        )
    return min(precisions), max(precisions)


async def contextual_recall(
    question: RagQuestion, chunks: Sequence[Chunk], inquiry: Inquiry
) -> MetricScore:
    """Score the share of the expected answer that is in what was retrieved. One call.

    The expected answer is not blank.
    """
    items = to_items(segments(question.view.expected_value(None)), inquiry)
    parts = await find_sources(
        _RECALL,
        items,
        chunks,
        inquiry,
        sourced=frozenset({"attributable"}),
        strength=_STRENGTH,
        blocks=dialogue_of(question.view).blocks(inquiry),
    )
    shown = [part.as_json() for part in parts]
    return compose_score(
        shares([part.verdict for part in parts], {"attributable"}),
        _PARTS.sentences(shown, {"not"}, is_explained=question.is_explained),
        question=question,
        inquiry=inquiry,
        seen=[chunk.text for chunk in chunks],
        items=shown,
        evidence=evidence_of(parts),
    )
