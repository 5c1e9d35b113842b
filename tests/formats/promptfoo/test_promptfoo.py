import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.formats import FormatError, Imported, Known, Problem, SourceFile, read_files

CONFIG = "demo/promptfooconfig.yaml"
KNOWN = Known(agents={"phrase-book": "scripted", "desk": "http", "openai-gpt-5-mini": "model"})


def read(
    config: str,
    files: dict[str, str | bytes] | None = None,
    *,
    agent: str | None = None,
    path: str = CONFIG,
) -> Imported:
    beside = {
        f"demo/{name}": text if isinstance(text, bytes) else text.encode()
        for name, text in (files or {}).items()
    }
    source = SourceFile(path, config.encode())
    return read_files([source], known=KNOWN, find=beside.get, agent=agent)


def dumped(spec: Any) -> Any:
    return spec.model_dump(mode="json", exclude_defaults=True)


def suite(config: str, files: dict[str, str | bytes] | None = None, **options: Any) -> Any:
    (found,) = read(config, files, **options).suites
    return dumped(found.spec)


def turns(config: str, files: dict[str, str | bytes] | None = None) -> list[Any]:
    """Give the only turn of each case of the only suite."""
    return [case["turns"][0] for case in suite(config, files)["cases"]]


def problems(
    config: str, files: dict[str, str | bytes] | None = None, **options: Any
) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(config, files, **options)
    return [each for each in caught.value.problems if each.level == "error"]


def told(found: list[Problem]) -> list[tuple[int, str]]:
    return [(each.line, each.keys) for each in found]


# A configuration to which tests or assertions are added.
HEAD = "prompts: ['Say {{what}}']\nproviders: [echo]\n"


def with_tests(tests: str, head: str = HEAD) -> str:
    return f"{head}tests:\n{tests}"


def with_assertion(assertion: str, **variables: Any) -> str:
    values = json.dumps({"what": "hi", **variables})
    return with_tests(f"  - vars: {values}\n    assert:\n      - {assertion}\n")


def checks(assertion: str, files: dict[str, str | bytes] | None = None, **variables: Any) -> Any:
    """Give the checks that one assertion becomes."""
    return turns(with_assertion(assertion, **variables), files)[0].get("assertions", [])


def lost(assertion: str, **variables: Any) -> str:
    """Give what is said of an assertion that is left out."""
    found = read(with_assertion(assertion, **variables))
    assert found.suites[0].spec.cases[0].turns[0].assertions == []
    first, second = found.losses
    assert (second.line, second.keys) == (6, "tests[0].assert[0]")
    assert (first.keys, "asserts nothing" in first.message) == ("tests[0]", True)
    return second.message


QUICK_START = """\
# Define your prompts
prompts:
  - 'Translate to {{language}}: {{text}}'
providers: [openai:gpt-5-mini]
# Configure test cases
tests:
  - vars:
      language: French
      text: Hello world
    assert:
      - type: contains
        value: Bonjour
"""


def test_a_prompt_a_provider_and_a_test_are_an_agent_and_a_suite() -> None:
    found = read(QUICK_START)

    assert [dumped(each.spec) for each in found.agents] == [
        {
            "agent": "gpt-5-mini",
            "slug": "demo-gpt-5-mini",
            "model": "openai/gpt-5-mini",
        }
    ]
    assert [dumped(each.spec) for each in found.suites] == [
        {
            "suite": "demo",
            "slug": "demo",
            "agent": "demo-gpt-5-mini",
            "cases": [
                {
                    "name": "language: French, text: Hello world",
                    "turns": [
                        {
                            "user": "Translate to French: Hello world",
                            "assertions": [
                                {"type": "contains", "value": "Bonjour", "case_sensitive": True}
                            ],
                        }
                    ],
                }
            ],
        }
    ]
    assert (found.warnings, found.losses) == ([], [])
    assert [(each.path, each.line) for each in found.agents] == [(CONFIG, 4)]


def test_every_prompt_is_asked_of_every_provider() -> None:
    config = """\
description: Translations
prompts:
  - 'Convert this English to {{language}}: {{input}}'
  - id: file://second.txt
    label: Short
providers:
  - openai:gpt-5
  - id: anthropic:messages:claude-sonnet-4-5
    label: Sonnet
tests:
  - vars: {language: French, input: Hi}
    assert: [{type: contains, value: Salut}]
"""

    found = read(config, {"second.txt": "Translate to {{language}}: {{input}}\n"})

    assert [each.spec.slug for each in found.agents] == ["demo-gpt-5", "demo-sonnet"]
    assert [(each.spec.slug, each.spec.agent, each.spec.suite) for each in found.suites] == [
        ("demo-prompt-1-gpt-5", "demo-gpt-5", "Translations - Prompt 1 - gpt-5"),
        ("demo-short-gpt-5", "demo-gpt-5", "Translations - Short - gpt-5"),
        ("demo-prompt-1-sonnet", "demo-sonnet", "Translations - Prompt 1 - Sonnet"),
        ("demo-short-sonnet", "demo-sonnet", "Translations - Short - Sonnet"),
    ]


@pytest.mark.parametrize(
    ("path", "description", "slug"),
    [
        ("evals/shop/promptfooconfig.yaml", "Anything", "shop"),
        ("promptfooconfig.yaml", "My evals", "my-evals"),
        ("promptfooconfig.yaml", "", "promptfoo"),
        ("evals/refunds.yaml", "Anything", "refunds"),
    ],
)
def test_a_suite_is_known_by_the_folder_or_the_file(path: str, description: str, slug: str) -> None:
    config = f"{QUICK_START}description: '{description}'\n"

    (found,) = read_files([SourceFile(path, config.encode())], dialect="promptfoo").suites

    assert found.spec.slug == slug


def test_a_suite_has_one_slug_wherever_the_import_begins() -> None:
    source = SourceFile("promptfooconfig.yaml", f"description: It\n{QUICK_START}".encode())

    found = read_files([source], root="/home/me/demo")

    assert [each.spec.slug for each in found.suites] == ["demo"]


