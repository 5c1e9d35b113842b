import re
from pathlib import Path
from typing import get_args

import pytest

from evals_app.formats.holodeck.shapes import (
    METRICS,
    AgentFile,
    Evaluations,
    File,
    Llm,
    RagMetric,
    StandardMetric,
)
from tests.formats.holodeck.projects import GRADER, MODEL, agent_file, read, whole, with_metrics


def test_what_has_no_place_here_is_lost_with_a_reason() -> None:
    lost = {loss.keys: loss for loss in whole().losses}

    assert sorted(lost) == [
        "",  # the heading of the prompt
        "author",
        "execution.verbose",
        "observability",
        "tools[0]",
        "tools[1]",
        "tools[2]",
        "tools[3]",
    ]
    assert lost[""].path == "project/prompts/system.md"
    assert "knowledge.search" in lost["tools[0]"].message
    assert "driver python" in lost["tools[1]"].message
    assert "EVALS_MCP_SERVERS" in lost["tools[2]"].message
    assert all("until" in lost[f"tools[{n}]"].message for n in range(4))


def rag(model: str) -> str:
    return f"type: rag, metric_type: faithfulness, model: {{{model}, name: m}}"


@pytest.mark.parametrize(
    ("metric", "key", "message"),
    [
        (f"metric: equality, model: {MODEL}", "model", "equality"),
        ("metric: bleu, relative_tolerance: 0.1", "relative_tolerance", "effect"),
        ("metric: relevance, accept_percent: true", "accept_percent", "relevance"),
        ("metric: bleu, scale: 5", "scale", "range"),
        ("metric: bleu, timeout_ms: 5", "timeout_ms", "judges"),
        ("metric: bleu, retry_on_failure: 2", "retry_on_failure", "judges"),
        ("metric: safety, custom_prompt: x", "custom_prompt", "geval metric"),
        (f"type: code, grader: '{GRADER}', model: {{}}", "model", "model"),
        (
            "type: geval, name: n, criteria: c, evaluation_params: [actual_output, context]",
            "evaluation_params[1]",
            "judge",
        ),
        (rag("provider: anthropic, auth_provider: bedrock"), "model.auth_provider", "API"),
        (rag("provider: openai, api_version: '1'"), "model.api_version", "version"),
    ],
)
def test_a_setting_that_does_nothing_is_lost_with_a_reason(
    metric: str, key: str, message: str
) -> None:
    (loss,) = read(with_metrics(f"- {{{metric}}}\n")).losses

    assert loss.keys == f"evaluations.metrics[0].{key}"
    assert message in loss.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tool_filtering", "{enabled: true}"),
        ("embedding_provider", MODEL),
        ("claude", "{max_turns: 3}"),
        ("openai", "{max_turns: 3}"),
        ("deployment", "{port: 8080}"),
        ("execution.cache_dir", "x"),
        ("evaluations.optimizer", "{max_cycles: 3}"),
    ],
)
def test_settings_of_the_agent_without_a_place_are_lost(key: str, value: str) -> None:
    outer, _, inner = key.partition(".")
    line = f"{outer}: {{{inner}: {value}}}" if inner else f"{outer}: {value}"

    imported = read(f"{line}\ntest_cases: [{{input: hi, ground_truth: x}}]\n")

    assert [loss.keys for loss in imported.losses] == [key]


@pytest.mark.parametrize("kind", ["hosted", "skill", "hierarchical_document"])
def test_tools_of_the_agent_are_lost(kind: str) -> None:
    agent = agent_file()

    imported = read(f"{agent}tools: [{{name: w, type: {kind}}}]\n", agent=None)

    assert [loss.keys for loss in imported.losses] == ["tools[0]"]


# Nobody has to know what became of these.
UNTOLD = {"cache", "api_version"}


def test_the_page_names_every_metric_and_every_key_that_is_lost() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "coming-from-holodeck.md").read_text()
    shapes = [AgentFile, Evaluations, Llm, File, *METRICS.values()]
    lost = {key for shape in shapes for key in shape.lost} - UNTOLD
    metrics = {
        *get_args(StandardMetric.model_fields["metric"].annotation),
        *get_args(RagMetric.model_fields["metric_type"].annotation),
    }

    documented = set(re.findall(r"\w+", " ".join(re.findall(r"(?<!`)`([^`\n]+)`", page))))

    assert lost | metrics | METRICS.keys() - {"standard"} <= documented
