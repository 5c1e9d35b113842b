"""What all metrics of many verdicts return: a score, a reason in sentences, every item."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals_app.engine.judging.answers.replies import UNDECIDED, Opinion
from evals_app.engine.judging.metrics.items import ListedItem
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.record.aids import MetricScore, RagQuestion
from evals_app.engine.record.grade import Evidence
from evals_app.engine.record.trial import Cause
from fixtures_app.ground.quoting import cut_middle, in_quotes, join_list
from fixtures_app.ground.strict_json import JsonObject

NO_CONTEXT = MetricScore(
    score=None,
    reason="Nothing was retrieved for this reply, and the turn has no retrieval_context.",
    cause=Cause.CASE,
)
_SHOWN_CHARS = 500
_NAMED = 3  # items that a reason quotes


def item_json(item: ListedItem, verdict: str, note: str = "") -> JsonObject:
    """Return an item as the review page shows it."""
    text = cut_middle(item.text, _SHOWN_CHARS)
    return {"id": item.id, "text": text, "verdict": verdict, "note": note}


def plain_items(
    items: Sequence[ListedItem], opinions: Mapping[int, Opinion]
) -> list[dict[str, Any]]:
    """Return items with verdicts that name no source."""
    return [
        item_json(item, opinion.verdict, opinion.objection)
        for item in items
        for opinion in [opinions[item.id]]
    ]


def compose_score(
    scores: tuple[float, float],
    sentences: Sequence[str],
    *,
    question: RagQuestion,
    inquiry: Inquiry,
    seen: Iterable[str] = (),
    items: Sequence[JsonObject] = (),
    evidence: tuple[Evidence, ...] = (),
    **details: object,
) -> MetricScore:
    """Put a score together with its reason.

    `scores` are its lowest and highest possible value, depending on the undecided items. `seen`
    are other texts that the judge has read, apart from the answer.
    """
    flags = inquiry.flags(question.view, seen=seen, evidence=evidence or None)
    counts = Counter(item["verdict"] for item in items)
    lowest, highest = scores
    return MetricScore(
        score=lowest,
        highest=None if highest == lowest else highest,
        reason=" ".join(filter(None, sentences)),
        evidence=evidence,
        details={**details, "counts": dict(counts), "items": list(items), "flags": flags},
    )


def shares(verdicts: Sequence[str], good: Collection[str]) -> tuple[float, float]:
    """Return the share of good verdicts, at its lowest and its highest."""
    count = sum(verdict in good for verdict in verdicts)
    return count / len(verdicts), (count + verdicts.count(UNDECIDED)) / len(verdicts)


def of(count: int, total: int, noun: str) -> str:
    """Write a count: `3 of 4 claims`."""
    return f"{count} of {total} {noun}{'' if total == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class MetricWording:
    """How a metric describes its items: 1 of 3 `noun`s`of_what` is `bad`; all are `good`."""

    noun: str
    bad: str
    good: str = ""
    of_what: str = ""

    def sentences(
        self, items: Sequence[JsonObject], bad: Collection[str], *, is_explained: bool
    ) -> list[str]:
        """Write how many items have a `bad` verdict or none, and if `is_explained`, which."""
        faults = [item for item in items if item["verdict"] in bad]
        is_open = [item for item in items if item["verdict"] == UNDECIDED]
        if not faults and not is_open:
            return [self._faultless(len(items))]
        verb = "is" if len(faults) == 1 else "are"
        off = f"{of(len(faults), len(items), self.noun)}{self.of_what} {verb} {self.bad}"
        unclear = f"The judge could not decide {of(len(is_open), len(items), self.noun)}"
        return [
            f"{words}{_quote_items(named) if is_explained else ''}."
            for words, named in ((off, faults), (unclear, is_open))
            if named
        ]

    def _faultless(self, total: int) -> str:
        if total == 1:
            which = f"The only {self.noun}{self.of_what} is"
            return f"{which} {self.good or f'not {self.bad}'}."
        if self.good:
            return f"All {total} {self.noun}s{self.of_what} are {self.good}."
        return f"None of the {total} {self.noun}s{self.of_what} is {self.bad}."


def _quote_items(items: Sequence[dict[str, Any]]) -> str:
    verdicts = {item["verdict"] for item in items}
    shown = [
        in_quotes(item["text"])
        + (f" ({item['verdict'].replace('_', ' ')})" if len(verdicts) > 1 else "")
        for item in items[:_NAMED]
    ]
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return f": {join_list(shown)}{more}"
