"""Warn at an import of suites without a judge."""

from collections.abc import Iterator, Mapping

from django.conf import settings
from pydantic import ValidationError

from evals_app.engine.llm.keys import no_judge, why_unreachable
from evals_app.engine.spec import ProviderSpec, read_model
from evals_app.formats import Imported, Problem
from evals_app.models import Agent, Provider


def unjudged(imported: Imported, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Warn of suites with judged checks that name no judge, if this site has none either."""
    stored = {row.slug: row.to_spec() for row in Provider.objects.prefetch_related("prices")}
    providers = stored | {located.spec.slug: located.spec for located in imported.providers}
    if _can_judge(settings.EVALS_JUDGE_MODEL, providers, environ):
        return
    with_model = set(Agent.objects.exclude(model="").values_list("slug", flat=True))
    for agent in imported.agents:
        (with_model.add if agent.spec.model else with_model.discard)(agent.spec.slug)
    for suite in imported.suites:
        spec = suite.spec
        if spec.judge_model is not None or spec.agent in with_model:
            continue
        if check := spec.judged_check(spec.cases):
            site = settings.EVALS_JUDGE_MODEL
            message = no_judge(spec.slug, check.label, site, providers.values(), environ)
            yield Problem(suite.path, suite.line, 1, "", "", message, "warning")


def _can_judge(
    site: str, providers: Mapping[str, ProviderSpec], environ: Mapping[str, str]
) -> bool:
    try:
        return why_unreachable(read_model(site), providers, environ) is None
    except ValidationError:
        return False
