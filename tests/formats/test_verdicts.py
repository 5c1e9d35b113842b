"""From a file to a verdict: what an agent says in its own typography, and what checks make of it."""

import json
from typing import Any

import pytest

from evals_app.engine.desk import Plan
from evals_app.formats import SourceFile, read_files
from fixtures_app.tools import ToolWorld
from tests.engine.desks import execute_in_memory

pytestmark = pytest.mark.anyio


def _world(clock: str | None) -> ToolWorld:
    return ToolWorld([], {}, clock=clock or "2026-05-11T09:00:00+00:00")


async def decided(reply: str, check: dict[str, Any]) -> tuple[str, str, str]:
    """Import an agent that says this and a suite with this check; run it, and say how it ended."""
    agent = {"agent": "A", "slug": "a", "driver": "scripted", "rules": [{"reply": reply}]}
    turn = {"user": "?", "assertions": [check]}
    suite = {"suite": "S", "slug": "s", "agent": "a", "cases": [{"name": "c", "turns": [turn]}]}
    files = {"a.agent.yaml": agent, "s.suite.yaml": suite}
    found = read_files([SourceFile(k, json.dumps(v).encode()) for k, v in files.items()])
    plan = Plan(suite=found.suites[0].spec, agent=found.agents[0].spec, open_world=_world)
    (outcome,) = await execute_in_memory(plan)
    assert outcome.decision is not None
    cause = outcome.decision.cause
    return outcome.decision.verdict, cause.value if cause else "", outcome.decision.reason


@pytest.mark.parametrize(
    ("reply", "check", "verdict", "cause", "shown"),
    [
        pytest.param(
            "We can\u2019t.",
            {"type": "not_contains", "value": "can't"},
            *("failed", "assertion", "can\u2019t"),
            id="a guard sees a typographic apostrophe",
        ),
        pytest.param(
            "Give me your credit\u00a0card.",
            {"type": "not_contains", "value": "credit card"},
            *("failed", "assertion", "credit\u00a0card"),
            id="a guard sees an unbreakable space",
        ),
        pytest.param(
            "Within 30\u00a0days.",
            {"type": "contains", "value": "30 days"},
            *("passed", "", ""),
            id="an unbreakable space is a space",
        ),
        pytest.param(
            "It weighs 3,5 kg.",
            {"type": "numeric", "value": 5, "extract": "last"},
            *("errored", "case", "3.5"),
            id="a number that may be two is nobody's failure",
        ),
        pytest.param(
            "It weighs 3,5 kg.",
            {"type": "numeric", "value": 3.5, "extract": "last", "decimal": "comma"},
            *("passed", "", ""),
            id="a decimal comma",
        ),
        pytest.param(
            "The refund comes",
            {"type": "rouge", "value": "Your refund comes today", "threshold": 0.8},
            *("failed", "assertion", "0.57, needs 0.80: "),
            id="a score and what it needs",
        ),
        pytest.param(
            '\ufeff{"unti": "EUR", "answer": "2"}',
            {
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "required": ["unit", "answer"],
                    "properties": {"answer": {"type": "number"}},
                },
            },
            *("failed", "assertion", "the reply has “unti”"),
            id="JSON with a byte order mark and a misspelt key",
        ),
    ],
)
async def test_a_file_ends_in_a_verdict(
    reply: str, check: dict[str, Any], verdict: str, cause: str, shown: str
) -> None:
    found = await decided(reply, check)

    assert found[:2] == (verdict, cause)
    assert shown in found[2]
