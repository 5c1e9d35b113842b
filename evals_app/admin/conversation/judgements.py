"""A judged grade on the review page: warnings, items and votes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evals_app.admin.kit.presentation import first_words, mark, plural
from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.statistics.trust import ONLY_INFORMS
from evals_app.models import GradeResult, Yardstick
from evals_app.reports.answers.agreement import NOT_COMPARED, agreement_in_short
from evals_app.reports.words.judges import UNCALIBRATED, flags_shown
from evals_app.runs.judges.calibration import agreements, labels_of

MANY_ITEMS = 12  # more are folded unless something is wrong

# What needs attention, and what is only for information.
_WARNINGS = {
    "injection": "The conversation may contain text aimed at the judge. Read it before you trust "
    "this grade.",
    "against_verdict": "The judge's words seem to say the opposite of its verdict. Read both.",
    "unverified": "None of the judge's quotes appear in the conversation.",
    "scattered": "The votes are far apart, so this grade is unreliable. Make the criteria more "
    "precise.",
    "same_family": "Judge and agent use models of the same family. A model tends to prefer answers "
    "of its own kind.",
}
_FACTS = {
    "scripted": "scripted judge",
    UNCALIBRATED: NOT_COMPARED,
}
# Verdicts on items, by their badge.
_STATES = {
    "passed": {
        *("pass", "supported", "direct", "supporting", "relevant", "useful", "attributable"),
    },
    "failed": {"fail", "contradicted", "irrelevant", "not"},
    "ungraded": {"undecided", "missing", "unverified"},
    "not_applicable": {"not_applicable"},
}
_WORDS = {
    "pass": "Met",
    "fail": "Missed",
    "not_applicable": "Not applicable",
    "undecided": "Undecided",
    "missing": "No verdict",
    "not": "No",
}
_SPEAKERS = {
    "agent": "the agent",
    "user": "the user",
    "tool": "a tool",
    "knowledge": "retrieved knowledge",
    "case": "the case",
    "history": "an earlier message",
    "system": "the system prompt",
}
# Shown elsewhere, not as JSON.
_SHOWN = frozenset(
    {"agreement", "items", "votes", "voters", "flags", "dropped", "share", ONLY_INFORMS}
)


@dataclass(frozen=True, slots=True)
class ItemLine:
    """One item of a judge's list, with verdict, note and quote."""

    id: int
    badge: SafeString
    text: str
    note: str
    quote: Mapping[str, object] | None
    votes: str
    people: Any = None  # the reviews of people; see review_blocks.ReviewBlock
    agreement: SafeString | str = ""  # agreement of its judge with people
    is_missed: bool = False


