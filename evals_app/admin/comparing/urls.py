"""Addresses of the pages that compare runs, and of the dialogs that decide about them."""

from evals_app.admin.comparing.decision_dialogs import ask_to_accept, ask_to_ship, stop_accepting
from evals_app.admin.comparing.views import choose_run, compare_case, compare_runs
from evals_app.admin.kit.pages import page_path

urlpatterns = [
    page_path("run/compare/", compare_runs, name="run_compare"),
    page_path("run/compare/case/", compare_case, name="run_side_by_side"),
    page_path("run/<int:pk>/compare/", choose_run, name="run_choose"),
    page_path("run/<int:pk>/accept/", ask_to_accept, name="run_accept"),
    page_path("acceptedfailure/<int:pk>/withdraw/", stop_accepting, name="acceptance_withdraw"),
    page_path("run/<int:pk>/decide/<slug:what>/", ask_to_ship, name="run_decide"),
]
