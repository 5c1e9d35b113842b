"""Addresses of the pages that compare runs, and of the dialogs that decide about them."""

from evals_app.admin.comparing.decision_dialogs import ask_to_accept, ask_to_ship, stop_accepting
from evals_app.admin.comparing.views import (
    choose_run,
    compare_case,
    compare_models,
    compare_runs,
    download_models,
    live_models,
    model_cases,
    show_replies,
)
from evals_app.admin.kit.pages import fragment_path, page_path

urlpatterns = [
    page_path("run/compare/", compare_runs, name="run_compare"),
    page_path("run/compare/case/", compare_case, name="run_side_by_side"),
    page_path("run/compare/case/replies/", show_replies, name="run_replies"),
    page_path("run/<int:pk>/compare/", choose_run, name="run_choose"),
    page_path("run/<int:pk>/accept/", ask_to_accept, name="run_accept"),
    page_path("acceptedfailure/<int:pk>/withdraw/", stop_accepting, name="acceptance_withdraw"),
    page_path("run/<int:pk>/decide/<slug:what>/", ask_to_ship, name="run_decide"),
    page_path("run/models/", compare_models, name="run_models"),
    fragment_path("run/models/live/", live_models, name="run_models_live"),
    fragment_path("run/models/cases/", model_cases, name="run_models_cases"),
    page_path("run/models/report/", download_models, name="run_models_report"),
]