@dataclass(frozen=True, slots=True)
class VoteLine:
    """One of several votes."""

    model: str
    grade: str
    critique: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judged grade has in addition to score and reason."""

    warnings: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    items: tuple[ItemLine, ...] = ()
    items_title: str = ""
    is_open: bool = True
    votes: tuple[VoteLine, ...] = ()
    votes_title: str = ""


# Agreement of judges with people, by the digest of the criterion.
Agreements = Mapping[str, Agreement]


def agreements_of(grades: Iterable[GradeResult]) -> Agreements:
    """Return how far the judges of grades agree with people, in one query; criteria are loaded."""
    digests = {digest for grade in grades for digest in _criterion_digests(grade)}
    if not digests:
        return {}
    return agreements(labels_of(Yardstick.objects.filter(digest__in=digests)).values())


def _criterion_digests(grade: GradeResult) -> Iterator[str]:
    """Yield the digests of the criteria of a grade and of the bullets of its rubric."""
    if grade.yardstick is not None:
        yield grade.yardstick.digest
        yield from _texts([item.get("yardstick") for item in _rows(grade.details.get("items"))])


def judgement(
    grade: GradeResult, known: Agreements, people: Mapping[int, object] = MappingProxyType({})
) -> Judgement:
    """Read the details of a judged grade, leaving out what has an unknown shape.

    `people` has the reviews of its items, by number.
    """
    if grade.family != "judged":
        return Judgement()
    details = grade.details
    agreement = _agreement(grade, known)
    flags = flags_shown(details, is_compared=bool(agreement))
    facts = [_FACTS[flag] for flag in flags if flag in _FACTS]
    facts += [agreement] if agreement else []
    if dropped := _texts(details.get("dropped")):
        facts.append(f"{', '.join(dropped).replace('_', ' ')} not accepted by the judge model")
    items = tuple(_item(item, known, people) for item in _rows(details.get("items")))
    votes = tuple(_vote(vote) for vote in _rows(details.get("votes")))
    return Judgement(
        warnings=tuple(_WARNINGS[flag] for flag in flags if flag in _WARNINGS),
        facts=tuple(facts),
        items=items,
        items_title=_items_title(details),
        is_open=len(items) <= MANY_ITEMS or grade.passed is False,
        votes=votes,
        votes_title=f"{plural(len(votes), 'vote')}: {', '.join(vote.grade for vote in votes)}",
    )


def quote_line(evidence: Mapping[str, object]) -> dict[str, object]:
    """Return a quote to show, with its speaker."""
    return {**evidence, "who": _SPEAKERS.get(str(evidence.get("speaker")), "")}


def other_details(grade: GradeResult) -> dict[str, object]:
    """Return the details that nothing else on the page shows."""
    if grade.family != "judged":
        return grade.details
    return {key: value for key, value in grade.details.items() if key not in _SHOWN}


def _agreement(grade: GradeResult, known: Agreements) -> SafeString | str:
    """Return how far the judge of a grade agrees with people; empty if never compared."""
    whole, *items = _criterion_digests(grade) if grade.yardstick else [""]
    if whole in known or not any(item in known for item in items):
        return _link(whole, known)
    bullets = [known[item] for item in items if item in known]
    same, labels = (
        sum(numbers)
        for numbers in zip(*((b.same_verdict.count, b.n) for b in bullets), strict=True)
    )
    return f"agrees with people on {same:,} of {labels:,} bullets"


def _link(digest: str, known: Agreements) -> SafeString | str:
    if digest not in known:
        return ""
    url = reverse("admin:evals_app_yardstick", args=[digest])
    return format_html('<a href="{}">{}</a>', url, agreement_in_short(known[digest]))


def _item(item: Mapping[str, Any], known: Agreements, people: Mapping[int, Any]) -> ItemLine:
    verdict = _verdict(item.get("verdict"))
    evidence = item.get("evidence")
    votes = item.get("votes")
    cast = _count_verdicts(votes if isinstance(votes, list) else ())
    state = next((state for state, words in _STATES.items() if verdict in words), "informational")
    number = item["id"] if isinstance(item.get("id"), int) else 0
    return ItemLine(
        id=number,
        badge=mark(state, word=_word(verdict)),
        text=str(item.get("text") or ""),
        note=str(item.get("critique") or item.get("note") or ""),
        quote=quote_line(evidence)
        if isinstance(evidence, Mapping) and evidence.get("quote")
        else None,
        votes=", ".join(f"{count} {word}" for word, count in cast.items()),
        people=people.get(number),
        agreement=_link(str(item.get("yardstick")), known),
        is_missed=state == "failed",
    )


def _vote(vote: Mapping[str, Any]) -> VoteLine:
    raw = vote.get("raw")
    grade = "no grade" if raw is None else str(raw).replace("_", " ")
    return VoteLine(str(vote.get("model") or ""), grade, str(vote.get("critique") or ""))


def _items_title(details: Mapping[str, object]) -> str:
    counts = _count_verdicts(item.get("verdict") for item in _rows(details.get("items")))
    totals = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    voters = _texts(details.get("voters"))
    return f"Items: {totals}" + (f"; {plural(len(voters), 'vote')} on each" if voters else "")


def _verdict(value: object) -> str:
    return first_words(value, most=40) if isinstance(value, str) else "undecided"


def _count_verdicts(verdicts: Iterable[object]) -> Counter[str]:
    return Counter(_word(_verdict(verdict)).lower() for verdict in verdicts)


def _word(verdict: str) -> str:
    return _WORDS.get(verdict, verdict.replace("_", " ").capitalize())


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
