"""Variables in prompts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.basics.template import (
    escape_braces,
    placeholders,
    plain,
    resolve,
    statements,
    unknown_variable,
    without_foreign,
)

NOW = "2026-05-01T09:30:00+00:00"


def text_of(text: str, **changes: Any) -> str:
    options = {"agent_name": "Lumi", "now": NOW, "channel": "whatsapp"} | changes
    return resolve(text, **options).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("I am {{agentName}}.", "I am Lumi.", id="name of the agent"),
        pytest.param("On {{threadContext.channel}}", "On whatsapp", id="channel"),
        pytest.param("It is {{datetime}}", f"It is {NOW}", id="time"),
        pytest.param("{{threadContext.params.phone}}", "+56 9", id="parameter"),
        pytest.param("{{  agentName\t}}", "Lumi", id="spaces inside"),
        pytest.param("{{agentName}}{{agentName}}", "LumiLumi", id="twice"),
        pytest.param("{{threadContext.params.n}}", "3", id="number"),
        pytest.param("{{threadContext.params.vip}}", "true", id="true as files say it"),
        pytest.param("{agentName} {{ {x} }", "{agentName} {{ {x} }", id="no variables"),
        pytest.param("{{agent\nName}}", "{{agent\nName}}", id="not across lines"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_variables_are_filled_in(text: str, expected: str) -> None:
    assert text_of(text, params={"phone": "+56 9", "n": 3, "vip": True}) == expected


def test_a_value_is_text_even_where_it_looks_like_a_variable() -> None:
    params = {"a": "{{agentName}}"}

    assert text_of("{{threadContext.params.a}}", params=params) == "{{agentName}}"


def test_what_a_case_does_not_set_is_empty_and_named_once() -> None:
    text = "[{{threadContext.params.a}}] {{threadContext.params.a}}{{threadContext.channel}}"

    resolved = resolve(text, agent_name="Lumi", now=NOW, params={"b": 1})

    assert resolved.text == "[] "
    assert resolved.missing == ("threadContext.params.a", "threadContext.channel")
    assert resolved.warnings("The prompt")[0] == (
        "The prompt uses {{threadContext.params.a}}, which this case does not set. It is left empty."
    )


@pytest.mark.parametrize("value", ["", 0, False])
def test_an_empty_value_that_is_set_is_not_missing(value: object) -> None:
    resolved = resolve(
        "{{threadContext.params.a}}", agent_name="Lumi", now=NOW, params={"a": value}
    )

    assert resolved.missing == ()


@pytest.mark.parametrize(
    "text",
    [
        "{{agentName}} {{datetime}} {{threadContext.channel}} {{threadContext.params.x_1}}",
        "{{threadContext.params.with.dots}}",
        "plain text with a { and a }",
        "",
    ],
)
def test_known_variables_are_fine(text: str) -> None:
    assert unknown_variable(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{{agentname}}", "Did you mean {{agentName}}?", id="spelling"),
        ("{{threadContext.chanel}}", "Did you mean {{threadContext.channel}}?"),
        pytest.param("{{threadContext.params.}}", "Known: {{threadContext.channel}}", id="no name"),
        ("{{threadContext.params.NAME}} {{x}}", "variable {{x}}"),
        pytest.param("{{ }}", "Unknown variable {{}}", id="empty"),
    ],
)
def test_an_unknown_variable_is_named_with_the_known_ones(text: str, words: str) -> None:
    problem = unknown_variable(text)

    assert problem is not None
    assert words in problem
    assert "{{currentDate}}" in problem


@pytest.mark.parametrize("name", ["datetime", "currentTime", "currentDateTime", "now"])
def test_the_clock_goes_by_the_names_of_other_systems(name: str) -> None:
    assert text_of(f"{{{{{name}}}}}") == NOW


@pytest.mark.parametrize("name", ["currentDate", "date", "today"])
def test_the_day_goes_by_the_names_of_other_systems(name: str) -> None:
    assert text_of(f"{{{{ {name} }}}}") == "2026-05-01"


def test_variables_of_other_systems_become_plain_text_and_misspelt_ones_stay() -> None:
    text = r"{{organizationName}} {{agentName}} {{agentname}} \{{kept}} {{ a.b }}{{a.b}}"

    plain_text, names = without_foreign(text)

    assert (
        plain_text
        == r"\{{organizationName}} {{agentName}} {{agentname}} \{{kept}} \{{ a.b }}\{{a.b}}"
    )
    assert names == ["organizationName", "a.b"]
    assert without_foreign(plain_text) == (plain_text, [])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param('{{entity.query({"type":"x"})}}', ['entity.query({"type":"x"})'], id="braces"),
        pytest.param("{{\n  rows.map(x => {x})\n}}", ["rows.map(x => {x})"], id="lines"),
        pytest.param("{{ #if vip }} {{/if}}", ["#if vip", "/if"], id="blocks"),
        pytest.param('{{\n  "a": {"b": 1},\n  "c": 2\n}}', [], id="data in several lines"),
        pytest.param("{ {a} } {{{currentTime}}}", [], id="braces around a variable of ours"),
    ],
)
def test_functions_of_other_systems_are_plain_text_too(text: str, names: list[str]) -> None:
    plain_text, found = without_foreign(text)

    assert found == names
    assert unknown_variable(plain_text) is None
    assert names == [] or text_of(plain_text) == text


def test_what_an_older_version_kept_as_text_stays() -> None:
    assert text_of('{{find({"id": 1})}}') == '{{find({"id": 1})}}'


@given(st.text())
def test_whatever_is_not_refused_can_be_filled_in(text: str) -> None:
    if unknown_variable(text) is None:
        assert "{{agentName}}" not in text_of(text)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        pytest.param(r"Dear \{{name}}, \{{ a | b }}", "Dear {{name}}, {{ a | b }}", id="kept"),
        pytest.param(r"\\{{name}}", r"\{{name}}", id="a backslash of its own"),
        pytest.param(r"a \ b, \{c\}", r"a \ b, \{c\}", id="other backslashes"),
    ],
)
def test_a_backslash_keeps_braces_as_they_are(text: str, sent: str) -> None:
    assert unknown_variable(text) is None
    assert text_of(text) == sent
    assert placeholders(text) == []
    assert plain(text) == sent


@pytest.mark.parametrize(
    ("message", "plain_text"),
    [
        ("Translate into {{language}}: {{ text }}, {{language}}", ["{{language}}", "{{ text }}"]),
        ("{{ names | join(', ') }}", ["{{ names | join(', ') }}"]),
        ("{{\nname\n}}", ["{{\nname\n}}"]),
        ('{{ find({"id": 1}) }}', ['{{ find({"id": 1}) }}']),
        ("{{{name}}}", ["{{name}}"]),
        (r"\{{name}} {{other}}", ["{{other}}"]),
        ('{"a": {"b": {}}} {{}} {{ }} { {a} } {{a', []),
    ],
)
def test_variables_left_in_a_message_are_found(message: str, plain_text: list[str]) -> None:
    assert placeholders(message) == plain_text


@given(st.text() | st.text("\\\\{}a \n"))
def test_a_message_that_means_all_its_braces_can_be_written(message: str) -> None:
    assert plain(escape_braces(message)) == message
    assert placeholders(escape_braces(message)) == []


def test_braces_that_nobody_closes_are_read_in_bounded_time() -> None:
    message = "{{" * 200_000 + "{{" + " " * 200_000

    assert placeholders(message) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{% if tier == 'gold' %}Hi{%- endif -%}", ["{% if tier == 'gold' %}", "{%- endif -%}"]),
        ("{%for a in b%}{{a}}{%for a in b%}", ["{%for a in b%}"]),
        ("5 {% 6 %}, {%, %}, {50 %} off, {% if", []),
    ],
)
def test_statements_of_other_templates_are_found(text: str, found: list[str]) -> None:
    assert statements(text) == found
