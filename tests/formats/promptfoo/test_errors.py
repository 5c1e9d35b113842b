import pytest

from tests.formats.promptfoo.projects import (
    CONFIG,
    places,
    problems,
    read,
    with_assertion,
    with_tests,
)


@pytest.mark.parametrize(
    ("assertion", "keys", "words"),
    [
        ("{type: contians, value: x}", "tests[0].assert[0]", "'contains'"),
        ("{value: x}", "tests[0].assert[0]", "needs"),
        ("{type: contains}", "tests[0].assert[0]", "needs"),
        ("{type: contains, value: {a: 1}}", "tests[0].assert[0]", "needs"),
        ("{type: equals}", "tests[0].assert[0]", "`value`"),
        ("{type: contains-any, value: []}", "tests[0].assert[0]", "texts"),
        ("{type: is-json, value: nonsense}", "tests[0].assert[0]", "JSON Schema"),
        ("{type: is-json, value: 3}", "tests[0].assert[0]", "JSON Schema"),
        ("{type: g-eval, value: []}", "tests[0].assert[0]", "criteria"),
        ("{type: 'trajectory:tool-sequence', value: {}}", "tests[0].assert[0]", "steps"),
        ("{type: 'trajectory:tool-args-match', value: x}", "tests[0].assert[0]", "keys"),
        ("{type: regex, value: '(?=x'}", "tests[0].assert[0].value", "pattern"),
        ("{type: similar, value: x, threshold: 8}", "tests[0].assert[0].threshold", "less than"),
        ("{type: contains, value: x, weight: heavy}", "tests[0].assert[0].weight", "a number"),
        ("{$ref: '#/assertionTemplates/x'}", "tests[0].assert[0]", "nothing at"),
        ("{type: contains, value: file://no.txt}", "tests[0].assert[0].value", "file"),
        ("text", "tests[0].assert[0]", "keys"),
    ],
)
def test_a_wrong_assertion_is_reported_with_its_place(
    assertion: str, keys: str, words: str
) -> None:
    errors = problems(with_assertion(assertion))

    assert (errors[0].path, errors[0].line, errors[0].keys) == (CONFIG, 6, keys)
    assert words in errors[0].message


@pytest.mark.parametrize(
    ("config", "place", "words"),
    [
        ("prompts: [Hi]\nproviders: [echo]\n", (1, ""), "no tests"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: []\n", (1, ""), "tests"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: file://make.js\nsharing: true\n", (3, "tests"), "Programs"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{prompts: [Ho]}]\n", (3, "tests[0]"), "prompts"),
        ("prompts: [Hi]\nproviders: []\ntests: [{vars: {}}]\n", (1, ""), "providers"),
        ("prompts: [file://../up.txt]\nproviders: [echo]\ntests: [{vars: {}}]\n", (1, "prompts[0]"), "Import"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{threshold: 2}]\n", (3, "tests[0].threshold"), "less than"),
        ("prompts: [3]\nproviders: [echo]\ntests: [{vars: {}}]\n", (1, "prompts[0]"), "a prompt"),
        ("prompts: [file://no.txt]\nproviders: [echo]\ntests: [{vars: {}}]\n", (1, "prompts[0]"), "no file"),
        ("prompts: [Hi]\nproviders: [{label: x}]\ntests: [{vars: {}}]\n", (2, "providers[0]"), "`id`"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{vars: 3}]\n", (3, "tests[0].vars"), "keys with"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{assert: {type: contains}}]\n", (3, "tests[0].assert"), "a list"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: file://no/*.yaml\n", (3, "tests"), "file"),
        ("prompts: [Hi]\nproviders: [echo]\nscenarios: [{tests: []}]\n", (3, "scenarios[0]"), "`config`"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{vars: {}}]\nevaluateOptions: {repeat: 0}\n", (4, "evaluateOptions.repeat"), "greater"),
    ],
)  # fmt: skip
def test_an_error_is_reported_with_its_place(
    config: str, place: tuple[int, str], words: str
) -> None:
    errors = problems(config)

    assert place in places(errors)
    assert any(words in item.message for item in errors)


def test_all_errors_are_reported_at_once_and_once() -> None:
    config = with_tests(
        "  - {vars: {what: a}, assert: [{type: contians, value: x}]}\n"
        "  - {vars: 3}\n"
        "  - {vars: {what: a}, assert: [{type: regex, value: '('}]}\n",
        "prompts: ['A {{what}}', 'B {{what}}', 3]\nproviders: [echo, openai:gpt-5]\n",
    )

    assert places(problems(config)) == [
        (1, "prompts[2]"),
        (4, "tests[0].assert[0]"),
        (5, "tests[1].vars"),
        (6, "tests[2].assert[0].value"),
    ]


def test_what_is_lost_of_something_common_to_all_is_reported_once() -> None:
    config = with_tests("  - {vars: {what: a}}\n  - {vars: {what: b}}\n") + (
        "defaultTest: {assert: [{type: icontains, value: x, config: 1}]}\n"
    )

    assert [loss.keys for loss in read(config).losses] == ["defaultTest.assert[0].config"]


def test_options_of_the_command_are_lost_with_where_to_write_them() -> None:
    options = "commandLineOptions: {verbose: true, grader: openai:gpt-5, var: {a: b}}\n"

    losses = read(with_tests("  - {vars: {what: a}}\n") + options).losses

    assert [item.keys.partition(".")[2] for item in losses] == ["verbose", "grader", "var"]
    assert "defaultTest, as options.provider" in losses[1].message


def test_unknown_keys_are_lost_with_the_nearest_name() -> None:
    imported = read(with_tests("  - {vars: {what: a}, asert: []}\n") + "outputPath: x.html\n")

    assert [(loss.line, loss.keys, loss.level) for loss in imported.losses] == [
        (4, "tests[0].asert", "loss"),
        (5, "outputPath", "loss"),
    ]
    assert "'assert'" in imported.losses[0].message
