"""Runs whose grades people can check: a scripted judge grades a scripted agent."""

from typing import Any

from django.contrib.auth.models import Permission, User

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.library.saving import save_suite
from evals_app.models import Execution, Run, Suite
from tests.runs.suites import finished, make_agent

JUDGE_RULES = [
    {"when": "# Manners", "reply": '{"1": "pass", "2": "fail", "3": "not_applicable"}'},
    {"when": "How clear", "reply": "4"},
    {"when": "rude", "reply": "fail"},
    {"when": "unclear", "reply": "cannot_grade"},
    {"reply": "pass"},
]
RUBRIC = "# Manners\n\n- Greets\n- Says goodbye\n- If asked, gives a name\n"
POLITE = {"type": "llm_judge", "criteria": "The reply is polite.", "name": "Polite"}


def judged_run(
    *messages: str, check: dict[str, Any] | None = None, trials: int = 1, **suite: Any
) -> Run:
    """Run a case of one turn for each message; "rude" fails, "unclear" is not graded."""
    make_agent()
    make_agent("judge", name="Judge", rules=JUDGE_RULES)
    cases = [
        {
            "name": f"case {number}",
            "turns": [{"user": message, "assertions": [check or POLITE], "expected": "Hello."}],
        }
        for number, message in enumerate(messages, 1)
    ]
    written = {"suite": "Greetings", "slug": "greetings", "agent": "echo", "cases": cases}
    chosen = {"judge_model": "scripted/judge", "trials": trials}
    save_suite(SuiteSpec.model_validate(written | chosen | suite))
    return finished(Suite.objects.get(slug="greetings"))


def execution_of(run: Run, case: str) -> Execution:
    return run.executions.filter(case=case).first()  # type: ignore[return-value]


def reviewer(name: str, *more: str) -> User:
    """Return a person who may see executions and review them."""
    person = User.objects.create_user(name, is_staff=True)
    wanted = ["view_execution", "review_execution", *more]
    person.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    return person
