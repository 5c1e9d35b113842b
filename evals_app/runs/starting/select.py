"""Which cases of a suite a run covers, how often, and with which agent and model."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from evals_app.engine.preparing.case_choice import CaseChoice
from evals_app.models import Agent, Case, Suite
from fixtures_app.ground.words import nearest

_ROWS_AT_ONCE = 2000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart(CaseChoice):
    """The cases of stored suites that match all conditions."""

    def sample(self, suite: Suite, *, most: int) -> "Sample | None":
        """Return at most this many of its cases, evenly spread; None if the suite has no more."""
        fields = ("pk", "name", "tags", "trials")
        rows = list(self._available_cases(suite).order_by("position", "pk").values_list(*fields))
        if len(rows) <= most:
            return None
        chosen = [
            (key, self.trials or trials or suite.trials)
            for key, name, tags, trials in rows
            if self.matches(name, [*tags, *suite.tags])
        ]
        some = evenly(chosen, most=most)
        executions, in_all = (sum(trials for _, trials in cases) for cases in (some, chosen))
        return Sample([key for key, _ in some], executions / in_all if in_all else 1.0)

    def has_case_of(self, suite: Suite) -> bool:
        """Whether at least one case of the suite is among them; reads names and tags alone."""
        rows = self._available_cases(suite).values_list("name", "tags").iterator(_ROWS_AT_ONCE)
        return any(self.matches(name, [*tags, *suite.tags]) for name, tags in rows)

    def _available_cases(self, suite: Suite) -> QuerySet[Case]:
        cases: QuerySet[Case] = suite.cases.all()
        return cases if self.with_disabled else cases.filter(enabled=True)


class Variant(NamedTuple):
    """Another agent or model than a suite's own."""

    agent: Agent | None = None
    model: str = ""

    def to_arguments(self) -> dict[str, Any]:
        """Return the arguments of `start_run` and `forecast`."""
        return {name: value for name, value in self._asdict().items() if value}

    def __str__(self) -> str:
        names = [self.agent.slug if self.agent else "", self.model]
        return "".join(f" with {name}" for name in names if name)


class Sample(NamedTuple):
    """The keys of some cases, and their share of all executions."""

    keys: Collection[int]
    share: float


def evenly(rows: Sequence[T], *, most: int) -> Sequence[T]:
    """Return at most this many rows, evenly spread."""
    step = len(rows) / most
    return rows if step <= 1 else [rows[int(number * step)] for number in range(most)]


def with_tag(model: type[Suite] | type[Case], tag: str) -> QuerySet[Any]:
    """Return the suites, or the cases, that have a tag themselves, in whatever case.

    Many have the same tags, so each text of tags is read once.
    """
    rows: QuerySet[Any] = model._default_manager.annotate(as_text=Cast("tags", TextField()))  # noqa: SLF001
    texts = rows.order_by().values_list("as_text", flat=True).distinct()
    wanted = tag.casefold()
    found = [text for text in texts if wanted in map(str.casefold, json.loads(text))]
    return rows.filter(as_text__in=found)


def _each_has_cases(one: RunPart, other: RunPart, suites: Sequence[Suite]) -> bool:
    return all(any(part.has_case_of(suite) for suite in suites) for part in (one, other))


def nothing_chosen(suites: Sequence[Suite], part: RunPart) -> str:
    """Return the sentence for a part that no case of these suites belongs to, with near names."""
    cases = dict(Case.objects.filter(suite__in=suites).values_list("name", "tags"))
    is_one = len(suites) == 1
    where = suites[0].slug if is_one else f"these {len(suites)} suites"
    if not cases:
        return f"Suite {where} has no cases yet." if is_one else f"None of {where} has cases."
    if any(replace(part, with_disabled=True).has_case_of(suite) for suite in suites):
        return (
            f"Every matching case of {where} is disabled. Enable one, or run it from its own page."
        )
    names, tagged = replace(part, tags=()), replace(part, cases=(), names=())
    if part.tags and names != RunPart() and _each_has_cases(names, tagged, suites):
        return f"No case of {where} has both the name and the tag."
    tags = {tag for own in [*cases.values(), *(suite.tags for suite in suites)] for tag in own}
    wanted = [
        *(f"{text!r} in its name" for text in part.cases),
        *(f"the name {text!r}" for text in part.names),
        *(f"the tag {tag!r}" for tag in part.tags),
    ]
    meant = [
        *(nearest(text, cases) for text in (*part.cases, *part.names)),
        *(nearest(tag, sorted(tags)) for tag in part.tags),
    ]
    hints = " or ".join(map(repr, filter(None, meant)))
    hint = f" Did you mean {hints}?" if hints else ""
    return f"No case of {where} has {' or '.join(wanted)}.{hint}"
