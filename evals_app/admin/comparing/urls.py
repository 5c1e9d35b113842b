"""Addresses of the pages that compare runs."""

from evals_app.admin.comparing.views import choose_run, compare_case, compare_runs
from evals_app.admin.kit.pages import page_path

urlpatterns = [
    page_path("run/compare/", compare_runs, name="run_compare"),
    page_path("run/compare/case/", compare_case, name="run_side_by_side"),
    page_path("run/<int:pk>/compare/", choose_run, name="run_choose"),
]
