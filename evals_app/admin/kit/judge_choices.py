"""The models that can judge on this site, and what to do if there are none."""

import os

from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evals_app.admin.kit.model_choices import ModelInput, reachable_models
from evals_app.engine.network.web import why_not_called
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.models import Case, Provider, Suite
from evals_app.runs.starting.obstacles import Obstacles

OWN = "agent"  # the agent's own model
JUDGES = "ew-judges"  # the list of models that judge fields suggest


def offered_judges() -> list[str]:
    """Return the models that a judge field suggests: those within reach of this site."""
    models = reachable_models(settings.EVALS_JUDGE_MODEL)
    return [*(name for name in models if not name.startswith("scripted/")), OWN]


class JudgeInput(ModelInput):
    """A text input that suggests the models that can judge here; any other model can be typed."""

    def suggestions(self) -> list[str]:
        return [name for name in offered_judges() if name != OWN]


def no_judge_for(suite: SuiteSpec, case: Case) -> str:
    """Return a warning that a case needs a judge and has none. `suite` has only this case."""
    if suite.judged_check(suite.cases) is None:
        return ""
    rows = Provider.objects.prefetch_related("prices")
    providers = {row.slug: row.to_spec() for row in rows}
    obstacles = Obstacles(providers, os.environ, why_not_called)
    obstacles.check_judge_of_run(suite.cases[0], suite)
    obstacles.judge(suite, case.suite.agent.to_spec())
    return obstacles.no_judge


def judge_link(suite: Suite) -> SafeString:
    """Return a link to the field that names the judge of a suite."""
    address = reverse("admin:evals_app_suite_change", args=[suite.pk])
    text = f"Choose a judge model for {suite.name}"
    return format_html('<a href="{}?field=judge_model">{}</a>', address, text)
