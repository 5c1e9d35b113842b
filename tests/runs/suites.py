"""Suites for tests of runs: rows, written the short way."""

from typing import Any

from evals_app.models import Agent, Assertion, Case, Suite, Turn

RULES = [
    {"when": "crash", "error": "The agent crashed."},
    {"when": "slow", "reply": "Done at last.", "delay_ms": 300},
    {"when": "very late", "reply": "Done at last.", "delay_ms": 600_000},
    {"reply": "You said: {{input}}"},
]


def make_agent(slug: str = "echo", **changes: Any) -> Agent:
    """Write a scripted agent that repeats what it hears."""
    written = {"name": "Echo", "driver": "scripted", "rules": RULES} | changes
    return Agent.objects.create(slug=slug, **written)


def make_suite(
    messages: list[str] | None = None, *, cases: int = 3, contains: str = "hello", **changes: Any
) -> Suite:
    """Write a suite: a case of one turn for each message, checked for a word."""
    agent = changes.pop("agent", None) or make_agent()
    suite = Suite.objects.create(
        **({"slug": "greetings", "name": "Greetings", "agent": agent} | changes)
    )
    for number, message in enumerate(messages or ["hello"] * cases):
        case = Case.objects.create(suite=suite, name=f"case {number + 1}", position=number)
        turn = Turn.objects.create(case=case, user=message)
        Assertion.objects.create(turn=turn, type="contains", options={"value": contains})
    return suite
