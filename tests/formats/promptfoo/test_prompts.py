import json
from typing import Any

import pytest

from evals_app.formats.importing import Imported
from tests.formats.promptfoo.projects import CHAT, dumped, places, problems, read, turns, with_tests


def with_prompts(
    prompts: str, files: dict[str, str | bytes] | None = None, **variables: Any
) -> Imported:
    values = json.dumps({"what": "hi", **variables})
    return read(
        f"prompts: {prompts}\nproviders: [openai:gpt-5]\ntests: [{{vars: {values}}}]\n", files
    )


def users(imported: Imported) -> list[str]:
    return [suite.spec.cases[0].turns[0].user for suite in imported.suites]


@pytest.mark.parametrize(
    ("prompts", "files", "user"),
    [
        ("'Say {{what}}'", {}, ["Say hi"]),
        ("['A {{what}}', 'B {{what}}']", {}, ["A hi", "B hi"]),
        ("file://p.txt", {"p.txt": "P {{what}}\n"}, ["P hi"]),
        ("p.txt", {"p.txt": "P {{what}}"}, ["P hi"]),
        ("[file://p.txt]", {"p.txt": "A {{what}}\n---\nB {{what}}\n"}, ["A hi", "B hi"]),
        ("[file://p.md]", {"p.md": "# {{what}}"}, ["# hi"]),
        ("[{raw: 'R {{what}}', label: r}]", {}, ["R hi"]),
        ("[{id: file://p.txt, label: r}]", {"p.txt": "P {{what}}"}, ["P hi"]),
        (
            "[file://p.csv]",
            {"p.csv": 'prompt,label\nA {{what}},a\n"B, {{what}}",b\n'},
            ["A hi", "B, hi"],
        ),
        ("file://all.yaml", {"all.yaml": "- 'A {{what}}'\n- file://p.txt\n", "p.txt": "P"}, ["A hi", "P"]),
    ],
)  # fmt: skip
def test_prompts_are_written_here_or_in_files(
    prompts: str, files: dict[str, str | bytes], user: list[str]
) -> None:
    assert users(with_prompts(prompts, files)) == user


def test_without_prompts_the_variable_prompt_is_reported() -> None:
    config = "providers: [echo]\ntests: [{vars: {prompt: Hello}}]\n"

    assert turns(config)[0]["user"] == "Hello"


@pytest.mark.parametrize(
    "files",
    [
        {"chat.json": CHAT},
        {"chat.json": CHAT.replace('"system"', '"developer"')},
        {
            "chat.json": "- role: system\n  content: You are a pirate.\n- role: user\n  content: Who "
            "are you?\n- {role: assistant, content: Arr.}\n- role: user\n  content: Say {{what}}\n"
        },
        {"chat.json": CHAT.replace('"Say {{what}}"', '[{"type": "text", "text": "Say {{what}}"}]')},
        {"chat.json": "{{ messages | dump }}"},
    ],
)
def test_a_chat_is_a_system_prompt_a_history_and_a_message(files: dict[str, str | bytes]) -> None:
    messages = json.loads(CHAT.replace("{{what}}", "hi"))

    imported = with_prompts("file://chat.json", files, messages=messages)

    assert imported.agents[0].spec.sent_prompt == "You are a pirate."
    assert dumped(imported.suites[0].spec.cases[0])["history"] == [
        {"role": "user", "content": "Who are you?"},
        {"role": "assistant", "content": "Arr."},
    ]
    assert users(imported) == ["Say hi"]


def test_a_system_prompt_that_differs_from_test_to_test_takes_parameters() -> None:
    config = """\
prompts: ['[{"role": "system", "content": "You are {{who.name}}."}, {"role": "user", "content": "{{q}}"}]']
providers: [openai:gpt-5]
tests:
  - vars: {who: {name: Ana}, q: Hi "there"}
  - vars: {who: {name: Ben}, q: Ho}
"""

    imported = read(config)
    cases = imported.suites[0].spec.cases

    assert imported.agents[0].spec.sent_prompt == "You are {{threadContext.params.who.name}}."
    assert [case.context_params for case in cases] == [{"who.name": "Ana"}, {"who.name": "Ben"}]
    assert [case.turns[0].user for case in cases] == ['Hi "there"', "Ho"]


