"""Freeze what a run uses, or say what is missing."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.conf import settings
from pydantic import TypeAdapter, ValidationError

from evals_app.engine.spec import AgentSpec, ModelRef, ModelSpec, ProviderSpec, Spec
from evals_app.engine.suite import AssertionSpec, SuiteSpec
from evals_app.formats.explain import explain
from evals_app.formats.snapshot import SnapshotSpec
from evals_app.formats.yaml_source import read_yaml
from evals_app.models import Agent, Provider, Suite
from fixtures_app.models import EntityType, Fixture
from fixtures_app.tools import TOOLS

S = TypeVar("S", bound=Spec)

_MODEL: TypeAdapter[ModelSpec] = TypeAdapter(ModelRef)


class CannotStartError(Exception):
    """A run cannot start as asked; `problems` are sentences for people."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = list(problems)


def freeze(
    suite: Suite,
    *,
    agent: Agent | None = None,
    model: str = "",
    environ: Mapping[str, str] = os.environ,
) -> SnapshotSpec:
    """Load everything that a run of the suite uses.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    whole = Suite.objects.with_everything().get(pk=suite.pk)
    suite_spec = _read(SuiteSpec, whole.written())
    agent_spec = _read(AgentSpec, (agent or suite.agent).written())
    if model:
        agent_spec = _with_model(agent_spec, model)
    providers = {row.slug: row.to_spec() for row in Provider.objects.all()}
    check = _Check(providers, environ)
    check.agent(agent_spec)
    judge = check.judge(suite_spec, agent_spec)
    scripted = check.scripted(suite_spec, judge)
    if check.problems:
        raise CannotStartError(check.problems)
    fixtures = Fixture.objects.filter(slug__in=suite_spec.fixtures).order_by("slug")
    used = {agent_spec.model, judge, *_own_judges(suite_spec, agent_spec)} - {None}
    return SnapshotSpec(
        suite=suite_spec,
        agent=agent_spec,
        judge=judge,
        scripted=scripted,
        fixtures=[row.to_spec() for row in fixtures.with_everything()],
        entity_types=[row.to_spec() for row in EntityType.objects.order_by("slug")],
        providers=[
            spec
            for slug, spec in sorted(providers.items())
            if slug in {m.provider for m in used if m}
        ],
    )


def _read(spec: type[S], written: dict[str, Any]) -> S:
    """Validate what rows hold: a check may be of a kind that is gone, an agent half written."""
    try:
        return spec.model_validate(written)
    except ValidationError as exc:
        nowhere = read_yaml("", b"{}")  # rows have no lines to point at
        found = explain(exc, model=spec, data=written, document=nowhere)
        problems = [f"{each.keys}: {each.message}" for each in found]
        raise CannotStartError(problems) from exc


def _with_model(agent: AgentSpec, model: str) -> AgentSpec:
    if agent.driver != "model":
        problem = f"Agent {agent.slug} is scripted: it has no model that could be replaced."
        raise CannotStartError([problem])
    try:
        return agent.model_copy(update={"model": _MODEL.validate_python(model)})
    except ValidationError as exc:
        problems = [error["msg"].removeprefix("Value error, ") for error in exc.errors()]
        raise CannotStartError(problems) from exc


def _own_judges(suite: SuiteSpec, agent: AgentSpec) -> list[ModelSpec | None]:
    """Give the models of assertions that name their own judge."""
    own = [each.model for each in _assertions(suite) if each.model is not None]
    return [agent.model if judge == "agent" else judge for judge in own]


def _assertions(suite: SuiteSpec) -> list[AssertionSpec]:
    return [
        *suite.assertions,
        *(a for case in suite.cases for turn in case.turns for a in turn.assertions or []),
        *(a for case in suite.cases for a in case.final_assertions),
    ]


class _Check:
    """Collects what stands in the way of a run."""

    def __init__(self, providers: Mapping[str, ProviderSpec], environ: Mapping[str, str]) -> None:
        self.problems: list[str] = []
        self._providers = providers
        self._environ = environ

    def agent(self, agent: AgentSpec) -> None:
        unknown = [tool for tool in agent.tools if tool not in TOOLS]
        if unknown:
            known = ", ".join(TOOLS)
            self._say(
                f"Agent {agent.slug} has unknown tools: {', '.join(unknown)}. Known: {known}."
            )
        if agent.driver == "model" and agent.model is not None:
            self._reachable(agent.model, f"Agent {agent.slug}")

    def judge(self, suite: SuiteSpec, agent: AgentSpec) -> ModelSpec | None:
        """Choose the judge: the suite's, else the site's if it has a key, else the agent's."""
        needed = [each for each in _assertions(suite) if each.grader.family == "judged"]
        for each in needed:
            if each.model is not None:
                self._named(each.model, agent, f"Check {each.label!r}")
        if all(each.model is not None for each in needed):
            return None
        if suite.judge_model is not None:
            return self._named(suite.judge_model, agent, f"Suite {suite.slug}")
        site = _MODEL.validate_python(settings.EVALS_JUDGE_MODEL)
        if self._why_unreachable(site) is None:
            return site
        return agent.model

    def scripted(self, suite: SuiteSpec, judge: ModelSpec | None) -> list[AgentSpec]:
        """Load the agents that scripted judges follow."""
        judges = [judge, *(a.model for a in _assertions(suite) if isinstance(a.model, ModelSpec))]
        slugs = {each.name for each in judges if each and each.provider == "scripted"}
        found = {row.slug: row for row in Agent.objects.filter(slug__in=slugs)}
        for slug in sorted(slugs):
            if slug not in found:
                self._say(f"The judge scripted/{slug} names no agent that exists.")
            elif not found[slug].is_scripted:
                self._say(f"The judge scripted/{slug} names an agent that is not scripted.")
        return [found[slug].to_spec() for slug in sorted(found)]

    def _named(self, reference: "ModelSpec | str", agent: AgentSpec, who: str) -> ModelSpec | None:
        if not isinstance(reference, ModelSpec):
            if agent.model is None:
                self._say(f"{who} is judged by the agent's own model, but {agent.slug} has none.")
            return agent.model
        self._reachable(reference, who)
        return reference

    def _reachable(self, model: ModelSpec, who: str) -> None:
        if model.provider != "scripted" and (why := self._why_unreachable(model)):
            self._say(f"{who} uses {model}: {why}")

    def _why_unreachable(self, model: ModelSpec) -> str | None:
        provider = self._providers.get(model.provider)
        if provider is None:
            known = ", ".join(self._providers)
            return f"there is no provider {model.provider!r}. Known: {known}."
        variable = provider.api_key_env
        if variable and not self._environ.get(variable):
            return f"the environment variable {variable} is not set."
        return None

    def _say(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
