"""Eval files of AgentV."""

from typing import Any

import pytest
import yaml

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError
from tests.formats.agentv.evals import BEFORE, NEXT, NOW

KNOWN = ExistingObjects(agents={"desk": "http"})
PATH = "e/shop.eval.yaml"  # which Struere's files have, too


def read(data: object, beside: dict[str, str] | None = None) -> Imported:
    files = {f"e/{path}": text.encode() for path, text in (beside or {}).items()}
    source = SourceFile(PATH, yaml.safe_dump(data, sort_keys=False).encode())
    return read_files([source], known=KNOWN, find=files.get, agent="desk")


def suite(data: object, beside: dict[str, str] | None = None) -> Any:
    (found,) = read(data, beside).suites
    return found.spec.model_dump(mode="json", exclude_defaults=True)


def test_an_eval_file_is_a_suite_that_passes_by_its_score() -> None:
    judge = {"type": "llm_judge", "criteria": "Says when the money arrives"}

    assert suite(NOW) == {
        "suite": "refunds",
        "slug": "refunds",
        "agent": "desk",
        "description": "What customers ask about refunds",
        "tags": ["shop"],
        "trials": 2,
        "pass_rule": "score",
        "cases": [
            {
                "name": "late",
                "description": "Says when the money arrives",
                "tags": ["level=easy"],
                "turn_timeout_s": 90.0,
                "history": [
                    {"role": "user", "content": "I sent the shoes back."},
                    {"role": "assistant", "content": "Thank you."},
                ],
                "turns": [
                    {
                        "user": "Where is my {money}?",
                        "expected": "It arrives on Friday.",
                        "assertions": [
                            {"type": "llm_judge", "criteria": "Is polite"},
                            {"type": "matches", "value": "friday|5\\ days", "weight": 3.0},
                            {**judge, "name": "content"},
                            {"type": "latency", "max_ms": 5000},
                        ],
                    }
                ],
            },
            {
                "name": "alone",
                "description": "Refuses",
                "turn_timeout_s": 90.0,
                "turns": [
                    {
                        "user": "Give me two refunds.",
                        "assertions": [{"type": "llm_judge", "criteria": "Refuses"}],
                    }
                ],
            },
        ],
    }
    assert [loss.keys for loss in read(NOW).losses] == ["target"]


def test_files_of_earlier_and_later_versions_mean_the_same() -> None:
    (before,) = suite(BEFORE)["cases"]
    (later,) = suite(NEXT)["cases"]

    assert before["turns"] == [
        {
            "user": "2+2?",
            "expected": "4",
            "assertions": [
                {"type": "cost", "name": "speed", "max_usd": 0.1},
                {"type": "llm_judge", "criteria": "Is short"},
                {"type": "llm_judge", "criteria": "Is right", "weight": 2.0},
            ],
        }
    ]
    assert later["turns"] == [
        {
            "user": "Hi",
            "expected": '{"a": 1}',
            "assertions": [{"type": "llm_judge", "criteria": "Greets"}],
        }
    ]


def with_check(check: object) -> dict[str, Any]:
    return {"tests": [{"id": "a", "criteria": "c", "input": "b", "assertions": [check]}]}


@pytest.mark.parametrize(
    ("check", "read_as"),
    [
        pytest.param(
            {"type": "contains_all", "value": ["a", "b"]},
            [
                {"type": "contains", "value": "a", "case_sensitive": True, "weight": 0.5},
                {"type": "contains", "value": "b", "case_sensitive": True, "weight": 0.5},
            ],
            id="all",
        ),
        pytest.param(
            {"type": "icontains", "value": "a", "negate": True},
            [{"type": "not_contains", "value": "a"}],
            id="not",
        ),
        pytest.param(
            {"type": "regex", "value": "a+", "flags": "i"},
            [{"type": "matches", "value": "a+"}],
            id="flag",
        ),
        pytest.param(
            {"type": "starts-with", "value": "a."},
            [{"type": "matches", "value": r"\A\s*(?:a\.)", "case_sensitive": True}],
            id="start",
        ),
        pytest.param(
            {"type": "equals", "value": "a"},
            [{"type": "exact_match", "value": "a", "strip_whitespace": True}],
            id="equals",
        ),
        pytest.param({"type": "is_json"}, [{"type": "json_valid"}], id="JSON"),
        pytest.param(
            {"type": "tool_trajectory", "mode": "any_order", "minimums": {"find": 2}},
            [{"type": "tool_called", "value": "find", "min_count": 2}],
            id="tools",
        ),
        pytest.param(
            {
                "type": "tool-trajectory",
                "mode": "exact",
                "expected": [{"tool": "a", "args": {"b": 1}}],
            },
            [
                {
                    "type": "tool_calls",
                    "tools": [{"name": "a", "args": {"b": 1}}],
                    "ordered": True,
                    "exact": True,
                }
            ],
            id="calls",
        ),
        pytest.param(
            {"type": "llm-rubric", "value": [{"outcome": "x", "operator": "contradiction"}]},
            [
                {
                    "type": "llm_judge",
                    "criteria": "Nothing in the reply contradicts this; it may leave it out: x",
                }
            ],
            id="operator",
        ),
        pytest.param(
            {"type": "llm-judge", "prompt": "{{ criteria }}? {{output}}"},
            [{"type": "llm_judge", "criteria": "c? (the reply)"}],
            id="prompt",
        ),
        pytest.param(
            {"type": "llm-judge", "prompt": "./tone.md"},
            [{"type": "llm_judge", "criteria": "Is it calm?"}],
            id="prompt in a file",
        ),
    ],
)
def test_an_assertion_is_a_check(check: object, read_as: object) -> None:
    (case,) = suite(with_check(check), {"tone.md": "Is it calm?\n"})["cases"]

    assert case["turns"][0]["assertions"] == read_as


