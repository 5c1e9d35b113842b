from typing import Any

import pytest

from evals_app.engine.basics.permits import OUR_COMMAND
from tests.engine.permitting import permitting
from tests.formats.agentura.projects import ACCURACY, AGENT, QUALITY, problems, read


def agent(section: str) -> Any:
    imported = read(f"evals:\n{ACCURACY}agent: {section}\n", folder="p/help desk/", agent=None)
    return imported.agents[0].spec


def test_an_agent_behind_an_address_is_named_after_the_folder() -> None:
    section = """
  type: http
  endpoint: https://agent.example.org/api/agent
  headers: {X-Tenant: nine, Authorization: {env: AGENT_TOKEN}}
  timeout_ms: 30000
"""

    with permitting(variables=("AGENT_TOKEN",)):
        imported = read(f"evals:\n{ACCURACY}agent: {section}", folder="p/help desk/", agent=None)

    assert imported.agents[0].spec.model_dump(mode="json", exclude_defaults=True) == {
        "agent": "help-desk",
        "slug": "help-desk",
        "driver": "http",
        "url": "https://agent.example.org/api/agent",
        "headers": {"X-Tenant": "nine", "Authorization": {"env": "AGENT_TOKEN"}},
    }
    spec = imported.suites[0].spec
    assert (spec.agent, spec.slug) == ("help-desk", "help-desk-accuracy")
    assert {case.turn_timeout_s for case in spec.cases} == {30.0}


def test_a_program_is_called_without_a_shell() -> None:
    with permitting(commands=("node",)):
        spec = agent("{type: cli, command: node 'my agent.js' --json}")

    assert (spec.driver, spec.command) == ("command", ["node", "my agent.js", "--json"])


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        pytest.param("node agent.js --json", "agent.js is", id="file beside"),
        pytest.param("node ./other.js", "./other.js is", id="here"),
        pytest.param("node /srv/agent.js", None, id="whole path"),
        pytest.param("node other.js", None, id="no file beside"),
    ],
)
def test_a_program_that_counts_on_its_folder_is_reported_where_it_starts(
    command: str, warned: str | None
) -> None:
    config = f"evals:\n{ACCURACY}agent: {{type: cli, command: {command}}}\n"

    with permitting(commands=("node",)):
        imported = read(config, {"agent.js": "answer()"}, agent=None)

    assert [(warning.line, warning.keys) for warning in imported.warnings] == (
        [(7, "agent.command")] if warned else []
    )
    assert all(str(warned) in warning.message for warning in imported.warnings)


def test_a_function_is_one_of_python() -> None:
    spec = agent('{type: sdk, module: "evals_app.engine.examples.agents:analyst"}')

    assert (spec.driver, spec.callable) == ("python", "evals_app.engine.examples.agents:analyst")


def test_without_a_folder_the_agent_is_called_like_the_file() -> None:
    imported = read(f"evals:\n{ACCURACY}{AGENT}", agent=None)

    assert [item.spec.slug for item in imported.agents] == ["agentura"]


@pytest.mark.parametrize(
    ("section", "keys", "message"),
    [
        ("{type: htp, endpoint: x}", ".type", "'http'"),
        ("{endpoint: x}", "", "`type`"),
        ("http", "", "keys"),
        ("{type: http}", "", "`endpoint`"),
        ("{type: http, endpont: 'https://a.example'}", ".endpont", "'endpoint'"),
        ("{type: http, endpoint: 'http://127.0.0.1:1/'}", ".endpoint", "EVALS_PRIVATE_HOSTS"),
        ("{type: cli, command: node agent.js}", ".command", "EVALS_COMMANDS"),
        ("{type: cli, command: 'node a.js | tee b'}", ".command", "shell"),
        ('{type: cli, command: "node \'a"}', ".command", "never closed"),
        (f"{{type: cli, command: {OUR_COMMAND}, timeout_ms: 0}}", ".timeout_ms", "greater"),
        ("{type: sdk, module: ./agent.ts}", ".module", "--agent"),
        ("{type: sdk, module: 'mine:answer'}", ".module", "EVALS_PYTHON_MODULES"),
    ],
)
def test_what_is_wrong_with_an_agent_is_reported_at_its_key(
    section: str, keys: str, message: str
) -> None:
    entry = "evals: [{name: a, type: golden_dataset, dataset: evals/accuracy.jsonl}]\n"

    problem = problems(f"version: 1\n{entry}agent: {section}\n", agent=None)[-1]

    assert (problem.line, problem.keys) == (3, f"agent{keys}")
    assert message in problem.message


def test_a_key_in_a_header_is_refused_and_never_repeated() -> None:
    section = "{type: http, endpoint: 'https://a.example', headers: {Authorization: Bearer abc123}}"

    (problem,) = problems(f"evals:\n{ACCURACY}agent: {section}\n", agent=None)

    assert problem.keys == "agent.headers.Authorization"
    assert "{env: NAME}" in problem.message
    assert "abc123" not in str(problem)


def test_the_agent_that_was_named_is_tested_instead_of_the_one_described() -> None:
    config = f"evals:\n{ACCURACY}agent: {{type: sdk, module: ./agent.ts}}\n"

    imported = read(config)

    assert imported.agents == []
    assert imported.suites[0].spec.agent == "support"
    assert [(loss.line, loss.keys) for loss in imported.losses] == [(7, "agent")]


def test_a_native_agent_with_the_name_of_the_folder_is_tested() -> None:
    native = "agent: Desk\nslug: help-desk\ndriver: scripted\nrules: [{reply: hi}]\n"

    imported = read(
        ACCURACY, folder="p/help-desk/", agent=None, natives={"p/help-desk/x.agent.yaml": native}
    )

    assert [item.spec.slug for item in imported.agents] == ["help-desk"]
    assert imported.suites[0].spec.agent == "help-desk"


@pytest.mark.parametrize("config", [ACCURACY, f"evals:\n{ACCURACY}"], ids=["list", "no agent"])
def test_a_file_that_names_no_agent_needs_one(config: str) -> None:
    (problem,) = problems(config, agent=None)

    assert (problem.path, problem.line) == ("agentura.yaml", 1)
    assert all(item in problem.message for item in ("`agent`", "--agent", "agentura"))


def test_an_agent_that_does_not_exist_is_reported_once_for_each_suite() -> None:
    errors = problems(ACCURACY + QUALITY, agent="suport")

    assert [item.line for item in errors] == [1, 6]
    assert all("'support'" in item.message for item in errors)
