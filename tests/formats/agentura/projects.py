"""Eval files of Agentura, as its own document shows them, and how tests read them."""

from typing import Any

import pytest

from evals_app.engine.basics.permits import OUR_COMMAND
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem

KNOWN = ExistingObjects(agents={"support": "model"})

# The document's examples, entry by entry; they are lists without anything around them.
ACCURACY = """\
- name: accuracy
  type: golden_dataset
  dataset: ./evals/accuracy.jsonl
  scorer: fuzzy_match
  threshold: 0.8
"""
QUALITY = """\
- name: quality
  type: llm_judge
  dataset: ./evals/quality.jsonl
  rubric: ./evals/quality-rubric.md
  threshold: 0.7
"""
SPEED = """\
- name: speed
  type: performance
  dataset: ./evals/accuracy.jsonl
  max_p95_ms: 3000
  max_cost_per_call_usd: 0.01
  threshold: 0.8
"""
TOOL_ROUTING = """\
- name: tool-routing
  type: tool_use
  dataset: ./evals/tools.jsonl
  threshold: 0.9
"""
CONVERSATION = """\
- name: conversation
  type: golden_dataset
  dataset: ./evals/conversation.jsonl
  scorer: semantic_similarity
  threshold: 0.8
"""
RUBRIC = """\
# Quality Rubric
Score 1.0 if the answer is correct and concise.
Score 0.5 if the answer is correct but verbose.
Score 0.0 if the answer is incorrect.
"""
DATASETS = {
    "evals/accuracy.jsonl": """\
{"input": "what is 2+2", "expected": "4"}
{"input": "what is the capital of France", "expected": "Paris"}
""",
    "evals/quality.jsonl": '{"input": "How do I leave?"}\n',
    "evals/quality-rubric.md": RUBRIC,
    "evals/tools.jsonl": """\
{"input": "book a flight to Paris", "expected_tool": "search_flights", "expected_args": {"destination": "Paris"}}
{"input": "what is the weather in London", "expected_tool": "get_weather", "expected_args": {"city": "London"}}
""",
    "evals/conversation.jsonl": """\
{
"conversation": [
{"role": "user", "content": "I am on the Pro plan, what storage do I get?"},
{"role": "assistant", "expected": "Pro plan includes 100GB storage"},
{"role": "user", "content": "Can I upgrade individual team members?"},
{"role": "assistant", "expected": "Yes, you can manage seats in Settings > Team"}
],
"eval_turns": [2, 4]
}
""",
}
AGENT = f"agent: {{type: cli, command: {OUR_COMMAND}}}\n"
TALK = [{"role": "user", "content": "Hello"}, {"role": "assistant", "expected": "Hi"}]


def read(
    config: str,
    beside: dict[str, str] | None = None,
    *,
    folder: str = "",
    agent: str | None = "support",
    natives: dict[str, str] | None = None,
) -> Imported:
    files = {f"{folder}{path}": text for path, text in (DATASETS | (beside or {})).items()}
    named = {f"{folder}agentura.yaml": config, **(natives or {})}
    sources = [SourceFile(path, text.encode()) for path, text in named.items()]

    def find(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return read_files(sources, known=KNOWN, find=find, agent=agent)


def suite(config: str, beside: dict[str, str] | None = None) -> SuiteSpec:
    imported = read(config, beside)
    assert (imported.warnings, imported.losses) == ([], [])
    return imported.suites[0].spec


def written(config: str, beside: dict[str, str] | None = None) -> dict[str, Any]:
    """Return what a suite says beyond the defaults."""
    return suite(config, beside).model_dump(mode="json", exclude_defaults=True)


def problems(
    config: str, beside: dict[str, str] | None = None, *, agent: str | None = "support"
) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(config, beside, agent=agent)
    return [problem for problem in caught.value.problems if problem.level == "error"]
