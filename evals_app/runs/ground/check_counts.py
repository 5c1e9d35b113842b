"""How often the checks of a run's cases passed, from its grades."""

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import NamedTuple

from django.db.models import Count, Q

from evals_app.engine.statistics.check_counts import (
    CheckCount,
    CheckIdentity,
    check_key,
    counts_text,
    number_checks,
)
from evals_app.models import GradeResult

_GRADED = ("passed", "failed")
_ROWS_AT_ONCE = 2000


class CountedCheck(NamedTuple):
    """A check of a case, and its graded trials in a run."""

    case: str
    key: str
    place: CheckIdentity
    trials: CheckCount


def checks_of(run_id: int) -> dict[str, str]:
    """Return the counts of the checks of each case of a run, as `CaseResult` notes them."""
    by_case = groupby(counted_checks(run_id), key=lambda check: check.case)
    return {
        case: counts_text({check.key: check.trials for check in checks}) for case, checks in by_case
    }


def counted_checks(run_id: int, *, cases: Collection[str] | None = None) -> Iterator[CountedCheck]:
    """Return the checks that decide about the cases of a run, case by case; `cases` are the wanted ones."""
    wanted = Q(execution__run=run_id, execution__verdict__in=_GRADED, weight__gt=0)
    if cases is not None:
        wanted &= Q(execution__case__in=cases)
    columns = ("execution__position", "execution__case", "position", *CheckIdentity._fields)
    grades = GradeResult.objects.filter(wanted).values_list(*columns)
    rows = grades.annotate(
        trials_passed=Count("pk", filter=Q(passed=True)),
        trials_failed=Count("pk", filter=Q(passed=False)),
    )
    rows = rows.order_by("execution__position", "position")
    for (_, case), graded in groupby(rows.iterator(_ROWS_AT_ONCE), key=lambda row: row[:2]):
        listed = [(CheckIdentity(*row[3:7]), CheckCount(*row[7:])) for row in graded]
        named = number_checks(check for check, _ in listed)
        for (check, number), (_, trials) in zip(named, listed, strict=True):
            yield CountedCheck(case, check_key(check, number), check, trials)
