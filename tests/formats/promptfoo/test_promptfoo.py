import pytest

from evals_app.formats.importing import SourceFile, read_files
from tests.formats.promptfoo.projects import CONFIG, QUICK_START, dumped, read, suite, with_tests


def test_a_prompt_a_provider_and_a_test_are_an_agent_and_a_suite() -> None:
    imported = read(QUICK_START)

    assert [dumped(agent.spec) for agent in imported.agents] == [
        {"agent": "gpt-5-mini", "slug": "demo-gpt-5-mini", "model": "openai/gpt-5-mini"}
    ]
    assert [dumped(item.spec) for item in imported.suites] == [
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
    assert (imported.warnings, imported.losses) == ([], [])
    assert [(agent.path, agent.line) for agent in imported.agents] == [(CONFIG, 4)]


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

    imported = read(config, {"second.txt": "Translate to {{language}}: {{input}}\n"})

    assert [agent.spec.slug for agent in imported.agents] == ["demo-gpt-5", "demo-sonnet"]
    assert [(item.spec.slug, item.spec.agent, item.spec.suite) for item in imported.suites] == [
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
        ("evals/refunds.v2.yaml", "Anything", "refunds-v2"),
        ("shop/promptfooconfig.review.yaml", "Anything", "shop-review"),
        ("shop/review.promptfooconfig.yaml", "Anything", "review"),
        ("shop/evals/promptfooconfig.yaml", "Anything", "shop-evals"),
        ("shop/tests/.promptfoo/promptfooconfig.yaml", "Anything", "shop-tests-promptfoo"),
        ("evals/promptfooconfig.yaml", "Anything", "evals"),
        ("shop/eval.yaml", "Anything", "shop-eval"),
    ],
)
def test_a_suite_is_known_by_the_folder_or_the_file(path: str, description: str, slug: str) -> None:
    config = f"{QUICK_START}description: '{description}'\n"

    (imported_suite,) = read_files([SourceFile(path, config.encode())], dialect="promptfoo").suites

    assert imported_suite.spec.slug == slug


def test_a_suite_has_one_slug_wherever_the_import_begins() -> None:
    source = SourceFile("promptfooconfig.yaml", f"description: It\n{QUICK_START}".encode())

    imported = read_files([source], root="/home/me/demo")

    assert [item.spec.slug for item in imported.suites] == ["demo"]


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
