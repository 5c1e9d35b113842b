"""Delete a run for good, with its conversations, and with the runs that grade these again.

There is no undo: a run may have 100,000 conversations, and people delete runs to be rid of what was
said. It leaves all lists at once. Its rows are removed a part at a time; a reaper does the rest if
this process dies.
"""

from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from evals_app.models import DeletedObject, Execution, Run, Settlement, Snapshot, Suite
from evals_app.runs.forgetting.conversations import CannotForgetError, empty_acts, refuse_if_open
from evals_app.runs.forgetting.overwriting import overwriting
from evals_app.runs.starting.preparing import forget_unprepared

DELETING_RUNS = ("evals_app.view_run", "evals_app.delete_run")
_AT_ONCE = 500


def delete_run(run: Run, *, by: User) -> int:
    """Delete a run and those that grade its conversations again; return how many runs.

    Raises:
        CannotForgetError: one of them is in progress, is a released version, or is retested.
    """
    with overwriting():
        with transaction.atomic():
            chosen = _with_regrades(run)
            runs = list(Run.objects.filter(pk__in=chosen).select_for_update().order_by("-pk"))
            _refuse_if_used(Run.objects.filter(pk__in=chosen))
            LogEntry.objects.log_actions(by.pk, [run], DELETION, _words(runs), single_object=True)
            # As if they had never been ready: no page shows them, and reapers remove them.
            hidden = {"status": Run.PREPARING, "verdict": "", "idempotency_key": None}
            Run.objects.filter(pk__in=chosen).update(stop_reason="cancelled", **hidden)
        for each in runs:
            _remove(each)
    return len(runs)


def _with_regrades(run: Run) -> list[int]:
    """Return the keys of a run and of all runs that grade its conversations again."""
    found, wave = [run.pk], [run.pk]
    while wave:
        again = Run.objects.filter(grades_of__in=wave).exclude(pk__in=found)
        wave = list(again.values_list("pk", flat=True))
        found += wave
    return found


def _refuse_if_used(runs: QuerySet[Run]) -> None:
    refuse_if_open(runs)
    if (imported := runs.filter(is_import=True).first()) is not None:
        raise CannotForgetError(
            f"Run {imported.pk} holds real conversations of {imported.suite_name}. Remove this set"
            " under Real conversations, or remove what was said."
        )
    released = Suite.objects.filter(baseline__in=runs).select_related("baseline").first()
    if released is not None:
        raise CannotForgetError(
            f"Run {released.baseline_id} is the released version of {released}. Use another run as"
            " released version first, or stop using this one."
        )
    if (deleted := DeletedObject.objects.filter(baseline__in=runs).first()) is not None:
        raise CannotForgetError(
            f"It is the released version of the deleted suite “{deleted}”. Delete that suite for good"
            " first, on the page Deleted."
        )
    going = Settlement.objects.filter(status=Settlement.Status.RUNNING)
    retest = going.filter(Q(base__in=runs) | Q(head__in=runs) | Q(runs__in=runs)).first()
    if retest is not None:
        raise CannotForgetError(f"Retest {retest.pk} is using it. Cancel it first, or wait.")


def _words(runs: list[Run]) -> str:
    others = [f"run {run.pk}" for run in reversed(runs[:-1])]
    return f"Deleted for good, with {', '.join(others)}." if others else "Deleted for good."


def _remove(run: Run) -> None:
    snapshot = run.snapshot_id
    _forget_history(run)
    forget_unprepared(run)
    others = Run.all_runs.filter(snapshot=OuterRef("pk"))
    Snapshot.objects.filter(~Exists(others), pk=snapshot).delete()


def _forget_history(run: Run) -> None:
    """Remove what the histories of its conversations say: comments often repeat what was said."""
    kind = ContentType.objects.get_for_model(Execution)
    ids = list(Execution.objects.filter(run=run).order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), _AT_ONCE):
        keys = list(map(str, ids[start : start + _AT_ONCE]))
        LogEntry.objects.filter(content_type=kind, object_id__in=keys).delete()
        empty_acts(keys)
