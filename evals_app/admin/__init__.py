"""The screens of people who write and review evals."""

from evals_app.admin.agents import agent_admin  # noqa: F401 - each one registers its pages
from evals_app.admin.checks import evaluation_steps  # noqa: F401 - each one registers its pages
from evals_app.admin.executions import execution_admin  # noqa: F401 - each one registers its pages
from evals_app.admin.people import (
    roles,  # noqa: F401 - each one registers its pages
    tokens,  # noqa: F401 - each one registers its pages
    users,  # noqa: F401 - each one registers its pages
)
from evals_app.admin.retests import retest_admin  # noqa: F401 - each one registers its pages
from evals_app.admin.reviews import (
    judges,  # noqa: F401 - each one registers its pages
    review_tasks,  # noqa: F401 - each one registers its pages
)
from evals_app.admin.runs import run_admin  # noqa: F401 - each one registers its pages
from evals_app.admin.site import (
    providers,  # noqa: F401 - each one registers its pages
    schedules,  # noqa: F401 - each one registers its pages
    spending,  # noqa: F401 - each one registers its pages
    webhooks,  # noqa: F401 - each one registers its pages
)
from evals_app.admin.suites import (
    case_admin,  # noqa: F401 - each one registers its pages
    suite_admin,  # noqa: F401 - each one registers its pages
)
