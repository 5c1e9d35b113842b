"""The standing of suites: the run that gives each its verdict, and a later one that does not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery

from evals_app.engine.record.trial import Verdict
from evals_app.models import CaseResult, Run, Suite
from evals_app.reports.answers.run_json import CASES_DIGEST
from evals_app.reports.words.changes import ChangedCases, changes_between
from evals_app.reports.words.shares import CASE_COUNTS
from evals_app.runs.ground.remembered import Remembered
from evals_app.runs.reading.outcomes import outcomes_of, parts_that_fit


@dataclass(frozen=True, slots=True)
class SuiteVerdict:
    """The last full run of a suite, and a part of it that ended later; either may be missing."""

    verdict_run: Any = None  # a Run that is `with_pass_rates`
    later: Run | None = None

    @property
    def has_parts_only(self) -> bool:
        """Whether something was run, but never the whole suite."""
        return self.verdict_run is None and self.later is not None


def with_last_runs(suites: QuerySet[Suite]) -> QuerySet[Suite]:
    """Let suites know their last full run, and the last that ended at all."""
    whole = Run.objects.suite_verdicts()
    return suites.annotate(verdict_run_id=_last(whole), last_run_id=_last(telling_runs()))


def telling_runs() -> QuerySet[Run]:
    """Return the runs that have ended, but for retests, regrades and those that files brought.

    These say nothing new about the agent.
    """
    return Run.objects.exclude(verdict="").filter(settlement=None, grades_of=None, from_file="")


def _last(runs: QuerySet[Run]) -> Subquery:
    return Subquery(runs.filter(suite=OuterRef("pk")).order_by("-pk").values("pk")[:1])


_NUMBERS = ("pass_rate", CASES_DIGEST, *CASE_COUNTS, "gates")


def with_pass_rates(runs: QuerySet[Run]) -> QuerySet[Any]:
    """Return runs with their pass rates, the numbers behind them and gates, without their summaries.

    The database takes these numbers out of the summary, which may be large.
    """
    numbers = {name: F(f"summary__{name}") for name in _NUMBERS}
    return runs.annotate(**numbers).defer("summary")


def standings(suites: Sequence[Any]) -> list[SuiteVerdict]:
    """Return the standing of suites loaded `with_last_runs`, in one query."""
    wanted = {key for suite in suites for key in (suite.verdict_run_id, suite.last_run_id) if key}
    runs = (
        {run.pk: run for run in with_pass_rates(Run.objects.filter(pk__in=wanted))}
        if wanted
        else {}
    )
    return [standing(suite, runs) for suite in suites]


def standing(suite: Any, runs: Mapping[int, Run]) -> SuiteVerdict:
    """Return the standing of a suite from its loaded runs."""
    has_later = suite.last_run_id not in {None, suite.verdict_run_id}
    return SuiteVerdict(
        runs.get(suite.verdict_run_id), runs.get(suite.last_run_id) if has_later else None
    )


# What changed from one run that has ended to another; a run that was resumed ends again.
_Ends = tuple[int, datetime | None, int, datetime | None]
_known: Remembered[_Ends, ChangedCases] = Remembered(1000)


def case_changes(pairs: Iterable[tuple[Run, Run]]) -> dict[int, ChangedCases]:
    """Return what changed from an earlier run to a later one, by the later one.

    The results of many cases are read once and counted; the counts are kept, because people look
    at the same runs again and again.
    """
    keys = {(base.pk, base.finished_at, head.pk, head.finished_at): base for base, head in pairs}
    changes = _known.of(keys)
    unknown = {key: base.case_count or 0 for key, base in keys.items() if key not in changes}
    for some in parts_that_fit(unknown):
        outcomes = outcomes_of(
            [pk for base, _, head, _ in some for pk in (base, head)], reads_grades=False
        )
        changes |= {key: changes_between(outcomes[key[0]], outcomes[key[2]]) for key in some}
    _known.keep(changes)
    return {head: known for (_, _, head, _), known in changes.items()}


class PassedOf(NamedTuple):
    """How many of some cases passed."""

    passed: int
    of: int


_same_known: Remembered[tuple[tuple[int, datetime | None], ...], dict[int, PassedOf]] = Remembered(
    1000
)


def same_cases(runs: Sequence[Run]) -> dict[int, PassedOf]:
    """Return by run how many passed of the cases that are the same in all of these runs.

    They have the same content, whatever they are called, and passed or failed in each run; a content
    that a run has twice is left out.
    """
    key = tuple((run.pk, run.finished_at) for run in runs)
    if (known := _same_known.of([key]).get(key)) is not None:
        return known
    rows = CaseResult.objects.filter(
        run__in=[run.pk for run in runs], verdict__in=(Verdict.PASSED, Verdict.FAILED)
    ).order_by()
    contents = rows.exclude(digest="").values("digest")
    once_in_each = {"rows": len(runs), "runs": len(runs)}
    common = contents.annotate(rows=Count("pk"), runs=Count("run", distinct=True)).filter(
        **once_in_each
    )
    passed = Count("pk", filter=Q(verdict=Verdict.PASSED))
    counts = rows.filter(digest__in=common.values("digest")).values_list("run")
    found = {pk: PassedOf(*both) for pk, *both in counts.annotate(passed=passed, of=Count("pk"))}
    same = {run.pk: found.get(run.pk, PassedOf(0, 0)) for run in runs}
    _same_known.keep({key: same})
    return same
