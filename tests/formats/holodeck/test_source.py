from typing import Any

import pytest

from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.native import file_name, write_native
from evals_app.formats.reading.problems import FormatError, Problem
from tests.formats.holodeck.projects import (
    MODEL,
    QUICK_START,
    agent_file,
    problems,
    read,
    whole,
    with_turn,
    written,
)


def places(problems_here: list[Problem]) -> list[tuple[int, str]]:
    return [(item.line, item.keys) for item in problems_here]


def test_the_quick_start_becomes_a_suite_of_the_agent_that_the_person_names() -> None:
    imported = read(QUICK_START)

    assert (imported.warnings, imported.losses) == ([], [])
    assert written(imported.suites[0].spec) == {
        "suite": "desk",
        "slug": "desk",
        "agent": "desk",
        "judge_model": "agent",
        "assertions": [{"type": "numeric", "relative_tolerance": 0.01}],
        "cases": [
            {
                "name": "Exercise price",
                "turns": [
                    {
                        "user": "What was the weighted average exercise price per share in 2007?",
                        "expected": "60.94",
                    }
                ],
            }
        ],
    }


def test_a_name_without_latin_letters_gives_the_slug_of_the_folder() -> None:
    imported = read("name: 日本\nmodel: {provider: openai, name: m}\ninstructions: Help.\n")

    assert [agent.spec.slug for agent in imported.agents] == ["project"]


def test_the_suite_of_such_a_file_is_about_that_agent() -> None:
    data = written(whole().suites[0].spec)

    assert data == {
        "suite": "Support agent",
        "slug": "support-agent",
        "agent": "support-agent",
        "description": "Handles customer support.",
        "judge_model": {
            "provider": "anthropic",
            "name": "claude-sonnet-4-20250514",
            "temperature": 0,
        },
        "concurrency": 4,
        "assertions": [{"type": "answer_relevancy", "threshold": 0.7}],
        "cases": [
            {
                "name": "Basic query",
                "turn_timeout_s": 180,
                "turns": [
                    {
                        "user": "Hello, can you help?",
                        "inherit": True,
                        "assertions": [
                            {"type": "tool_called", "value": "search_kb", "name_match": "contains"}
                        ],
                    }
                ],
            }
        ],
    }


def specs_of(imported: Imported) -> list[Any]:
    return [
        *(provider.spec for provider in imported.providers),
        *(agent.spec for agent in imported.agents),
        *(item.spec for item in imported.suites),
    ]


def test_what_is_imported_exports_and_imports_without_a_change() -> None:
    specs = specs_of(whole())

    again = read_files([SourceFile(file_name(spec), write_native(spec)) for spec in specs])

    assert specs_of(again) == specs


def test_an_agent_without_metrics_and_cases_makes_no_suite() -> None:
    imported = read(agent_file())

    assert ([agent.spec.slug for agent in imported.agents], imported.suites) == (["a"], [])


def test_the_agent_that_the_person_names_takes_the_place_of_the_files_own() -> None:
    agent = agent_file(instructions="{file: 'gone-${NOBODY}.md'}")

    imported = read(f"{agent}test_cases: [{{input: hi}}]\n", agent="desk")

    (trial,) = imported.suites
    # The agent's own model judged in HoloDeck, and goes on to do so.
    assert (trial.spec.slug, trial.spec.agent) == ("a", "desk")
    assert str(trial.spec.judge_model) == "openai/m"
    assert imported.agents == []
    assert [loss.keys for loss in imported.losses] == ["model", "instructions"]


def test_a_variable_that_no_one_fills_stays_text_and_is_lost() -> None:
    imported = read(agent_file(instructions="'Hi {{user}}'"))

    assert imported.agents[0].spec.sent_prompt == r"Hi \{{user}}"
    assert [loss.keys for loss in imported.losses] == ["instructions"]


