"""Regrade labelled answers by the suite as it is now: is a new wording better?"""

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from django.contrib.auth.models import User

from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.models import Run
from evals_app.runs.judges.calibration import Calibration
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.regrading.start_regrade import plan_regrade, regrade
from evals_app.runs.starting.freeze import CannotStartError

MAX_RUNS = 5  # with labels, the newest: each gets a run of its own


class Relabelling(NamedTuple):
    """Forecasts by run, how many labelled answers they have, and why others cannot be graded."""

    forecasts: list[Forecast]
    answers: int
    problems: list[str]


class Started(NamedTuple):
    """Runs that grade labelled answers again, and why others did not start."""

    runs: list[Run]
    problems: list[str]


def plan_relabelling(calibration: Calibration, *, by: int | None) -> Relabelling:
    """Forecast grading the labelled answers again, or raise CannotStartError if none can be."""
    plan = Relabelling([], 0, [])
    for run, executions in _sources(calibration):
        try:
            with plan_regrade(run, executions=executions, by=by) as regrading:
                plan.forecasts.append(forecast_regrade(regrading))
                plan = plan._replace(answers=plan.answers + len(regrading.planned))
        except CannotStartError as error:
            plan.problems.extend(error.problems)
    if not plan.forecasts:
        raise CannotStartError(*(_distinct(plan.problems) or [_NOTHING]))
    return plan._replace(problems=_distinct(plan.problems))


def start_relabelling(
    calibration: Calibration, *, by: User | None, max_cost_usd: Decimal | None = None
) -> Started:
    """Grade the newest runs with labels again, or raise CannotStartError if none can be."""
    started = Started([], [])
    for run, executions in _sources(calibration):
        try:
            new = regrade(run, executions=executions, by=by, max_cost_usd=max_cost_usd)
        except CannotStartError as error:
            started.problems.extend(error.problems)
        else:
            started.runs.append(new)
    if not started.runs:
        raise CannotStartError(*(_distinct(started.problems) or [_NOTHING]))
    return started._replace(problems=_distinct(started.problems))


_NOTHING = "The runs with these answers no longer exist."


def _sources(calibration: Calibration) -> Iterator[tuple[Run, list[int]]]:
    by_run = calibration.by_run
    newest = list(by_run)[:MAX_RUNS]
    runs = Run.objects.select_related("suite", "snapshot").in_bulk(newest)
    return ((runs[pk], by_run[pk]) for pk in newest if pk in runs)


def _distinct(problems: list[str]) -> list[str]:
    return list(dict.fromkeys(problems))
