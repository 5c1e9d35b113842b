"""Eval files of HoloDeck, most of them from its own documents, and how tests read them."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.native import write_native
from evals_app.formats.reading.problems import FormatError, Problem

KNOWN = ExistingObjects(agents={"desk": "http", "reader": "scripted"})
ENVIRONMENT = {"HOME": "/home/somebody"}
MODEL = "{provider: openai, name: m}"
GRADER = "evals_app.engine.examples.graders:turn_program"

# The document's first example.
QUICK_START = """\
# agent.yaml
evaluations:
  metrics:
    - type: standard
      metric: numeric
      relative_tolerance: 0.01

test_cases:
  - name: "Exercise price"
    input: "What was the weighted average exercise price per share in 2007?"
    ground_truth: "60.94"
"""

# Its metrics, each as it stands there.
NUMERIC = """\
- type: standard
  metric: numeric
  absolute_tolerance: 0.5
  relative_tolerance: 0.0
  accept_percent: true
  accept_thousands_separators: true
"""
EQUALITY = """\
- type: standard
  metric: equality
  case_insensitive: true
  strip_whitespace: true
  strip_punctuation: false
"""
OVERLAP = """\
- type: standard
  metric: f1_score
  threshold: 0.8
"""
GEVAL = """\
- type: geval
  name: "Technical Accuracy"
  criteria: |
    Evaluate whether the response provides accurate technical information
    that correctly addresses the user's question.
  evaluation_steps:              # Optional: auto-generated if omitted
    - "Check if the response directly addresses the user's question"
    - "Verify technical accuracy of any code or commands provided"
  evaluation_params:             # Which test-case fields to feed in
    - actual_output
    - input
  threshold: 0.8
  strict_mode: false             # Binary scoring (1.0 / 0.0) when true
  model:                         # Optional per-metric model override
    provider: openai
    name: gpt-4
"""
RAG = """\
- type: rag
  metric_type: faithfulness
  threshold: 0.8
  include_reason: true           # Include reasoning in results
  model:                         # Optional per-metric override
    provider: openai
    name: gpt-4
"""
FACT_CHECK = """\
test_cases:
  - name: "Fact check test"
    input: "What's our company's founding date?"
    expected_tools: [search_kb]
    ground_truth: "Founded in 2010"
    evaluations:
      - type: rag
        metric_type: faithfulness
        threshold: 0.85
      - type: rag
        metric_type: answer_relevancy
        threshold: 0.7
"""
MULTI_TURN = """\
test_cases:
  - name: "ConvFinQA · MRO 2007"
    turns:
      - input: "What was the weighted average exercise price per share in 2007?"
        ground_truth: "60.94"
        turn_config:
          turn_program: "60.94"
      - input: "And in 2005?"
        ground_truth: "25.14"
        turn_config:
          turn_program: "25.14"
      - input: "What was the change over the years?"
        ground_truth: "35.8"
        turn_config:
          turn_program: "subtract(60.94, 25.14)"
        expected_tools:
          - name: subtract
            args:
              a: { fuzzy: "60.94" }
              b: { fuzzy: "25.14" }
        evaluations:
          - type: code
            grader: "evals_app.engine.examples.graders:turn_program"
"""
THREE_LEVELS = """\
evaluations:
  model:                         # Level 2: default for all metrics
    provider: ollama             # Free local inference
    name: llama3.2:latest
    temperature: 0.0
  metrics:
    - type: rag
      metric_type: faithfulness
      threshold: 0.9
      model:                     # Level 1: override for this critical metric
        provider: openai
        name: gpt-4
    - type: geval
      name: "Coherence"
      criteria: "Evaluate response clarity."
      threshold: 0.75            # Uses the Level 2 model above
"""
BEFORE = """\
- type: standard
  metric: groundedness
  threshold: 0.8
"""

# As HoloDeck's own guide describes an agent.
WHOLE = """\
name: Support agent
description: Handles customer support.
author: Alice Johnson

model:
  provider: azure_openai
  name: ${DEPLOYMENT}
  temperature: 0.6
  max_tokens: 4096
  top_p: 0.9
  endpoint: ${AZURE_OPENAI_ENDPOINT}
  api_key: ${SUPPORT_KEY}

instructions:
  file: prompts/system.md

response_format:
  type: object

tools:
  - name: search_kb
    description: Search knowledge base
    type: vectorstore
    source: ${KNOWLEDGE}/kb
    database: {provider: postgres, connection_string: "${DATABASE}"}
  - {name: create_ticket, description: Create a ticket, type: function, file: t.py, function: f}
  - {name: files, description: Files, type: mcp, command: npx, env: {TOKEN: "${TOKEN}"}}
  - {name: summarize, description: Short, type: prompt, template: "{{text}}"}

evaluations:
  model: {provider: anthropic, name: claude-sonnet-4-20250514, temperature: 0.0}
  metrics:
    - {type: rag, metric_type: answer_relevancy, threshold: 0.7}

execution:
  llm_timeout: 180
  parallel_test_cases: 4
  verbose: true

observability:
  enabled: true
  exporters: {otlp: {endpoint: "${OTEL}"}}

test_cases:
  - name: Basic query
    input: Hello, can you help?
    expected_tools: [search_kb]
"""
PROMPT = """\
---
version: v1.2.0
author: alice
---
You are a support specialist.
"""
FILLED = {"DEPLOYMENT": "gpt-4o-prod", "AZURE_OPENAI_ENDPOINT": "https://ours.openai.azure.com/"}


def read(
    text: str,
    *,
    agent: str | None = "desk",
    environment: Mapping[str, str] = ENVIRONMENT,
    beside: Mapping[str, str] | None = None,
    known: ExistingObjects = KNOWN,
) -> Imported:
    files = {f"project/{path}": content.encode() for path, content in (beside or {}).items()}
    source = SourceFile("project/agent.yaml", text.encode())
    return read_files([source], known=known, find=files.get, agent=agent, environment=environment)


def problems(text: str, **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(text, **options)
    return [problem for problem in caught.value.problems if problem.level == "error"]


def suite(text: str, **options: Any) -> SuiteSpec:
    (imported_suite,) = read(text, **options).suites
    return imported_suite.spec


def written(spec: SuiteSpec | AgentSpec | ProviderSpec) -> Any:
    return yaml.safe_load(write_native(spec))


def with_metrics(metrics: str) -> str:
    indented = "".join(f"    {line}" for line in metrics.splitlines(keepends=True))
    case = "test_cases:\n  - {name: c, input: hi, ground_truth: '1'}\n"
    return f"evaluations:\n  metrics:\n{indented}{case}"


def with_turn(keys: str) -> str:
    indented = "".join(f"    {line}" for line in keys.splitlines(keepends=True))
    return f"test_cases:\n  - input: hi\n{indented}"


def whole() -> Imported:
    return read(WHOLE, agent=None, environment=FILLED, beside={"prompts/system.md": PROMPT})


def agent_file(model: str = MODEL, *, instructions: str = "{inline: You help.}") -> str:
    return f"name: a\nmodel: {model}\ninstructions: {instructions}\n"
