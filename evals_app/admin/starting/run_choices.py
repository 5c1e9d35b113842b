"""What people choose when they start runs: agents, models, cases, trials and a ceiling."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db.models import Subquery
from django.forms import BoundField
from django.http import HttpRequest
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.lines import OFFERS_TAGS, TagsField
from evals_app.admin.kit.model_choices import known_models
from evals_app.admin.kit.presentation import agent_label
from evals_app.models import Agent, Case, CaseResult, Run
from evals_app.models.fields.money import PLACES
from evals_app.runs.starting.select import Variant
from fixtures_app.editing.markup import TemplateContext

MAX_USD = 1_000_000
MAX_VARIANTS = 10
_MODELS = 3  # inputs; one input can list several models, separated by commas


class CeilingField(forms.DecimalField):
    """The cost at which a run stops."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            max_value=MAX_USD,
            decimal_places=PLACES,
            label="Cost ceiling (USD)",
            widget=UnfoldAdminDecimalFieldWidget(attrs={"step": "any"}),
            # Not `min_value`, whose message would show 1E-9.
            validators=[MinValueValidator(Decimal(f"1e-{PLACES}"), "Enter an amount above 0.")],
            **kwargs,
        )


class ModelsWidget(UnfoldAdminTextInputWidget):
    """A few inputs of one name, which suggest the models that have a price or an agent."""

    template_name = "admin/evals_app/kit/models_input.html"

    def get_context(
        self, name: str, value: object, attrs: dict[str, object] | None
    ) -> TemplateContext:
        context = super().get_context(name, "", attrs)
        given = [text.strip() for text in str(value or "").split(",") if text.strip()]
        inputs = [*given, *[""] * _MODELS][: max(_MODELS, len(given))]
        context["widget"] |= {"inputs": inputs, "offered": known_models()}
        return context

    def value_from_datadict(self, data: Any, files: object, name: str) -> str:
        values = data.getlist(name) if hasattr(data, "getlist") else [data.get(name) or ""]
        return ",".join(values)


class RunChoices(forms.Form):
    """Which runs to start: of which part of a suite, with which agents and models, how often."""

    agents = forms.ModelMultipleChoiceField(
        Agent.objects.order_by("name", "slug"),
        required=False,
        label="Other agents",
        widget=Choices(is_short=True),
        help_text="Leave blank to test the suite's own agent. With several, each gets a run.",
    )
    models = TagsField(
        label="Other models",
        widget=ModelsWidget(),
        help_text="Leave blank for the agent's own model. With several, each gets a run.",
    )
    cases = TagsField(
        label="Filter by case name",
        widget=UnfoldAdminTextInputWidget(),
        help_text="Parts of names, separated by commas. Leave blank to run all cases.",
    )
    tags = TagsField(
        label="Filter by tag",
        widget=UnfoldAdminTextInputWidget(OFFERS_TAGS),
        help_text="Tags, separated by commas. Leave blank to run cases with any tag.",
    )
    trials = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        label="Trials per case",
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="Leave blank to use what the suite and its cases set.",
    )
    all_trials = forms.BooleanField(
        required=False,
        label="Run all trials",
        widget=UnfoldBooleanWidget(),
        help_text="Skip none, even if the suite skips those that cannot change a verdict. Several"
        " agents or models always run all trials.",
    )
    max_cost_usd = CeilingField(
        required=False,
        help_text="Each run stops before it would exceed this, and can be resumed later. Leave blank for no limit.",
    )

    def offer(self, request: HttpRequest) -> None:
        """Offer only what this person may see."""
        if not request.user.has_perm("evals_app.view_agent"):
            del self.fields["agents"]
            return
        choice: Any = self.fields["agents"]
        choice.label_from_instance = agent_label

    @property
    def choices(self) -> list[BoundField]:
        """The fields of this class, whatever else a form has."""
        return [self[name] for name in RunChoices.base_fields if name in self.fields]

    @property
    def has_choices(self) -> bool:
        """Whether a person chose something, or chose wrong."""
        return bool(self.errors) or any(field.value() for field in self.choices)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and len(self.variants()) > MAX_VARIANTS:
            message = f"Choose at most {MAX_VARIANTS} combinations of agents and models."
            raise ValidationError({"models": message})
        return cleaned

    def variants(self) -> Sequence[Variant]:
        """Return each chosen agent with each chosen model."""
        agents = list(self.cleaned_data.get("agents") or [None])
        return [
            Variant(*variant) for variant in product(agents, self.cleaned_data["models"] or [""])
        ]

    def how(self) -> dict[str, Any]:
        """Return the other arguments of `start_runs`."""
        names = ("cases", "tags", "trials", "all_trials", "max_cost_usd")
        return {name: self.cleaned_data[name] for name in names}

    def problem(self) -> str:
        """Return what is wrong with the choices, in one sentence."""
        if "trials" in self.errors:
            return "Trials: enter a whole number from 1 to 100."
        if "max_cost_usd" in self.errors:
            return "Cost ceiling: enter a number above 0, for example 2.50."
        return " ".join(str(message) for messages in self.errors.values() for message in messages)


class SuiteRunChoices(RunChoices):
    """The choices for one suite, which may also run only what failed last time."""

    failed = forms.BooleanField(required=False, widget=UnfoldBooleanWidget())

    def offer(self, request: HttpRequest, suite: int | None = None) -> None:
        super().offer(request)
        self.failed_names = [] if suite is None else failed_last_time(suite)
        if not self.failed_names:
            del self.fields["failed"]
            return
        number = len(self.failed_names)
        self.fields["failed"].label = (
            f"Run only the {number} that failed last time"
            if number > 1
            else "Run only the one that failed last time"
        )

    def how(self) -> dict[str, Any]:
        names = self.failed_names if self.cleaned_data.get("failed") else []
        return super().how() | {"names": names}


def failed_last_time(suite: int) -> list[str]:
    """Return the cases of a suite that failed in its last whole run, as far as they can run now."""
    last = Run.objects.suite_verdicts().filter(suite=suite).order_by("-pk").values("pk")[:1]
    failed = CaseResult.objects.filter(run=Subquery(last), failed__gt=0)
    cases = Case.objects.filter(suite=suite, enabled=True, name__in=failed.values("name"))
    return list(cases.order_by("position", "pk").values_list("name", flat=True))
