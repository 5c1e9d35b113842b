from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from evals_app.engine.execution import Outcome, Plan, execute_in_memory
from evals_app.engine.spec import ModelSpec
from evals_app.engine.trial import Verdict
from evals_app.formats import (
    Imported,
    SourceFile,
    file_name,
    is_eval_file,
    read_files,
    write_native,
)
from fixtures_app.tools import ToolWorld, open_world

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted(path for path in EXAMPLES.rglob("*") if path.is_file())
SUITES = ["classroom", "customer-support", "order-desk", "refund-flow", "whatsapp-booking"]


@cache
def examples() -> Imported:
    sources = [
        SourceFile(str(path.relative_to(EXAMPLES)), path.read_bytes())
        for path in FILES
        if is_eval_file(path.name)
    ]
    return read_files(sources)


def by_slug(located: Any) -> dict[str, Any]:
    return {each.spec.slug: each.spec for each in located}


@cache
def outcomes(slug: str) -> list[Outcome]:
    found = examples()
    agents, fixtures = by_slug(found.agents), by_slug(found.fixtures)
    schemas = {each.spec.slug: each.spec.json_schema for each in found.entity_types}
    suite = by_slug(found.suites)[slug]

    def world(clock: str | None) -> ToolWorld:
        seeds = [fixtures[each] for each in suite.fixtures]
        return open_world(seeds, schemas, clock=clock or "2026-05-11T09:00:00+00:00")

    assert isinstance(suite.judge_model, ModelSpec)
    plan = Plan(
        suite=suite,
        agent=agents[suite.agent],
        open_world=world,
        judge=suite.judge_model,
        scripted={slug: agent for slug, agent in agents.items() if agent.driver == "scripted"},
        secret=b"any",
    )
    done: list[Outcome] = async_to_sync(execute_in_memory)(plan)
    return done


def test_every_example_is_read_without_a_warning() -> None:
    assert examples().warnings == []


def test_every_yaml_file_of_the_examples_is_an_eval_file() -> None:
    assert [path.name for path in FILES if not is_eval_file(path.name)] == ["README.md"]


def test_the_examples_are_the_suites_that_the_readme_lists() -> None:
    readme = (EXAMPLES / "README.md").read_text()

    assert sorted(by_slug(examples().suites)) == SUITES
    assert all(f"| `{slug}` |" in readme for slug in SUITES)


def test_every_example_survives_export_and_import() -> None:
    found = examples()
    specs: list[Any] = [
        each.spec
        for located in (found.providers, found.agents, found.suites, found.fixtures)
        for each in located
    ]

    exported = [SourceFile(file_name(spec), write_native(spec)) for spec in specs]
    again = read_files(exported)

    assert by_slug(again.agents) == by_slug(found.agents)
    assert by_slug(again.suites) == by_slug(found.suites)
    assert by_slug(again.fixtures) == by_slug(found.fixtures)
    assert by_slug(again.entity_types) == by_slug(found.entity_types)
    assert again.warnings == []
    for file, spec in zip(exported, specs, strict=True):
        kept = {**by_slug(again.agents), **by_slug(again.fixtures)}
        if file.path.endswith(".suite.yaml"):
            kept = by_slug(again.suites)
        assert write_native(kept[spec.slug]) == file.content


def test_the_assistant_with_a_model_differs_in_nothing_but_the_driver() -> None:
    agents = by_slug(examples().agents)
    offline, online = agents["support"], agents["support-claude"]

    assert (online.driver, str(online.model)) == ("model", "anthropic/claude-haiku-5-5")
    assert (online.agent, online.system_prompt, online.tools) == (
        offline.agent,
        offline.system_prompt,
        offline.tools,
    )


@pytest.mark.parametrize("slug", SUITES)
def test_cases_end_as_their_tags_say(slug: str) -> None:
    tags = {case.name: case.tags for case in by_slug(examples().suites)[slug].cases}

    for outcome in outcomes(slug):
        expected = Verdict.PASSED
        if "fails-on-purpose" in tags[outcome.job.case.name]:
            expected = Verdict.FAILED
        if "errors-on-purpose" in tags[outcome.job.case.name]:
            expected = Verdict.ERRORED
        assert outcome.decision is not None
        assert (outcome.job.case.name, outcome.decision.verdict) == (
            outcome.job.case.name,
            expected,
        )


@pytest.mark.parametrize("slug", SUITES)
def test_the_readme_gives_the_true_counts(slug: str) -> None:
    counts = Counter(each.decision.verdict for each in outcomes(slug) if each.decision)
    row = next(
        line
        for line in (EXAMPLES / "README.md").read_text().splitlines()
        if line.startswith(f"| `{slug}` |")
    )

    listed = [int(cell) for cell in row.strip("|").split("|")[-4:]]

    assert listed == [
        counts.total(),
        counts[Verdict.PASSED],
        counts[Verdict.FAILED],
        counts[Verdict.ERRORED],
    ]


@pytest.mark.parametrize("slug", SUITES)
def test_every_tool_call_of_the_scripted_agents_succeeds(slug: str) -> None:
    failed = [call for each in outcomes(slug) for call in each.trial.tool_calls if call.error]

    assert failed == []


@pytest.mark.parametrize("slug", SUITES)
def test_no_reply_has_a_gap_where_a_result_should_be(slug: str) -> None:
    replies = [turn.reply for each in outcomes(slug) for turn in each.trial.turns]

    assert all(reply and "{{" not in reply and "  " not in reply for reply in replies)
    assert not [reply for reply in replies if " ," in reply or " ." in reply.replace(" ...", "")]
