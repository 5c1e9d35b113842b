"""The screens of people who write and review evals."""

from evals_app.admin import (  # noqa: F401 - each one registers its pages
    agents,
    cases,
    evaluation_steps,
    executions,
    judges,
    providers,
    review_tasks,
    roles,
    runs,
    schedules,
    settlements,
    spending,
    suites,
    tokens,
    users,
    webhooks,
)
