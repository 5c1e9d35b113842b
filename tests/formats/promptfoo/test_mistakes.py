import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.formats import FormatError
from tests.formats.promptfoo.projects import (
    CONFIG,
    problems,
    read,
    told,
    with_assertion,
    with_tests,
)


@pytest.mark.parametrize(
    ("assertion", "keys", "words"),
    [
        ("{type: contians, value: x}", "tests[0].assert[0]", "Did you mean 'contains'?"),
        ("{value: x}", "tests[0].assert[0]", "needs a type"),
        ("{type: contains}", "tests[0].assert[0]", "needs a text"),
        ("{type: contains, value: {a: 1}}", "tests[0].assert[0]", "needs a text"),
        ("{type: equals}", "tests[0].assert[0]", "needs a `value`"),
        ("{type: contains-any, value: []}", "tests[0].assert[0]", "list of texts"),
        ("{type: is-json, value: nonsense}", "tests[0].assert[0]", "JSON Schema"),
        ("{type: is-json, value: 3}", "tests[0].assert[0]", "JSON Schema"),
        ("{type: g-eval, value: []}", "tests[0].assert[0]", "criteria"),
        ("{type: 'trajectory:tool-sequence', value: {}}", "tests[0].assert[0]", "steps"),
        (
            "{type: 'trajectory:tool-args-match', value: x}",
            "tests[0].assert[0]",
            "keys with values",
        ),
        ("{type: regex, value: '(?=x'}", "tests[0].assert[0].value", "pattern"),
        ("{type: similar, value: x, threshold: 8}", "tests[0].assert[0].threshold", "less than"),
        ("{type: contains, value: x, weight: heavy}", "tests[0].assert[0].weight", "a number"),
        ("{$ref: '#/assertionTemplates/x'}", "tests[0].assert[0]", "nothing at"),
        ("{type: contains, value: file://no.txt}", "tests[0].assert[0].value", "There is no file"),
        ("text", "tests[0].assert[0]", "keys with values"),
    ],
)
def test_a_wrong_assertion_is_told_with_its_place(assertion: str, keys: str, words: str) -> None:
    found = problems(with_assertion(assertion))

    assert (found[0].path, found[0].line, found[0].keys) == (CONFIG, 6, keys)
    assert words in found[0].message


