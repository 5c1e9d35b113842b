from typing import Any

import pytest

from evals_app.formats.promptfoo.templates import NunjucksTemplate, compose_variables

VALUES = {
    "name": "Ana",
    "user": {"name": "Ben", "likes": ["tea", "cake"], "full name": "Ben B."},
    "count": 3.0,
    "ok": True,
    "nothing": None,
    "text": "  Loud  ",
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Hi {{name}}, {{ name }}!", "Hi Ana, Ana!"),
        ("{{- name -}}", "Ana"),
        ("{{user.name}} {{user.likes[1]}} {{ user.likes.0 }}", "Ben cake tea"),
        ("{{user['full name']}}", "Ben B."),
        ("{{count}} {{ok}}", "3 true"),
        ("[{{nothing}}{{unknown}}{{user.unknown}}{{name.x}}]", "[]"),
        ("{{user.likes}}", '["tea", "cake"]'),
        ("{{user.likes | dump}}", '["tea", "cake"]'),
        ("{{ text | trim | upper }}", "LOUD"),
        ("a { b } {c}", "a { b } {c}"),
    ],
)
def test_variables_are_filled_in(text: str, filled: str) -> None:
    template = NunjucksTemplate(text)

    assert template.problem is None
    assert template.fill(VALUES) == filled


RAW = "{{name}}, write {% raw %}{{user}}{% if x %}{%- endraw %}!"


def test_a_raw_block_is_taken_as_it_is() -> None:
    template = NunjucksTemplate(RAW)

    assert template.problem is None
    assert template.missing({}) == ["name"]
    assert template.literal(VALUES) == "Ana, write {{user}}{% if x %}!"
    assert template.message(VALUES) == r"Ana, write \{{user}}{% if x %}!"
    assert template.with_parameters() == (
        r"{{threadContext.params.name}}, write \{{user}}{% if x %}!"
    )
    assert NunjucksTemplate("{{a}}").literal(
        compose_variables({"a": "{{b}}", "b": RAW, "name": "Ana"})
    ) == ("Ana, write {{user}}{% if x %}!")


@pytest.mark.parametrize(
    "text",
    [
        "{% if premium %}Hi{% endif %}",
        "{# a remark #}",
        "{% raw %}{{a}}{% endraw %}{% if premium %}Hi{% endif %}",
        "{{ names | join(', ') }}",
        "{{ a + b }}",
        "{{ 'text' }}",
        "{{ name | wordwrap }}",
        "{{ env.SECRET }}",
        "{{ _conversation }}",
    ],
)
def test_what_calculates_is_reported(text: str) -> None:
    assert "expression" in (NunjucksTemplate(text).problem or "")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{{" * 50_000, id="braces that nobody closes"),
        pytest.param("{{" + " " * 100_000 + "x", id="spaces behind them"),
        pytest.param("{{" + "{ x } " * 50_000, id="single braces behind them"),
    ],
)
def test_a_hostile_text_is_read_in_bounded_time(text: str) -> None:
    template = NunjucksTemplate(text)

    assert (template.problem, template.missing({}), template.fill({})) == (None, [], text)


def test_variables_without_a_value_are_named() -> None:
    assert NunjucksTemplate("{{name}} {{who}} {{who.name}} {{what}}").missing(VALUES) == [
        "what",
        "who",
    ]


@pytest.mark.parametrize(
    ("values", "filled"),
    [
        ({"a": "tweet about {{b}}", "b": "bananas"}, "tweet about bananas"),
        ({"a": "{{b}}", "b": "{{c}}", "c": "deep"}, "deep"),
        ({"a": "me: {{a}}"}, "me: "),
        ({"a": "{% if x %}"}, "{% if x %}"),
    ],
)
def test_variables_may_hold_others(values: dict[str, Any], filled: str) -> None:
    assert compose_variables(values)["a"] == filled


def test_variables_that_hold_each_other_come_to_an_end() -> None:
    values = compose_variables({"a": "{{b}}" * 1000, "b": "{{a}}" * 1000})

    assert max(map(len, values.values())) < 10_000_000


def test_a_template_becomes_one_of_parameters_of_a_case() -> None:
    assert NunjucksTemplate("{{name}} {{ user.name }}").with_parameters() == (
        "{{threadContext.params.name}} {{threadContext.params.user.name}}"
    )
