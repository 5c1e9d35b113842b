from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.suite import SuiteSpec
from tests.engine.operator_code import operator_code_in
from tests.formats.holodeck.projects import (
    BEFORE,
    EQUALITY,
    GEVAL,
    NUMERIC,
    OVERLAP,
    QUICK_START,
    RAG,
    problems,
    read,
    suite,
    with_metrics,
    with_turn,
    written,
)

CODE = """\
- type: code
  grader: "graders.exact_tool_call:called_subtract_with"
  threshold: 0.7                 # Optional
  enabled: true
  fail_on_error: false
  name: "Turn Program"
"""
GRADER = """\
# graders/exact_tool_call.py
from holodeck.lib.test_runner.code_grader import GraderContext, GraderResult

def called_subtract_with(ctx: GraderContext) -> GraderResult:
    expected_a = ctx.turn_config.get("expected_a")
    expected_b = ctx.turn_config.get("expected_b")
    for inv in ctx.tool_invocations:
        if inv.name == "subtract" and inv.args.get("a") == expected_a and inv.args.get("b") == expected_b:
            return GraderResult(score=1.0, passed=True, reason="exact match")
    return GraderResult(score=0.0, passed=False, reason="no matching subtract call")
"""
AFTER = """\
- type: rag
  metric_type: faithfulness
  threshold: 0.8
"""
CRITERIA = (
    "Evaluate whether the response provides accurate technical information\n"
    "that correctly addresses the user's question.\n"
)


@pytest.mark.parametrize(
    ("metric", "assertion"),
    [
        pytest.param(
            NUMERIC,
            {
                "type": "numeric",
                "absolute_tolerance": 0.5,
                "accept_percent": True,
                "accept_thousands_separators": True,
            },
            id="numeric",
        ),
        pytest.param(
            "- {metric: numeric, response_path: answer, absolute_tolerance: 1e-3}\n",
            {"type": "numeric", "absolute_tolerance": 0.001, "response_path": "answer"},
            id="numeric in a part of a JSON reply",
        ),
        pytest.param(
            EQUALITY,
            {"type": "exact_match", "case_insensitive": True, "strip_whitespace": True},
            id="equality",
        ),
        pytest.param(OVERLAP, {"type": "token_f1", "threshold": 0.8}, id="f1_score"),
        pytest.param(
            "- {metric: bleu, threshold: '0.4'}\n", {"type": "bleu", "threshold": 0.4}, id="bleu"
        ),
        pytest.param("- {metric: rouge}\n", {"type": "rouge"}, id="rouge, which informs"),
        pytest.param(
            "- {metric: meteor, enabled: false, fail_on_error: true}\n",
            {"type": "meteor", "enabled": False, "fail_on_error": True},
            id="meteor",
        ),
        pytest.param(
            GEVAL,
            {
                "type": "geval",
                "name": "Technical Accuracy",
                "criteria": CRITERIA,
                "evaluation_steps": [
                    "Check if the response directly addresses the user's question",
                    "Verify technical accuracy of any code or commands provided",
                ],
                "evaluation_params": ["actual_output", "input"],
                "scale": "0-10",
                "threshold": 0.8,
                "model": "openai/gpt-4",
            },
            id="geval",
        ),
        pytest.param(
            "- {type: geval, name: N, criteria: c, strict_mode: true}\n",
            {"type": "geval", "name": "N", "criteria": "c", "strict_mode": True},
            id="strict geval",
        ),
        pytest.param(
            RAG, {"type": "faithfulness", "threshold": 0.8, "model": "openai/gpt-4"}, id="rag"
        ),
        *(
            pytest.param(
                f"- {{type: rag, metric_type: {kind}, include_reason: false}}\n",
                {"type": kind, "include_reason": False},
                id=kind,
            )
            for kind in (
                *("answer_relevancy", "contextual_relevancy"),
                *("contextual_precision", "contextual_recall"),
            )
        ),
        pytest.param(AFTER, {"type": "faithfulness", "threshold": 0.8}, id="rag without a model"),
        pytest.param(
            "- {type: code, grader: 'evals_app.engine.examples.graders:turn_program',"
            " threshold: 0.7, name: Program}\n",
            {
                "type": "code",
                "name": "Program",
                "grader": "evals_app.engine.examples.graders:turn_program",
                "threshold": 0.7,
            },
            id="code",
        ),
    ],
)
def test_a_metric_is_an_assertion_of_the_suite(metric: str, assertion: Any) -> None:
    imported = read(with_metrics(metric))

    assert written(imported.suites[0].spec)["assertions"] == [assertion]
    assert imported.losses == []


