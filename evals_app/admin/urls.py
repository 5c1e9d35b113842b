"""Addresses of the pages that belong to no form or list of Django's admin, room by room."""

from evals_app.admin.comparing.urls import urlpatterns as comparing
from evals_app.admin.history.urls import urlpatterns as history

urlpatterns = [*comparing, *history]