def test_what_describes_the_evaluation_describes_the_suite() -> None:
    config = with_tests(
        """\
  - description: 'In {{what}}'
    vars: {what: hi}
    metadata: {category: math, levels: [1, easy], conversationId: c1}
    assert: [{type: contains, value: hi}]
description: Two words
tags: {env: production}
evaluateOptions: {repeat: 3, maxConcurrency: 2, timeoutMs: 5000}
"""
    )

    assert suite(config) == {
        "suite": "Two words",
        "slug": "demo",
        "agent": "demo-echo",
        "description": "Two words",
        "tags": ["env=production"],
        "trials": 3,
        "concurrency": 2,
        "cases": [
            {
                "name": "In hi",
                "tags": ["category=math", "levels=1", "levels=easy"],
                "turn_timeout_s": 5.0,
                "turns": [
                    {
                        "user": "Say hi",
                        "assertions": [{"type": "contains", "value": "hi", "case_sensitive": True}],
                    }
                ],
            }
        ],
    }


# Prompts.


def said(prompts: str, files: dict[str, str | bytes] | None = None, **variables: Any) -> Imported:
    values = json.dumps({"what": "hi", **variables})
    return read(
        f"prompts: {prompts}\nproviders: [openai:gpt-5]\ntests: [{{vars: {values}}}]\n", files
    )


def users(found: Imported) -> list[str]:
    return [each.spec.cases[0].turns[0].user for each in found.suites]


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
    assert users(said(prompts, files)) == user


def test_without_prompts_the_variable_prompt_is_said() -> None:
    config = "providers: [echo]\ntests: [{vars: {prompt: Hello}}]\n"

    assert turns(config)[0]["user"] == "Hello"


CHAT = """[
  {"role": "system", "content": "You are a pirate."},
  {"role": "user", "content": "Who are you?"},
  {"role": "assistant", "content": "Arr."},
  {"role": "user", "content": "Say {{what}}"}
]"""


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

    found = said("file://chat.json", files, messages=messages)

    assert found.agents[0].spec.system_prompt == "You are a pirate."
    assert dumped(found.suites[0].spec.cases[0])["history"] == [
        {"role": "user", "content": "Who are you?"},
        {"role": "assistant", "content": "Arr."},
    ]
    assert users(found) == ["Say hi"]


def test_a_system_prompt_that_differs_from_test_to_test_takes_parameters() -> None:
    config = """\
prompts: ['[{"role": "system", "content": "You are {{who.name}}."}, {"role": "user", "content": "{{q}}"}]']
providers: [openai:gpt-5]
tests:
  - vars: {who: {name: Ana}, q: Hi "there"}
  - vars: {who: {name: Ben}, q: Ho}
"""

    found = read(config)
    cases = found.suites[0].spec.cases

    assert found.agents[0].spec.system_prompt == "You are {{threadContext.params.who.name}}."
    assert [case.context_params for case in cases] == [{"who.name": "Ana"}, {"who.name": "Ben"}]
    assert [case.turns[0].user for case in cases] == ['Hi "there"', "Ho"]


def test_system_prompts_of_several_prompts_make_several_agents() -> None:
    found = said(
        "[file://a.json, file://b.json, plain]",
        {"a.json": CHAT, "b.json": CHAT.replace("a pirate", "a poet")},
    )

    assert [(each.spec.slug, each.spec.system_prompt) for each in found.agents] == [
        ("demo-gpt-5-a", "You are a pirate."),
        ("demo-gpt-5-b", "You are a poet."),
        ("demo-gpt-5", ""),
    ]
    assert [each.spec.agent for each in found.suites] == [
        "demo-gpt-5-a",
        "demo-gpt-5-b",
        "demo-gpt-5",
    ]


def test_messages_of_one_speaker_in_a_row_are_one() -> None:
    chat = '[{"role": "user", "content": "One."}, {"role": "user", "content": "Two."}]'

    assert users(said(json.dumps([chat]))) == ["One.\n\nTwo."]


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("{% if x %}a{% endif %}", "calculates"),
        ("Hi {{ name | capitalize }}", "calculates"),
        ("{{ env.SECRET }}", "calculates"),
        ("file://make.py:prompt", "program"),
        ("exec:./make.sh", "program"),
        ("langfuse://my-prompt@production", "program or a server"),
        ('[{"role": "tool", "content": "x"}]', "Only system, user and assistant"),
    ],
)
def test_a_prompt_that_cannot_be_filled_in_is_lost_and_others_stay(prompt: str, words: str) -> None:
    found = said(json.dumps([prompt, "Say {{what}}"]))

    assert users(found) == ["Say hi"]
    assert [each.keys for each in found.losses] == ["prompts[0]"]
    assert words in found.losses[0].message


def test_a_prompt_that_says_nothing_is_lost_with_its_test() -> None:
    found = said("['{{nobody}}', 'Say {{what}}']")

    assert [each.spec.slug for each in found.suites] == ["demo-prompt-2"]
    assert [each.keys for each in found.losses] == ["tests[0]"]
    assert "nothing is said with the variables of this test" in found.losses[0].message


def test_without_any_prompt_that_can_be_read_nothing_is_imported() -> None:
    found = problems("prompts: ['{% x %}']\nproviders: [echo]\ntests: [{vars: {a: b}}]\n")

    assert told(found) == [(1, "prompts")]


def test_a_chat_in_which_the_agent_speaks_last_asks_nothing() -> None:
    chat = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]'

    found = said(json.dumps([chat, "Say {{what}}"]))

    assert [each.spec.slug for each in found.suites] == ["demo-prompt-2"]
    assert "it is not the user who speaks" in found.losses[0].message


def test_a_variable_that_a_test_does_not_set_is_warned_of() -> None:
    found = read(with_tests("  - {vars: {other: 1}, assert: [{type: equals, value: x}]}\n"))

    assert [(each.line, each.keys) for each in found.warnings] == [(4, "tests[0]")]
    assert "{{what}}" in found.warnings[0].message


# Providers.


def agent(provider: str, **options: Any) -> Any:
    """Give the agent that a provider becomes."""
    config = f"prompts: [Hi]\nproviders: [{provider}]\ntests: [{{vars: {{}}}}]\n"
    found = read(config, **options)
    return dumped(found.agents[0].spec) if found.agents else found.suites[0].spec.agent


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai:gpt-5", "openai/gpt-5"),
        ("openai:chat:gpt-5", "openai/gpt-5"),
        ("openai:responses:gpt-5", "openai/gpt-5"),
        ("openai:chat:ft:gpt-4.1:acme::ID", "openai/ft:gpt-4.1:acme::ID"),
        ("anthropic:messages:claude-opus-4-6", "anthropic/claude-opus-4-6"),
        ("anthropic:claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"),
        ("google:gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("groq:openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
        ("openrouter:openai/gpt-5.4", "openrouter/openai/gpt-5.4"),
        ("ollama:chat:llama3.3", "ollama/llama3.3"),
    ],
)
def test_a_model_is_named_in_our_words(provider: str, model: str) -> None:
    assert agent(provider)["model"] == model


