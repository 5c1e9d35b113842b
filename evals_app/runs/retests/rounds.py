"""Settle two runs: one look after the other, each a run of either version with the open suspects.

The rows are the truth: `advance` may be called at any time, by any number of processes. The process
that locks the retest evaluates a look; the first to write the key of a run starts it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from pydantic import ValidationError

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.statistics.retest import (
    LOOKS,
    Suspect,
    SuspectState,
    Trials,
    look_at,
    trials_of_check,
)
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import Activity, CaseResult, Run, Settlement
from evals_app.models.people.activity import note_act
from evals_app.runs.ground.patience import others_go_on
from evals_app.runs.retests.candidates import SettlementPlan, names_in, positions_of, price_of
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import create_run


def start_settlement(
    plan: SettlementPlan, *, max_cost_usd: Decimal | None = None, by: User | None = None
) -> Settlement:
    """Start the first look, all runs together below the ceiling, or raise CannotStartError."""
    if max_cost_usd is not None and (unpriced := price_of(plan).unpriced_models):
        problem = (
            f"There is no price for {' and '.join(unpriced)}, so a ceiling of"
            f" {usd_text(max_cost_usd, is_exact=True)} could not be kept."
        )
        raise CannotStartError(problem)
    settlement = Settlement(
        base=plan.base,
        head=plan.head,
        with_better=plan.with_better,
        stand_in=plan.stand_in,
        compared=plan.suspicion.compared,
        few=plan.suspicion.few,
        hopeless=plan.suspicion.hopeless,
        suspects=len(plan.suspicion.suspects),
        max_cost_usd=max_cost_usd,
        created_by=by,
    )
    settlement.note_cases(plan.suspicion.suspects)
    try:
        with transaction.atomic():
            settlement.save()
    except IntegrityError as exc:
        problem = f"Runs {plan.base.pk} and {plan.head.pk} are being retested already."
        raise CannotStartError(problem) from exc
    note_act(Activity.Kind.RUN, "Started a retest.", user=by, row=settlement)
    advance(settlement.pk)
    return Settlement.objects.get(pk=settlement.pk)


def advance(settlement_id: int) -> None:
    """Evaluate a look whose runs have ended, and start the runs that are missing."""
    with transaction.atomic():
        still_open = Settlement.objects.filter(pk=settlement_id, status=Settlement.Status.RUNNING)
        settlement = still_open.select_for_update().first()
        if settlement is None:
            return
        _evaluate(settlement)
    if settlement.is_open:
        try:
            _start_missing_runs(settlement)
        except ValidationError:
            why = "One of its runs was made by another version of Evalwell."
            settlement.end(Settlement.Status.STOPPED, why=why)


def advance_safely(settlement_id: int) -> None:
    """Advance a retest after one of its runs; what goes wrong with it is the next reaper's."""
    with others_go_on("Retest %d cannot be advanced.", settlement_id):
        advance(settlement_id)


def _evaluate(settlement: Settlement) -> None:
    """Record the results of the current look if all of its runs have ended."""
    keys = [_key(settlement, side) for side in settlement.sides]
    runs = list(Run.objects.filter(idempotency_key__in=keys).defer("summary").order_by("pk"))
    if len(runs) < len(keys) or any(run.is_open for run in runs):
        return
    why = _why_cut_short(settlement, runs)
    if not why:
        fresh = dict(_fresh_trials(settlement))
        settlement.note_cases(look_at(settlement.read_cases(), fresh, settlement.current_look))
        why = _why_ungraded(runs)
    if why:
        settlement.status, settlement.why_stopped = Settlement.Status.STOPPED, why
    elif settlement.look == len(LOOKS) or not settlement.has_open_cases():
        settlement.status = Settlement.Status.FINISHED
    else:
        settlement.look += 1
    if not settlement.is_open:
        settlement.finished_at = timezone.now()
    settlement.save()


def _why_cut_short(settlement: Settlement, runs: Sequence[Run]) -> str:
    for run in runs:
        if not run.cancelled + run.not_run:
            continue
        if run.stop_reason == Run.StopReason.BUDGET:
            ceiling = usd_text(settlement.max_cost_usd)
            return f"Stopped at its cost ceiling of {ceiling}, before all trials had run."
        return f"Run {run.pk} was stopped before all trials had run."
    return ""


def _why_ungraded(runs: Sequence[Run]) -> str:
    for run in runs:
        if not run.passed + run.failed:
            return f"No trial of run {run.pk} could be graded, so more would not help."
    return ""


def _fresh_trials(settlement: Settlement) -> Iterator[tuple[str, tuple[Trials | None, Trials]]]:
    """Return the trials of all runs so far, of base and head; None for a base that did not run."""
    rows = CaseResult.objects.filter(run__settlement=settlement).order_by()
    columns = ("name", "run__rerun_of", "passed", "failed", "checks")
    suspects = settlement.read_cases()
    base, head = settlement.base_id, settlement.head_id
    of_run = {
        base: {suspect.base_name: suspect for suspect in suspects},
        head: {suspect.name: suspect for suspect in suspects},
    }
    trials: dict[tuple[str, int], Trials] = defaultdict(Trials)
    for name, source, passed, failed, checks in rows.values_list(*columns):
        suspect = of_run[source][name]
        key = suspect.check
        counted = trials_of_check(checks, key) if key else Trials(passed, failed)
        trials[suspect.name, source] += counted
    for suspect in suspects:
        before = None if settlement.stand_in else trials[suspect.name, base]
        yield suspect.name, (before, trials[suspect.name, head])


def _start_missing_runs(settlement: Settlement) -> None:
    suspects = settlement.read_cases()
    for side in settlement.sides:
        key = _key(settlement, side)
        if Run.all_runs.filter(idempotency_key=key).exists():
            continue
        try:
            run = _start_run(settlement, side, suspects, key=key)
        except IntegrityError:
            continue  # another process was faster
        if not Settlement.objects.filter(pk=settlement.pk, status=settlement.status).exists():
            run.cancel()  # the retest was cancelled meanwhile


def _key(settlement: Settlement, side: Run) -> str:
    """Return the unique key of a run of the current look."""
    return f"settlement:{settlement.pk}:{settlement.look}:{side.pk}"


def _start_run(
    settlement: Settlement, source: Run, suspects: Sequence[Suspect], *, key: str
) -> Run:
    """Start a run of the open suspects in the version of `source`; IntegrityError: it exists."""
    still_open = (suspect for suspect in suspects if suspect.state is SuspectState.OPEN)
    names = names_in(source, still_open, base=settlement.base)
    trials = settlement.current_look.trials - settlement.fresh_before
    positions = positions_of(source, names)
    return create_run(
        source.snapshot,
        head=SnapshotSpec.read(source.snapshot.content),
        plan=(
            (name, position, trial)
            for name, position in positions.items()
            for trial in range(1, trials + 1)
        ),
        total=len(positions) * trials,
        concurrency=source.concurrency,
        suite=source.suite,
        judge=source.judge,
        replaced_model=source.replaced_model,
        overrides=source.overrides,
        losses=source.losses,
        rerun_of=source,
        settlement=settlement,
        max_cost_usd=settlement.max_cost_usd,
        created_by=settlement.created_by,
        idempotency_key=key,
    )
