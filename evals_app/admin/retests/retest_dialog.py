"""The dialog that settles a run: its form, and the button and links on other pages."""

from decimal import ROUND_UP, Decimal
from functools import cached_property
from typing import cast

from django import forms
from django.db.models import Q
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.text import capfirst
from unfold.widgets import UnfoldAdminSelectWidget

from evals_app.admin.starting.run_choices import CeilingField
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.statistics.retest import LOOKS
from evals_app.models import Run, Settlement
from evals_app.reports.answers.retests import headline, warnings
from evals_app.runs.retests.candidates import (
    SettlementPlan,
    SettlementPrice,
    plan_settlement,
    price_of,
)
from evals_app.runs.starting.freeze import CannotStartError

MAX_OFFERED = 20  # earlier runs to compare with
_MAX_LINKS = 10
_CENT = Decimal("0.01")


class RetestForm(forms.Form):
    """The earlier run, the question, and the cost limit."""

    base = forms.ChoiceField(label="Compare with", widget=UnfoldAdminSelectWidget())
    with_better = forms.BooleanField(
        label="Also test cases that seem better",
        required=False,
        help_text="Costs more. Without it, only cases that seem worse are tested.",
    )
    max_cost_usd = CeilingField(
        required=False,
        help_text="For all runs of the retest together. Leave blank for no limit.",
    )

    def __init__(self, head: Run, *, base: str = "", data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="settle_%s")
        self.head = head
        self._runs = {str(run.pk): run for run in _earlier(head, also=base)}
        field = cast("forms.ChoiceField", self.fields["base"])
        field.choices = [(key, _label(run)) for key, run in self._runs.items()]
        field.initial = base if base in self._runs else _usual(head, self._runs)
        price = self._forecast[0] if data is None else None
        if price is not None and price.most_usd:
            most = price.most_usd.quantize(_CENT, ROUND_UP)
            self.fields["max_cost_usd"].initial = f"{most:f}"

    def plan(self) -> SettlementPlan:
        """Return the plan of the retest.

        Raises:
            CannotStartError: there is nothing to settle, or a requirement is missing.
        """
        if not self._runs:
            raise CannotStartError("This suite has no earlier run to compare with.")
        is_chosen = self.is_bound and "base" in self.cleaned_data
        key = self.cleaned_data["base"] if is_chosen else self.fields["base"].initial
        with_better = is_chosen and self.cleaned_data["with_better"]
        return plan_settlement(self._runs[key], self.head, with_better=with_better)

    @property
    def price_sentence(self) -> str:
        """Return what would run and its price, or why it cannot start."""
        price, problems = self._forecast
        if price is None:
            return " ".join(problems)
        suspicion = price.plan.suspicion
        notes = warnings(
            {
                "stand_in": price.plan.stand_in,
                "few": suspicion.few,
                "compared": suspicion.compared,
                "hopeless": suspicion.hopeless,
            }
        )
        return " ".join([price.in_words, *notes])

    @cached_property
    def _forecast(self) -> tuple[SettlementPrice | None, list[str]]:
        try:
            return price_of(self.plan()), []
        except CannotStartError as exc:
            return None, exc.problems


def retest_url(request: HttpRequest, head: Run, *, base: Run | None = None) -> str:
    """Return the URL of the dialog; empty without permission or without anything to settle."""
    if head.is_open or head.why_no_answer or not may_run(request):
        return ""
    url = reverse("admin:evals_app_settlement_start", args=[head.pk])
    return url if base is None else f"{url}?base={base.pk}"


def settlements_of(run: Run) -> list[Settlement]:
    """Return the last retests that compare a run."""
    if run.is_open:
        return []
    rows = Settlement.objects.filter(Q(base=run) | Q(head=run)).defer("cases")
    return list(rows.order_by("-pk")[:_MAX_LINKS])


def result_in_words(settlement: Settlement) -> str:
    """Return what a retest found, or how far it is."""
    if settlement.is_open:
        return f"Look {settlement.look} of {len(LOOKS)}"
    columns = ("status", "with_better", "really_worse", "really_better", "was_flaky", "cannot_tell")
    return headline({column: getattr(settlement, column) for column in columns}, [])


def _earlier(head: Run, *, also: str) -> list[Run]:
    runs = Run.objects.filter(status__in=[Run.Status.FINISHED, Run.Status.CANCELLED])
    runs = runs.exclude(pk=head.pk).defer("summary").select_related("suite", "snapshot")
    same = runs.filter(suite_slug=head.suite_slug, settlement=None, pk__lt=head.pk)
    rows = {run.pk: run for run in same.order_by("-pk")[:MAX_OFFERED]}
    others = {int(also)} if also.isascii() and also.isdecimal() and len(also) < 19 else set()  # noqa: PLR2004 - fits a key
    if head.suite is not None and head.suite.baseline_id is not None:
        others.add(head.suite.baseline_id)
    rows |= {run.pk: run for run in runs.filter(pk__in=others - rows.keys())}
    return [rows[key] for key in sorted(rows, reverse=True)]


def _usual(head: Run, offered: dict[str, Run]) -> str:
    """Return the suggested run: the suite's baseline, else the last full run."""
    baseline = "" if head.suite is None else str(head.suite.baseline_id)
    if baseline in offered:
        return baseline
    whole = [key for key, run in offered.items() if run.is_whole]
    return next(iter([*whole, *offered]), "")


def _label(run: Run) -> str:
    name = " ".join(filter(None, [run.agent_name, run.model]))
    return f"{capfirst(run.in_short)}, {name}, {run.created_at:%Y-%m-%d %H:%M}"
