"""Prompts that repeat what was said before, and prompts that programs write."""

import json

import pytest

from tests.formats.promptfoo.projects import dumped, places, problems, read

LOOP = """\
prompts:
  - |
    [
      {"role": "system", "content": "Be kind."},
      {% for completion in _conversation %}
      {"role": "user", "content": "{{ completion.input }}"},
      {"role": "assistant", "content": "{{ completion.output }}"},
      {% endfor %}
      {"role": "user", "content": "{{ question }}"}
    ]
providers: [openai:gpt-5-mini]
"""
TESTS = """\
tests:
  - {vars: {question: Who are you?}, assert: [{type: contains, value: I am}], metadata: {conversationId: a}}
  - {vars: {question: Where?}, metadata: {conversationId: b, kind: place}}
  - {vars: {question: Since when?}, assert: [{type: contains, value: '19'}], metadata: {conversationId: a}}
"""


def test_tests_of_one_conversation_are_the_turns_of_a_case() -> None:
    imported = read(LOOP + TESTS)

    first, second = dumped(imported.suites[0].spec)["cases"]
    assert [turn["user"] for turn in first["turns"]] == ["Who are you?", "Since when?"]
    assert [turn["assertions"][0]["value"] for turn in first["turns"]] == ["I am", "19"]
    assert [turn["user"] for turn in second["turns"]] == ["Where?"]
    assert second["tags"] == ["kind=place"]
    assert imported.agents[0].spec.sent_prompt == "Be kind."
    assert imported.losses == []


def test_without_an_id_all_tests_are_one_conversation_but_for_those_that_have_no_part_in_it() -> (
    None
):
    tests = """\
tests:
  - {vars: {question: One}}
  - {vars: {question: Two}}
  - {vars: {question: Alone}, options: {disableConversationVar: true}}
"""

    cases = dumped(read(LOOP + tests).suites[0].spec)["cases"]

    assert [[turn["user"] for turn in case["turns"]] for case in cases] == [
        ["One", "Two"],
        ["Alone"],
    ]


def test_another_threshold_of_a_later_turn_is_lost() -> None:
    tests = """\
tests:
  - {vars: {question: One}, threshold: 0.5}
  - {vars: {question: Two}, threshold: 0.9}
"""

    imported = read(LOOP + tests)

    assert [suite.spec.pass_threshold for suite in imported.suites] == [0.5]
    assert [loss.keys for loss in imported.losses] == ["tests[1]"]


PROGRAM = "prompts: ['file://{}', 'Say {{{{question}}}}']\nproviders: [openai:gpt-5]\ntests:\n"


@pytest.mark.parametrize(
    ("program", "variables", "asked"),
    [
        ("make.py", {"language": "French", "question": "Who?"}, "Who?"),
        ("make.js:build", {"topic": "Tea"}, "Tea"),
        ("prompts/make.ts", {"a": "x", "b": 2}, "a: x\nb: 2"),
    ],
)
def test_a_prompt_that_a_program_writes_asks_ones_own_agent_the_variables(
    program: str, variables: dict[str, object], asked: str
) -> None:
    config = f"{PROGRAM.format(program)}  - vars: {json.dumps(variables)}\n"

    imported = read(config, agent="desk")
    without = read(config)

    (first, *_) = [dumped(suite.spec) for suite in imported.suites]
    assert first["cases"][0]["turns"][0]["user"] == asked
    assert len(without.suites) == 1
    assert "--agent" in without.losses[0].message


def test_what_was_lost_of_a_refused_configuration_has_its_own_place() -> None:
    errors = problems(
        "prompts: [file://a.py, '{% x %}']\nproviders: [openai:gpt-5]\ntests: [{vars: {a: b}}]\n"
    )

    assert places(errors) == [(1, "prompts"), (1, "prompts[0]"), (1, "prompts[1]")]
