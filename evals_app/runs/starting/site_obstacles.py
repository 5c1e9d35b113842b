"""The obstacles to runs on this site: its models, its agents and its limits."""

import os
from collections.abc import Callable, Collection, Mapping

from django.conf import settings

from evals_app.engine.network.web import why_not_called
from evals_app.engine.preparing.obstacles import Obstacles, UsualModels
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.models import Agent, Attachment, Provider
from fixtures_app.tools import TOOLS


def obstacles_now(
    environ: Mapping[str, str] = os.environ,
    why_not_called: Callable[[str], str | None] = why_not_called,
    *,
    providers: Mapping[str, ProviderSpec] | None = None,
) -> Obstacles:
    """Return an empty collection of obstacles, with today's providers unless others are given."""
    if providers is None:
        rows = Provider.objects.prefetch_related("prices")
        providers = {row.slug: row.to_spec() for row in rows}
    usual = UsualModels(
        settings.EVALS_JUDGE_MODEL,
        settings.EVALS_EMBEDDING_MODEL,
        settings.EVALS_MODEL2VEC_DIR,
    )
    return Obstacles(providers, environ, why_not_called, usual, tuple(TOOLS), _agents_of)


def _agents_of(slugs: Collection[str]) -> dict[str, AgentSpec]:
    return {row.slug: row.to_spec() for row in Agent.objects.filter(slug__in=slugs)}


def look_for_files(obstacles: Obstacles, paths: Mapping[str, str]) -> None:
    """Report files of turns whose content is not stored; `paths` are known by their SHA-256."""
    for sha256 in set(paths) - Attachment.objects.keep(paths).keys() if paths else ():
        obstacles.say(f"The content of {paths[sha256]} is not stored: import its suite again.")
