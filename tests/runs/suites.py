"""Suites for tests of runs, written the short way, and the steps that every run takes."""

from typing import Any

from django.db import transaction
from django.test import TestCase

from evals_app.engine.running.run_gateway import ExecutionJob
from evals_app.models import Agent, Assertion, Case, Run, Suite, Turn
from evals_app.models.authored.agents import AGENT
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from evals_app.runs.work.lease import HeldLease, open_lease

KEY_VARIABLE = "PROVIDER_TEST_API_KEY"

RULES = [
    {"when": "crash", "error": "The agent crashed."},
    {"when": "slow", "reply": "Done at last.", "delay_ms": 300},
    {"when": "very late", "reply": "Done at last.", "delay_ms": 600_000},
    {"reply": "You said: {{input}}"},
]


def make_agent(slug: str = "echo", **changes: Any) -> Agent:
    """Write a scripted agent that repeats what it hears; blank changes leave a key out."""
    connection = {"rules": RULES} | {
        key: changes.pop(key) for key in AGENT.in_rest & changes.keys()
    }
    written = {"name": "Echo", "driver": "scripted"} | changes
    written["connection"] = {key: value for key, value in connection.items() if value}
    return Agent.objects.create(slug=slug, **written)


@transaction.atomic
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


def start(suite: Suite, **options: Any) -> Run:
    """Start a run, and call workers as after a transaction."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        return start_run(suite, **options)


def finished(suite: Suite, **options: Any) -> Run:
    """Start a run, and work until nothing waits."""
    run = start(suite, **options)
    work()
    return Run.objects.get(pk=run.pk)


def lease_of(run: Run) -> HeldLease:
    """Open a lease on a run that has work."""
    lease = open_lease(run.pk)
    assert lease is not None
    return lease


def claim(lease: HeldLease, count: int) -> list[ExecutionJob]:
    jobs = lease.claim(count, free=count, in_hand=0)
    assert jobs is not None
    return jobs
