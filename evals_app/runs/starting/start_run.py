"""Start a run: freeze what it uses, write its executions, and wake workers."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import product, starmap
from typing import Any, Unpack
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models.functions import Now

from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import Activity, Run, Snapshot, Suite
from evals_app.models.people.activity import note_act
from evals_app.reports.words.judges import judges_text
from evals_app.runs.providers.shared_limits import provider_states
from evals_app.runs.starting.freeze import CannotStartError, RunOptions, freeze
from evals_app.runs.starting.preparing import (
    PlannedExecution,
    forget_unprepared,
    show_life,
    write_executions,
)
from evals_app.runs.starting.select import Variant, nothing_chosen
from evals_app.runs.starting.waiting import call_workers


def start_run(
    suite: Suite,
    *,
    by: User | None = None,
    concurrency: int | None = None,
    timeout_s: float | None = None,
    is_tryout: bool = False,
    rerun_of: Run | None = None,
    idempotency_key: str | None = None,
    group: UUID | None = None,
    all_trials: bool = False,
    **choices: Unpack[RunOptions],
) -> Run:
    """Start a run of a suite, or of a `Part` of it; it stops before a call that might exceed a ceiling.

    `group` is what runs have in common that are started together. `all_trials`: none is skipped, as
    comparing runs needs. Only a try includes disabled cases: people try those that are not ready.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    choices = {"with_disabled": is_tryout, **choices}
    with freeze(suite, by=by.pk if by else None, **choices) as frozen:
        if not frozen.executions:
            raise CannotStartError(nothing_chosen([suite], frozen.part))
        overrides = _overrides(suite, choices, frozen.baseline, all_trials=all_trials)
        stops = frozen.head.suite.stops_when_decided and not _NEED_ALL & overrides.keys()
        return create_run(
            frozen.snapshot(),
            head=frozen.head,
            plan=frozen.plan_by_trial() if stops else frozen.plan(),
            stops_when_decided=stops,
            total=frozen.executions,
            concurrency=concurrency or frozen.head.suite.concurrency,
            timeout_s=timeout_s,
            complete=frozen.complete,
            suite=suite,
            disabled_case_count=frozen.disabled,
            judge=judges_text(frozen.judges),
            replaced_model=frozen.replaced_model,
            created_by=by,
            max_cost_usd=choices.get("max_cost_usd"),
            is_simulated=frozen.simulated > 0,
            is_tryout=is_tryout,
            overrides=overrides,
            losses=suite.losses,
            baseline=frozen.baseline,
            rerun_of=rerun_of,
            idempotency_key=idempotency_key,
            group=group,
        )


_NEED_ALL = {"all_trials", "baseline"}  # of the overrides: they need every trial


def _overrides(
    suite: Suite, choices: RunOptions, baseline: Run | None, *, all_trials: bool
) -> dict[str, object]:
    agent = choices.get("agent")
    other = None if agent is None or agent.pk == suite.agent_id else agent.slug
    chosen = {
        "agent": other,
        "model": choices.get("model"),
        "trials": choices.get("trials"),
        "all_trials": all_trials,
    }
    if baseline is not None and choices.get("baseline") is not None:
        chosen["baseline"] = baseline.pk
    return {name: value for name, value in chosen.items() if value}


def start_runs(
    suites: Sequence[Suite],
    *,
    variants: Sequence[Variant] = (Variant(),),
    group: UUID | None = None,
    **how: Any,
) -> list[Run]:
    """Start a run of each suite in each variant, or none at all; the rest is as for `start_run`.

    Several runs belong to one group: a new one, or `group`, whose runs they are compared with.
    Several variants are compared, so all of their trials run.

    Raises:
        CannotStartError: with what keeps each of them from running.
    """
    runs: list[Run] = []
    problems: dict[str, None] = {}
    without_judge: dict[Suite, None] = {}
    how |= {"all_trials": True} if group or len(variants) > 1 else {}
    how["group"] = group or (uuid4() if len(suites) * len(variants) > 1 else None)
    with transaction.atomic():
        for suite, variant in product(suites, variants):
            try:
                runs.append(start_run(suite, **how | variant.to_arguments()))
            except CannotStartError as exc:
                of = f"{suite.slug}{variant}: " if len(suites) * len(variants) > 1 else ""
                problems |= dict.fromkeys(f"{of}{problem}" for problem in exc.problems)
                without_judge |= dict.fromkeys(exc.without_judge)
        if problems:
            raise CannotStartError(*problems, without_judge=list(without_judge))
    return runs


