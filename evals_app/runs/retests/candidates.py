"""What a retest of two runs would test: its suspects, the versions that can run, and the price."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from pydantic import ValidationError

from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.engine.specs.agent_spec import OUTSIDE
from evals_app.engine.statistics.retest import (
    LIKELY_TRIALS,
    LOOKS,
    Direction,
    Suspect,
    Suspicion,
    find_suspects,
)
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec, read_case
from evals_app.models import Run
from evals_app.reports.answers.retests import price_in_words
from evals_app.runs.ground.check_counts import counted_checks
from evals_app.runs.reading.outcomes import case_outcomes
from evals_app.runs.starting.forecast import forecast_frozen
from evals_app.runs.starting.freeze import AT_ONCE, CannotStartError, archived_text
from evals_app.runs.starting.site_obstacles import obstacles_now


@dataclass(frozen=True)
class SettlementPlan:
    """The suspects of two runs; `stand_in` says why stored trials are used for the base, if they are."""

    base: Run
    head: Run
    with_better: bool
    stand_in: str
    suspicion: Suspicion

    @property
    def sides(self) -> tuple[Run, ...]:
        """The runs whose versions would run again."""
        return (self.head,) if self.stand_in else (self.base, self.head)

    @property
    def most_trials(self) -> int:
        """The maximum number of conversations."""
        return LOOKS[-1].trials * len(self.sides) * len(self.suspicion.suspects)


@dataclass(frozen=True)
class SettlementPrice:
    """Forecasts for each version that would run: for the usual and the maximum number of trials.

    Costs are in USD, None if the price of a model is unknown.
    """

    plan: SettlementPlan
    likely: tuple[Forecast, ...]
    most: tuple[Forecast, ...]

    @property
    def likely_usd(self) -> tuple[Decimal, Decimal] | None:
        return _sum(self.likely)

    @property
    def most_usd(self) -> Decimal | None:
        in_all = _sum(self.most)
        return None if in_all is None else in_all[1]

    @property
    def unpriced_models(self) -> list[str]:
        return sorted({model for forecast in self.most for model in forecast.unpriced})

    @property
    def in_words(self) -> str:
        return price_in_words(
            suspects=len(self.plan.suspicion.suspects),
            versions=len(self.plan.sides),
            most_conversations=self.plan.most_trials,
            likely_usd=self.likely_usd,
            most_usd=self.most_usd,
            unpriced=self.unpriced_models,
            calls=sum(forecast.agent_calls + forecast.judge_calls for forecast in self.most),
            is_outside=any(forecast.is_outside for forecast in self.most),
        )


def plan_settlement(base: Run, head: Run, *, with_better: bool = False) -> SettlementPlan:
    """Return what a retest would test, or raise CannotStartError if that is nothing."""
    _refuse_runs(base, head)
    before, after = case_outcomes(base), case_outcomes(head)
    directions = tuple(Direction) if with_better else (Direction.WORSE,)
    stand_in = _stand_in(base, list(before))
    suspicion = find_suspects(before, after, directions=directions, is_base_stored=bool(stand_in))
    suspicion = replace(suspicion, suspects=tuple(_with_labels(head, suspicion.suspects)))
    plan = SettlementPlan(base, head, with_better, stand_in, suspicion)
    if problem := _nothing_to_settle(plan):
        raise CannotStartError(problem)
    if problems := _why_not_run(head, [suspect.name for suspect in suspicion.suspects]):
        raise CannotStartError(*[f"Run {head.pk} cannot run again. {line}" for line in problems])
    return plan


def _with_labels(head: Run, suspects: Sequence[Suspect]) -> Iterator[Suspect]:
    """Return suspects with the labels of the checks that are tested."""
    by_check = [suspect.name for suspect in suspects if suspect.check]
    counted = counted_checks(head.pk, cases=by_check) if by_check else ()
    labels = {(check.case, check.key): check.place.label for check in counted}
    for suspect in suspects:
        yield replace(suspect, check_label=labels.get((suspect.name, suspect.check), ""))


def price_of(plan: SettlementPlan) -> SettlementPrice:
    """Forecast what the retest would cost."""

    def of_trials(trials: int) -> tuple[Forecast, ...]:
        return tuple(
            forecast_frozen(run, dict.fromkeys(places.values(), trials))
            for run in plan.sides
            for places in [
                positions_of(run, names_in(run, plan.suspicion.suspects, base=plan.base))
            ]
        )

    return SettlementPrice(plan, of_trials(LIKELY_TRIALS), of_trials(LOOKS[-1].trials))


def names_in(run: Run, suspects: Iterable[Suspect], *, base: Run) -> list[str]:
    """Return what suspects are called in one of the two runs; `base` is the older one."""
    is_base = run.pk == base.pk
    return [suspect.base_name if is_base else suspect.name for suspect in suspects]


def positions_of(run: Run, names: list[str]) -> dict[str, int]:
    """Return the places of cases in the snapshot of a run."""
    wanted = set(names)
    rows = run.executions.filter(trial=1).order_by("position").values_list("case", "position")
    return {case: position for case, position in rows.iterator(AT_ONCE) if case in wanted}


def _refuse_runs(base: Run, head: Run) -> None:
    problems = []
    if base.pk == head.pk:
        problems.append("Choose two different runs.")
    for run in (base, head):
        if run.is_open:
            problems.append(f"Run {run.pk} has not ended yet.")
        if run.suite is not None and run.suite.archived_at is not None:
            problems.append(archived_text(run.suite.slug))
        if run.is_of_real_conversations:
            problems.append(
                f"Run {run.pk} is of real conversations: there is no agent to ask again."
            )
        if run.gradings > 1:
            problems.append(
                f"Run {run.pk} graded each conversation {run.gradings} times, which says nothing about"
                " its agent."
            )
    if base.pk != head.pk and base.conversations_of == head.conversations_of:
        problems.append(
            f"Runs {base.pk} and {head.pk} grade the same conversations. Asking the agent again cannot"
            " show which of them is right."
        )
    if problems:
        raise CannotStartError(*dict.fromkeys(problems))


def _nothing_to_settle(plan: SettlementPlan) -> str:
    if plan.suspicion.suspects:
        return ""
    base, head = plan.base.pk, plan.head.pk
    if not plan.suspicion.compared:
        return f"Runs {base} and {head} have no graded case with the same name and content."
    if plan.suspicion.hopeless:
        return (
            f"{plan.stand_in} Run {base} has too few trials to compare with. Next time, run the old"
            " version with at least 10 trials before you replace it."
        )
    differs = "differently" if plan.with_better else "less often"
    return (
        f"There is nothing to retest: no case, and no check of one, passed {differs} in run {head} than"
        f" in run {base}."
    )


def _stand_in(base: Run, names: list[str]) -> str:
    """Return why the base cannot be run again, in a sentence; empty if it can."""
    problems = _why_not_run(base, names)
    if problems:
        return problems[0]
    agent = SnapshotSpec.read(base.snapshot.content).agent
    if agent.driver in OUTSIDE:
        return (
            f"Agent {agent.slug} runs outside Evalwell, so its version of run {base.pk} cannot be"
            " run again."
        )
    return ""


def _why_not_run(
    run: Run, names: list[str], *, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the obstacles to running the frozen version of a run now."""
    try:
        frozen = SnapshotSpec.read(run.snapshot.content)
        positions = list(positions_of(run, names).values())
        for start in range(0, len(positions), AT_ONCE):
            some = run.snapshot.cases.filter(position__in=positions[start : start + AT_ONCE])
            for content in some.values_list("content", flat=True):
                read_case(content)
    except ValidationError:
        return [f"Run {run.pk} was made by another version of Evalwell."]
    providers = {provider.slug: provider for provider in frozen.providers}
    obstacles = obstacles_now(environ, providers=providers)
    obstacles.agent(frozen.agent)
    judge = frozen.judge
    if judge is None or judge.provider == "scripted":
        return obstacles.problems
    if problem := obstacles.why_unreachable(judge):
        obstacles.say(f"Its judge is {judge}. {problem}")
    return obstacles.problems


def _sum(forecasts: tuple[Forecast, ...]) -> tuple[Decimal, Decimal] | None:
    low = high = Decimal(0)
    for forecast in forecasts:
        if forecast.cost_usd is None:
            return None
        low, high = low + forecast.cost_usd[0], high + forecast.cost_usd[1]
    return low, high
