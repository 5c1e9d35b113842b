"""Relevancy: are the answer and the retrieved context relevant to the question?"""

from collections.abc import Sequence
from dataclasses import replace

from evals_app.engine.judging.answers.replies import Form
from evals_app.engine.judging.metrics.composing import (
    MetricWording,
    compose_score,
    of,
    plain_items,
    shares,
)
from evals_app.engine.judging.metrics.items import Task, to_items
from evals_app.engine.judging.prompts.dialogue import as_shown, dialogue_of
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.judging.text.segments import segments
from evals_app.engine.record.aids import MetricScore, RagQuestion
from evals_app.engine.record.trial import Chunk

_ANSWER_RULES = """\
You judge whether an answer bears on the question that was asked. EARLIER is what was said before; \
ANSWER is the whole answer, SEGMENTS are its parts. Whether they are true does not matter. Each is

- direct: it answers the question or a part of it;
- supporting: it helps to understand or to use the answer: a reason, a source, a condition, a \
necessary warning, a question back that is needed, a short courtesy;
- irrelevant: it does neither, or only repeats.

Of the whole answer say whether it answers the question: fully, partly, no (it speaks of something \
else or evades), or refused (it declines, or says that it does not know or cannot help)."""

_ANSWER = Task(
    "answer_relevancy",
    _ANSWER_RULES,
    Form(
        ("direct", "supporting", "irrelevant"),
        about_all={"answers_question": ("fully", "partly", "no", "refused")},
    ),
)
_EVADED_CAP = 0.5
_IRRELEVANT = "irrelevant"
_PARTS = MetricWording("part", _IRRELEVANT, "relevant", of_what=" of the reply")
_PASSAGES = MetricWording("retrieved passage", _IRRELEVANT, "relevant")

_CONTEXT_RULES = """\
You judge what a search has found. SEGMENTS are parts of the chunks that it returned; EARLIER is \
what was said before the question. Each segment is

- relevant: it says something that helps to answer QUESTION, or is needed to understand what does;
- irrelevant: it does not."""

_CONTEXT = Task("contextual_relevancy", _CONTEXT_RULES, Form(("relevant", "irrelevant")))


async def answer_relevancy(question: RagQuestion, inquiry: Inquiry) -> MetricScore:
    """Score (direct + supporting) / segments; an evasion is capped at 0.5, a refusal is 0.

    `forgives_refusal` lifts the latter. One call.
    """
    dialogue = dialogue_of(question.view)
    if not dialogue.answer.strip():
        return MetricScore(score=0.0, reason="The reply is empty.")
    items = to_items(segments(dialogue.answer), inquiry)

    blocks = dialogue.blocks(inquiry) | {"ANSWER": as_shown(dialogue.answer, inquiry)}
    judged = await _ANSWER.judge(items, inquiry, blocks)
    answers = judged.about_all["answers_question"]
    shown = plain_items(items, judged.opinions)
    bounds = shares([item["verdict"] for item in shown], {"direct", "supporting"})
    lowest, highest = (
        _as_a_whole(share, answers, forgives_refusal=question.forgives_refusal) for share in bounds
    )
    return compose_score(
        (lowest, highest),
        [
            _why_lower(bounds[1], highest),
            *_PARTS.sentences(shown, {"irrelevant"}, is_explained=question.is_explained),
        ],
        question=question,
        inquiry=inquiry,
        items=shown,
        answers_question=answers,
    )


def _as_a_whole(share: float, answers: str, *, forgives_refusal: bool) -> float:
    """Return the score of a reply of which this share is relevant."""
    if answers == "no":
        return min(share, _EVADED_CAP)
    return 0.0 if answers == "refused" and not forgives_refusal else share


def _why_lower(share: float, score: float) -> str:
    if score == share:
        return ""
    if score:
        return "As a whole, the reply does not answer the question, so the score is at most 0.5."
    return "The reply declines to answer, so the score is 0."


async def contextual_relevancy(
    question: RagQuestion, chunks: Sequence[Chunk], inquiry: Inquiry
) -> MetricScore:
    """Score the share of what was retrieved that helps to answer.

    One call for every 40 segments, and at least one for every 30,000 tokens.
    """
    texts = [(rank, text) for rank, chunk in enumerate(chunks, 1) for text in segments(chunk.text)]
    if not texts:
        return MetricScore(score=0.0, reason="What was retrieved is empty.")
    items = [
        replace(item, heading=f"chunk {rank}")
        for item, (rank, _) in zip(
            to_items((text for _, text in texts), inquiry), texts, strict=True
        )
    ]
    judged = await _CONTEXT.judge(items, inquiry, dialogue_of(question.view).blocks(inquiry))
    by_chunk: dict[int, list[str]] = {rank: [] for rank, _ in enumerate(chunks, 1)}
    for item, (rank, _) in zip(items, texts, strict=True):
        by_chunk[rank].append(judged.opinions[item.id].verdict)
    per_chunk = [
        {
            "rank": rank,
            "id": chunk.id,
            "relevant": (relevant := by_chunk[rank].count("relevant")),
            "segments": (total := len(by_chunk[rank])),
            "ratio": relevant / total if total else None,
        }
        for rank, chunk in enumerate(chunks, 1)
    ]
    shown = plain_items(items, judged.opinions)
    sentences = _PASSAGES.sentences(shown, {"irrelevant"}, is_explained=False)
    if useless := sum(
        verdicts.count("irrelevant") == len(verdicts) > 0 for verdicts in by_chunk.values()
    ):
        is_ = "is" if useless == 1 else "are"
        sentences.append(f"{of(useless, len(chunks), 'chunk')} {is_} not useful.")
    return compose_score(
        shares([item["verdict"] for item in shown], {"relevant"}),
        sentences,
        question=question,
        inquiry=inquiry,
        seen=[chunk.text for chunk in chunks],
        items=shown,
        chunks=per_chunk,
    )
