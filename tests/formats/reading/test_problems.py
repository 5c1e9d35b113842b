import pytest

from evals_app.formats.reading.problems import (
    FormatError,
    Loc,
    Problem,
    is_secret,
    keys_text,
    value_text,
)


def test_a_problem_reads_as_place_keys_message_and_value() -> None:
    problem = Problem("a.suite.yaml", 3, 7, "cases[0].name", "12", "Expected text.")

    assert str(problem) == "a.suite.yaml:3:7: cases[0].name: Expected text. (found 12)"


def test_a_problem_of_a_whole_file_has_no_line() -> None:
    assert str(Problem("a.txt", 0, 0, "", "", "No eval file.")) == "a.txt: No eval file."


def test_an_error_holds_its_problems_in_the_order_of_files_and_lines() -> None:
    late = Problem("b.yaml", 1, 1, "", "", "third")
    early = [Problem("a.yaml", 9, 1, "", "", "second"), Problem("a.yaml", 2, 5, "", "", "first")]

    error = FormatError([late, *early])

    assert [problem.message for problem in error.problems] == ["first", "second", "third"]
    assert str(error).splitlines()[0] == "a.yaml:2:5: first"


@pytest.mark.parametrize(
    ("loc", "text"),
    [
        pytest.param((), "", id="whole document"),
        pytest.param(("cases", 2, "turns", 0, "user"), "cases[2].turns[0].user", id="nested"),
        pytest.param((0, "a"), "[0].a", id="list at the top"),
        pytest.param(("data", "two words"), 'data["two words"]', id="key with a blank"),
        pytest.param(("data", ""), 'data[""]', id="empty key"),
        pytest.param(("fail-on_error",), "fail-on_error", id="hyphen and underscore"),
        pytest.param(("data", "\ud800"), 'data["\\ud800"]', id="half a surrogate pair"),
    ],
)
def test_keys_are_written_as_a_path(loc: Loc, text: str) -> None:
    assert keys_text(loc) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("no", '"no"', id="text"),
        pytest.param(None, "null", id="nothing"),
        pytest.param(True, "true", id="true"),
        pytest.param({"a": 1}, "", id="mapping"),
        pytest.param("é", '"é"', id="accent"),
    ],
)
def test_values_are_shown_as_yaml_has_them(value: object, text: str) -> None:
    assert value_text(value) == text


def test_a_long_value_is_shortened() -> None:
    assert len(value_text("x" * 10_000)) < 100


@pytest.mark.parametrize(
    ("loc", "expected"),
    [
        pytest.param(("api_key_env",), True, id="name of a variable"),
        pytest.param(("apiKey",), True, id="camel case"),
        pytest.param(("APIKey",), True, id="capitals"),
        pytest.param(("OPENAI_API_KEY",), True, id="a variable"),
        pytest.param(("headers", "X-Api-Key"), True, id="header"),
        pytest.param(("headers", "Authorization"), True, id="authorization"),
        pytest.param(("tools", 0, "headers", "X-Note"), True, id="any header"),
        pytest.param(("secrets", 0, "password", "value"), True, id="below such a key"),
        pytest.param(("access_token",), True, id="token"),
        pytest.param((), False, id="whole document"),
        pytest.param(("max_tokens",), False, id="number of tokens"),
        pytest.param(("limits", "max_prompt_tokens"), False, id="limit"),
        pytest.param(("keywords", 0), False, id="keywords"),
        pytest.param(("monkey",), False, id="part of a word"),
        pytest.param(("author",), False, id="beginning of a word"),
        pytest.param(("cases", 2, "name"), False, id="name"),
    ],
)
def test_secrets_are_known_by_the_words_of_their_keys(loc: Loc, expected: bool) -> None:  # noqa: FBT001
    assert is_secret(loc) is expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("sk-ant-1", "***", id="text"),
        pytest.param(12345678, "***", id="number"),
        pytest.param(None, "null", id="nothing"),
        pytest.param([], "", id="list"),
    ],
)
def test_what_may_be_a_secret_is_not_shown(value: object, text: str) -> None:
    assert value_text(value, ("api_key_env",)) == text


def test_an_address_is_shown_without_its_password() -> None:
    assert (
        value_text("https://me:secret@models.example.org x") == '"https://***@models.example.org x"'
    )


@pytest.mark.parametrize(
    ("message", "in_rest", "on_page"),
    [
        ("Choose one with --agent.", "Choose one with `agent`.", "Choose one with “Agent”."),
        (
            "It could be two. Say which: --map-column A=user or --ignore-column A.",
            "It could be two. Say which: map_column=A=user or ignore_column=A.",
            "It could be two.",
        ),
    ],
)
def test_each_door_names_its_own_options(message: str, in_rest: str, on_page: str) -> None:
    problem = Problem("a.csv", 1, 1, "", "", message)

    assert problem.message_in_rest == in_rest
    assert problem.message_on_page(agent_field="Agent") == on_page
