"""Addresses of the history of a case."""

from evals_app.admin.history.case_history import case_history
from evals_app.admin.kit.pages import page_path

urlpatterns = [page_path("run/case-history/", case_history, name="run_case_history")]
