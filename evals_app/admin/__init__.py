"""The screens of people who write and review evals."""

from evals_app.admin import (
    agents,
    cases,
    evaluation_steps,
    executions,
    providers,
    runs,
    suites,
    tokens,
    users,
)

__all__ = [
    "agents",
    "cases",
    "evaluation_steps",
    "executions",
    "providers",
    "runs",
    "suites",
    "tokens",
    "users",
]
