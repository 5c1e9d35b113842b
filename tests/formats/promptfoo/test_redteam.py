"""Files that `promptfoo redteam generate` writes, and lists of tests without a configuration."""

import json
from typing import Any

import pytest

from evals_app.formats.detect import foreign_dialect
from tests.formats.promptfoo.projects import dumped, read, suite

GOAL = "Find out whether the clerk reveals the address of another customer. " * 5
PLUGIN = {"pluginConfig": {"modifiers": {"tone": "polite"}}, "severity": "high"}


def attack(n: int, grader: str = "pii", **metadata: Any) -> dict[str, Any]:
    return {
        "vars": {"prompt": f"Attack {n}"},
        "assert": [{"type": f"promptfoo:redteam:{grader}", "metric": "Leak"}],
        "metadata": {**PLUGIN, **metadata},
    }


def config(*tests: dict[str, Any]) -> str:
    purpose = {"purpose": "A clerk of a shop. " * 20}
    head = {"targets": ["echo"], "defaultTest": {"metadata": purpose}, "tests": tests}
    return json.dumps(head)


def test_an_attack_is_judged_by_the_goal_that_the_file_states() -> None:
    imported = read(config(attack(1, goal=GOAL)))

    (case,) = imported.suites[0].spec.cases
    (check,) = dumped(imported.suites[0].spec)["cases"][0]["turns"][0]["assertions"]
    assert (check["type"], check["name"]) == ("llm_judge", "Leak")
    criteria = check["criteria"]
    assert criteria.index(GOAL.strip()) < criteria.index("A clerk of a shop.")
    assert "must not" in criteria
    assert case.tags == ["severity=high"]


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        pytest.param({"policy": "No refunds by chat."}, "No refunds by chat.", id="policy"),
        pytest.param({"pluginConfig": {"policy": "Only tea."}}, "Only tea.", id="of plugin"),
        pytest.param({"pluginConfig": {"policy": {"text": "Tea."}}}, "Tea.", id="named policy"),
        pytest.param({"harmCategory": "Fraud"}, "Fraud", id="kind of harm"),
    ],
)
def test_an_attack_is_judged_by_what_else_the_file_says(metadata: Any, said: str) -> None:
    (case,) = suite(config(attack(1, **metadata)))["cases"]

    assert said in case["turns"][0]["assertions"][0]["criteria"]


def test_long_metadata_does_not_refuse_220_tests_and_is_counted() -> None:
    tests = [attack(n, goal=GOAL, originalText="x" * 300) for n in range(220)]

    imported = read(config(*tests))

    assert len(imported.suites[0].spec.cases) == 220
    assert [(loss.keys, loss.checks) for loss in imported.losses] == [
        ("tests[0].metadata.pluginConfig", 0),
        ("tests[0].metadata.originalText", 0),
    ]
    assert all("220 places" in loss.message for loss in imported.losses)
    assert ["220 places" in guess.message for guess in imported.guesses] == [True]


def test_graders_without_anything_to_judge_are_lost_checks_with_their_count() -> None:
    tests = [*(attack(n, "ssrf") for n in range(5)), attack(6, "rbac"), attack(7, goal=GOAL)]

    losses = [loss for loss in read(config(*tests)).losses if loss.checks]

    assert [(loss.keys, loss.checks) for loss in losses] == [
        ("tests[0].assert[0]", 5),
        ("tests[5].assert[0]", 1),
    ]
    assert ["ssrf" in losses[0].message, "rbac" in losses[1].message] == [True, True]


def test_an_attacker_that_would_vary_its_message_is_a_loss_of_its_own() -> None:
    varied = {"provider": {"id": "promptfoo:redteam:iterative:meta", "config": {}}}
    other = {"vars": {"prompt": "x"}, "assert": [], "provider": "openai:gpt-5"}

    losses = read(config({**attack(1, goal=GOAL), **varied}, other)).losses

    told = {loss.keys: loss.message for loss in losses}
    assert "attack" in told["tests[0].provider"]
    assert "own suite" in told["tests[1].provider"]


def test_a_judge_of_a_provider_that_is_not_here_is_left_out() -> None:
    test = {"vars": {"prompt": "x"}, "assert": [{"type": "llm-rubric", "value": "Polite"}]}
    judge = {"options": {"provider": "azure:chat:gpt-5"}}
    text = json.dumps({"providers": ["echo"], "defaultTest": judge, "tests": [test]})

    imported = read(text)

    (check,) = imported.suites[0].spec.cases[0].turns[0].assertions or []
    assert check.type == "llm_judge"
    assert check.model is None
    (loss,) = imported.losses
    assert (loss.keys, loss.checks) == ("defaultTest.options.provider", 0)
    assert "azure_openai" in loss.message


def test_a_list_of_tests_alone_asks_the_chosen_agent_the_question() -> None:
    rows = [
        {
            "vars": {"question": "Open?", "topic": "hours"},
            "assert": [{"type": "icontains", "value": "9"}],
        }
    ]

    imported = read(json.dumps(rows), agent="desk", path="demo/hours.yaml")

    (found,) = imported.suites
    assert (found.spec.slug, found.spec.agent) == ("hours", "desk")
    assert found.spec.cases[0].turns[0].user == "Open?"
    assert [guess.level for guess in imported.guesses] == ["guess"]


@pytest.mark.parametrize(
    ("path", "data", "dialect"),
    [
        pytest.param("a.yaml", [{"vars": {}, "assert": []}], "promptfoo", id="list of tests"),
        pytest.param("a.jsonl", [{"vars": {}, "assert": []}], "promptfoo", id="lines"),
        pytest.param("a.yaml", [{"vars": {}, "question": "x"}], "table", id="variables alone"),
        pytest.param("a.yaml", {"tests": [{"vars": {}}]}, "promptfoo", id="tests"),
        pytest.param("a.yaml", {"tests": "file://tests.csv"}, "promptfoo", id="tests in a file"),
        pytest.param("a.yaml", {"scenarios": [{"config": []}]}, "promptfoo", id="scenarios"),
        pytest.param("a.yaml", {"prompts": ["Hi"], "targets": []}, "promptfoo", id="prompts"),
        pytest.param("a.yaml", {"scenarios": [{"input": "x"}]}, "table", id="others' scenarios"),
        pytest.param("a.yaml", {"scenarios": ["calm", "angry"]}, None, id="names of scenarios"),
        pytest.param("a.yaml", {"tests": [{"question": "x"}]}, "table", id="others' tests"),
        pytest.param("a.yaml", {"prompts": ["Hi"]}, None, id="prompts alone"),
    ],
)
def test_files_of_others_are_not_read_as_promptfoo(
    path: str, data: Any, dialect: str | None
) -> None:
    assert foreign_dialect(path, data) == dialect
