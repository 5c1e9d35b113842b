"""The screens of people who write and review evals; each module registers its pages."""

from evals_app.admin.agents import agent_admin
from evals_app.admin.bin import fixtures
from evals_app.admin.checks import evaluation_steps
from evals_app.admin.executions import execution_admin
from evals_app.admin.people import (
    roles,
    tokens,
    users,
)
from evals_app.admin.real_conversations import set_admin
from evals_app.admin.retests import retest_admin
from evals_app.admin.reviews import (
    judges,
    review_tasks,
)
from evals_app.admin.runs import run_admin
from evals_app.admin.site import (
    activity,
    masking_patterns,
    providers,
    schedules,
    spending,
    webhooks,
)
from evals_app.admin.suites import (
    case_admin,
    suite_admin,
)
