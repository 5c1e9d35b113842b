"""Everything that a run uses, prepared in memory by the rules of a site."""

import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from pydantic import ValidationError

from evals_app.code.environment import usual_models
from evals_app.code.suites import Suite, SuiteError
from evals_app.engine.basics.errors import CannotError
from evals_app.engine.llm.answer_cache import AnswerCache, secret_in
from evals_app.engine.llm.ollama import find_embedding_model
from evals_app.engine.llm.usual_providers import usual_providers
from evals_app.engine.network.web import why_not_called
from evals_app.engine.preparing.case_choice import CaseChoice, with_model
from evals_app.engine.preparing.model_choice import ModelChoice, choose_models
from evals_app.engine.preparing.needs import Needs
from evals_app.engine.preparing.obstacles import Obstacles
from evals_app.engine.preparing.text_comparison import TextComparison
from evals_app.engine.running.run_gateway import Plan
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ModelRef, read_model
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.formats.checking.naming import FixtureContents, inventory_of
from evals_app.formats.snapshots.run_snapshot import as_in_snapshots
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.ground.words import near
from fixtures_app.tools import TOOLS, ToolWorld

MAX_TRIALS = 100_000  # conversations of one run


@dataclass(frozen=True, slots=True)
class CodeChoices:
    """What the caller of a run chose; None and empty: what the suite says."""

    part: CaseChoice
    model: str = ""
    judge: str = ""
    max_cost_usd: Decimal | None = None
    all_trials: bool = False
    cache: Path | None = None


@dataclass(frozen=True, slots=True)
class FrozenRun:
    """The plan of a run, and how often each of its cases runs."""

    plan: Plan
    cases: Sequence[tuple[CaseSpec, int]]
    models: ModelChoice
    contents: Mapping[str, bytes]
    replaced_model: str  # the agent's own, where another takes its place
    in_suite: int
    disabled: int


async def freeze_run(suite: Suite, agent: AgentSpec, choices: CodeChoices) -> FrozenRun:
    """Prepare a run.

    Raises:
        SuiteError: with everything that keeps it from running.
    """
    try:
        tested = with_model(agent, choices.model)
        spec = as_in_snapshots(_with_judge(suite.spec, choices.judge))
    except CannotError as exc:
        raise SuiteError(exc.problems) from None
    obstacles = _obstacles(suite, agent)
    needs, cases = _look_at(spec, tested, choices.part, obstacles)
    _require_fixtures(suite, obstacles)
    local = await _local_model(obstacles, needs)
    comparison = TextComparison(obstacles, lambda _: local)
    today = datetime.now(UTC).date()
    models = choose_models(spec, tested, needs, comparison, paid=[tested.asked_model], day=today)
    if choices.max_cost_usd is not None:
        obstacles.prices(models.providers, models.models, ceiling=choices.max_cost_usd)
    obstacles.size(sum(trials for _, trials in cases), len(cases), most=MAX_TRIALS)
    if obstacles.problems:
        raise SuiteError(obstacles.problems)
    return FrozenRun(
        plan=_plan(suite, spec, tested, models, choices),
        cases=cases,
        models=models,
        contents=suite.project.contents,
        replaced_model=str(agent.asked_model) if tested is not agent else "",
        in_suite=sum(case.enabled for case in spec.cases),
        disabled=sum(not case.enabled for case in spec.cases),
    )


def _with_judge(spec: SuiteSpec, judge: str) -> SuiteSpec:
    if not judge:
        return spec
    try:
        chosen: ModelRef | str = judge if judge == "agent" else read_model(judge)
    except ValidationError as exc:
        raise CannotError(*(f"judge: {message}" for message in messages_of(exc))) from exc
    return spec.model_copy(update={"judge_model": chosen})


def _obstacles(suite: Suite, agent: AgentSpec) -> Obstacles:
    agents = {**suite.project.agents, agent.slug: agent}

    def agents_of(slugs: Collection[str]) -> Mapping[str, AgentSpec]:
        return {slug: agents[slug] for slug in slugs if slug in agents}

    providers = {**usual_providers(), **suite.project.providers}
    return Obstacles(providers, os.environ, why_not_called, usual_models(), tuple(TOOLS), agents_of)


def _look_at(
    spec: SuiteSpec, agent: AgentSpec, part: CaseChoice, obstacles: Obstacles
) -> tuple[Needs, list[tuple[CaseSpec, int]]]:
    """Return what the checks need, and the cases to run; what is in the way goes to `obstacles`."""
    obstacles.agent(agent)
    if agent.spans_waited_s is not None:
        obstacles.say(
            f"Agent {agent.slug} reports its tool calls by spans, which only a site receives."
        )
    needs, cases = Needs(), list[tuple[CaseSpec, int]]()
    for check in (*spec.assertions, spec.rubric_check):
        if check is not None:
            needs.add(check)
    for case in spec.cases:
        trials = part.trials_of(case, spec) if case.enabled or part.with_disabled else 0
        for check in case.assertions() if trials else ():
            needs.add(check)
        if trials:
            needs.add_user(case)
            obstacles.case(case, spec)
            cases.append((case, trials))
    if not cases:
        obstacles.say(_nothing_chosen(spec, part))
    return needs, cases


def _nothing_chosen(spec: SuiteSpec, part: CaseChoice) -> str:
    names = [case.name for case in spec.cases]
    tags = sorted({tag for case in spec.cases for tag in case.tags} | set(spec.tags))
    hints = [near(text, names) for text in (*part.cases, *part.names)]
    hints += [near(tag, tags) for tag in part.tags]
    return f"No case of {spec.slug} was chosen.{''.join(dict.fromkeys(hints))}"


def _require_fixtures(suite: Suite, obstacles: Obstacles) -> None:
    known = suite.project.fixtures
    for slug in suite.spec.fixtures:
        if slug not in known:
            found = ", ".join(known) or "none"
            obstacles.say(
                f"Suite {suite.slug} uses the test data {slug!r}, which no file around it describes."
                f"{near(slug, known)} Found: {found}."
            )


async def _local_model(obstacles: Obstacles, needs: Needs) -> str | None:
    """Return which model for embeddings a local Ollama server has, if one may be needed."""
    local = obstacles.providers.get("ollama")
    return await find_embedding_model(local.base_url) if needs.comparison and local else None


def _plan(
    suite: Suite, spec: SuiteSpec, agent: AgentSpec, models: ModelChoice, choices: CodeChoices
) -> Plan:
    project, started_at = suite.project, datetime.now(UTC).isoformat()
    fixtures = [project.fixtures[slug] for slug in spec.fixtures]
    types = {kind.slug: kind.json_schema for kind in project.entity_types}
    inventory = inventory_of(
        agent.slug, agent.abilities, map(FixtureContents.of, fixtures), [*types]
    )
    cache = choices.cache
    return Plan(
        suite=spec,
        agent=agent,
        open_world=lambda clock: ToolWorld(fixtures, types, clock=clock or started_at),
        providers=models.providers,
        judge=models.judge,
        similarity=models.similarity,
        scripted={agent.slug: agent for agent in models.scripted},
        secret=secrets.token_bytes(32) if cache is None else secret_in(cache),
        cache=None if cache is None else AnswerCache(cache, models.providers),
        has_ceiling=choices.max_cost_usd is not None,
        inventory=inventory,
        stops_when_decided=spec.stops_when_decided and not choices.all_trials,
    )
