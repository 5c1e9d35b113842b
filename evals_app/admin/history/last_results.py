"""The last results of suites or agents as a row of marks, for their lists."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.safestring import SafeString

from evals_app.admin.kit.presentation import SIGNS, run_state
from evals_app.models import Run
from fixtures_app.editing.markup import trial_row
from fixtures_app.editing.times import ago_text

LAST = 5


def last_results(owners: Iterable[Any], column: str) -> dict[int, list[Run]]:
    """Return the last full runs of suites or agents, the oldest first, in one query.

    `column` leads from a run to its owner. Runs of another agent than its suite's present one do not
    count.
    """
    keys = [owner.pk for owner in owners]
    whole = Run.objects.suite_verdicts().filter(
        **{f"{column}__in": keys}, agent_slug=F("suite__agent__slug")
    )
    newest = Window(RowNumber(), partition_by=F(column), order_by=F("pk").desc())
    rows = whole.annotate(owner=F(column), back=newest).filter(back__lte=LAST)
    needed = ("status", "verdict", "reviewed", "stop_reason", "finished_at", "from_file")
    found: dict[int, list[Run]] = {}
    runs: QuerySet[Any] = rows.order_by("pk").only(*needed)
    for run in runs:
        found.setdefault(run.owner, []).append(run)
    return found


def result_dots(runs: Sequence[Run]) -> SafeString | str:
    """Return a mark for each run, which says in words how it ended and when."""
    if not runs:
        return ""
    return trial_row(map(_mark, runs), "Last results, the oldest first")


def _mark(run: Run) -> tuple[str, str, str]:
    sign = SIGNS[state_with_people(run)]
    when = f", {ago_text(run.finished_at)}" if run.finished_at else ""
    return sign.tone, f"{run.short_name}: {sign.word.lower()}{when}", ""


def state_with_people(run: Run) -> str:
    """Return the state of a run, as people decided it."""
    return str(run.reviewed.get("verdict") or run_state(run))
