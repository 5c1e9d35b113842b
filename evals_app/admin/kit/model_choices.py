"""Models that text fields suggest, those that can judge on this site, and what to do if none can."""

import os
from typing import Any

from django.conf import settings
from django.db.models import Prefetch, Value
from django.db.models.functions import Concat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from pydantic import ValidationError
from unfold.widgets import UnfoldAdminTextInputWidget

from evals_app.engine.llm.judge_plugins import PLUGIN, judge_plugins
from evals_app.engine.llm.keys import why_unreachable
from evals_app.engine.specs.base_spec import read_model
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.models import Agent, Case, ModelPrice, Provider, Suite
from evals_app.runs.starting.site_obstacles import obstacles_now
from fixtures_app.editing.markup import TemplateContext

OWN = "agent"  # the agent's own model
JUDGES = "ew-judges"  # the list of models that judge fields suggest


def known_models() -> list[str]:
    """Return the models that agents use or that have a price of their own, as provider/model."""
    priced = ModelPrice.objects.exclude(model__contains="*")
    names = priced.values_list(Concat("provider__slug", Value("/"), "model"), flat=True)
    used = Agent.objects.exclude(model="").values_list("model", flat=True)
    return sorted(used.union(names))


def reachable_models(*others: str) -> list[str]:
    """Return these and the known models whose provider exists and has the key that it needs."""
    # Prices do not matter here: an empty prefetch keeps `to_spec` from reading those of each provider.
    rows = Provider.objects.prefetch_related(Prefetch("prices", ModelPrice.objects.none()))
    providers = {row.slug: row.to_spec() for row in rows}

    def is_reachable(name: str) -> bool:
        try:
            return why_unreachable(read_model(name), providers, os.environ) is None
        except ValidationError:
            return False

    return [name for name in dict.fromkeys([*others, *known_models()]) if is_reachable(name)]


class ModelInput(UnfoldAdminTextInputWidget):
    """A text input that suggests reachable models; any other model can be typed."""

    template_name = "admin/evals_app/kit/model_input.html"

    def get_context(
        self, name: str, value: Any, attrs: dict[str, object] | None
    ) -> TemplateContext:
        context = super().get_context(name, value, attrs)
        context["widget"]["offered"] = self.suggestions()
        return context

    def suggestions(self) -> list[str]:
        """Return the suggested models."""
        return reachable_models()


def offered_judges() -> list[str]:
    """Return the models that a judge field suggests: those within reach of this site."""
    plugins = [f"{PLUGIN}/{name}" for name in judge_plugins().plugins]
    models = reachable_models(settings.EVALS_JUDGE_MODEL, *plugins)
    return [*(name for name in models if not name.startswith("scripted/")), OWN]


class JudgeInput(ModelInput):
    """A text input that suggests the models that can judge here; any other model can be typed."""

    def suggestions(self) -> list[str]:
        return [name for name in offered_judges() if name != OWN]


def no_judge_for(suite: SuiteSpec, case: Case) -> str:
    """Return a warning that a case needs a judge and has none. `suite` has only this case."""
    if suite.judged_check(suite.cases) is None:
        return ""
    obstacles = obstacles_now()
    obstacles.check_judge_of_run(suite.cases[0], suite)
    obstacles.judge(suite, case.suite.agent.to_spec())
    return obstacles.no_judge


def judge_link(suite: Suite) -> SafeString:
    """Return a link to the field that names the judge of a suite."""
    address = reverse("admin:evals_app_suite_change", args=[suite.pk])
    text = f"Choose a judge model for {suite.name}"
    return format_html('<a href="{}?field=judge_model">{}</a>', address, text)
