import re

import pytest

from tests.formats.holodeck.projects import (
    FILLED,
    WHOLE,
    agent_file,
    problems,
    read,
    suite,
    whole,
    with_metrics,
    with_turn,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        pytest.param("${LEAST}", 0.8, id="a number where no quotes are"),
        pytest.param('"${LEAST}"', 0.8, id="a number in quotes"),
        pytest.param("0.${EIGHT}", 0.8, id="a part of it"),
    ],
)
def test_variables_are_filled_in(value: str, number: float) -> None:
    text = with_metrics(f"- metric: bleu\n  threshold: {value}\n")

    spec = suite(text, environment={"LEAST": "0.8", "EIGHT": "8"})

    assert spec.assertions[0].threshold == number


def test_a_number_from_the_environment_is_text_where_quotes_are() -> None:
    figure = {"FIGURE": "60.94"}

    (case,) = suite(with_turn('ground_truth: "${FIGURE}"\n'), environment=figure).cases
    (problem,) = problems(with_turn("ground_truth: ${FIGURE}\n"), environment=figure)

    assert case.turns[0].expected == "60.94"
    assert '"${FIGURE}"' in problem.message


def test_an_unset_variable_is_named_with_its_place_and_the_nearest() -> None:
    (problem,) = problems(
        with_metrics("- metric: bleu\n  threshold: ${LAEST}\n"), environment={"LEAST": "0.8"}
    )

    assert (problem.line, problem.keys) == (4, "evaluations.metrics[0].threshold")
    assert "'LEAST'" in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "test_cases: [{input: hi, files: [{path: '${NOBODY}'}]}]\n",
        agent_file("{provider: ollama, name: m, endpoint: '${NOBODY}'}"),
        with_metrics("- {metric: numeric, response_path: '${NOBODY}'}\n"),
        with_metrics("- {type: code, grader: '${NOBODY}'}\n"),
        with_metrics("- {metric: safety, model: {provider: scripted, name: '${NOBODY}'}}\n"),
    ],
    ids=["file", "address", "path", "grader", "judge"],
)
def test_an_unset_variable_is_the_only_error_of_its_place(text: str) -> None:
    (problem,) = problems(text)

    assert "NOBODY" in problem.message


def test_without_a_value_it_is_said_how_to_give_one() -> None:
    (problem,) = problems(with_turn('ground_truth: "${ANSWER}"\n'), environment={})

    assert problem.keys == "test_cases[0].ground_truth"
    assert "--var ANSWER=" in problem.message
    assert "--allow-env ANSWER" in problem.message


def test_what_is_lost_needs_no_variables() -> None:
    unset = {"KNOWLEDGE", "DATABASE", "TOKEN", "OTEL"}

    assert unset == set(re.findall(r"\$\{(\w+)\}", WHOLE)) - FILLED.keys() - {"SUPPORT_KEY"}
    assert len(whole().suites) == 1


def test_a_key_is_never_filled_in() -> None:
    secret = "sk-0123456789"
    text = agent_file('{provider: openai, name: m, api_key: "${TEAM_KEY}"}')

    imported = read(text, environment={"TEAM_KEY": secret})

    assert imported.providers[0].spec.api_key_env == "TEAM_KEY"
    assert secret not in repr(imported)


def test_a_variable_that_holds_a_secret_by_its_name_is_filled_in_nowhere() -> None:
    errors = problems(
        with_turn('turn_config: {account: "${BANK_API_KEY}"}'),
        environment={"BANK_API_KEY": "sk-12345"},
    )

    assert [item.keys for item in errors] == ["test_cases[0].turn_config.account"]
    assert "BANK_API_KEY" in errors[0].message
    assert "sk-12345" not in str(errors)


def test_a_variable_in_a_key_is_refused() -> None:
    (problem,) = problems(with_turn('turn_config: {"${HOME}": 1}'))

    assert problem.keys == 'test_cases[0].turn_config["${HOME}"]'


@pytest.mark.parametrize("almost", ["${HOME:-x}", "${ HOME }", "${}", "${1}"])
def test_what_looks_like_a_variable_stays_and_is_warned_about(almost: str) -> None:
    imported = read(with_turn(f'turn_config: {{a: "{almost}"}}'))

    assert imported.suites[0].spec.cases[0].turns[0].config == {"a": almost}
    (warning,) = (item for item in imported.warnings if "Only ${NAME}" in item.message)
    assert warning.keys == "test_cases[0].turn_config.a"


def test_what_is_wrong_with_what_looks_like_a_variable_is_an_error_too() -> None:
    (problem,) = problems('evaluations: {model: "${MODEL:-x}"}\ntest_cases: [{input: hi}]\n')

    assert problem.keys == "evaluations.model"


def test_a_variable_in_a_value_of_a_variable_stays_as_it_is() -> None:
    imported = read(with_turn('turn_config: {a: "${A}"}'), environment={"A": "${B}", "B": "x"})

    assert imported.suites[0].spec.cases[0].turns[0].config == {"a": "${B}"}


def test_no_variable_is_filled_in_where_a_secret_may_stand() -> None:
    (problem,) = problems(
        with_turn('turn_config: {token: "${TEAM_KEY}"}\n'), environment={"TEAM_KEY": "sk-0123"}
    )

    assert problem.keys == "test_cases[0].turn_config.token"
    assert "secrets" in problem.message


def test_what_the_environment_holds_is_in_no_message() -> None:
    secret = "hunter2-hunter2"
    text = with_metrics("- {metric: bleu, threshold: '${VALUE}'}\n")

    errors = problems(text, environment={"VALUE": secret})

    assert not any(secret in str(item) for item in errors)
