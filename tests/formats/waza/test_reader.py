"""Evals of waza."""

from typing import Any

import pytest
import yaml

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError
from tests.formats.waza.evals import EVAL, TASK

KNOWN = ExistingObjects(agents={"desk": "http"})
FOLDER = "evals/refunds/"


def read(task: Any = TASK, data: Any = EVAL, **beside: str) -> Imported:
    files = {
        "eval.yaml": yaml.safe_dump(data, sort_keys=False),
        "tasks/a.yaml": yaml.safe_dump(task, sort_keys=False),
    }
    others = {f"{FOLDER}{path}": text.encode() for path, text in beside.items()}
    sources = [SourceFile(f"{FOLDER}{path}", text.encode()) for path, text in files.items()]
    return read_files(sources, known=KNOWN, find=others.get, agent="desk")


def dumped(imported: Imported) -> Any:
    (found,) = imported.suites
    return found.spec.model_dump(mode="json", exclude_defaults=True)


def test_an_eval_is_a_suite_with_a_case_for_each_task() -> None:
    imported = read(**{"fixtures/bill.txt": "5 euros"})
    suite = dumped(imported)
    del suite["cases"][0]["turns"][0]["files"][0]["sha256"]

    assert suite == {
        "suite": "refund skill",
        "slug": "refund-skill",
        "agent": "desk",
        "description": "Asks about refunds",
        "tags": ["refunds"],
        "trials": 2,
        "cases": [
            {
                "name": "Late money",
                "tags": ["shop"],
                "turn_timeout_s": 120.0,
                "turns": [
                    {
                        "user": "Where is my {money}?",
                        "files": [{"path": "fixtures/bill.txt"}],
                        "assertions": [],
                    },
                    {
                        "user": "And the shoes?",
                        "assertions": [
                            {
                                "type": "not_matches",
                                "name": "calm",
                                "value": "(?i)error",
                                "case_sensitive": True,
                            },
                            {
                                "type": "llm_judge",
                                "name": "tone",
                                "weight": 2.0,
                                "criteria": "Is it calm?",
                            },
                            {"type": "contains", "value": "friday"},
                            {"type": "tool_called", "value": "entity.query"},
                            {"type": "latency", "max_ms": 5000},
                        ],
                    },
                ],
            }
        ],
    }
    assert sorted((loss.keys, loss.checks) for loss in imported.losses) == [
        ("config.executor", 0),
        ("config.model", 0),
        ("expected.behavior.max_tokens", 1),
        ("metrics", 0),
    ]


def with_grader(kind: str, **config: Any) -> Any:
    grader = {"type": kind, "name": "", "config": config}
    return {"id": "a", "name": "b", "inputs": {"prompt": "c"}, "graders": [grader]}


@pytest.mark.parametrize(
    ("task", "checks"),
    [
        pytest.param(
            with_grader("text", contains=["a"], not_contains_cs=["b"]),
            [
                {"type": "contains", "value": "a", "weight": 0.5},
                {"type": "not_contains", "value": "b", "case_sensitive": True, "weight": 0.5},
            ],
            id="texts",
        ),
        pytest.param(
            with_grader("json_schema", schema={"type": "object", "required": ["a"]}),
            [{"type": "json_schema", "schema": {"type": "object", "required": ["a"]}}],
            id="schema",
        ),
        pytest.param(
            with_grader("json_schema", schema_file="s.json"),
            [{"type": "json_schema", "schema": {"type": "array"}}],
            id="schema in a file",
        ),
        pytest.param(
            with_grader(
                "action_sequence", matching_mode="in_order_match", expected_actions=["a", "b"]
            ),
            [{"type": "tool_calls", "tools": ["a", "b"], "ordered": True}],
            id="calls in order",
        ),
        pytest.param(
            with_grader(
                "tool_constraint", reject_tools=[{"tool": "bash", "command_pattern": "rm"}]
            ),
            [{"type": "tool_not_called", "value": "bash", "args": {"command": {"regex": "rm"}}}],
            id="calls with arguments",
        ),
        pytest.param(
            with_grader("behavior", forbidden_tools=["a"]),
            [{"type": "tool_not_called", "value": "a"}],
            id="forbidden",
        ),
    ],
)
def test_a_grader_is_a_check(task: Any, checks: Any) -> None:
    data = {**EVAL, "graders": []}

    (case,) = dumped(read(task, data, **{"tasks/s.json": '{"type": "array"}'}))["cases"]

    assert case["turns"][0]["assertions"] == checks


@pytest.mark.parametrize(
    "kind", ["code", "program", "file", "diff", "trigger", "skill_invocation", "own", "json_schema"]
)
def test_a_grader_without_an_equal_is_a_lost_check_with_its_name(kind: str) -> None:
    losses = [loss for loss in read(with_grader(kind)).losses if loss.checks]

    assert [(loss.path, loss.keys, loss.checks) for loss in losses] == [
        (f"{FOLDER}tasks/a.yaml", "graders[0]", 1)
    ]
    assert kind in losses[0].message


def test_a_prompt_in_a_file_is_read_and_a_user_is_not_simulated() -> None:
    inputs = {"prompt_file": "p.md", "responder": {"instructions": "x", "max_followups": 2}}
    imported = read({**TASK, "inputs": inputs}, **{"tasks/p.md": "Hello."})

    assert dumped(imported)["cases"][0]["turns"][0]["user"] == "Hello."
    assert "inputs.responder" in {loss.keys for loss in imported.losses}


@pytest.mark.parametrize(
    ("task", "data", "place"),
    [
        pytest.param({**TASK, "inputs": {}}, EVAL, "inputs", id="no prompt"),
        pytest.param({"name": "x", "inputs": {"prompt": "y"}}, EVAL, "", id="no id"),
        pytest.param(TASK, {**EVAL, "tasks": ["other/*.yaml"]}, "tasks", id="no tasks"),
        pytest.param(TASK, {**EVAL, "tasks": ["gone.yaml", "tasks/a.yaml"]}, "tasks", id="no file"),
        pytest.param(
            TASK, {**EVAL, "config": {"trials_per_task": 0}}, "config.trials_per_task", id="trials"
        ),
    ],
)
def test_what_cannot_be_read_is_an_error_in_its_place(task: Any, data: Any, place: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(task, data)

    errors = [problem for problem in caught.value.problems if problem.level == "error"]
    assert place in {error.keys for error in errors}


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        pytest.param(EVAL, "waza", id="eval"),
        pytest.param(TASK, "waza", id="task"),
        pytest.param({"skill": "x", "tasks": [], "config": {}}, "waza", id="empty"),
        pytest.param({"skill": "x", "tasks": [{"input": "y"}]}, "table", id="rows under tasks"),
        pytest.param({"id": 1, "name": "x", "inputs": "y"}, None, id="a row"),
    ],
)
def test_evals_and_tasks_are_known_by_keys_that_only_they_have(
    data: Any, dialect: str | None
) -> None:
    assert foreign_dialect("evals/x/eval.yaml", data) == dialect
