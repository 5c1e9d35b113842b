"""Addresses of the page that runs several suites, and of the sizes of runs."""

from evals_app.admin.kit.pages import page_path
from evals_app.admin.starting.run_suites import run_size, run_suites, suites_size

urlpatterns = [
    page_path("suite/run/", run_suites, name="suite_run_suites"),
    page_path("suite/run/size/", suites_size, name="suite_suites_size"),
    page_path("suite/<int:pk>/run-size/", run_size, name="suite_run_size"),
]
