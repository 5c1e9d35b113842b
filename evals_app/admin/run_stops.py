"""Runs that stop before their end: what they spent, why they stopped, and how they go on."""

from typing import Any

from django import forms

from evals_app.admin.presentation import plural
from evals_app.admin.starting import CeilingField
from evals_app.engine.llm.pricing import usd_text
from evals_app.models import Run

STOPPING = {
    Run.StopReason.CANCELLED: "Stopping, cancelled by a person: conversations that have begun are"
    " ended, nothing new begins.",
    Run.StopReason.DEADLINE: "Stopping, out of time: conversations that have begun are broken off,"
    " nothing new begins.",
    Run.StopReason.BUDGET: "Stopping at its ceiling: the next call could cost more than is left."
    " Nothing new begins.",
}

ENDED = {
    Run.StopReason.CANCELLED: "Cancelled",
    Run.StopReason.DEADLINE: "Out of time",
    Run.StopReason.BUDGET: "Stopped at its ceiling",
}
GOING_ON = (
    "Runs the remaining conversations with what was frozen at the start. Results stay, and no call"
    " that was paid for is made again."
)


def cost_line(run: Run) -> str:
    """Say what a run has spent so far, and what else counts towards its ceiling."""
    if run.max_cost_usd is None and not (run.spent_usd or run.reserved_usd or run.unsettled_usd):
        return ""
    ceiling = "" if run.max_cost_usd is None else f" of at most {usd_text(run.max_cost_usd)}"
    under_way = ""
    if run.reserved_usd:
        under_way = f" Calls under way may cost up to {usd_text(run.reserved_usd)}."
    return f"Spent so far: {usd_text(run.spent_usd)}{ceiling}.{under_way}{_unsettled(run)}"


def _unsettled(run: Run) -> str:
    if not run.unsettled_usd:
        return ""
    return f" Workers that were lost may have spent up to {usd_text(run.unsettled_usd)} more."


def stopped_line(run: Run) -> str:
    """Say why a run that has ended was stopped, and what that left; empty for any other."""
    if not was_cut_short(run):
        return ""
    if run.stop_reason == Run.StopReason.CANCELLED:
        return (
            "This run was cancelled by a person. What had ended by then counts; the rest did not"
            " run."
        )
    if run.stop_reason == Run.StopReason.DEADLINE:
        return f"This run ran out of time. {_left(run)}"
    return (
        f"Stopped at its ceiling: spent {usd_text(run.spent_usd)} of"
        f" {usd_text(run.max_cost_usd)}, and the next call could have cost more than the rest."
        f"{_unsettled(run)} {_left(run)}"
    )


def _left(run: Run) -> str:
    return f"{plural(run.not_run, 'conversation')} did not run."


def was_cut_short(run: Run) -> bool:
    """Whether a run that has ended was stopped with something left, and so may go on."""
    return bool(run.stop_reason) and not run.is_open and run.cancelled + run.not_run > 0


def go_on_label(run: Run) -> str:
    """Name the button that lets a stopped run go on."""
    return f"Go on with {plural(run.cancelled + run.not_run, 'conversation')}"


class ResumeForm(forms.Form):
    """The ceiling under which a stopped run goes on; one that reached its own needs a higher one."""

    max_cost_usd = CeilingField()

    def __init__(self, run: Run, data: Any = None) -> None:  # noqa: ANN401 - what was posted
        super().__init__(data, auto_id="resume_%s")
        field = self.fields["max_cost_usd"]
        so_far = f"Of the whole run, which has spent {usd_text(run.spent_usd)} so far."
        ceiling = usd_text(run.max_cost_usd)
        field.required = run.stop_reason == Run.StopReason.BUDGET
        if field.required:
            # It needs a higher one, which nobody should send by mistake.
            field.error_messages["required"] = (
                f"It stopped at {ceiling}: say how far it may go now."
            )
            field.help_text = f"{so_far} More than {ceiling}, at which it stopped."
        else:
            field.initial = run.max_cost_usd
            blank = "no limit" if run.max_cost_usd is None else f"still {ceiling}"
            field.help_text = f"{so_far} Blank: {blank}."