def test_limits_above_ours_are_the_most_that_is_possible() -> None:
    text = "execution: {llm_timeout: 3600, parallel_test_cases: 5000}\ntest_cases: [{input: hi}]\n"

    imported = read(text)

    spec = imported.suites[0].spec
    assert (spec.cases[0].turn_timeout_s, spec.concurrency) == (1500, 1000)
    assert [loss.keys for loss in imported.losses] == [
        "execution.llm_timeout",
        "execution.parallel_test_cases",
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (QUICK_START, 2, "--agent"),
        ("name: x\n", 1, "--agent"),
        (f"name: x\nmodel: {MODEL}\ntest_cases: [{{input: hi}}]\n", 1, "`instructions`"),
        ("name: x\ninstructions: Be kind.\n", 1, "`model`"),
        (f"model: {MODEL}\ninstructions: Be kind.\n", 1, "`name`"),
    ],
)
def test_a_file_that_names_no_agent_is_reported_how(text: str, line: int, message: str) -> None:
    errors = problems(text, agent=None)

    assert errors[0].line == line
    assert message in errors[0].message


def test_an_agent_that_does_not_exist_is_refused() -> None:
    (problem,) = problems(QUICK_START, agent="dsk")

    assert "'dsk'" in problem.message
    assert "'desk'" in problem.message


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("instrucions: x\n", "instrucions", "'instructions'"),
        ("test_cases: {}\n", "test_cases", "list"),
        ("tools: [{name: t, type: vectorstor}]\n", "tools[0].type", "vectorstore"),
        ("tools: [5]\n", "tools[0].type", "Unknown"),
        (agent_file(instructions="{}"), "instructions", "`inline`"),
        (agent_file(instructions="{inline: a, file: b}"), "instructions", "`inline`"),
        (agent_file(instructions="{file: gone.md}"), "instructions.file", "project/gone.md"),
        (agent_file(instructions="'Hi {{agentname}}'"), "instructions", "{{agentName}}"),
        (
            "execution: {llm_timeout: 0}\ntest_cases: [{input: a}]\n",
            "execution.llm_timeout",
            "greater",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(text: str, key: str, message: str) -> None:
    errors = problems(text)

    assert key in [item.keys for item in errors]
    assert any(message in item.message for item in errors)
    assert all(item.line > 0 for item in errors)


def test_the_errors_of_all_parts_are_reported_in_one_go() -> None:
    text = """\
name: x
model: {provider: opnai, nam: gpt}
evaluations:
  metrics:
    - {metric: f1_scor, treshold: 1}
    - {metric: bleu, threshold: "${LEAST}"}
    - {metric: rouge, threshold: 7}
test_cases:
  - {input: 5, evaluations: [{metric: numerc}]}
  - turns:
      - {inputs: a}
      - {input: b, expected_tools: [{name: t, args: {a: {regex: "("}}}]}
"""

    errors = problems(text, agent=None)

    assert places(errors) == [
        (2, "model"),
        (2, "model.provider"),
        (2, "model.nam"),
        (5, "evaluations.metrics[0].metric"),
        (5, "evaluations.metrics[0].treshold"),
        (6, "evaluations.metrics[1].threshold"),
        (7, "evaluations.metrics[2].threshold"),
        (9, "test_cases[0].input"),
        (9, "test_cases[0].evaluations[0].metric"),
        (11, "test_cases[1].turns[0]"),
        (11, "test_cases[1].turns[0].inputs"),
        (12, "test_cases[1].turns[1].expected_tools[0].args.a"),
    ]


def test_what_could_not_be_read_raises_no_doubts() -> None:
    text = "test_cases:\n  - {input: hi, ground_truth: x, evaluations: [{metric: blue}]}\n"

    with pytest.raises(FormatError) as caught:
        read(text)

    assert [problem.keys for problem in caught.value.problems] == [
        "test_cases[0].evaluations[0].metric"
    ]


def test_two_files_of_one_name_are_refused() -> None:
    files = [SourceFile(f"{folder}/agent.yaml", agent_file().encode()) for folder in ("a", "b")]

    with pytest.raises(FormatError) as caught:
        read_files(files)

    (item,) = caught.value.problems
    assert (item.path, item.keys) == ("b/agent.yaml", "name")
    assert "a/agent.yaml:1" in item.message


def test_unquoted_words_are_warned_about_where_anything_is_allowed() -> None:
    text = with_turn("turn_config: {ok: yes}\nexpected_tools: [{name: t, args: {a: no}}]\n")

    imported = read(f"observability: {{enabled: yes}}\n{text}")

    assert [warning.keys for warning in imported.warnings if "YAML" in warning.message] == [
        "test_cases[0].turn_config.ok",
        "test_cases[0].expected_tools[0].args.a",
    ]