@pytest.mark.parametrize(
    "check",
    [
        pytest.param({"type": "code-grader", "command": ["x"]}, id="code"),
        pytest.param({"type": "composite", "assertions": []}, id="composite"),
        pytest.param({"type": "include_me"}, id="own"),
        pytest.param({"include": "shared"}, id="include"),
        pytest.param({"type": "is-json", "negate": True}, id="opposite"),
        pytest.param({"type": "llm-judge", "prompt": "./gone.md"}, id="prompt that is not there"),
        pytest.param({"type": "llm-judge", "prompt": "./judge.ts"}, id="prompt that is code"),
        pytest.param({"type": "contains", "value": {"a": 1}}, id="no text"),
        pytest.param({"type": "tool-trajectory", "mode": "superset", "expected": []}, id="mode"),
    ],
)
def test_a_check_without_an_equal_is_lost_with_its_name(check: Any) -> None:
    losses = [loss for loss in read(with_check(check)).losses if loss.checks]

    assert [(loss.keys, loss.checks) for loss in losses] == [("tests[0].assertions[0]", 1)]
    assert check.get("type", "include") in losses[0].message


def test_cases_and_files_beside_it_are_read() -> None:
    part = [{"type": "file", "value": "./bill.txt"}, {"type": "file", "value": "gone.txt"}]
    rows = [{"id": "x", "criteria": "c", "input": [{"role": "user", "content": ["Read.", *part]}]}]
    data = {"execution": {}, "input": "Be short.", "tests": "./cases.yaml"}

    beside = {"cases.yaml": yaml.safe_dump(rows), "bill.txt": "5 euros"}
    (case,) = suite(data, beside)["cases"]
    losses = read(data, beside).losses

    assert case["turns"][0]["user"] == "Be short.\n\nRead."
    assert case["turns"][0]["files"][0]["path"] == "bill.txt"
    assert [("gone.txt" in loss.message, loss.path) for loss in losses] == [
        (True, "e/cases.yaml"),
        (False, "e/cases.yaml"),
    ]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        pytest.param({"evalcases": [{"input": "x"}]}, "evalcases[0]", id="no id"),
        pytest.param({"evalcases": [{"id": "x"}]}, "evalcases[0]", id="nothing asked"),
        pytest.param({"evalcases": []}, "", id="no tests"),
        pytest.param(with_check({"value": "x"}), "tests[0].assertions[0]", id="no type"),
        pytest.param({**NOW, "threshold": 80}, "threshold", id="threshold"),
    ],
)
def test_what_cannot_be_read_is_an_error_in_its_place(data: object, place: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(data)

    errors = [problem for problem in caught.value.problems if problem.level == "error"]
    assert {error.keys for error in errors} == {place}


@pytest.mark.parametrize(
    ("path", "data", "dialect"),
    [
        pytest.param("a.yaml", NOW, "agentv", id="now"),
        pytest.param("a.yaml", BEFORE, "agentv", id="before"),
        pytest.param("a.yaml", NEXT, "agentv", id="next"),
        pytest.param("a.eval.yaml", {**NOW, "suite": "x"}, "agentv", id="name of Struere's"),
        pytest.param("a.eval.yaml", {"suite": "x", "cases": []}, None, id="Struere"),
        pytest.param("a.suite.yaml", NOW, None, id="name of ours"),
        pytest.param("promptfooconfig.yaml", NEXT, "promptfoo", id="name of promptfoo's"),
        pytest.param(
            "a.yaml", {**NEXT, "providers": ["echo"]}, "promptfoo", id="promptfoo with ids"
        ),
        pytest.param("a.yaml", {"tests": [{"id": 1, "input": "x"}]}, "table", id="rows"),
    ],
)
def test_an_eval_file_is_known_by_keys_that_only_it_has(
    path: str, data: object, dialect: str | None
) -> None:
    assert foreign_dialect(path, data) == dialect
