"""Addresses of tasks to check grades, and of how far judges agree with people."""

from evals_app.admin.kit.pages import fragment_path, page_path
from evals_app.admin.reviews.calibration import (
    check_answers,
    list_criteria,
    show_calibration,
    try_wording,
)
from evals_app.admin.reviews.grade_checking import check_next, check_one
from evals_app.admin.reviews.judges import show_judges
from evals_app.admin.reviews.review_tasks import ask_to_close, show_tasks_of_run, start_task

urlpatterns = [
    page_path("judgetally/", show_judges, name="judgetally_changelist"),
    page_path("judgetally/criteria/", list_criteria, name="yardsticks"),
    page_path("judgetally/criteria/<slug:digest>/", show_calibration, name="yardstick"),
    page_path("judgetally/criteria/<slug:digest>/check/", check_answers, name="yardstick_check"),
    page_path("judgetally/criteria/<slug:digest>/try/", try_wording, name="yardstick_try"),
    page_path("reviewtask/start/<int:pk>/", start_task, name="reviewtask_start"),
    fragment_path("reviewtask/of-run/<int:pk>/", show_tasks_of_run, name="reviewtask_of_run"),
    page_path("reviewtask/<int:pk>/close/", ask_to_close, name="reviewtask_close"),
    page_path("reviewtask/<int:pk>/check/", check_next, name="reviewtask_next"),
    page_path("reviewtask/<int:pk>/check/<int:position>/", check_one, name="reviewtask_check"),
]
