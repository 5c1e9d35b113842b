"""The list of cases of a suite: first message, latest result, and filters.

A fixed number of queries, however many cases there are.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple, Self

from django.core.paginator import Page, Paginator
from django.db.models import Case as Choice
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.functions import Cast, StrIndex
from django.utils.functional import cached_property
from django.utils.http import urlencode
from pydantic import ValidationError

from evals_app.admin.kit.presentation import SIGNS, Sign, first_words, plural
from evals_app.admin.runs.run_changes import CHANGE_GROUPS, NO_CHANGE, ChangeMark
from evals_app.engine.record.trial import Verdict
from evals_app.engine.verdicts.release_check import MAX_MARKED
from evals_app.formats.snapshots.run_snapshot import canonical_case, case_digest
from evals_app.models import Case, CaseResult, Execution, Run, Suite, Turn
from evals_app.models.authored.suites import load_content
from evals_app.reports.words.shares import TRIAL_COUNTS, share_of_trials

PER_PAGE = 50
LAST_RUNS = 5  # whose results each case shows
# By the word in the address; a case without a verdict has not run, or could not be decided.
VERDICTS = {
    "failed": "Failed",
    "errored": "Errored",
    "passed": "Passed",
    "measured": "Measured",
    "none": "No result",
}
STATES = {"enabled": "Enabled", "disabled": "Disabled"}


@dataclass(frozen=True, slots=True)
class CaseListFilter:
    """The filter of the list; blank fields match all cases."""

    q: str = ""
    tag: str = ""
    verdict: str = ""
    change: str = ""
    state: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """Read the query of an address, ignoring invalid values."""
        asked = {field.name: query.get(field.name, "").replace("\0", "") for field in fields(cls)}
        asked["verdict"] = asked["verdict"] if asked["verdict"] in VERDICTS else ""
        asked["change"] = asked["change"] if asked["change"] in CHANGE_GROUPS else ""
        asked["state"] = asked["state"] if asked["state"] in STATES else ""
        return cls(**asked)

    @property
    def query(self) -> str:
        """The filter as the query of an address."""
        return urlencode({name: value for name, value in asdict(self).items() if value})

    def of(
        self, cases: QuerySet[Case], *, run: int | None, changes: Mapping[str, ChangeMark]
    ) -> QuerySet[Case]:
        """Return the matching cases; `run` gave them their verdicts, `changes` compares it."""
        if self.q:
            turns = Turn.objects.filter(case=OuterRef("pk"), user__icontains=self.q)
            cases = cases.filter(Q(name__icontains=self.q) | Exists(turns))
        if self.tag:
            cases = _with_tag(cases, self.tag)
        if self.state:
            cases = cases.filter(enabled=self.state == "enabled")
        if self.change:
            marked = [name for name, mark in changes.items() if mark.group == self.change]
            cases = cases.filter(name__in=marked)
        if self.verdict:
            results = CaseResult.objects.filter(run=run).exclude(verdict="")
            if self.verdict == "none":
                return cases.exclude(name__in=results.values("name"))
            results = results.filter(verdict=self.verdict)
            cases = cases.filter(name__in=results.values("name"))
        return cases


def _with_tag(cases: QuerySet[Case], tag: str) -> QuerySet[Case]:
    """Return cases with exactly this tag; not every database can look into a list."""
    spellings = {json.dumps(tag), json.dumps(tag, ensure_ascii=False)}
    places = Q()
    for number, text in enumerate(
        f"{before}{spelling}" for spelling in spellings for before in ("[", ", ")
    ):
        name = f"_tag_{number}"
        cases = cases.alias(**{name: StrIndex(Cast("tags", TextField()), Value(text))})
        places |= Q(**{f"{name}__gt": 0})
    return cases.filter(places)


def known_tags(rows: QuerySet[Case] | QuerySet[Suite]) -> list[str]:
    """Return all tags of cases or suites, by name."""
    lists = rows.exclude(tags=[]).order_by().values_list("tags", flat=True).distinct()
    return _by_name(lists)


def _by_name(lists: Iterable[Sequence[str]]) -> list[str]:
    return sorted({tag for tags in lists for tag in tags}, key=str.casefold)


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case in the list; `number` is its place in the suite, if all cases are shown.

    `change` is what happened to it since the released version, `alike` the address of all such cases;
    `last` has its results in the last full runs, the oldest first.
    """

    case: Case
    number: int | None
    first: str
    turns: str
    checks: str
    state: str
    rate: str
    is_edited: bool
    change: ChangeMark
    alike: str
    reason: str
    last: tuple[str, ...]

    @property
    def sign(self) -> Sign:
        return SIGNS[self.state or "none"]

    @property
    def last_tones(self) -> list[str]:
        return [SIGNS[state].tone for state in self.last]

    @property
    def last_words(self) -> str:
        """The last results for people who do not see the marks."""
        words = ", ".join(SIGNS[state].word.lower() for state in self.last)
        return f"Last results, oldest first: {words}"