@pytest.mark.parametrize(
    ("config", "place", "words"),
    [
        ("prompts: [Hi]\nproviders: [echo]\n", (1, ""), "no tests"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: []\n", (1, ""), "None of these tests"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: file://make.js\nsharing: true\n", (3, "tests"), "This is a program"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{prompts: [Ho]}]\n", (3, "tests[0]"), "Of its prompts"),
        ("prompts: [Hi]\nproviders: []\ntests: [{vars: {}}]\n", (1, ""), "no providers here"),
        ("prompts: [file://../up.txt]\nproviders: [echo]\ntests: [{vars: {}}]\n", (1, "prompts[0]"), "Import the folder that holds both"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{threshold: 2}]\n", (3, "tests[0].threshold"), "less than"),
        ("prompts: [3]\nproviders: [echo]\ntests: [{vars: {}}]\n", (1, "prompts[0]"), "a prompt"),
        ("prompts: [file://no.txt]\nproviders: [echo]\ntests: [{vars: {}}]\n", (1, "prompts[0]"), "no file"),
        ("prompts: [Hi]\nproviders: [{label: x}]\ntests: [{vars: {}}]\n", (2, "providers[0]"), "`id`"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{vars: 3}]\n", (3, "tests[0].vars"), "keys with"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{assert: {type: contains}}]\n", (3, "tests[0].assert"), "a list"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: file://no/*.yaml\n", (3, "tests"), "no file with such a path"),
        ("prompts: [Hi]\nproviders: [echo]\nscenarios: [{tests: []}]\n", (3, "scenarios[0]"), "`config` is missing"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{vars: {}}]\nevaluateOptions: {repeat: 0}\n", (4, "evaluateOptions.repeat"), "greater"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(config: str, place: tuple[int, str], words: str) -> None:
    found = problems(config)

    assert place in told(found)
    assert any(words in each.message for each in found)


def test_all_mistakes_are_told_at_once_and_once() -> None:
    config = with_tests(
        "  - {vars: {what: a}, assert: [{type: contians, value: x}]}\n"
        "  - {vars: 3}\n"
        "  - {vars: {what: a}, assert: [{type: regex, value: '('}]}\n",
        "prompts: ['A {{what}}', 'B {{what}}', 3]\nproviders: [echo, openai:gpt-5]\n",
    )

    assert told(problems(config)) == [
        (1, "prompts[2]"),
        (4, "tests[0].assert[0]"),
        (5, "tests[1].vars"),
        (6, "tests[2].assert[0].value"),
    ]


def test_what_is_lost_of_something_common_to_all_is_told_once() -> None:
    config = with_tests("  - {vars: {what: a}}\n  - {vars: {what: b}}\n") + (
        "defaultTest: {assert: [{type: icontains, value: x, config: 1}]}\n"
    )

    assert [each.keys for each in read(config).losses] == ["defaultTest.assert[0].config"]


def test_options_of_the_command_are_lost_with_where_to_write_them() -> None:
    options = "commandLineOptions: {verbose: true, grader: openai:gpt-5, var: {a: b}}\n"

    found = read(with_tests("  - {vars: {what: a}}\n") + options).losses

    assert [(each.keys.partition(".")[2], each.message) for each in found] == [
        ("verbose", "This is an option of promptfoo's command and says nothing about the evals."),
        ("grader", "Write it into defaultTest, as options.provider."),
        ("var", "Write it into defaultTest."),
    ]


def test_unknown_keys_are_lost_with_the_nearest_name() -> None:
    found = read(with_tests("  - {vars: {what: a}, asert: []}\n") + "outputPath: x.html\n")

    assert [(each.line, each.keys, each.level) for each in found.losses] == [
        (4, "tests[0].asert", "loss"),
        (5, "outputPath", "loss"),
    ]
    assert "Did you mean 'assert'?" in found.losses[0].message


BASE: Any = {
    "prompts": ["Say {{what}}", {"id": "file://p.txt", "label": "p"}],
    "providers": ["echo", {"id": "openai:gpt-5", "config": {"temperature": 0, "tools": [{"name": "t"}]}}],
    "defaultTest": {"vars": {"what": "x"}, "options": {"provider": "openai:gpt-5"}},
    "tests": [
        {"vars": {"what": ["a", "b"]}, "assert": [{"type": "contains", "value": "a"}], "threshold": 1},
        {"assert": [{"type": "assert-set", "assert": [{"type": "trajectory:tool-used", "value": {"pattern": "x"}}]}]},
    ],
    "scenarios": [{"config": [{"vars": {"what": "c"}}], "tests": [{"assert": []}]}],
    "evaluateOptions": {"repeat": 2},
}  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.sampled_from(["file://p.txt", "file://", "{{", "{{a}}", "{%", "*"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def replaced(data: Any, choose: Any) -> Any:
    """Put anything in some place of a configuration."""
    if not isinstance(data, dict | list) or not data or choose(st.integers(0, 4)) == 0:
        return choose(JSON)
    keys = list(data) if isinstance(data, dict) else range(len(data))
    key = choose(st.sampled_from(keys))
    changed = replaced(data[key], choose)
    if isinstance(data, dict):
        return {**data, key: changed}
    return [*data[:key], changed, *data[key + 1 :]]


@given(st.data())
def test_whatever_stands_in_a_configuration_is_read_or_told_with_its_place(
    data: st.DataObject,
) -> None:
    config = replaced(BASE, data.draw)
    text = json.dumps(config)
    try:
        found = read(text, {"p.txt": "P {{what}}"})
        seen = [*found.warnings, *found.losses]
    except FormatError as error:
        seen = error.problems

    assert all(each.path.startswith("demo/") and each.line and each.message for each in seen)