def test_a_grader_file_of_holodeck_is_named_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with operator_code_in(tmp_path, monkeypatch) as code:
        module = code.write(GRADER, name="exact_tool_call")
        text = with_metrics(CODE.replace("graders.exact_tool_call", module))

        (assertion,) = suite(text).assertions

    assert written(suite_with(assertion))["assertions"] == [
        {
            "type": "code",
            "name": "Turn Program",
            "grader": f"{module}:called_subtract_with",
            "threshold": 0.7,
        }
    ]


def suite_with(assertion: Any) -> SuiteSpec:
    return suite(QUICK_START).model_copy(update={"assertions": [assertion]})


def test_a_grader_that_the_operator_does_not_permit_is_refused_where_it_is_named() -> None:
    (problem,) = problems(with_metrics(CODE))

    assert (problem.line, problem.keys) == (4, "evaluations.metrics[0].grader")
    assert "graders.exact_tool_call" in problem.message


@pytest.mark.parametrize(
    ("metric", "becomes", "successor"),
    [
        pytest.param(BEFORE, {"type": "faithfulness", "threshold": 0.8}, "faithfulness"),
        pytest.param(
            "- {metric: relevance, model: {provider: openai, name: gpt-4o}}\n",
            {"type": "answer_relevancy", "model": "openai/gpt-4o"},
            "answer_relevancy",
        ),
        pytest.param(
            "- {metric: coherence, threshold: 0.5}\n", {"type": "geval", "threshold": 0.5}, "geval"
        ),
        pytest.param("- {metric: safety}\n", {"type": "geval"}, "geval"),
    ],
)
def test_a_deprecated_metric_becomes_its_successor_with_a_warning(
    metric: str, becomes: Mapping[str, Any], successor: str
) -> None:
    imported = read(with_metrics(metric))

    (assertion,) = written(imported.suites[0].spec)["assertions"]
    assert becomes.items() <= assertion.items()
    said = [warning for warning in imported.warnings if warning.keys.endswith(".metric")]
    assert [item.keys for item in said] == ["evaluations.metrics[0].metric"]
    assert "is deprecated" in said[0].message
    assert successor in said[0].message


@pytest.mark.parametrize(
    ("metric", "threshold"),
    [
        pytest.param("- {metric: groundedness, threshold: 4}\n", 0.75, id="4 of 5"),
        pytest.param("- {metric: coherence, threshold: 5}\n", 1, id="5 of 5"),
        pytest.param(
            "- {type: geval, name: n, criteria: c, threshold: 3.5}\n", 0.625, id="of geval"
        ),
        pytest.param("- {type: rag, metric_type: faithfulness, threshold: 4}\n", 0.75, id="rag"),
    ],
)
def test_a_threshold_of_the_old_scale_is_read_as_a_share_and_reported(
    metric: str, threshold: float
) -> None:
    imported = read(with_metrics(metric))

    assert imported.suites[0].spec.assertions[0].threshold == threshold
    assert "evaluations.metrics[0].threshold" in [warning.keys for warning in imported.warnings]


@pytest.mark.parametrize(
    "metric", ["- {metric: coherence, threshold: 6}\n", "- {metric: rouge, threshold: 4}\n"]
)
def test_any_other_threshold_above_one_is_refused(metric: str) -> None:
    assert [problem.keys for problem in problems(with_metrics(metric))] == [
        "evaluations.metrics[0].threshold"
    ]


def test_the_old_judges_grade_as_finely_as_those_of_holodeck() -> None:
    metrics = "- {type: geval, name: n, criteria: c, threshold: 0.8}\n- {metric: fluency}\n"
    strict = "- {type: geval, name: s, criteria: c, strict_mode: true}\n"

    data = written(suite(with_metrics(metrics + strict)))["assertions"]

    assert [item.get("scale") for item in data] == ["0-10", "0-10", None]


@pytest.mark.parametrize("metric", ["f1_score", "bleu", "rouge", "meteor"])
def test_similarity_is_measured_in_the_part_that_is_named(metric: str) -> None:
    imported = read(with_metrics(f"- {{metric: {metric}, response_path: answer}}\n"))

    assert written(imported.suites[0].spec)["assertions"][0]["response_path"] == "answer"
    assert imported.losses == []


def test_an_old_metric_that_has_no_equal_is_lost_and_the_others_are_read() -> None:
    metrics = (
        "- {metric: retrieval, threshold: 3}\n- {metric: equality}\n- {type: custom, name: x}\n"
    )

    imported = read(with_metrics(metrics))

    assert [assertion.type for assertion in imported.suites[0].spec.assertions] == ["exact_match"]
    assert [loss.keys for loss in imported.losses] == [
        "evaluations.metrics[0].metric",
        "evaluations.metrics[2].type",
    ]


def test_a_deprecated_metric_that_no_rag_metric_replaces_brings_criteria() -> None:
    metrics = "- {metric: coherence}\n- {metric: safety}\n"

    coherence, safety = written(suite(with_metrics(metrics)))["assertions"]

    assert (coherence["name"], safety["name"]) == ("Coherence", "Safety")
    assert "coherent" in coherence["criteria"]
    assert "safe" in safety["criteria"]


