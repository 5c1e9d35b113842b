"""The baseline of a suite: the run that its later runs are compared with."""

from django.db import transaction

from evals_app.engine.basics.errors import CannotError
from evals_app.library.changes.edits import DECIDED, note_edit
from evals_app.models import Run, Suite


class NotABaselineError(CannotError):
    """A run cannot be the baseline of its suite."""


def why_no_baseline(run: Run) -> str:
    """Return why a run cannot be the baseline of its suite; empty if it can.

    It may have another agent or model, but must have all cases: later runs could not be compared
    in the others, and no one would notice. It may grade an earlier run again: after a check has
    changed, only that can be compared with later runs.
    """
    if problem := run.why_no_answer:
        return problem
    if run.is_open:
        return f"Run {run.pk} has not ended."
    if run.cancelled + run.not_run or not run.has_all_cases:
        return f"Run {run.pk} does not have a result for every case of its suite."
    if not run.passed:
        return f"No conversation passed in run {run.pk}, so nothing could get worse than there."
    return ""


def set_baseline(run: Run, *, by: object = None) -> None:
    """Make a run the baseline of its suite, in the name of a user or of the command line.

    Raises:
        NotABaselineError: it cannot be the baseline.
    """
    with transaction.atomic():
        # Locked, so that its transcripts are not removed meanwhile.
        locked = Run.objects.select_for_update().defer("summary").get(pk=run.pk)
        if problem := why_no_baseline(locked):
            raise NotABaselineError(problem, key="is_baseline", value=True)
        changed = Suite.objects.filter(runs=locked).exclude(baseline=locked)
        if changed.update(baseline=locked, had_baseline=True):
            _note(locked, f"Run {run.pk} is the released version.", by)


def unset_baseline(run: Run, *, by: object = None) -> None:
    """Leave the suite of a run without a baseline, if the run is it."""
    with transaction.atomic():
        if Suite.objects.filter(runs=run, baseline=run).update(baseline=None):
            _note(run, f"Run {run.pk} is no longer the released version.", by)


def _note(run: Run, message: str, by: object) -> None:
    note_edit(Suite.objects.get(runs=run), user=by, note=message, kind=DECIDED)
