"""An agent that does not answer never passes: files of Agentura and our own, from import to verdict."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.models import GradeResult, Run, Suite
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.permitting import permitting
from tests.formats.agentura.projects import (
    ACCURACY,
    CONVERSATION,
    DATASETS,
    QUALITY,
    SPEED,
    TOOL_ROUTING,
)
from tests.runs.suites import finished, make_agent

pytestmark = pytest.mark.django_db

JUDGE = {"reply": '{"evidence": [], "critique": "Good.", "verdict": "pass", "score": 1}'}
MILD_SPEED = """\
- name: speed
  type: performance
  dataset: ./evals/accuracy.jsonl
  max_p95_ms: 60000
"""
LAST_TURN_ALONE = """\
- name: last
  type: golden_dataset
  dataset: ./evals/last.jsonl
  scorer: contains
"""
LAST_TURN = """\
{"conversation": [{"role": "user", "content": "Hello"}, {"role": "assistant", "expected": "Hi"}],
 "eval_turns": [2]}
"""


def crashes(_: Asked) -> Sent:
    return Sent.text("Traceback", status=500)


def says_nothing(_: Asked) -> Sent:
    return Sent.json({"output": "", "estimated_cost_usd": 0})


def is_dead(run: Run) -> None:
    assert run.verdict == "failed", run.summary
    assert run.passed == run.errored == 0
    assert run.score == 0
    for row in run.executions.all():
        assert (row.verdict, row.cause, row.score) == ("failed", "agent", 0)
        assert row.summary["overall_passed"] is False
        assert not row.summary["response_criteria_passed"]
        assert not row.summary["trajectory_criteria_passed"]
        assert row.summary["tool_calls"] is None
    grades = GradeResult.objects.filter(execution__run=run)
    assert not any(grade.calls for grade in grades)  # no judge was paid
    assert not grades.filter(passed=True).exists()


@pytest.mark.parametrize(
    ("entry", "way"),
    [
        pytest.param(ACCURACY, "HTTP 500", id="golden_dataset, HTTP 500"),
        pytest.param(ACCURACY, "empty", id="golden_dataset, empty"),
        pytest.param(LAST_TURN_ALONE, "empty", id="golden_dataset without threshold, empty"),
        pytest.param(LAST_TURN_ALONE, "timeout", id="golden_dataset without threshold, timeout"),
        pytest.param(QUALITY, "HTTP 500", id="llm_judge, HTTP 500"),
        pytest.param(QUALITY, "empty", id="llm_judge, empty"),
        pytest.param(SPEED, "HTTP 500", id="performance, HTTP 500"),
        pytest.param(SPEED, "empty", id="performance, empty"),
        pytest.param(SPEED, "timeout", id="performance, timeout"),
        pytest.param(MILD_SPEED, "HTTP 500", id="performance without threshold, HTTP 500"),
        pytest.param(MILD_SPEED, "timeout", id="performance without threshold, timeout"),
        pytest.param(TOOL_ROUTING, "empty", id="tool_use, empty"),
        pytest.param(CONVERSATION, "empty", id="conversation, empty"),
        pytest.param(CONVERSATION, "timeout", id="conversation, timeout"),
    ],
)
def test_a_dead_agent_fails_every_strategy_of_agentura(entry: str, way: str) -> None:
    make_agent("judge", rules=[JUDGE])
    with WebServer(crashes) as server, permitting(hosts=(server.host,)):
        server.answer = ways(server)[way]
        import_project(entry, server.url, timeout_ms=200 if way == "timeout" else 5000)
        Suite.objects.update(judge_model="scripted/judge")
        run = finished(Suite.objects.get())

    is_dead(run)
    p95 = next((gate for gate in run.summary["gates"] if gate["name"] == "max_p95_ms"), None)
    if p95 is not None:
        assert (p95["passed"], p95["actual"]) == (False, None)
        assert p95["reason"]


def ways(server: WebServer) -> dict[str, Callable[[Asked], Sent]]:
    return {"HTTP 500": crashes, "empty": says_nothing, "timeout": lambda _: server.wait()}


def import_project(entry: str, url: str, *, timeout_ms: int) -> None:
    evals = entry.replace("\n", "\n  ").rstrip()
    agent = f"agent: {{type: http, endpoint: '{url}', timeout_ms: {timeout_ms}}}"
    config = f"{agent}\nevals:\n  {evals}\n"
    beside = DATASETS | {"evals/last.jsonl": LAST_TURN}
    files = {f"shop/{path}": text.encode() for path, text in beside.items()}
    import_files([SourceFile("shop/agentura.yaml", config.encode())], find=files.get)


CHECKS: dict[str, list[dict[str, Any]]] = {
    "text": [{"type": "not_contains", "value": "password"}],
    "tools": [{"type": "tool_not_called", "value": "entity.delete"}],
    "speed": [{"type": "latency", "max_ms": 60_000}],
    "judge": [{"type": "llm_judge", "criteria": "The agent is polite."}],
    "score": [{"type": "token_f1", "value": "Hello"}],
}


EVERY_CHECK = [check for checks in CHECKS.values() for check in checks]
RATE = {"min_pass_rate": 0.001}


@pytest.mark.parametrize(
    ("gates", "checks"),
    [
        *(pytest.param(RATE, checks, id=f"only {name}") for name, checks in CHECKS.items()),
        pytest.param({"max_p95_ms": 60_000}, CHECKS["speed"], id="only speed, and its gate"),
        pytest.param({"min_score": 0.001}, EVERY_CHECK, id="min_score"),
        pytest.param({"max_p95_ms": 60_000}, EVERY_CHECK, id="max_p95_ms"),
        pytest.param({"max_cost_usd": 5}, EVERY_CHECK, id="max_cost_usd"),
        pytest.param({"max_cost_per_call_usd": 5}, EVERY_CHECK, id="max_cost_per_call_usd"),
    ],
)
def test_a_dead_agent_fails_whatever_gates_decide(
    gates: dict[str, float], checks: list[dict[str, Any]]
) -> None:
    make_agent("judge", rules=[JUDGE])
    turn: dict[str, Any] = {"user": "Hello", "assertions": checks}
    case = {
        "name": "a",
        "turns": [turn, turn],
        "final_assertions": checks,
        "limits": {"max_time_ms": 60_000},
    }
    import_native({"run_rule": "gates", "gates": gates, "cases": [case]})
    with WebServer(says_nothing) as server, permitting(hosts=(server.host,)):
        agent = make_agent("support", driver="http", rules=[], url=server.url)
        run = finished(Suite.objects.get(), agent=agent)

    is_dead(run)


def import_native(suite: dict[str, Any]) -> None:
    make_agent("echo")
    written = {"suite": "Shop", "slug": "shop", "agent": "echo", "judge_model": "scripted/judge"}
    import_files([SourceFile("shop.suite.yaml", json.dumps(written | suite).encode())])


def test_no_gate_is_decided_where_the_agent_reports_no_cost_and_so_nothing_is_graded() -> None:
    with (
        WebServer(lambda _: Sent.json({"output": "4"})) as server,
        permitting(hosts=(server.host,)),
    ):
        import_project(SPEED, server.url, timeout_ms=5000)
        run = finished(Suite.objects.get())

    gates = {gate["name"]: gate for gate in run.summary["gates"]}
    assert run.verdict == "inconclusive"
    assert gates["max_p95_ms"]["passed"] is gates["max_cost_per_call_usd"]["passed"] is None
    assert gates["max_p95_ms"]["actual"] is run.summary["p95_ms"] is None
    for row in run.executions.all():
        assert row.cause == "case"
        assert "estimated_cost_usd" in row.reason
