"""Configurations of promptfoo, and how tests read them."""

import json
from typing import Any

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem

CONFIG = "demo/promptfooconfig.yaml"
KNOWN = ExistingObjects(
    agents={"phrase-book": "scripted", "desk": "http", "openai-gpt-5-mini": "model"}
)

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

CHAT = """[
  {"role": "system", "content": "You are a pirate."},
  {"role": "user", "content": "Who are you?"},
  {"role": "assistant", "content": "Arr."},
  {"role": "user", "content": "Say {{what}}"}
]"""


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
    (imported_suite,) = read(config, files, **options).suites
    return dumped(imported_suite.spec)


def turns(config: str, files: dict[str, str | bytes] | None = None) -> list[Any]:
    """Return the only turn of each case of the only suite."""
    return [case["turns"][0] for case in suite(config, files)["cases"]]


def problems(
    config: str, files: dict[str, str | bytes] | None = None, **options: Any
) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(config, files, **options)
    return [problem for problem in caught.value.problems if problem.level == "error"]


def places(problems: list[Problem]) -> list[tuple[int, str]]:
    return [(item.line, item.keys) for item in problems]


# A configuration to which tests or assertions are added.
HEAD = "prompts: ['Say {{what}}']\nproviders: [echo]\n"


def with_tests(tests: str, head: str = HEAD) -> str:
    return f"{head}tests:\n{tests}"


def with_assertion(assertion: str, **variables: Any) -> str:
    values = json.dumps({"what": "hi", **variables})
    return with_tests(f"  - vars: {values}\n    assert:\n      - {assertion}\n")


def checks(assertion: str, files: dict[str, str | bytes] | None = None, **variables: Any) -> Any:
    """Return the checks that one assertion becomes."""
    return turns(with_assertion(assertion, **variables), files)[0].get("assertions", [])


def lost(assertion: str, **variables: Any) -> str:
    """Return what is reported about an assertion that is left out."""
    imported = read(with_assertion(assertion, **variables))
    assert imported.suites[0].spec.cases[0].turns[0].assertions == []
    (loss,) = imported.losses
    assert (loss.line, loss.keys) == (6, "tests[0].assert[0]")
    return loss.message