def test_settings_of_a_model_are_kept() -> None:
    config = "{temperature: 0, top_p: 0.5, max_completion_tokens: 100}"

    assert agent(f"{{id: openai:gpt-5, label: Five, config: {config}}}") == {
        "agent": "Five",
        "slug": "demo-five",
        "model": {
            "provider": "openai",
            "name": "gpt-5",
            "temperature": 0.0,
            "top_p": 0.5,
            "max_tokens": 100,
        },
    }


def test_a_provider_may_be_the_key_of_its_settings() -> None:
    assert agent("{openai:gpt-5: {config: {temperature: 1}}}")["model"]["temperature"] == 1


def test_a_provider_may_stand_in_a_file() -> None:
    file = "id: openai:gpt-5\nlabel: Foo bar\nconfig: {temperature: 0.9}\n"

    found = agent("file://p.yaml", files={"p.yaml": file})

    assert (found["slug"], found["model"]["temperature"]) == ("demo-foo-bar", 0.9)


def test_targets_are_providers() -> None:
    assert suite(with_tests("  - {vars: {what: hi}}\n", HEAD.replace("providers", "targets")))[
        "agent"
    ] == ("demo-echo")


def test_echo_is_an_agent_that_repeats_what_it_hears() -> None:
    assert agent("echo") == {
        "agent": "echo",
        "slug": "demo-echo",
        "driver": "scripted",
        "rules": [{"reply": "{{input}}"}],
    }


def test_one_model_with_two_settings_is_two_agents() -> None:
    config = QUICK_START.replace(
        "[openai:gpt-5-mini]",
        "[{id: openai:gpt-5, config: {temperature: 0}}, {id: openai:gpt-5, config: {temperature: 1}}]",
    )

    found = read(config)

    assert [each.spec.slug for each in found.agents] == ["demo-gpt-5", "demo-gpt-5-2"]
    assert [each.spec.slug for each in found.suites] == ["demo-gpt-5", "demo-gpt-5-2"]


@pytest.mark.parametrize(
    "provider", ["{id: file://book.py, label: phrase-book}", "{id: echo, label: Phrase book}"]
)
def test_a_provider_with_the_name_of_an_agent_that_is_here_is_that_agent(provider: str) -> None:
    assert agent(provider) == "phrase-book"


@pytest.mark.parametrize(
    "provider",
    [
        "file://custom.py",
        "'exec: python chain.py'",
        "https://example.com/generate",
        "{id: https, config: {url: 'https://example.com'}}",
        "vertex:gemini-2.5-pro",
        "openai:embedding:text-embedding-3-small",
        "openai:chat",
        "anthropic:claude-agent-sdk",
        "{id: openai:chat:local, config: {apiBaseUrl: 'http://localhost:8000/v1'}}",
    ],
)
def test_what_has_no_equal_is_the_agent_that_the_person_names(provider: str) -> None:
    config = f"prompts: [Hi]\nproviders: [{provider}]\ntests: [{{vars: {{}}}}]\n"

    (error,) = problems(config)
    found = read(config, agent="desk")

    assert "--agent" in error.message
    assert (error.line, error.keys.startswith("providers[0]")) == (2, True)
    assert (found.agents, found.suites[0].spec.agent) == ([], "desk")
    assert "The agent desk is asked instead." in found.losses[0].message


def test_without_providers_the_agent_is_the_one_that_the_person_names() -> None:
    config = "prompts: [Hi]\ntests: [{vars: {}}]\n"

    assert "--agent" in problems(config)[0].message
    assert suite(config, agent="desk")["agent"] == "desk"


def test_an_agent_that_is_here_keeps_its_system_prompt() -> None:
    config = f"prompts: [{json.dumps(CHAT)}]\nproviders: [{{id: echo, label: desk}}]\ntests: [{{vars: {{what: x}}}}]\n"

    found = read(config)

    assert found.agents == []
    assert "has a system prompt of its own" in found.losses[0].message


def test_a_key_is_never_kept_nor_shown() -> None:
    found = read(
        QUICK_START.replace(
            "[openai:gpt-5-mini]", "[{id: openai:gpt-5, config: {apiKey: sk-secret}}]"
        )
    )

    assert "sk-secret" not in repr(found)
    assert [each.keys for each in found.losses] == ["providers[0].config.apiKey"]


def test_what_stands_in_an_address_is_not_repeated() -> None:
    config = "prompts: [Hi]\nproviders: ['https://ana:secret@example.com/x']\ntests: [{vars: {}}]\n"

    assert "secret" not in str(problems(config)) + str(read(config, agent="desk").losses)


TOOLS = """\
- type: function
  function:
    name: get_weather
    description: Get weather
    parameters: {type: object, properties: {city: {type: string}}}
- {name: book, input_schema: {type: object}}
- {type: mcp}
"""


def test_tools_are_kept_without_answers() -> None:
    config = QUICK_START.replace(
        "[openai:gpt-5-mini]", "[{id: openai:gpt-5, config: {tools: file://tools.yaml}}]"
    )

    found = read(config, {"tools.yaml": TOOLS})
    tools = dumped(found.agents[0].spec)["tools"]

    assert [(tool["name"], tool["rules"]) for tool in tools] == [
        ("get_weather", [{"error": "No answer is written for this tool yet."}]),
        ("book", [{"error": "No answer is written for this tool yet."}]),
    ]
    assert tools[0]["parameters"]["properties"] == {"city": {"type": "string"}}
    assert [(each.path, each.keys) for each in found.losses] == [
        (CONFIG, "providers[0].config.tools"),
        ("demo/tools.yaml", "[2]"),
    ]


# Tests.


