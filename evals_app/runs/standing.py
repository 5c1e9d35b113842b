"""The standing of suites: the run that gives each its verdict, and a later one that does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from evals_app.engine.comparison import change_of
from evals_app.engine.trial import Verdict
from evals_app.models import CaseResult, Run, Suite
from evals_app.reports.shares import CASE_COUNTS


@dataclass(frozen=True, slots=True)
class Standing:
    """The last whole run of a suite, and a part of it that ended later; either may be missing."""

    verdict_run: Any = None  # a Run that is `rated`
    later: Run | None = None

    @property
    def has_parts_only(self) -> bool:
        """Whether something was run, but never the whole suite."""
        return self.verdict_run is None and self.later is not None


def with_last_runs(suites: QuerySet[Suite]) -> QuerySet[Suite]:
    """Let suites know their last whole run, and the last that ended at all."""
    whole = Run.objects.suite_verdicts()
    # What grades the conversations of an earlier run again says nothing new about the agent.
    ended = Run.objects.exclude(verdict="").filter(settlement=None, grades_of=None)
    return suites.annotate(verdict_run_id=_last(whole), last_run_id=_last(ended))


def _last(runs: QuerySet[Run]) -> Subquery:
    return Subquery(runs.filter(suite=OuterRef("pk")).order_by("-pk").values("pk")[:1])


def rated(runs: QuerySet[Run]) -> QuerySet[Any]:
    """Return runs with their pass rate and what it is of, without their summaries.

    The database takes these numbers out of the summary, which may be large.
    """
    numbers = {name: F(f"summary__{name}") for name in ("pass_rate", *CASE_COUNTS)}
    return runs.annotate(**numbers).defer("summary")


def standings(suites: Sequence[Any]) -> list[Standing]:
    """Return the standing of suites loaded `with_last_runs`, in one query."""
    wanted = {key for suite in suites for key in (suite.verdict_run_id, suite.last_run_id) if key}
    runs = {run.pk: run for run in rated(Run.objects.filter(pk__in=wanted))} if wanted else {}
    return [standing(suite, runs) for suite in suites]


def standing(suite: Any, runs: Mapping[int, Run]) -> Standing:
    """Return the standing of a suite from its loaded runs."""
    has_later = suite.last_run_id not in {None, suite.verdict_run_id}
    return Standing(
        runs.get(suite.verdict_run_id), runs.get(suite.last_run_id) if has_later else None
    )


def worse_cases(pairs: Mapping[int, int]) -> dict[int, list[str]]:
    """Return the names of cases that got worse from an earlier run to a later one, by the later one.

    `pairs` has the earlier run of each.
    """
    # What does not fail now did not get worse.
    failed = Q(run__in=pairs.keys(), verdict=Verdict.FAILED)
    names = CaseResult.objects.filter(failed).values("name")
    before = Q(run__in=pairs.values(), name__in=names)
    rows = CaseResult.objects.filter(failed | before).order_by("run", "position")
    results = list(rows.defer("pass_at_k", "pass_hat_k"))
    known = {(result.run_id, result.name): result.outcome for result in results}
    worse: dict[int, list[str]] = {}
    for (run, name), outcome in known.items():
        earlier = known.get((pairs[run], name)) if run in pairs else None
        if earlier and change_of(earlier, outcome).is_worse:
            worse.setdefault(run, []).append(name)
    return worse
