"""Addresses of the pages that belong to no form or list of Django's admin, room by room."""

from evals_app.admin.comparing.urls import urlpatterns as comparing
from evals_app.admin.history.urls import urlpatterns as history
from evals_app.admin.regrading.urls import urlpatterns as regrading
from evals_app.admin.runs.urls import urlpatterns as runs

urlpatterns = [*comparing, *history, *regrading, *runs]
