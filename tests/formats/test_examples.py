import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from evals_app.engine.graders import GRADERS
from evals_app.engine.record.trial import Verdict
from evals_app.engine.running.run_gateway import Outcome, Plan
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.specs.inventory import Inventory
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.can_fail import probe_checks
from evals_app.engine.verdicts.similarity import SimilaritySpec
from evals_app.formats.detect import foreign_dialect, is_eval_file
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.yaml_source import read_yaml
from fixtures_app.tools import ToolWorld
from tests.engine.memory_gateway import execute_in_memory

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PACKAGE = EXAMPLES / "plugin-package"  # has no eval files
FILES = sorted(
    path for path in EXAMPLES.rglob("*") if path.is_file() and PACKAGE not in path.parents
)
# The suites of the table in the README, each with its last four cells, the counts of its verdicts.
ROWS = {
    row[1]: [int(cell) for cell in row[2].strip("|").split("|")[-4:]]
    for row in re.finditer(
        r"^\| `([a-z-]+)` (\|.+)$", (EXAMPLES / "README.md").read_text(), re.MULTILINE
    )
}
SUITES = sorted(ROWS)
# Files that others name: pictures, datasets, rubrics.
named: set[str] = set()
# Tools that fail by design, by suite.
TOOL_ERRORS = {"flight-desk": ["The airport is closed today."]}


@cache
def examples() -> Imported:
    sources = [
        SourceFile(str(path.relative_to(EXAMPLES)), path.read_bytes())
        for path in FILES
        if is_eval_file(path.as_posix())
    ]
    return read_files(sources, find=content_of)


def content_of(path: str) -> bytes | None:
    named.add(path)
    file = EXAMPLES / path
    return file.read_bytes() if file.is_file() else None


def by_slug(located: Any) -> dict[str, Any]:
    return {item.spec.slug: item.spec for item in located}


@cache
def outcomes(slug: str) -> list[Outcome]:
    imported = examples()
    agents, fixtures = by_slug(imported.agents), by_slug(imported.fixtures)
    schemas = {item.spec.slug: item.spec.json_schema for item in imported.entity_types}
    suite = by_slug(imported.suites)[slug]

    def world(clock: str | None) -> ToolWorld:
        seeds = [fixtures[fixture] for fixture in suite.fixtures]
        return ToolWorld(seeds, schemas, clock=clock or "2026-05-11T09:00:00+00:00")

    assert suite.judge_model is None or isinstance(suite.judge_model, ModelSpec)
    plan = Plan(
        suite=suite,
        agent=agents[suite.agent],
        open_world=world,
        judge=suite.judge_model,
        scripted={slug: agent for slug, agent in agents.items() if agent.driver == "scripted"},
        secret=b"any",
        similarity=SimilaritySpec(way="words"),
    )
    done: list[Outcome] = async_to_sync(execute_in_memory)(plan, contents=imported.contents)
    return done


def test_every_example_is_read_without_a_warning() -> None:
    assert examples().warnings == []


def test_every_file_of_the_examples_is_an_eval_file_or_named_by_one() -> None:
    contents = examples().contents.values()
    paths = {path.relative_to(EXAMPLES).as_posix() for path in FILES}
    others = {path for path in paths if not is_eval_file(path)}

    assert others - named == {"README.md"}
    assert (EXAMPLES / "receipts/green-grocer.csv").read_bytes() in contents


def test_every_type_of_check_occurs_in_an_example() -> None:
    suites = by_slug(examples().suites).values()
    of_suites = {assertion.type for suite in suites for assertion in suite.assertions}
    of_cases = {
        assertion.type
        for suite in suites
        for case in suite.cases
        for assertion in case.assertions()
    }

    assert of_suites | of_cases == set(GRADERS)


def test_the_examples_are_the_suites_that_the_readme_lists() -> None:
    assert sorted(by_slug(examples().suites)) == SUITES


def test_the_assistant_with_a_model_differs_in_nothing_but_the_driver() -> None:
    agents = by_slug(examples().agents)
    offline, online = agents["support"], agents["support-claude"]

    assert (online.driver, str(online.model)) == ("model", "anthropic/claude-haiku-5-5")
    for name in ("agent", "system_prompt", "tools"):
        assert getattr(online, name) == getattr(offline, name)


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
        assert outcome.decision.verdict == expected, outcome.job.case.name


@pytest.mark.parametrize("slug", SUITES)
def test_the_readme_gives_the_true_counts(slug: str) -> None:
    counts = Counter(outcome.decision.verdict for outcome in outcomes(slug) if outcome.decision)
    verdicts = (Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED)

    assert ROWS[slug] == [counts.total(), *(counts[verdict] for verdict in verdicts)]


@pytest.mark.parametrize("slug", SUITES)
def test_every_tool_call_succeeds_unless_it_is_to_fail(slug: str) -> None:
    calls = [call for outcome in outcomes(slug) for call in outcome.trial.tool_calls]

    assert [call.error for call in calls if call.error] == TOOL_ERRORS.get(slug, [])


@pytest.mark.parametrize("slug", SUITES)
def test_no_reply_has_a_gap_where_a_result_should_be(slug: str) -> None:
    replies = [turn.reply for outcome in outcomes(slug) for turn in outcome.trial.turns]

    assert all(reply and "{{" not in reply and "  " not in reply for reply in replies)
    assert not [reply for reply in replies if " ," in reply or " ." in reply.replace(" ...", "")]


def test_every_file_is_read_in_the_dialect_of_its_folder() -> None:
    folders = {"agentura", "holodeck", "lobu", "openai-evals", "promptfoo"}
    read = {}
    for path in filter(is_eval_file, (file.relative_to(EXAMPLES).as_posix() for file in FILES)):
        if not path.endswith((".csv", ".toml")):
            data = read_yaml(path, (EXAMPLES / path).read_bytes()).data
            read[path] = foreign_dialect(path, data)

    for path, dialect in read.items():
        folder = path.split("/")[0]
        assert dialect == (folder if folder in folders and ".agent." not in path else None), path


# Each passes whatever the agent of its suite says; none is refused when it is written.
PLANTED: dict[str, dict[str, Any]] = {
    "customer-support": {"type": "contains", "value": "e"},
    "flight-desk": {"type": "matches", "value": "[a-z]"},
    "order-desk": {"type": "tool_not_called", "value": "send_parcel"},
    "receipts": {"type": "json_schema", "schema": {"type": "object"}},
    "savings-bank": {"type": "numeric", "value": 3, "absolute_tolerance": 1000},
}


def test_planted_checks_that_cannot_fail_are_found_and_no_other_is_flagged() -> None:
    agents = {agent.spec.slug: agent.spec for agent in examples().agents}
    found = {}
    for suite in (located.spec for located in examples().suites):
        agent = agents[suite.agent]
        inventory = Inventory.of(agent.slug, agent.abilities)
        assert probe_checks(suite, inventory).of("blind") == []
        if suite.slug in PLANTED:
            case = suite.cases[0]
            planted = AssertionSpec.model_validate(PLANTED[suite.slug])
            turn = case.turns[0]
            more = turn.model_copy(update={"assertions": [*(turn.assertions or []), planted]})
            cases = [case.model_copy(update={"turns": [more, *case.turns[1:]]}), *suite.cases[1:]]
            changed = suite.model_copy(update={"cases": cases})
            found[suite.slug] = [one.check for one in probe_checks(changed, inventory).of("blind")]

    assert found == {slug: [AssertionSpec.model_validate(check)] for slug, check in PLANTED.items()}
