"""An agent that does not answer never passes: files of Agentura and our own, from import to verdict."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import TestCase

from evals_app.formats import SourceFile
from evals_app.library import import_files
from evals_app.models import Agent, GradeResult, Run, Suite
from evals_app.runs.shift import work
from evals_app.runs.start import start_run
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
from tests.runs.suites import make_agent

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


def hold(agent: str = "") -> Run:
    with TestCase.captureOnCommitCallbacks(execute=True):
        run = start_run(Suite.objects.get(), agent=Agent.objects.filter(slug=agent).first())
    work()
    run.refresh_from_db()
    return run


def is_dead(run: Run) -> None:
    assert run.verdict == "failed", run.summary
    assert run.passed == run.errored == 0
    assert run.score == 0
    for each in run.executions.all():
        assert (each.verdict, each.cause, each.score) == ("failed", "agent", 0)
        assert each.summary["overall_passed"] is False
        assert not each.summary["response_criteria_passed"]
        assert not each.summary["trajectory_criteria_passed"]
        assert each.summary["tool_calls"] is None
    grades = GradeResult.objects.filter(execution__run=run)
    assert not any(grade.calls for grade in grades)  # no judge was paid
    assert not grades.filter(passed=True).exists()


@pytest.mark.parametrize("way", ["HTTP 500", "empty", "timeout"])
@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(ACCURACY, id="golden_dataset"),
        pytest.param(QUALITY, id="llm_judge"),
        pytest.param(SPEED, id="performance"),
        pytest.param(MILD_SPEED, id="performance without threshold"),
        pytest.param(TOOL_ROUTING, id="tool_use"),
        pytest.param(CONVERSATION, id="conversation"),
        pytest.param(LAST_TURN_ALONE, id="golden_dataset without threshold"),
    ],
)
def test_a_dead_agent_fails_every_strategy_of_agentura(entry: str, way: str) -> None:
    make_agent("judge", rules=[JUDGE])
    with WebServer(crashes) as server, permitting(hosts=(server.host,)):
        server.answer = ways(server)[way]
        import_project(entry, server.url, timeout_ms=200 if way == "timeout" else 5000)
        Suite.objects.update(judge_model="scripted/judge")
        run = hold()

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
    found = {f"shop/{path}": text.encode() for path, text in beside.items()}
    import_files(
        [SourceFile("shop/agentura.yaml", config.encode())],
        find=found.get,
    )


CHECKS: dict[str, list[dict[str, Any]]] = {
    "text": [{"type": "not_contains", "value": "password"}],
    "tools": [{"type": "tool_not_called", "value": "entity.delete"}],
    "speed": [{"type": "latency", "max_ms": 60_000}],
    "judge": [{"type": "llm_judge", "criteria": "The agent is polite."}],
    "score": [{"type": "token_f1", "value": "Hello"}],
}


@pytest.mark.parametrize("checks", CHECKS)
@pytest.mark.parametrize(
    "gates",
    [
        pytest.param({"min_score": 0.001}, id="min_score"),
        pytest.param({"min_pass_rate": 0.001}, id="min_pass_rate"),
        pytest.param({"max_p95_ms": 60_000}, id="max_p95_ms"),
        pytest.param({"max_cost_usd": 5}, id="max_cost_usd"),
        pytest.param({"max_cost_per_call_usd": 5}, id="max_cost_per_call_usd"),
    ],
)
def test_a_dead_agent_fails_whatever_gates_decide(gates: dict[str, float], checks: str) -> None:
    make_agent("judge", rules=[JUDGE])
    turn: dict[str, Any] = {"user": "Hello", "assertions": CHECKS[checks]}
    case = {
        "name": "a",
        "turns": [turn, turn],
        "final_assertions": CHECKS[checks],
        "limits": {"max_time_ms": 60_000},
    }
    import_native({"run_rule": "gates", "gates": gates, "cases": [case]})
    with WebServer(says_nothing) as server, permitting(hosts=(server.host,)):
        make_agent("support", driver="http", rules=[], url=server.url)
        run = hold("support")

    is_dead(run)


def import_native(suite: dict[str, Any]) -> None:
    make_agent("echo")
    written = {"suite": "Shop", "slug": "shop", "agent": "echo", "judge_model": "scripted/judge"}
    import_files([SourceFile("shop.suite.yaml", json_bytes(written | suite))])


def json_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_speed_is_measured_where_the_agent_reports_no_cost() -> None:
    with (
        WebServer(lambda _: Sent.json({"output": "4"})) as server,
        permitting(hosts=(server.host,)),
    ):
        import_project(SPEED, server.url, timeout_ms=5000)
        run = hold()

    gates = {gate["name"]: gate for gate in run.summary["gates"]}
    assert run.verdict == "inconclusive"
    assert gates["max_p95_ms"]["passed"] is True
    assert gates["max_p95_ms"]["actual"] == run.summary["p95_ms"] > 0
    assert gates["max_cost_per_call_usd"]["passed"] is None
    assert "2 of 2" in gates["max_cost_per_call_usd"]["reason"]
    assert {each.cause for each in run.executions.all()} == {"case"}
    assert all("estimated_cost_usd" in each.reason for each in run.executions.all())