def create_run(
    snapshot: Snapshot,
    *,
    head: SnapshotSpec,
    plan: Iterable[tuple[str, int, int] | PlannedExecution],
    total: int,
    timeout_s: float | None = None,
    complete: Callable[[Snapshot], Iterable[int]] | None = None,
    **columns: object,
) -> Run:
    """Write a run with its executions, and wake workers.

    `head` is the snapshot without its cases, which `complete` writes in batches where they are
    missing; `plan` has `total` executions, `columns` are further columns of the run. The executions
    are written a few in each transaction, so that others can write too; the run is out of sight
    until all are there. Reapers remove what a dead process leaves behind.

    Raises:
        CannotStartError: this process was silent for so long that a reaper gave the run up.
    """
    with transaction.atomic():  # the idempotency key may be taken
        run = Run.all_runs.create(
            snapshot=snapshot,
            status=Run.PREPARING,
            total=total,
            not_run=total,
            **_columns(head),
            **columns,
        )
    try:
        for _ in complete(snapshot) if complete else ():
            show_life(run)
        write_executions(run, starmap(PlannedExecution, plan))
        run.providers.set(provider_states(provider.slug for provider in head.providers))
        Run.all_runs.filter(pk=run.pk).update(
            **_coverage(run),
            status=Run.Status.QUEUED,
            waiting_since=Now(),
            deadline_at=Now() + timedelta(seconds=timeout_s) if timeout_s else None,
        )
    except BaseException:
        if not connection.in_atomic_block:  # else it never was
            forget_unprepared(run)
        raise
    transaction.on_commit(call_workers)
    started = Run.objects.get(pk=run.pk)
    _note_start(started)
    return started


def _note_start(run: Run) -> None:
    if run.settlement_id is None:  # a retest is one act
        note_act(Activity.Kind.RUN, _how_started(run), user=run.created_by, row=run)


def _how_started(run: Run) -> str:
    if run.grades_of_id:
        return f"Started, to grade the conversations of run {run.grades_of_id} again."
    if run.rerun_of_id:
        return f"Started, to run cases of run {run.rerun_of_id} again."
    return "Started as a try." if run.is_tryout else "Started."


def _columns(head: SnapshotSpec) -> dict[str, object]:
    """Return the columns that a run repeats from its snapshot, so that lists need not read it."""
    suite, agent = head.suite, head.agent
    return {
        "suite_slug": suite.slug,
        "suite_name": suite.suite,
        "suite_agent_slug": suite.agent,
        "agent_slug": agent.slug,
        "agent_name": agent.agent,
        "model": str(agent.asked_model or ""),
        "score_scale": suite.score_scale,
        "is_scripted": agent.driver == "scripted",
        "similarity": head.similarity.method if head.similarity else "",
        "is_similarity_stand_in": bool(head.similarity and head.similarity.is_degraded),
    }


def _coverage(run: Run) -> dict[str, object]:
    """Return how much of its suite a run covers whose executions are written."""
    covered = run.executions.values("position").distinct().count()
    in_all = run.snapshot.cases.count()
    has_own_agent = run.agent_slug == run.suite_agent_slug and not run.replaced_model
    is_first = run.rerun_of_id is None and run.grades_of_id is None and not run.is_tryout
    return {
        "case_count": covered,
        "suite_case_count": in_all,
        "is_whole": has_own_agent and is_first and covered == in_all,
    }