def test_a_metric_of_its_own_without_a_truth_is_left_out_of_the_turn_and_named() -> None:
    text = with_turn("evaluations: [{metric: numeric}, {metric: equality, enabled: false}]\n")

    imported = read(text)

    assert imported.suites[0].spec.cases[0].turns[0].assertions == []
    assert [loss.keys for loss in imported.losses] == [
        "test_cases[0].evaluations[0]",
        "test_cases[0].evaluations[1]",
    ]
    assert "ground_truth" in imported.losses[0].message
    assert "no other check" in imported.losses[0].message
    assert any("'row-0001'" in warning.message for warning in imported.warnings)


def test_a_metric_of_the_case_is_left_out_of_turns_without_a_truth() -> None:
    text = """\
test_cases:
  - evaluations:
      - {metric: numeric}
      - {type: geval, name: Right, criteria: c, evaluation_params: [actual_output, expected_output]}
      - {type: rag, metric_type: faithfulness, threshold: 0.5}
    turns:
      - {input: a, ground_truth: "1"}
      - {input: b}
"""

    imported = read(text)

    kinds = [
        [assertion.type for assertion in turn.assertions or []]
        for turn in imported.suites[0].spec.cases[0].turns
    ]
    assert kinds == [["numeric", "geval", "faithfulness"], ["faithfulness"]]
    assert [loss.keys for loss in imported.losses] == ["test_cases[0].turns[1]"] * 2
    assert not any("Nothing else" in loss.message for loss in imported.losses)


def test_a_metric_of_the_suite_passes_over_turns_without_a_truth() -> None:
    imported = read("evaluations: {metrics: [{metric: numeric}]}\ntest_cases: [{input: hi}]\n")

    assert imported.losses == []
    assert imported.suites[0].spec.cases[0].turns[0].assertions is None


@pytest.mark.parametrize(
    ("metric", "key", "message"),
    [
        pytest.param("- f1_score\n", "", "metric", id="a word"),
        pytest.param("- {metric: f1_scor}\n", ".metric", "'f1_score'", id="misspelt"),
        pytest.param("- {threshold: 1}\n", "", "`metric`", id="no metric"),
        pytest.param("- {type: gevl}\n", ".type", "'geval'", id="misspelt type"),
        pytest.param("- {type: 5}\n", ".type", "standard", id="type is a number"),
        pytest.param("- {type: faithfulness}\n", ".type", "metric_type", id="a rag metric as type"),
        pytest.param("- {type: numeric}\n", ".type", "standard", id="a standard metric as type"),
        pytest.param(
            "- {metric: contextual_recall}\n",
            ".metric",
            "contextual_recall",
            id="a rag metric as standard",
        ),
        pytest.param(
            "- {metric: geval, name: n, criteria: c}\n",
            ".metric",
            "Write",
            id="a type as standard metric",
        ),
        pytest.param(
            "- {type: rag, metric_type: bleu}\n",
            ".metric_type",
            "standard",
            id="a standard metric as rag",
        ),
        pytest.param(
            "- {metric: bleu, treshold: 1}\n", ".treshold", "'threshold'", id="misspelt key"
        ),
        pytest.param("- {metric: bleu, threshold: 80}\n", ".threshold", "equal", id="80 %"),
        pytest.param("- {metric: bleu, threshold: high}\n", ".threshold", "number", id="a word"),
        pytest.param(
            "- {type: geval, name: n, criteria: c, evaluation_params: [input]}\n",
            "",
            "must include actual_output",
            id="no answer to judge",
        ),
        pytest.param(
            "- {type: rag, metric_type: faithfulness, model: {provider: google, name: m}}\n",
            ".model.provider",
            "openai",
            id="provider",
        ),
        pytest.param(
            "- {type: rag, metric_type: faithfulness, model: {provider: azure_openai, name: m}}\n",
            ".model.provider",
            "'azure_openai'",
            id="Azure without its address",
        ),
        pytest.param(
            "- {type: rag, metric_type: faithfulness,"
            " model: {provider: openai, name: m, temperature: 3}}\n",
            ".model.temperature",
            "equal",
            id="temperature",
        ),
        pytest.param(
            "- {type: rag, metric_type: faithfulness,"
            " model: {provider: openai, name: m, endpoint: ftp}}\n",
            ".model.endpoint",
            "address",
            id="endpoint",
        ),
    ],
)
def test_a_metric_that_cannot_be_read_is_refused(metric: str, key: str, message: str) -> None:
    errors = problems(with_metrics(metric))

    assert f"evaluations.metrics[0]{key}" in [item.keys for item in errors]
    assert any(message in item.message for item in errors)
    assert all(item.line == 3 for item in errors)
