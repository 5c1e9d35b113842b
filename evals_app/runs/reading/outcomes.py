"""The outcomes of cases in runs that have ended: what every comparison begins with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, repeat
from sys import intern
from typing import Any, TypeVar

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.check_counts import NO_CHECKS
from evals_app.engine.statistics.comparison import CaseOutcome, match_names
from evals_app.engine.statistics.effort import NO_EFFORT, CaseEffort
from evals_app.models import CaseResult, Execution, Run
from evals_app.runs.ground.check_counts import checks_of
from fixtures_app.ground.memory import pause_collection

MAX_RESULTS = 400_000  # of cases, of all runs together; they take 120 MB

K = TypeVar("K")
_ROWS_AT_ONCE = 2000
_COLUMNS = ("name", "digest", "verdict", "passed", "failed", "errored", "score", "checks")
_VERDICTS: dict[str, Verdict | None] = {"": None, **{verdict.value: verdict for verdict in Verdict}}


def case_outcomes(run: Run, *, reads_effort: bool = False) -> dict[str, CaseOutcome]:
    """Return the outcome of each case of a run that has ended, by name, in the order of the suite."""
    return outcomes_of([run.pk], reads_effort=reads_effort)[run.pk]


def names_of_case(base: Run, head: Run, name: str) -> tuple[str, str]:
    """Return what a case is called in each of two runs; empty where a run does not have it.

    `name` is that in the head, or else in the base.
    """
    digests: dict[int, dict[str, str]] = {base.pk: {}, head.pk: {}}
    rows = CaseResult.objects.filter(run__in=digests).order_by("run", "position")
    same = rows.filter(name=name).values_list("digest", flat=True)
    if len(same) == len(digests) and len(set(same)) == 1:
        return name, name
    for pk, case, digest in rows.values_list("run_id", "name", "digest").iterator():
        digests[pk][case] = digest
    before, after = digests[base.pk], digests[head.pk]
    if not (before and after):  # one of them noted no results
        return name, name
    matched = match_names(before, after)
    if name in after:
        return matched.get(name, ""), name
    renamed = next((new for new, old in matched.items() if old == name), "")
    return name if name in before else "", renamed


def differing_trials(
    base: Sequence[Execution], head: Sequence[Execution]
) -> tuple[Execution | None, Execution | None]:
    """Return the first trials of a case whose verdicts differ in two runs, else the first of each.

    Where only one run has the case, it is the first one that failed.
    """
    if not (base and head):
        alone = base or head
        failed = next((row for row in alone if row.verdict == Verdict.FAILED), None)
        first = failed or next(iter(alone), None)
        return (first, None) if base else (None, first)
    return next(
        ((b, h) for b in base for h in head if b.verdict != h.verdict and b.verdict and h.verdict),
        (base[0], head[0]),
    )


@pause_collection()
def outcomes_of(
    run_ids: Sequence[int], *, reads_grades: bool = True, reads_effort: bool = False
) -> dict[int, dict[str, CaseOutcome]]:
    """Return the outcomes of runs that have ended, each by the name of the case.

    Runs of older versions did not note their checks, which takes a query for each: `reads_grades`.
    """
    outcomes: dict[int, dict[str, CaseOutcome]] = {pk: {} for pk in run_ids}
    rows = CaseResult.objects.filter(run__in=run_ids).order_by("run", "position")
    older: set[int] = set()
    for row, effort in _with_effort(rows) if reads_effort else zip(_plain(rows), repeat(NO_EFFORT)):
        pk, name, digest, verdict, passed, failed, errored, score, checks = row
        # Runs of one suite share most names, contents and results of checks.
        known, noted = intern(name), intern(checks)
        outcomes[pk][known] = CaseOutcome(
            known, intern(digest), _VERDICTS[verdict], passed, failed, errored, score, noted, effort
        )
        if not checks:
            older.add(pk)
    for pk in older if reads_grades else ():
        counts = checks_of(pk)
        for name, outcome in outcomes[pk].items():
            outcomes[pk][name] = outcome._replace(checks=counts.get(name, NO_CHECKS))
    return outcomes


_Row = tuple[Any, ...]


def _plain(rows: QuerySet[CaseResult], *more: str) -> Iterator[_Row]:
    return rows.values_list("run_id", *_COLUMNS, *more).iterator(chunk_size=_ROWS_AT_ONCE)


def _with_effort(rows: QuerySet[CaseResult]) -> Iterator[tuple[_Row, CaseEffort]]:
    """Return the columns of results, and what each took.

    The times of many results are read as one text: that of each alone takes several times as long.
    """
    found = _plain(rows.annotate(times=Cast("turn_ms", TextField())), "times", "cost_usd")
    while part := list(islice(found, _ROWS_AT_ONCE)):
        times = json.loads(f"[{','.join(row[-2] for row in part)}]")
        for row, turn_ms in zip(part, times, strict=True):
            yield row[:-2], CaseEffort(tuple(turn_ms), row[-1])


def parts_that_fit(sizes: Mapping[K, int]) -> Iterator[list[K]]:
    """Return keys in lists, each of as many pairs of runs as fit into memory; a size is of one run."""
    part: list[K] = []
    room = MAX_RESULTS // 2
    for key, size in sizes.items():
        if part and size > room:
            yield part
            part, room = [], MAX_RESULTS // 2
        part.append(key)
        room -= size
    if part:
        yield part