def test_system_prompts_of_several_prompts_make_several_agents() -> None:
    imported = with_prompts(
        "[file://a.json, file://b.json, plain]",
        {"a.json": CHAT, "b.json": CHAT.replace("a pirate", "a poet")},
    )

    assert [(agent.spec.slug, agent.spec.sent_prompt) for agent in imported.agents] == [
        ("demo-gpt-5-a", "You are a pirate."),
        ("demo-gpt-5-b", "You are a poet."),
        ("demo-gpt-5", ""),
    ]
    assert [suite.spec.agent for suite in imported.suites] == [
        "demo-gpt-5-a",
        "demo-gpt-5-b",
        "demo-gpt-5",
    ]


def test_messages_of_one_speaker_in_a_row_are_one() -> None:
    chat = '[{"role": "user", "content": "One."}, {"role": "user", "content": "Two."}]'

    assert users(with_prompts(json.dumps([chat]))) == ["One.\n\nTwo."]


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("{% if x %}a{% endif %}", "expression"),
        ("Hi {{ name | capitalize }}", "expression"),
        ("{{ env.SECRET }}", "expression"),
        ("file://make.py:prompt", "program"),
        ("exec:./make.sh", "program"),
        ("langfuse://my-prompt@production", "program"),
        ('[{"role": "tool", "content": "x"}]', "assistant"),
    ],
)
def test_a_prompt_that_cannot_be_filled_in_is_lost_and_others_stay(prompt: str, words: str) -> None:
    imported = with_prompts(json.dumps([prompt, "Say {{what}}"]))

    assert users(imported) == ["Say hi"]
    assert [loss.keys for loss in imported.losses] == ["prompts[0]"]
    assert words in imported.losses[0].message


def test_a_prompt_that_says_nothing_is_lost_with_its_test() -> None:
    imported = with_prompts("['{{nobody}}', 'Say {{what}}']")

    assert [suite.spec.slug for suite in imported.suites] == ["demo-prompt-2"]
    assert [loss.keys for loss in imported.losses] == ["tests[0]"]
    assert "variables" in imported.losses[0].message


def test_without_any_prompt_that_can_be_read_nothing_is_imported() -> None:
    errors = problems("prompts: ['{% x %}']\nproviders: [echo]\ntests: [{vars: {a: b}}]\n")

    # Each loss has its own place; what follows from them comes first.
    assert places(errors) == [(1, "prompts"), (1, "prompts[0]")]


def test_a_chat_in_which_the_agent_speaks_last_asks_nothing() -> None:
    chat = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]'

    imported = with_prompts(json.dumps([chat, "Say {{what}}"]))

    assert [suite.spec.slug for suite in imported.suites] == ["demo-prompt-2"]
    assert "user's" in imported.losses[0].message


def test_a_variable_that_a_test_does_not_set_is_warned_of() -> None:
    imported = read(with_tests("  - {vars: {other: 1}, assert: [{type: equals, value: x}]}\n"))

    assert [(warning.line, warning.keys) for warning in imported.warnings] == [(4, "tests[0]")]
    assert "{{what}}" in imported.warnings[0].message


def test_raw_blocks_reach_the_agent_and_nothing_else_in_braces_does_unseen() -> None:
    imported = read(
        with_tests(
            """\
  - vars: {what: "{% raw %}Dear {{name}}{% endraw %}"}
  - vars: {what: "Dear {{ names | join(', ') }}"}
"""
        )
    )

    cases = imported.suites[0].spec.cases
    assert [case.turns[0].user for case in cases] == [
        r"Say Dear \{{name}}",
        "Say Dear {{ names | join(', ') }}",
    ]
    (warning,) = (item for item in imported.warnings if "agent" in item.message)
    assert repr(cases[1].name) in warning.message
