"""Addresses of grading the conversations of a run again."""

from evals_app.admin.kit.pages import page_path
from evals_app.admin.regrading.regrade_dialog import ask_to_regrade, regrade_size

urlpatterns = [
    page_path("run/<int:pk>/regrade/", ask_to_regrade, name="run_regrade"),
    page_path("run/<int:pk>/regrade/size/", regrade_size, name="run_regrade_size"),
]
