"""Small suites, agents and worlds for the tests of the engine."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.record.grade import Family, Grade, GradedAssertion
from evals_app.engine.record.trial import Cause, ToolCall, Trial, TurnRecord
from evals_app.engine.record.usage import Usage
from evals_app.engine.running.conversation import Conversation
from evals_app.engine.specs.agent_spec import AgentSpec, ModelAgent
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from fixtures_app.spec import FixtureSpec
from fixtures_app.tools import ToolWorld

CLOCK = "2026-05-01T09:30:00+00:00"
ENDLESS_MS = 3_600_000  # nobody waits for it: it is cancelled, or cut by a timeout

LATE = {"when": "late", "reply": "At last.", "delay_ms": ENDLESS_MS}
CRASH = {"when": "crash", "error": "It broke."}
ECHO = {"reply": "You said: {{input}}"}

SHOP = FixtureSpec.model_validate(
    {
        "name": "Shop",
        "slug": "shop",
        "entity_types": [{"slug": "order", "schema": {"type": "object"}}],
        "entities": [
            {"ref": "order-1", "type": "order", "data": {"number": "1042", "total": 24.5}},
            {"ref": "order-2", "type": "order", "data": {"number": "1043", "total": 8}},
        ],
        "chunks": [
            {"id": "returns", "text": "Books can be returned within 30 days.", "source": "policy"}
        ],
    }
)


def make_world(clock: str | None = None) -> ToolWorld:
    return ToolWorld([SHOP], {}, clock=clock or CLOCK)


def make_agent(*rules: dict[str, Any], **changes: Any) -> AgentSpec:
    """Write a scripted agent; without rules it repeats what it hears."""
    written: dict[str, Any] = {
        "agent": "Echo",
        "slug": "echo",
        "driver": "scripted",
        "tools": ["entity.query", "entity.update", "knowledge.search"],
        "rules": list(rules) or [{"reply": "You said: {{input}}"}],
    }
    return AgentSpec.model_validate(written | changes)


def make_model_agent(**changes: Any) -> ModelAgent:
    written: dict[str, Any] = {
        "agent": "Juniper",
        "slug": "support",
        "model": "anthropic/claude-haiku-5-5",
        "tools": ["entity.query", "entity.update", "knowledge.search"],
    }
    return ModelAgent.model_validate(written | changes)


def make_case(*messages: str, contains: str | None = None, **changes: Any) -> CaseSpec:
    """Write a case of one turn for each message, each checked for a word if one is given."""
    checks = [] if contains is None else [{"type": "contains", "value": contains}]
    turns = [{"user": message, "assertions": checks} for message in messages or ["hello"]]
    return CaseSpec.model_validate({"name": "Greeting", "turns": turns} | changes)


def make_conversation(*messages: str, agent: Any = None, **changes: Any) -> Conversation:
    """Prepare a conversation about such a case; by default a scripted one, which asks no model."""
    options: dict[str, Any] = {"number": 1, "world": make_world(), "complete": no_model}
    names = {"number", "world", "complete", "now", "callables"}
    options |= {name: changes.pop(name) for name in names & changes.keys()}
    case = make_case(*messages, **changes)
    return Conversation(case, agent=agent or make_agent(LATE, CRASH, ECHO), **options)


async def converse(*messages: str, agent: Any = None, **changes: Any) -> Trial:
    return await make_conversation(*messages, agent=agent, **changes).run()


async def no_model(call: object) -> Any:
    raise AssertionError(f"a model was asked: {call}")


def make_suite(*cases: CaseSpec, **changes: Any) -> SuiteSpec:
    written: dict[str, Any] = {"suite": "Greetings", "slug": "greetings", "agent": "echo"}
    dumped = [case.model_dump(exclude_unset=True) for case in cases]
    return SuiteSpec.model_validate(written | {"cases": dumped} | changes)


def refusals(make: Callable[..., object], *args: Any, **options: Any) -> list[tuple[str, str]]:
    """Return where something is refused, keys apart by dots, and why."""
    with pytest.raises(ValidationError) as refused:
        make(*args, **options)
    return [(".".join(map(str, part["loc"])), part["msg"]) for part in refused.value.errors()]


def make_turn(reply: str = "Hello.", **changes: Any) -> TurnRecord:
    fields: dict[str, Any] = {"index": 1, "user": "Hi", "reply": reply, "usage": Usage(10, 5)}
    fields["latency_ms"] = 0.0
    return TurnRecord(**(fields | changes))


def make_trial(*turns: TurnRecord, **changes: Any) -> Trial:
    fields: dict[str, Any] = {
        "case": "Greeting",
        "number": 1,
        "planned_turns": len(turns),
        "agent": "echo",
    }
    return Trial(**(fields | {"turns": turns} | changes))


def make_call(name: str = "entity.query", **changes: Any) -> ToolCall:
    return ToolCall(**({"name": name, "args": {}} | changes))


def graded_check(grade: Grade, *, family: Family = "text", **changes: Any) -> GradedAssertion:
    """Put a grade in its place."""
    fields: dict[str, Any] = {
        "type": "contains",
        "label": "Says hello",
        "turn": 1,
        "position": 0,
        "weight": 1.0,
        "threshold": None,
    }
    return GradedAssertion(**(fields | {"family": family, "grade": grade} | changes))


def graded_limit(*, is_kept: bool, name: str = "max_time_ms") -> GradedAssertion:
    cause = None if is_kept else Cause.LIMIT
    grade = Grade(None, is_kept, "The replies took 9 ms; the limit is 5 ms.", cause=cause)
    return graded_check(grade, family="limit", type=name, label="Time (ms)", turn=None)
