"""Runs that stop early: what they spent, why they stopped, and how to resume them."""

from collections.abc import Mapping

from django import forms

from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.engine.llm.pricing import usd_text
from evals_app.models import Run
from evals_app.runs.money.ceilings import ceilings_for, limits_of

STOPPING = {
    Run.StopReason.CANCELLED: "Stopping because the run was cancelled. Conversations in progress "
    "end early, and no new ones start.",
    Run.StopReason.DEADLINE: "Stopping because time is up. Conversations in progress end early, "
    "and no new ones start.",
    Run.StopReason.BUDGET: "Stopping at a cost ceiling because the next call could exceed it. No "
    "new conversations start.",
}

ENDED = {
    Run.StopReason.CANCELLED: "Cancelled",
    Run.StopReason.DEADLINE: "Out of time",
    Run.StopReason.BUDGET: "Stopped at a cost ceiling",
}
GOING_ON = (
    "Runs the remaining conversations with the settings from the original start. Results are kept, "
    "and no paid call is repeated."
)


def cost_line(run: Run) -> str:
    """Return what a run has spent so far, and what else counts towards its ceiling."""
    if run.max_cost_usd is None and not (run.spent_usd or run.reserved_usd or run.unsettled_usd):
        return ""
    ceiling = "" if run.max_cost_usd is None else f" of at most {usd_text(run.max_cost_usd)}"
    most = usd_text(run.reserved_usd)
    under_way = f" Calls in progress may cost up to {most}." if run.reserved_usd else ""
    return f"Spent so far: {usd_text(run.spent_usd)}{ceiling}.{under_way}{_uncertain_cost(run)}"


def _uncertain_cost(run: Run) -> str:
    if not run.unsettled_usd:
        return ""
    return f" Workers that crashed may have spent up to {usd_text(run.unsettled_usd)} more."


def stopped_line(run: Run) -> str:
    """Return why a run that has ended was stopped, and what did not run; else nothing."""
    if not was_cut_short(run):
        return ""
    if run.stop_reason == Run.StopReason.CANCELLED:
        return "This run was cancelled. Finished conversations count. The rest did not run."
    left = f"{plural(run.not_run, 'conversation')} did not run."
    if run.stop_reason == Run.StopReason.DEADLINE:
        return f"This run ran out of time. {left}"
    if not run.is_at_own_ceiling:
        return f"{_stopped_by_month(run)} {left}"
    return (
        f"Stopped at its cost ceiling: spent {usd_text(run.spent_usd)} of"
        f" {usd_text(run.max_cost_usd)}, and the next call could have exceeded it."
        f"{_uncertain_cost(run)} {left}"
    )


def _stopped_by_month(run: Run) -> str:
    """Return which monthly ceiling stopped a run, with the numbers of today."""
    label = Run.Ceiling(run.reached_ceiling).label
    limits = limits_of(list(ceilings_for(run.created_by_id)))
    now = next((limit.in_words for limit in limits if limit.ceiling == run.reached_ceiling), "")
    return (
        f"Stopped at a ceiling: {label[0].lower()}{label[1:]} was reached. This run spent"
        f" {usd_text(run.spent_usd)}.{_uncertain_cost(run)} {now} Resume it next month, or once the"
        " ceiling is higher."
    )


def was_cut_short(run: Run) -> bool:
    """Whether a run was stopped with something left to resume."""
    return bool(run.stop_reason) and not run.is_open and run.cancelled + run.not_run > 0


def may_go_on(run: Run) -> bool:
    """Whether a run can be resumed; a run of a retest cannot, because both ended together."""
    return was_cut_short(run) and run.settlement_id is None


def go_on_label(run: Run) -> str:
    """Return the label of the button that resumes a run."""
    return f"Resume {plural(run.cancelled + run.not_run, 'conversation')}"


class ResumeForm(forms.Form):
    """The ceiling of a resumed run; one that reached its own needs a higher one."""

    max_cost_usd = CeilingField()

    def __init__(self, run: Run, data: Mapping[str, object] | None = None) -> None:
        super().__init__(data, auto_id="resume_%s")
        field = self.fields["max_cost_usd"]
        so_far = f"For the whole run, which has spent {usd_text(run.spent_usd)} so far."
        ceiling = usd_text(run.max_cost_usd)
        field.required = run.is_at_own_ceiling
        if field.required:
            field.error_messages["required"] = f"Enter a ceiling above {ceiling}."
            field.help_text = f"{so_far} It must be above {ceiling}, where the run stopped."
        else:
            field.initial = run.max_cost_usd
            blank = "for no limit" if run.max_cost_usd is None else f"to keep {ceiling}"
            field.help_text = f"{so_far} Leave blank {blank}."
