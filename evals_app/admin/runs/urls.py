"""Addresses of what people see of a run and do with it."""

from evals_app.admin.kit.pages import fragment_path, page_path
from evals_app.admin.runs.run_actions import (
    ask_to_cancel,
    ask_to_requeue,
    ask_to_rerun,
    ask_to_resume,
    change_baseline,
    change_pin,
)
from evals_app.admin.runs.run_pages import download_report, live, show_related, wrong

urlpatterns = [
    fragment_path("run/<int:pk>/live/", live, name="run_live"),
    fragment_path("run/<int:pk>/wrong/", wrong, name="run_wrong"),
    fragment_path("run/<int:pk>/related/", show_related, name="run_related"),
    page_path("run/<int:pk>/report/<slug:report_kind>/", download_report, name="run_report"),
    page_path("run/<int:pk>/cancel/", ask_to_cancel, name="run_cancel"),
    page_path("run/<int:pk>/resume/", ask_to_resume, name="run_resume"),
    page_path("run/<int:pk>/requeue/", ask_to_requeue, name="run_requeue"),
    page_path("run/<int:pk>/pin/", change_pin, name="run_pin"),
    page_path("run/<int:pk>/baseline/", change_baseline, name="run_baseline"),
    page_path("run/<int:pk>/rerun/<str:only>/", ask_to_rerun, name="run_rerun"),
]
