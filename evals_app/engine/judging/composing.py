"""What all metrics of many verdicts give: a score, a reason in sentences, every item."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evals_app.engine.aids import Measured, RagQuestion
from evals_app.engine.judging.inquiry import Inquiry
from evals_app.engine.judging.items import MISSING, Item
from evals_app.engine.judging.replies import Opinion
from evals_app.engine.quoting import listed, quoted, shortened
from evals_app.engine.trial import Cause, Evidence

NO_CONTEXT = Measured(
    score=None,
    reason="Nothing was looked up for this answer, and the turn names no retrieval_context.",
    cause=Cause.CASE,
)
_SHOWN_CHARS = 500
_NAMED = 3  # items that a reason quotes
NOT_SAID = "The judge gave no verdict; it counts against the score."


def item_json(item: Item, verdict: str, note: str = "") -> dict[str, Any]:
    """Give an item as the review page shows it."""
    text = shortened(item.text, _SHOWN_CHARS)
    return {"id": item.id, "text": text, "verdict": verdict, "note": note}


def plain_items(items: Sequence[Item], opinions: Mapping[int, Opinion]) -> list[dict[str, Any]]:
    """Give items with verdicts that name no source."""
    return [
        item_json(item, verdict, NOT_SAID if verdict == MISSING else "")
        for item in items
        for verdict in [opinions[item.id].verdict]
    ]


def measured(
    score: float,
    sentences: Sequence[str],
    *,
    question: RagQuestion,
    inquiry: Inquiry,
    seen: Iterable[str],
    items: Sequence[dict[str, Any]] = (),
    evidence: tuple[Evidence, ...] = (),
    **details: Any,
) -> Measured:
    """Put a score together with its reason; unexplained, that is its first sentence.

    `seen` are texts of others that the judge has read, beside the answer.
    """
    flags = inquiry.flags(question.view, seen=seen, evidence=evidence or None)
    counts = Counter(item["verdict"] for item in items)
    return Measured(
        score=score,
        reason=" ".join(sentences if question.is_explained else sentences[:1]),
        evidence=evidence,
        details={**details, "counts": dict(counts), "items": list(items), "flags": flags},
    )


def of(count: int, total: int, noun: str) -> str:
    """Say how many: `3 of 4 claims`."""
    return f"{count} of {total} {noun}{'' if total == 1 else 's'}"


def named(items: Iterable[dict[str, Any]], *, begin: str) -> list[str]:
    """Give a sentence that quotes some items with their verdicts, none where there are no items."""
    found = [f"{quoted(each['text'])} ({each['verdict'].replace('_', ' ')})" for each in items]
    if not found:
        return []
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return [f"{begin}: {listed(found[:_NAMED])}{more}."]