def test_tests_have_what_is_common_to_all() -> None:
    config = with_tests(
        """\
  - vars: {what: own}
    assert: [{type: contains, value: a}]
  - options: {disableDefaultAsserts: true, suffix: '!'}
    assert: [{type: contains, value: b}]
defaultTest:
  vars: {what: default}
  metadata: {team: x}
  options: {prefix: '> '}
  assert: [{type: icontains, value: '{{what}}'}]
"""
    )

    found = suite(config)["cases"]

    assert [case["tags"] for case in found] == [["team=x"], ["team=x"]]
    assert [case["turns"][0]["user"] for case in found] == ["> Say own", "> Say default!"]
    assert [[each["value"] for each in case["turns"][0]["assertions"]] for case in found] == [
        ["own", "a"],
        ["b"],
    ]


@pytest.mark.parametrize(
    ("tests", "files", "users_of_cases"),
    [
        ("file://t.yaml", {"t.yaml": "- vars: {what: a}\n- vars: {what: b}\n"}, ["a", "b"]),
        ("t.yaml", {"t.yaml": "vars: {what: a}\n"}, ["a"]),
        ("[file://t.json, {vars: {what: c}}]", {"t.json": '[{"vars": {"what": "a"}}]'}, ["a", "c"]),
        ("file://t.jsonl", {"t.jsonl": '{"vars": {"what": "a"}}\n{"vars": {"what": "b"}}\n'}, ["a", "b"]),
        ("file://t.csv", {"t.csv": 'what\na\n"b, c"\n'}, ["a", "b, c"]),
        ("[{vars: file://v.yaml}]", {"v.yaml": "what: a\n"}, ["a"]),
        ("[{vars: {what: file://v.txt}}]", {"v.txt": "a\n"}, ["a"]),
        ("[{vars: {what: [a, file://v.txt]}}]", {"v.txt": "b"}, ["a", "b"]),
        ("[{vars: {what: [a, b]}, options: {disableVarExpansion: true}}]", {}, ['["a", "b"]']),
        ("[{vars: {what: [{a: 1}]}}]", {}, ['[{"a": 1}]']),
        ("[{vars: {what: yes}}, {vars: {what: 'no'}}, {vars: {what: true}}]", {}, ["yes", "no", "true"]),
    ],
)  # fmt: skip
def test_tests_and_their_variables_are_written_here_or_in_files(
    tests: str, files: dict[str, str | bytes], users_of_cases: list[str]
) -> None:
    found = turns(f"{HEAD}tests: {tests}\n", files)

    assert [turn["user"] for turn in found] == [f"Say {each}" for each in users_of_cases]


def test_files_of_one_import_are_found_by_a_pattern() -> None:
    sources = [
        SourceFile(CONFIG, f"{HEAD}tests: file://cases/*.yaml\n".encode()),
        SourceFile("demo/cases/a.yaml", b"- vars: {what: a}\n"),
        SourceFile("demo/cases/b.yaml", b"- vars: {what: b}\n"),
        SourceFile("demo/other.yaml", b"prompts: [x]\nproviders: [echo]\ntests: [{vars: {}}]\n"),
    ]

    found = read_files(sources)

    assert [[case.turns[0].user for case in each.spec.cases] for each in found.suites] == [
        ["Say a", "Say b"],
        ["x"],
    ]


def test_variables_with_several_values_make_a_case_for_each_combination() -> None:
    config = "prompts: ['{{a}} {{b}}']\nproviders: [echo]\ntests: [{description: d, vars: {a: [x, y], b: [p, q], c: 1}}]\n"

    found = suite(config)["cases"]

    assert [(case["name"], case["turns"][0]["user"]) for case in found] == [
        ("d (a: x, b: p)", "x p"),
        ("d (a: x, b: q)", "x q"),
        ("d (a: y, b: p)", "y p"),
        ("d (a: y, b: q)", "y q"),
    ]


def test_too_many_combinations_are_refused() -> None:
    values = json.dumps([str(n) for n in range(40)])

    found = problems(with_tests(f"  - vars: {{a: {values}, b: {values}}}\n"))

    assert "1,000 combinations" in found[0].message


def test_pictures_and_pdfs_are_shown_to_the_agent() -> None:
    picture = b"\x89PNG\r\n\x1a\n rest"
    chat = json.dumps(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "{{q}}"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,{{image}}"}},
                ],
            }
        ]
    )
    config = f"prompts: [{json.dumps(chat)}]\nproviders: [openai:gpt-5]\ntests: [{{vars: {{q: 'What is it?', image: file://img/chart.png}}}}]\n"

    (turn,) = turns(config, {"img/chart.png": picture})

    assert turn["user"] == "What is it?"
    assert [each["path"] for each in turn["files"]] == ["img/chart.png"]


SCENARIO = """\
prompts: ['Speak in {{language}}: {{input}}']
providers: [echo]
scenarios:
  - config:
      - vars: {language: Spanish, hello: Hola mundo, morning: Buenos dias}
      - vars: {language: French, hello: Bonjour le monde, morning: Bonjour}
    tests:
      - description: Hello
        vars: {input: Hello world}
        assert: [{type: similar, value: '{{hello}}', threshold: 0.9}]
      - description: Morning
        vars: {input: Good morning}
        assert: [{type: similar, value: '{{morning}}', threshold: 0.9}]
"""


def test_scenarios_run_every_test_on_every_row() -> None:
    found = suite(SCENARIO)["cases"]

    assert [
        (case["name"], case["turns"][0]["user"], case["turns"][0]["assertions"][0]["value"])
        for case in found
    ] == [
        ("Hello", "Speak in Spanish: Hello world", "Hola mundo"),
        ("Morning", "Speak in Spanish: Good morning", "Buenos dias"),
        ("Hello (2)", "Speak in French: Hello world", "Bonjour le monde"),
        ("Morning (2)", "Speak in French: Good morning", "Bonjour"),
    ]