class CaseList:
    """One page of the cases of a suite; `changes` has what they are since the released version."""

    def __init__(
        self,
        suite: Any,
        chosen: CaseListFilter,
        *,
        changes: Mapping[str, ChangeMark],
        page: str = "",
        may_read: bool = False,
    ) -> None:
        self.suite, self.filter, self._changes = suite, chosen, changes
        self._page_asked, self._may_read = page, may_read

    @cached_property
    def _by_tags(self) -> list[tuple[list[str], int, int]]:
        """The tags that cases have, with how many cases and disabled ones have just these."""
        counts = {"total": Count("pk"), "disabled": Count("pk", filter=Q(enabled=False))}
        rows = self.suite.cases.order_by().values("tags").annotate(**counts)
        return list(rows.values_list("tags", *counts))

    @property
    def counts(self) -> Mapping[str, int]:
        """How many cases there are, and how many of them are disabled."""
        return {
            "total": sum(total for _, total, _ in self._by_tags),
            "disabled": sum(disabled for _, _, disabled in self._by_tags),
        }

    @cached_property
    def matching(self) -> QuerySet[Case]:
        cases = self.suite.cases.order_by("position", "pk")
        return self.filter.of(cases, run=self.suite.verdict_run_id, changes=self._changes)

    @cached_property
    def change_groups(self) -> dict[str, str]:
        """The changes to narrow the list to: those that some case has, and the chosen one."""
        groups = {mark.group for mark in self._changes.values()} | {self.filter.change}
        return {group: word for group, word in CHANGE_GROUPS.items() if group in groups}

    @cached_property
    def may_lack_changed(self) -> bool:
        """Whether more cases may have the chosen change than are marked with it."""
        groups = [mark.group for mark in self._changes.values()]
        return bool(self.filter.change) and groups.count(self.filter.change) >= MAX_MARKED

    @cached_property
    def page(self) -> Page[Case]:
        paginator = Paginator(self.matching, PER_PAGE)
        if not self.filter.query:
            paginator.count = self.counts["total"]  # which is known already
        return paginator.get_page(self._page_asked)

    @cached_property
    def tags(self) -> list[str]:
        return _by_name(tags for tags, _, _ in self._by_tags)

    @cached_property
    def lines(self) -> list[CaseLine]:
        cases = list(self.page.object_list)
        load_content(cases, case__in=cases)
        results = self._results([case.name for case in cases])
        start = None if self.filter.query else self.page.start_index()
        return [
            self._line(
                case,
                results.get(case.name, _NO_RESULTS),
                None if start is None else start + number,
            )
            for number, case in enumerate(cases)
        ]

    def _line(self, case: Case, results: "_Results", number: int | None) -> CaseLine:
        turns = list(case.turns.all())
        result = results.now
        change = self._changes.get(case.name, NO_CHANGE)
        return CaseLine(
            case=case,
            number=number,
            first=_first_message(turns, case),
            turns=plural(len(turns), "turn"),
            checks=_checks(turns, case),
            state=(result.verdict or "none") if result else "",
            rate=share_of_trials(vars(result)) if result and result.trials > 1 else "",
            is_edited=result is not None and result.digest not in {"", _digest(case)},
            change=change,
            alike=replace(self.filter, change=change.group).query if change.group else "",
            reason=results.reason,
            last=results.last,
        )

    def _results(self, names: Sequence[str]) -> "dict[str, _Results]":
        """Return how cases did in the last full runs."""
        run = self.suite.verdict_run_id
        if run is None:
            return {}
        last = Run.objects.suite_verdicts().filter(suite=self.suite).order_by("-pk")
        of_runs = CaseResult.objects.filter(run__in=last.values("pk")[:LAST_RUNS])
        rows = of_runs.filter(name__in=names).order_by("run")
        if self._may_read:
            rows = rows.annotate(why=_why_wrong(run))
        found: dict[str, dict[int, Any]] = {}
        for row in rows.only("name", "run", "verdict", "digest", *TRIAL_COUNTS):
            found.setdefault(row.name, {})[row.run_id] = row
        return {
            name: _Results(by_run.get(run), tuple(row.verdict or "none" for row in by_run.values()))
            for name, by_run in found.items()
        }


def _why_wrong(run: int) -> Choice:
    """Return why the first trial of a case that went wrong did so, for results of this run."""
    trials = Execution.objects.filter(run=run, case=OuterRef("name"), verdict__in=_WENT_WRONG)
    first = Subquery(trials.order_by("trial").values("reason")[:1])
    return Choice(When(run=run, verdict__in=_WENT_WRONG, then=first))


class _Results(NamedTuple):
    """A case in the last full run, and its last verdicts."""

    now: Any  # a CaseResult, with `why` it went wrong for people who may read conversations
    last: tuple[str, ...]

    @property
    def reason(self) -> str:
        return getattr(self.now, "why", None) or ""


_NO_RESULTS = _Results(None, ())
_WENT_WRONG = (Verdict.FAILED, Verdict.ERRORED)


def _first_message(turns: Sequence[Turn], case: Case) -> str:
    """Return the beginning of the first message; empty if the case is called by it."""
    message = first_words(turns[0].user, most=140) if turns else ""
    return "" if message == case.name else message


def _checks(turns: Sequence[Turn], case: Case) -> str:
    own = sum(_count_enabled(turn.assertions.all()) for turn in turns)
    own += _count_enabled(case.final_assertions.all())
    takes_suites = any(turn.checks != Turn.Checks.OWN for turn in turns)
    if takes_suites:
        return f"{plural(own, 'check')} + suite" if own else "checks of the suite"
    return plural(own, "check")


def _count_enabled(checks: Iterable[Any]) -> int:
    return sum(check.enabled for check in checks)


def _digest(case: Case) -> str:
    """Return the digest of a case as it is now; empty if it no longer validates."""
    try:
        return case_digest(canonical_case(case.to_spec()))
    except ValidationError:
        return ""


def names_in_short(cases: QuerySet[Case], *, most: int = 10) -> tuple[list[str], int]:
    """Return the first names, and how many cases there are."""
    names = list(cases.values_list("name", flat=True)[: most + 1])
    count = len(names) if len(names) <= most else cases.count()
    return names[:most], count
