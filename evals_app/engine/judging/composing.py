"""What all metrics of many verdicts give: a score, a reason in sentences, every item."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals_app.engine.aids import Measured, RagQuestion
from evals_app.engine.judging.inquiry import Inquiry
from evals_app.engine.judging.items import Item
from evals_app.engine.judging.replies import UNDECIDED, Opinion
from evals_app.engine.quoting import listed, quoted, shortened
from evals_app.engine.trial import Cause, Evidence

NO_CONTEXT = Measured(
    score=None,
    reason="Nothing was looked up for this answer, and the turn names no retrieval_context.",
    cause=Cause.CASE,
)
_SHOWN_CHARS = 500
_NAMED = 3  # items that a reason quotes


def item_json(item: Item, verdict: str, note: str = "") -> dict[str, Any]:
    """Give an item as the review page shows it."""
    text = shortened(item.text, _SHOWN_CHARS)
    return {"id": item.id, "text": text, "verdict": verdict, "note": note}


def plain_items(items: Sequence[Item], opinions: Mapping[int, Opinion]) -> list[dict[str, Any]]:
    """Give items with verdicts that name no source."""
    return [
        item_json(item, opinion.verdict, opinion.objection)
        for item in items
        for opinion in [opinions[item.id]]
    ]


def measured(
    scores: tuple[float, float],
    sentences: Sequence[str],
    *,
    question: RagQuestion,
    inquiry: Inquiry,
    seen: Iterable[str],
    items: Sequence[dict[str, Any]] = (),
    evidence: tuple[Evidence, ...] = (),
    **details: Any,
) -> Measured:
    """Put a score together with its reason.

    `scores` are the lowest and the highest that it may be, whatever the undecided items are. `seen`
    are texts of others that the judge has read, beside the answer.
    """
    flags = inquiry.flags(question.view, seen=seen, evidence=evidence or None)
    counts = Counter(item["verdict"] for item in items)
    lowest, highest = scores
    return Measured(
        score=lowest,
        highest=None if highest == lowest else highest,
        reason=" ".join(filter(None, sentences)),
        evidence=evidence,
        details={**details, "counts": dict(counts), "items": list(items), "flags": flags},
    )


def of(count: int, total: int, noun: str) -> str:
    """Say how many: `3 of 4 claims`."""
    return f"{count} of {total} {noun}{'' if total == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Wording:
    """How a metric speaks of its items: 1 of 3 `noun`s`of_what` is `bad`; all are `good`."""

    noun: str
    bad: str
    good: str = ""
    of_what: str = ""

    def sentences(
        self, items: Sequence[dict[str, Any]], bad: Collection[str], *, is_explained: bool
    ) -> list[str]:
        """Say how many items have a `bad` verdict or none, and if `is_explained`, which."""
        faults = [each for each in items if each["verdict"] in bad]
        is_open = [each for each in items if each["verdict"] == UNDECIDED]
        if not faults and not is_open:
            return [self._faultless(len(items))]
        total = len(items)
        found = []
        if faults:
            verb = "is" if len(faults) == 1 else "are"
            words = f"{of(len(faults), total, self.noun)}{self.of_what} {verb} {self.bad}"
            found.append(f"{words}{_named(faults) if is_explained else ''}.")
        if is_open:
            words = f"The judge could not decide {of(len(is_open), total, self.noun)}"
            found.append(f"{words}{_named(is_open) if is_explained else ''}.")
        return found

    def _faultless(self, total: int) -> str:
        if total == 1:
            which = f"The only {self.noun}{self.of_what} is"
            return f"{which} {self.good or f'not {self.bad}'}."
        if self.good:
            return f"All {total} {self.noun}s{self.of_what} are {self.good}."
        return f"None of the {total} {self.noun}s{self.of_what} is {self.bad}."


def _named(items: Sequence[dict[str, Any]]) -> str:
    verdicts = {each["verdict"] for each in items}
    shown = [
        quoted(each["text"])
        + (f" ({each['verdict'].replace('_', ' ')})" if len(verdicts) > 1 else "")
        for each in items[:_NAMED]
    ]
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return f": {listed(shown)}{more}"