def test_a_row_of_a_table_says_what_a_test_says() -> None:
    table = (
        "what,__expected,__expected2,__description,__metric,__prefix,__suffix,__threshold,"
        "__metadata:level,__metadata:topics[],__config:__expected2:threshold\n"
        'hi,contains: Hi,similar(0.8):Hello there,Greets,tone,"> ",!,0.5,easy,"a,b\\,c",0.9\n'
    )

    found = suite(f"{HEAD}tests: file://t.csv\n", {"t.csv": table})

    assert (found["pass_rule"], found["pass_threshold"]) == ("score", 0.5)
    assert found["cases"] == [
        {
            "name": "Greets",
            "tags": ["level=easy", "topics=a", "topics=b,c"],
            "turns": [
                {
                    "user": "> Say hi!",
                    "assertions": [
                        {"type": "contains", "name": "tone", "value": "Hi", "case_sensitive": True},
                        {
                            "type": "semantic_similarity",
                            "name": "tone",
                            "value": "Hello there",
                            "threshold": 0.9,
                        },
                    ],
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("cell", "check"),
    [
        ("Paris", {"type": "exact_match", "value": "Paris"}),
        ("note: Paris", {"type": "exact_match", "value": "note: Paris"}),
        ("equals: 4", {"type": "exact_match", "value": "4"}),
        ("contains-any: a, b", {"type": "matches", "value": "a|b", "case_sensitive": True}),
        (
            'contains-any: "a, b" , c,, "say ""d""", "\\"e\\\\"',
            {"type": "matches", "value": r'a,\ b|c|say\ "d"|"e\\', "case_sensitive": True},
        ),
        ("starts-with:The", {"type": "matches", "value": r"\AThe", "case_sensitive": True}),
        ("not-contains:x", {"type": "not_contains", "value": "x", "case_sensitive": True}),
        ("contains-json", {"type": "json_valid"}),
        ("grade: is kind", {"type": "llm_judge", "criteria": "is kind", "scale": "pass_fail"}),
        ("similar:Hi", {"type": "semantic_similarity", "value": "Hi", "threshold": 0.8}),
    ],
)
def test_an_assertion_may_be_one_text(cell: str, check: Any) -> None:
    quoted = cell.replace('"', '""')

    (turn,) = turns(f"{HEAD}tests: t.csv\n", {"t.csv": f'what,__expected\nhi,"{quoted}"\n'})

    assert turn["assertions"] == [check]


@pytest.mark.parametrize(
    ("table", "line", "words"),
    [
        pytest.param("a,__expected\n1,x\n2,contains-all: a, b\n", 3, "quotation marks", id="cell"),
        pytest.param("a,__expected,__expected\n1,x,y\n", 1, "__expected1", id="column"),
    ],
)
def test_a_table_in_which_a_cell_would_be_overlooked_is_refused(
    table: str, line: int, words: str
) -> None:
    (found,) = problems(f"{HEAD}tests: t.csv\n", {"t.csv": table})

    assert (found.path, found.line) == ("demo/t.csv", line)
    assert words in found.message


def test_empty_cells_at_the_end_of_a_row_are_none() -> None:
    assert len(turns(f"{HEAD}tests: t.csv\n", {"t.csv": "what,__expected,\na,x,,\n"})) == 1


def test_tests_may_be_for_some_prompts_and_providers() -> None:
    config = """\
prompts: [{raw: 'A {{what}}', label: 'group:a'}, {raw: 'B {{what}}', label: b}]
providers: [{id: openai:gpt-5, label: five, prompts: [group]}, {id: echo, label: e}]
tests:
  - vars: {what: '1'}
  - {vars: {what: '2'}, prompts: [b]}
  - {vars: {what: '3'}, providers: [echo]}
"""

    found = {each.spec.slug: each.spec.cases for each in read(config).suites}

    assert {slug: [case.turns[0].user for case in cases] for slug, cases in found.items()} == {
        "demo-group-a-five": ["A 1"],
        "demo-group-a-e": ["A 1", "A 3"],
        "demo-b-e": ["B 1", "B 2", "B 3"],
    }


@pytest.mark.parametrize(
    ("head", "test", "losses"),
    [
        pytest.param(
            HEAD,
            "prompts: [p-1]",
            [("tests[0]", "Of its prompts, 'p-1' is not here."), ("tests[0]", "left out")],
            id="a prompt",
        ),
        pytest.param(
            HEAD,
            "providers: [ecko, echo]",
            [("tests[0]", "Did you mean 'echo'?")],
            id="one provider of two",
        ),
        pytest.param(
            "prompts: [{label: a, raw: A}]\nproviders: [echo, {id: openai:gpt-5, prompts: [b]}]\n",
            "providers: [openai:gpt-5]",
            [("providers[1]", "Of its prompts, 'b' is not here."), ("tests[0]", "left out")],
            id="a provider without prompts",
        ),
    ],
)
def test_a_test_that_nobody_is_asked_is_lost_with_the_reason(
    head: str, test: str, losses: list[tuple[str, str]]
) -> None:
    rows = f"  - {{vars: {{what: a}}, {test}}}\n  - {{vars: {{what: b}}}}\n"

    found = read(with_tests(rows, head)).losses

    assert [each.keys for each in found] == [keys for keys, _ in losses]
    assert all(words in each.message for each, (_, words) in zip(found, losses, strict=True))


def test_providers_that_are_one_agent_here_are_asked_what_either_is() -> None:
    head = (
        "prompts: [{label: a, raw: A}, {label: b, raw: B}]\nproviders:\n"
        "  - {id: 'https://one.example', label: one, prompts: [a]}\n"
        "  - {id: 'https://two.example', label: two, prompts: [b]}\n"
    )
    rows = "  - {vars: {x: 1}, providers: [two]}\n"

    found = read(with_tests(rows, head), agent="desk")

    assert [each.spec.slug for each in found.suites] == ["demo-a", "demo-b"]


def test_a_threshold_lets_the_score_decide_and_makes_a_suite_of_its_own() -> None:
    config = with_tests(
        """\
  - {vars: {what: a}, assert: [{type: contains, value: a}]}
  - {vars: {what: b}, threshold: 0.5, assert: [{type: contains, value: b}]}
"""
    )

    found = [each.spec for each in read(config).suites]

    assert [(each.slug, each.pass_rule, len(each.cases)) for each in found] == [
        ("demo", "all", 1),
        ("demo-score-0-5", "score", 1),
    ]
    assert [each.suite for each in found] == ["demo", "demo - score 0.5"]
    assert found[1].pass_threshold == 0.5


def test_what_a_program_makes_or_another_place_has_is_lost() -> None:
    config = f"{HEAD}tests: [file://make.py, 'https://docs.google.com/x', {{path: file://g.js}}, {{vars: {{what: 'file://v.js'}}}}, file://t.xlsx#Two]\n"

    found = read(config)

    assert [each.keys for each in found.losses] == [
        "tests[0]",
        "tests[1]",
        "tests[2]",
        "tests[3].vars.what",
        "tests[4]",
    ]
    assert len(found.suites[0].spec.cases) == 1


@pytest.mark.parametrize("tests", ["file://t.yaml", "[{vars: file://t.yaml}]"])
def test_files_that_name_each_other_come_to_an_end(tests: str) -> None:
    found = problems(f"{HEAD}tests: {tests}\n", {"t.yaml": "'file://t.yaml'\n"})

    assert [(each.path, each.keys) for each in found] == [("demo/t.yaml", "")]
    assert "each other" in found[0].message


# Assertions.

JUDGED = {"type": "llm_judge", "scale": "pass_fail"}


@pytest.mark.parametrize(
    ("assertion", "found"),
    [
        ("{type: equals, value: Paris}", [{"type": "exact_match", "value": "Paris"}]),
        ("{type: equals, value: 4}", [{"type": "exact_match", "value": "4"}]),
        ("{type: equals, value: {a: 1}}", [{"type": "json_schema", "schema": {"const": {"a": 1}}}]),
        (
            "{type: equals, value: ''}",
            [{"type": "matches", "value": r"\A\z", "case_sensitive": True}],
        ),
        (
            "{type: not-equals, value: a.b}",
            [{"type": "not_matches", "value": r"\Aa\.b\z", "case_sensitive": True}],
        ),
        (
            "{type: contains, value: x}",
            [{"type": "contains", "value": "x", "case_sensitive": True}],
        ),
        (
            "{type: contains, value: 0}",
            [{"type": "contains", "value": "0", "case_sensitive": True}],
        ),
        ("{type: icontains, value: x}", [{"type": "contains", "value": "x"}]),
        (
            "{type: not-contains, value: x}",
            [{"type": "not_contains", "value": "x", "case_sensitive": True}],
        ),
        ("{type: not-icontains, value: x}", [{"type": "not_contains", "value": "x"}]),
        (
            "{type: contains-all, value: [a, b]}",
            [
                {"type": "contains", "value": "a", "case_sensitive": True, "weight": 0.5},
                {"type": "contains", "value": "b", "case_sensitive": True, "weight": 0.5},
            ],
        ),
        (
            "{type: icontains-all, value: 'a, b'}",
            [
                {"type": "contains", "value": "a", "weight": 0.5},
                {"type": "contains", "value": "b", "weight": 0.5},
            ],
        ),
        (
            "{type: contains-any, value: ['1.5', b]}",
            [{"type": "matches", "value": r"1\.5|b", "case_sensitive": True}],
        ),
        ("{type: icontains-any, value: [a]}", [{"type": "matches", "value": "a"}]),
        ("{type: not-icontains-any, value: [a]}", [{"type": "not_matches", "value": "a"}]),
        (
            r"{type: regex, value: '\d{4}'}",
            [{"type": "matches", "value": r"\d{4}", "case_sensitive": True}],
        ),
        (
            "{type: not-regex, value: x+}",
            [{"type": "not_matches", "value": "x+", "case_sensitive": True}],
        ),
        (
            "{type: starts-with, value: 'Yes.'}",
            [{"type": "matches", "value": r"\AYes\.", "case_sensitive": True}],
        ),
        (
            "{type: ends-with, value: '!'}",
            [{"type": "matches", "value": r"!\z", "case_sensitive": True}],
        ),
        ("{type: contains-json}", [{"type": "json_valid"}]),
        (
            "{type: contains-json, value: {type: object}}",
            [{"type": "json_schema", "schema": {"type": "object"}}],
        ),
        ("{type: latency, threshold: 1500.5}", [{"type": "latency", "max_ms": 1500}]),
        ("{type: cost, threshold: 0.001}", [{"type": "cost", "max_usd": 0.001}]),
        (
            "{type: similar, value: x}",
            [{"type": "semantic_similarity", "value": "x", "threshold": 0.75}],
        ),
        (
            "{type: 'similar:cosine', value: [x], threshold: 0.8}",
            [{"type": "semantic_similarity", "value": "x", "threshold": 0.8}],
        ),
        (
            "{type: rouge-n, value: x}",
            [{"type": "rouge", "value": "x", "variant": "rouge1", "threshold": 0.75}],
        ),
        ("{type: rouge-l, value: x}", [{"type": "rouge", "value": "x", "threshold": 0.75}]),
        ("{type: bleu, value: x}", [{"type": "bleu", "value": "x", "threshold": 0.5}]),
        (
            "{type: meteor, value: x, threshold: 0.7}",
            [{"type": "meteor", "value": "x", "threshold": 0.7}],
        ),
        ("{type: llm-rubric, value: Is kind}", [{**JUDGED, "criteria": "Is kind"}]),
        (
            "{type: not-llm-rubric, value: Is rude}",
            [{**JUDGED, "criteria": "The reply does not meet this: Is rude"}],
        ),
        (
            "{type: llm-rubric, value: Is kind, threshold: 0.8}",
            [{"type": "llm_judge", "criteria": "Is kind", "scale": "0-1", "threshold": 0.8}],
        ),
        ("{type: model-graded-closedqa, value: Is kind}", [{**JUDGED, "criteria": "Is kind"}]),
        (
            "{type: factuality, value: Rome is in Italy}",
            [
                {
                    **JUDGED,
                    "criteria": "Nothing in the reply contradicts this; it may say less, or more: "
                    "Rome is in Italy",
                }
            ],
        ),
        (
            "{type: 'trajectory:goal-success', value: Refunded}",
            [
                {
                    **JUDGED,
                    "criteria": "With its replies and tool calls the agent achieved this: Refunded",
                }
            ],
        ),
        (
            "{type: g-eval, value: Is clear}",
            [
                {
                    "type": "geval",
                    "criteria": "Is clear",
                    "evaluation_params": ["input", "actual_output"],
                    "threshold": 0.7,
                }
            ],
        ),
        ("{type: answer-relevance}", [{"type": "answer_relevancy", "threshold": 0.7}]),
        (
            "{type: 'trajectory:tool-used', value: search_orders}",
            [{"type": "tool_called", "value": "search_orders"}],
        ),
        (
            "{type: 'trajectory:tool-used', value: [a, b]}",
            [
                {"type": "tool_called", "value": "a", "weight": 0.5},
                {"type": "tool_called", "value": "b", "weight": 0.5},
            ],
        ),
        (
            "{type: 'trajectory:tool-used', value: {pattern: '*search*', min: 2, max: 3}}",
            [
                {
                    "type": "tool_called",
                    "value": "search",
                    "name_match": "contains",
                    "min_count": 2,
                    "max_count": 3,
                }
            ],
        ),
        (
            "{type: 'not-trajectory:tool-used', value: delete}",
            [{"type": "tool_not_called", "value": "delete"}],
        ),
        (
            "{type: 'trajectory:tool-args-match', value: {name: find, args: {id: '{{what}}'}}}",
            [{"type": "tool_called", "value": "find", "args": {"id": "hi"}}],
        ),
        (
            "{type: 'trajectory:tool-args-match', value: {name: find, mode: exact, arguments: {n: 1}}}",
            [{"type": "tool_called", "value": "find", "args": {"n": 1}, "args_match": "exact"}],
        ),
        (
            "{type: 'trajectory:tool-sequence', value: {steps: [a, b]}}",
            [{"type": "tool_calls", "tools": ["a", "b"], "ordered": True}],
        ),
        (
            "{type: 'trajectory:tool-sequence', value: {mode: exact, steps: [a, b]}}",
            [{"type": "tool_calls", "tools": ["a", "b"], "exact": True, "ordered": True}],
        ),
        (
            "{type: tool-call-f1, value: 'a, b'}",
            [{"type": "tool_calls", "tools": ["a", "b"], "exact": True}],
        ),
        (
            "{type: contains, value: '{{what}}', weight: 2, metric: 'Says {{what}}'}",
            [
                {
                    "type": "contains",
                    "name": "Says hi",
                    "value": "hi",
                    "case_sensitive": True,
                    "weight": 2.0,
                }
            ],
        ),
        (
            "{type: equals, value: x, transform: output.category}",
            [{"type": "exact_match", "value": "x", "response_path": "category"}],
        ),
        (
            "{type: equals, value: [1], transform: 'JSON.parse(output).order.items[0]'}",
            [{"type": "json_path", "path": "order.items[0]", "value": [1]}],
        ),
    ],
)
def test_an_assertion_is_said_in_our_words(assertion: str, found: list[Any]) -> None:
    assert checks(assertion) == found


def test_the_whole_reply_must_be_json_where_it_is_said() -> None:
    valid, alone = checks('{type: is-json, value: \'{"type": "array"}\'}')

    assert valid == {"type": "json_schema", "schema": {"type": "array"}, "weight": 0.5}
    assert (alone["type"], alone["name"], alone["weight"]) == ("matches", "Nothing but JSON", 0.5)


def test_values_stand_in_files_too() -> None:
    files: dict[str, str | bytes] = {"s.json": '{"type": "object"}', "t.txt": "Say {{what}}\n"}

    assert checks("{type: contains-json, value: file://s.json}", files) == [
        {"type": "json_schema", "schema": {"type": "object"}}
    ]
    assert checks("{type: icontains, value: file://t.txt}", files) == [
        {"type": "contains", "value": "Say hi"}
    ]


def test_context_is_what_the_reply_is_to_rest_on() -> None:
    config = with_assertion("{type: context-faithfulness, threshold: 0.9}", context="It is open.")

    (turn,) = turns(
        config.replace(
            "threshold: 0.9}", "threshold: 0.9}\n      - {type: context-recall, value: 'Open'}"
        )
    )

    assert turn["retrieval_context"] == ["It is open."]
    assert turn["expected"] == "Open"
    assert turn["assertions"] == [
        {"type": "faithfulness", "threshold": 0.9},
        {"type": "contextual_recall", "threshold": 0.5},
    ]


def test_a_set_shares_its_weight_among_its_assertions() -> None:
    found = checks(
        "{type: assert-set, weight: 4, assert: [{type: cost, threshold: 1}, {type: latency, threshold: 9, weight: 3}]}"
    )

    assert [(each["type"], each.get("weight", 1)) for each in found] == [
        ("cost", 1),
        ("latency", 3),
    ]


def test_of_a_set_with_a_threshold_all_must_pass_which_is_told() -> None:
    found = read(
        with_assertion("{type: assert-set, threshold: 0.5, assert: [{type: cost, threshold: 1}]}")
    )

    assert [each.keys for each in found.losses] == ["tests[0].assert[0].threshold"]
    assert len(found.suites[0].spec.cases[0].turns[0].assertions or []) == 1


def test_templates_of_assertions_are_followed() -> None:
    config = with_assertion("{$ref: '#/assertionTemplates/kind'}")

    (turn,) = turns(
        f"{config}assertionTemplates: {{kind: {{type: icontains, value: '{{{{what}}}}'}}}}\n"
    )

    assert turn["assertions"] == [{"type": "contains", "value": "hi"}]


@pytest.mark.parametrize(
    ("grader", "model"),
    [
        ("openai:gpt-5", "openai/gpt-5"),
        ("openai:gpt-5-mini", "openai/gpt-5-mini"),  # there is an agent openai-gpt-5-mini
        ("{id: openai:gpt-5, config: {temperature: 0}}", {"provider": "openai", "name": "gpt-5", "temperature": 0.0}),
        ("{text: {id: anthropic:messages:claude-opus-4-6}, embedding: openai:embedding:x}", "anthropic/claude-opus-4-6"),
        ("{id: echo, label: Phrase book}", "scripted/phrase-book"),
    ],
)  # fmt: skip
def test_a_grader_judges_where_a_judge_is_asked(grader: str, model: Any) -> None:
    own = checks(f"{{type: llm-rubric, value: x, provider: {grader}}}")
    config = (
        with_assertion("{type: llm-rubric, value: x}")
        + f"defaultTest: {{options: {{provider: {grader}}}}}\n"
    )

    assert own[0]["model"] == model
    assert turns(config)[0]["assertions"][0]["model"] == model
    assert "model" not in checks("{type: icontains, value: x}")[0]


def test_a_grader_may_name_the_model_of_embeddings() -> None:
    provider = "{embedding: {id: 'openai:embedding:text-embedding-3-small'}}"

    assert checks(f"{{type: similar, value: x, provider: {provider}}}")[0]["embedding_model"] == (
        "openai/text-embedding-3-small"
    )


def test_a_grader_that_is_nothing_here_is_lost() -> None:
    found = read(with_assertion("{type: llm-rubric, value: x, provider: file://judge.py}"))

    assert [each.keys for each in found.losses] == ["tests[0].assert[0].provider"]


@pytest.mark.parametrize(
    ("assertion", "words"),
    [
        ("{type: javascript, value: output.length < 10}", "does not run on import"),
        ("{type: python, value: file://check.py}", "`code`"),
        ("{type: webhook, value: 'https://example.com'}", "code"),
        ("{type: select-best, value: funniest}", "not compared"),
        ("{type: not-is-sql}", "matches"),
        ("{type: levenshtein, value: x, threshold: 5}", "fuzzy_match"),
        ("{type: is-valid-openai-tools-call}", "succeeded: true"),
        ("{type: perplexity, threshold: 1.5}", "how sure"),
        ("{type: 'trace-span-count', value: {pattern: '*', min: 1}}", "tool_called"),
        ("{type: 'promptfoo:redteam:pii'}", "judge"),
        ("{type: cost}", "measured anyway"),
        ("{type: not-similar, value: x}", "no opposite of similar"),
        ("{type: not-contains-all, value: [a, b]}", "no opposite"),
        ("{type: not-factuality, value: x}", "no opposite"),
        ("{type: not-equals, value: {a: 1}}", "no opposite"),
        ("{type: not-llm-rubric, value: x, threshold: 0.5}", "opposite of a score"),
        ("{type: bleu, value: [a, b]}", "one text"),
        ("{type: contains, value: file://x.js}", "code"),
        ("{type: contains, value: '{{ what | capitalize }}'}", "calculates"),
        ("{type: contains, value: x, transform: output.trim()}", "transform"),
        ("{type: contains, value: x, transform: output.name}", "json_path"),
        ("{type: equals, value: x, transform: output.length}", "transform"),
        ("{type: 'trajectory:tool-used', value: 'find*'}", "*part*"),
        ("{type: 'trajectory:tool-used', value: 'a*b'}", "part of it"),
        ("{type: 'trajectory:tool-sequence', value: {steps: ['*a*']}}", "whole names"),
        ("{type: 'trajectory:tool-args-match', value: {name: a, ignore: [id]}}", "ignore"),
        ("{type: tool-call-f1, value: [a], threshold: 0.5}", "called or not"),
    ],
)
def test_an_assertion_without_an_equal_is_lost_with_what_to_do_instead(
    assertion: str, words: str
) -> None:
    assert words in lost(assertion)


def test_a_second_ground_truth_is_lost() -> None:
    config = with_assertion(
        "{type: context-recall, value: a}\n      - {type: context-recall, value: b}"
    )

    assert [each.keys for each in read(config).losses] == ["tests[0].assert[1]"]


@pytest.mark.parametrize("kind", ["llm-rubric", "factuality", "g-eval", "context-recall"])
def test_a_judge_does_not_read_a_part_of_the_reply_as_if_it_were_all(kind: str) -> None:
    assert "A judge reads the whole reply" in lost(
        f"{{type: {kind}, value: x, transform: output.answer}}"
    )


@pytest.mark.parametrize("kind", ["contains-any", "not-icontains-any", "not-equals", "starts-with"])
def test_texts_that_are_too_long_for_a_pattern_are_lost(kind: str) -> None:
    assert "up to 1,000 are possible" in lost(f"{{type: {kind}, value: {'long ' * 250}}}")


def test_a_variable_of_an_assertion_that_a_test_does_not_set_is_warned_of() -> None:
    found = read(with_assertion("{type: llm-rubric, value: 'Says {{what}} to {{who}}'}"))

    assert [(each.line, each.keys) for each in found.warnings] == [(6, "tests[0].assert[0].value")]
    assert "{{who}}" in found.warnings[0].message


def test_what_stands_beside_a_reference_is_lost() -> None:
    config = with_assertion("{$ref: '#/assertionTemplates/t', weight: 3}")
    template = "assertionTemplates: {t: {type: icontains, value: x}}\n"

    (found,) = read(config + template).losses

    assert (found.keys, "Nothing counts beside" in found.message) == (
        "tests[0].assert[0].weight",
        True,
    )


def test_a_reference_to_nothing_is_told_once() -> None:
    assert len(problems(with_assertion("{$ref: '#/assertionTemplates/t'}"))) == 1


def test_what_is_only_measured_weighs_nothing() -> None:
    metric = "{type: icontains, value: m, metricOnly: true}"
    inner = f"[{metric}, {{type: icontains, value: a}}, {{type: icontains, value: b}}]"

    assert [each.get("weight", 1) for each in checks(f"{{type: assert-set, assert: {inner}}}")] == [
        0,
        0.5,
        0.5,
    ]


def test_a_reply_that_code_changes_is_not_checked_as_if_it_were_not() -> None:
    config = with_tests(
        """\
  - vars: {what: hi}
    options: {transform: output.toUpperCase()}
    assert: [{type: contains, value: HI}, {type: latency, threshold: 100}]
"""
    )

    found = read(config)

    assert [each.keys for each in found.losses] == ["tests[0].assert[0]"]
    assert [each.type for each in found.suites[0].spec.cases[0].turns[0].assertions or []] == [
        "latency"
    ]


def test_parts_that_count_one_by_one_are_told_where_a_score_decides() -> None:
    config = with_tests(
        "  - {vars: {what: a}, threshold: 0.5, assert: [{type: contains-all, value: [a, b]}]}\n"
    )

    assert [each.keys for each in read(config).losses] == ["tests[0].assert[0]"]


# Mistakes.


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
        ("{type: regex, value: '(?=x)'}", "tests[0].assert[0].value", "Lookahead"),
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
        ("prompts: [Hi]\nproviders: [echo]\ntests: file://make.js\nsharing: true\n", (1, ""), "so there is no suite. This is a program"),
        ("prompts: [Hi]\nproviders: [echo]\ntests: [{prompts: [Ho]}]\n", (1, ""), "so there is no suite. Of its prompts"),
        ("prompts: [Hi]\nproviders: []\ntests: [{vars: {}}]\n", (1, ""), "no providers here"),
        ("prompts: [file://../up.txt]\nproviders: [echo]\ntests: [{vars: {}}]\n", (1, "prompts[0]"), "Only files in the folder"),
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
