"""Running cases of a run again: which ones, in their current or their original version."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import Count, F, Q

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.presentation import plural
from evals_app.models import Run
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.rerun import Only, Version, cases_to_rerun, edits_before_rerun

RERUNS: dict[str, Only] = {"failed": "failed", "errored": "errored", "all": "all"}
MAX_LISTED = 100  # cases to choose from; with more, only all can be run


class RerunForm(forms.Form):
    """The cases to run again, and which version of them."""

    version = forms.ChoiceField(label="Version", required=False, widget=forms.RadioSelect)
    cases = forms.MultipleChoiceField(label="Cases", required=False, widget=Choices())

    def __init__(
        self, run: Run, *, only: Only, case: str = "", data: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(data, auto_id="rerun_%s")
        self.run, self.only, self.case = run, only, case
        rows = cases_to_rerun(run, only=only).order_by("position").values_list("case", flat=True)
        self.names = [case] if case else list(dict.fromkeys(rows))
        self.edits, self.why_not_current = self._edits()
        self._offer_versions()
        self._offer_cases()

    @property
    def title(self) -> str:
        """The question that the dialog asks."""
        if self.case:
            return f"Re-run case “{self.case}”?"
        return f"{rerun_label(self.only, len(self.names))}?"

    @property
    def case_names(self) -> Sequence[str] | None:
        """The names of the cases to run; None for all."""
        if self.case:
            return [self.case]
        return self.cleaned_data["cases"] if "cases" in self.fields else None

    @property
    def chosen_version(self) -> Version:
        """The version to run; there may be no choice."""
        if "version" in self.fields:
            return "frozen" if self.cleaned_data["version"] == "frozen" else "current"
        return "frozen" if self.why_not_current else "current"

    def _edits(self) -> tuple[list[str], str]:
        """Return what was edited since, or why there is no current version."""
        try:
            return edits_before_rerun(self.run, self.names), ""
        except CannotStartError as exc:
            return [], str(exc)

    def _offer_versions(self) -> None:
        if not self.edits:
            del self.fields["version"]  # both are the same, or there is only one
            return
        field = self.fields["version"]
        field.choices = [  # type: ignore[attr-defined]  # of a ChoiceField
            ("current", "Current version: does the change help?"),
            ("frozen", f"Version from run {self.run.pk}: was the result luck?"),
        ]
        field.initial = "current"

    def _offer_cases(self) -> None:
        if self.case or not 1 < len(self.names) <= MAX_LISTED:
            del self.fields["cases"]
            return
        field = self.fields["cases"]
        field.choices = [(name, name) for name in self.names]  # type: ignore[attr-defined]
        field.initial = self.names
        field.required = True
        field.error_messages["required"] = "Choose at least one case."


def counts_to_rerun() -> dict[str, Count]:
    """Return the aggregates that count the cases of each kind of re-run."""
    return {
        "rerun_failed": Count("pk", filter=Q(failed__gt=0)),
        "rerun_errored": Count(
            "pk", filter=Q(trials__gt=F("passed") + F("failed") + F("measured") + F("skipped"))
        ),
        "rerun_all": Count("pk"),
    }


def count_to_rerun(cases: Sequence[Any]) -> dict[str, int]:
    """Count the same among cases that are read already."""
    return {
        "rerun_failed": sum(case.failed > 0 for case in cases),
        "rerun_errored": sum(
            case.trials > case.passed + case.failed + case.measured + case.skipped for case in cases
        ),
        "rerun_all": len(cases),
    }


def rerun_buttons(run: Run, counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return the re-runs that make sense, with the labels of their buttons."""
    if run.gradings > 1 or run.is_of_real_conversations:
        return []
    counted = {only: counts[f"rerun_{only}"] for only in RERUNS}
    return [(only, rerun_label(only, number)) for only, number in counted.items() if number]


def rerun_label(only: str, number: int) -> str:
    """Return the label of a re-run of this many cases."""
    if only == "all":
        return f"Re-run all {plural(number, 'case')}" if number > 1 else "Re-run the case"
    if only == "failed":
        return f"Re-run {plural(number, 'failed case')}"
    return f"Re-run {plural(number, 'case')} that errored or did not run"
