from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engine.operator_code import operator_code_in
from tests.formats.holodeck.projects import (
    BEFORE,
    EQUALITY,
    GEVAL,
    GRADER,
    MODEL,
    NUMERIC,
    OVERLAP,
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
GRADER_FILE = """\
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
        (
            NUMERIC,
            {
                "type": "numeric",
                "absolute_tolerance": 0.5,
                "accept_percent": True,
                "accept_thousands_separators": True,
            },
        ),
        (
            "- {metric: numeric, response_path: answer, absolute_tolerance: 1e-3}\n",
            {"type": "numeric", "absolute_tolerance": 0.001, "response_path": "answer"},
        ),
        (EQUALITY, {"type": "exact_match", "case_insensitive": True, "strip_whitespace": True}),
        (OVERLAP, {"type": "token_f1", "threshold": 0.8}),
        ("- {metric: bleu, threshold: '0.4'}\n", {"type": "bleu", "threshold": 0.4}),
        ("- {metric: rouge}\n", {"type": "rouge"}),
        (
            "- {metric: meteor, enabled: false, fail_on_error: true}\n",
            {"type": "meteor", "enabled": False, "fail_on_error": True},
        ),
        *(
            (
                f"- {{metric: {metric}, response_path: answer}}\n",
                {"type": kind, "response_path": "answer"},
            )
            for metric, kind in (
                *(("f1_score", "token_f1"), ("bleu", "bleu")),
                *(("rouge", "rouge"), ("meteor", "meteor")),
            )
        ),
        (
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
        ),
        (
            "- {type: geval, name: N, criteria: c, strict_mode: true}\n",
            {"type": "geval", "name": "N", "criteria": "c", "strict_mode": True},
        ),
        (RAG, {"type": "faithfulness", "threshold": 0.8, "model": "openai/gpt-4"}),
        (AFTER, {"type": "faithfulness", "threshold": 0.8}),
        *(
            (
                f"- {{type: rag, metric_type: {kind}, include_reason: false}}\n",
                {"type": kind, "include_reason": False},
            )
            for kind in (
                *("answer_relevancy", "contextual_relevancy"),
                *("contextual_precision", "contextual_recall"),
            )
        ),
        (
            f"- {{type: code, grader: '{GRADER}', threshold: 0.7, name: Program}}\n",
            {"type": "code", "name": "Program", "grader": GRADER, "threshold": 0.7},
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
        module = code.write(GRADER_FILE, name="exact_tool_call")
        text = with_metrics(CODE.replace("graders.exact_tool_call", module))

        (assertion,) = suite(text).assertions

    assert (assertion.type, assertion.name, assertion.threshold) == ("code", "Turn Program", 0.7)
    assert getattr(assertion.grader, "grader") == f"{module}:called_subtract_with"  # noqa: B009


def test_a_grader_that_the_operator_does_not_permit_is_refused_where_it_is_named() -> None:
    (problem,) = problems(with_metrics(CODE))

    assert (problem.line, problem.keys) == (4, "evaluations.metrics[0].grader")
    assert "graders.exact_tool_call" in problem.message


@pytest.mark.parametrize(
    ("metric", "becomes", "successor"),
    [
        (BEFORE, {"type": "faithfulness", "threshold": 0.8}, "faithfulness"),
        (
            f"- {{metric: relevance, model: {MODEL}}}\n",
            {"type": "answer_relevancy", "model": "openai/m"},
            "answer_relevancy",
        ),
        (
            "- {metric: coherence, threshold: 0.5}\n",
            {"type": "geval", "name": "Coherence", "threshold": 0.5},
            "geval",
        ),
        ("- {metric: safety}\n", {"type": "geval", "name": "Safety"}, "geval"),
    ],
)
def test_a_deprecated_metric_becomes_its_successor_with_a_warning(
    metric: str, becomes: Mapping[str, Any], successor: str
) -> None:
    imported = read(with_metrics(metric))

    (assertion,) = written(imported.suites[0].spec)["assertions"]
    assert becomes.items() <= assertion.items()
    (warning,) = (item for item in imported.warnings if item.keys.endswith("[0].metric"))
    assert "is deprecated" in warning.message
    assert successor in warning.message


@pytest.mark.parametrize(
    ("metric", "threshold"),
    [
        ("- {metric: groundedness, threshold: 4}\n", 0.75),
        ("- {metric: coherence, threshold: 5}\n", 1),
        ("- {type: geval, name: n, criteria: c, threshold: 3.5}\n", 0.625),
        ("- {type: rag, metric_type: faithfulness, threshold: 4}\n", 0.75),
    ],
)
def test_a_threshold_of_the_old_scale_is_read_as_a_share_and_reported(
    metric: str, threshold: float
) -> None:
    imported = read(with_metrics(metric))

    assert imported.suites[0].spec.assertions[0].threshold == threshold
    assert "evaluations.metrics[0].threshold" in [warning.keys for warning in imported.warnings]


def test_the_old_judges_grade_as_finely_as_those_of_holodeck() -> None:
    metrics = "- {type: geval, name: n, criteria: c, threshold: 0.8}\n- {metric: fluency}\n"
    strict = "- {type: geval, name: s, criteria: c, strict_mode: true}\n"

    data = written(suite(with_metrics(metrics + strict)))["assertions"]

    assert [item.get("scale") for item in data] == ["0-10", "0-10", None]


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
    assert not any("no other check" in loss.message for loss in imported.losses)


def test_a_metric_of_the_suite_passes_over_turns_without_a_truth() -> None:
    imported = read("evaluations: {metrics: [{metric: numeric}]}\ntest_cases: [{input: hi}]\n")

    assert imported.losses == []
    assert imported.suites[0].spec.cases[0].turns[0].assertions is None


RAG_BY = "{{type: rag, metric_type: faithfulness, model: {{{}, name: m}}}}"


@pytest.mark.parametrize(
    ("metric", "key", "message"),
    [
        ("f1_score", "", "metric"),
        ("{metric: f1_scor}", ".metric", "'f1_score'"),
        ("{metric: f1}", ".metric", "'f1_score'"),
        ("{metric: rougeL}", ".metric", "'rouge'"),
        ("{metric: num}", ".metric", "'numeric'"),
        ("{metric: exact_match}", ".metric", "'equality'"),
        ("{metric: token_f1}", ".metric", "'f1_score'"),
        ("{threshold: 1}", "", "`metric`"),
        ("{type: gevl}", ".type", "'geval'"),
        ("{type: 5}", ".type", "standard"),
        ("{type: faithfulness}", ".type", "metric_type"),
        ("{type: numeric}", ".type", "standard"),
        ("{metric: contextual_recall}", ".metric", "contextual_recall"),
        ("{metric: geval, name: n, criteria: c}", ".metric", "Write"),
        ("{type: rag, metric_type: bleu}", ".metric_type", "standard"),
        ("{metric: bleu, treshold: 1}", ".treshold", "'threshold'"),
        ("{metric: bleu, threshold: 80}", ".threshold", "equal"),
        ("{metric: bleu, threshold: high}", ".threshold", "number"),
        ("{metric: coherence, threshold: 6}", ".threshold", "equal"),
        ("{metric: rouge, threshold: 4}", ".threshold", "equal"),
        ("{type: geval, name: n, criteria: c, evaluation_params: [input]}", "", "actual_output"),
        (RAG_BY.format("provider: google"), ".model.provider", "openai"),
        (RAG_BY.format("provider: azure_openai"), ".model.provider", "'azure_openai'"),
        (RAG_BY.format("provider: openai, temperature: 3"), ".model.temperature", "equal"),
        (RAG_BY.format("provider: openai, endpoint: ftp"), ".model.endpoint", "address"),
    ],
)
def test_a_metric_that_cannot_be_read_is_refused(metric: str, key: str, message: str) -> None:
    errors = problems(with_metrics(f"- {metric}\n"))

    assert f"evaluations.metrics[0]{key}" in [item.keys for item in errors]
    assert any(message in item.message for item in errors)
    assert all(item.line == 3 for item in errors)


@pytest.mark.parametrize(
    ("metric", "word", "decides"),
    [
        pytest.param("equality", "ignored", True, id="passes or fails by itself"),
        pytest.param("numeric", "ignored", True, id="so does this"),
        pytest.param("bleu", "always passes", False, id="every score would do"),
    ],
)
def test_a_threshold_of_0_does_what_its_warning_says(
    metric: str, word: str, *, decides: bool
) -> None:
    imported = read(with_metrics(f"- {{metric: {metric}, threshold: 0}}\n"))

    (check,) = imported.suites[0].spec.assertions
    (warning,) = [found for found in imported.warnings if found.keys.endswith("threshold")]
    assert word in warning.message
    assert check.decides is decides
