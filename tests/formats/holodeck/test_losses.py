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
    Rag,
    Standard,
)
from tests.formats.holodeck.projects import agent_file, read, whole, with_metrics


def test_what_has_no_place_here_is_lost_with_a_reason() -> None:
    lost = {loss.keys: loss for loss in whole().losses}

    assert sorted(lost) == [
        "",  # the heading of the prompt
        "author",
        "execution.verbose",
        "observability",
        "response_format",
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


@pytest.mark.parametrize(
    ("metric", "key", "message"),
    [
        pytest.param(
            "- {metric: equality, model: {provider: openai, name: m}}\n",
            "model",
            "equality",
            id="model of a comparison",
        ),
        pytest.param(
            "- {metric: bleu, relative_tolerance: 0.1}\n",
            "relative_tolerance",
            "effect",
            id="option of another metric",
        ),
        pytest.param(
            "- {metric: relevance, accept_percent: true}\n",
            "accept_percent",
            "relevance",
            id="option of a deprecated metric",
        ),
        pytest.param("- {metric: bleu, scale: 5}\n", "scale", "range", id="scale"),
        pytest.param("- {metric: bleu, timeout_ms: 5}\n", "timeout_ms", "judges", id="timeout"),
        pytest.param(
            "- {metric: bleu, retry_on_failure: 2}\n", "retry_on_failure", "judges", id="retries"
        ),
        pytest.param(
            "- {metric: safety, custom_prompt: x}\n", "custom_prompt", "geval metric", id="prompt"
        ),
        pytest.param(
            "- {type: code, grader: 'evals_app.engine.examples.graders:turn_program', model: {}}\n",
            "model",
            "model",
            id="model of code",
        ),
        pytest.param(
            "- {type: geval, name: n, criteria: c, evaluation_params: [actual_output, context]}\n",
            "evaluation_params[1]",
            "judge",
            id="context",
        ),
        pytest.param(
            "- {type: rag, metric_type: faithfulness,"
            " model: {provider: anthropic, name: m, auth_provider: bedrock}}\n",
            "model.auth_provider",
            "API",
            id="another way to log in",
        ),
        pytest.param(
            "- {type: rag, metric_type: faithfulness,"
            " model: {provider: openai, name: m, api_version: '1'}}\n",
            "model.api_version",
            "version",
            id="version of the API",
        ),
    ],
)
def test_a_setting_that_does_nothing_is_lost_with_a_reason(
    metric: str, key: str, message: str
) -> None:
    (loss,) = read(with_metrics(metric)).losses

    assert loss.keys == f"evaluations.metrics[0].{key}"
    assert message in loss.message


@pytest.mark.parametrize(
    ("line", "key"),
    [
        pytest.param("tool_filtering: {enabled: true}", "tool_filtering"),
        pytest.param("embedding_provider: {provider: openai, name: m}", "embedding_provider"),
        pytest.param("claude: {max_turns: 3}", "claude"),
        pytest.param("openai: {max_turns: 3}", "openai"),
        pytest.param("deployment: {port: 8080}", "deployment"),
        pytest.param("execution: {cache_dir: x}", "execution.cache_dir"),
    ],
)
def test_settings_of_the_agent_without_a_place_are_lost(line: str, key: str) -> None:
    imported = read(f"{line}\ntest_cases: [{{input: hi, ground_truth: x}}]\n")

    assert [loss.keys for loss in imported.losses] == [key]


@pytest.mark.parametrize("kind", ["hosted", "skill", "hierarchical_document"])
def test_tools_of_the_agent_are_lost(kind: str) -> None:
    agent = agent_file("{provider: openai, name: m}")

    imported = read(f"{agent}tools: [{{name: w, type: {kind}}}]\n", agent=None)

    assert [loss.keys for loss in imported.losses] == ["tools[0]"]


def test_the_optimizer_is_lost() -> None:
    text = "evaluations:\n  optimizer: {max_cycles: 3}\n  metrics: [{metric: bleu}]\n"

    assert [loss.keys for loss in read(text).losses] == ["evaluations.optimizer"]


# Nobody has to know what became of these.
UNTOLD = {"cache", "api_version"}


def test_the_page_names_every_metric_and_every_key_that_is_lost() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "coming-from-holodeck.md").read_text()
    shapes = [AgentFile, Evaluations, Llm, File, *METRICS.values()]
    lost = {key for shape in shapes for key in shape.lost} - UNTOLD
    metrics = {
        *get_args(Standard.model_fields["metric"].annotation),
        *get_args(Rag.model_fields["metric_type"].annotation),
    }

    told = set(re.findall(r"\w+", " ".join(re.findall(r"(?<!`)`([^`\n]+)`", page))))

    assert lost | metrics | METRICS.keys() - {"standard"} <= told
