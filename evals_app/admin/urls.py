"""Addresses of the pages that belong to no form or list of Django's admin, room by room."""

from evals_app.admin.agents.urls import urlpatterns as agents
from evals_app.admin.bin.urls import urlpatterns as deleted
from evals_app.admin.checks.urls import urlpatterns as checks
from evals_app.admin.comparing.urls import urlpatterns as comparing
from evals_app.admin.executions.urls import urlpatterns as executions
from evals_app.admin.history.urls import urlpatterns as history
from evals_app.admin.importing.urls import urlpatterns as importing
from evals_app.admin.readings.urls import urlpatterns as readings
from evals_app.admin.real_conversations.urls import urlpatterns as real_conversations
from evals_app.admin.regrading.urls import urlpatterns as regrading
from evals_app.admin.retests.urls import urlpatterns as retests
from evals_app.admin.reviews.urls import urlpatterns as reviews
from evals_app.admin.runs.urls import urlpatterns as runs
from evals_app.admin.site.urls import urlpatterns as site
from evals_app.admin.starting.urls import urlpatterns as starting
from evals_app.admin.suites.urls import urlpatterns as suites

urlpatterns = [
    *(agents + checks + comparing + deleted + executions + history + importing),
    *(
        readings
        + real_conversations
        + regrading
        + retests
        + reviews
        + runs
        + site
        + starting
        + suites
    ),
]
