"""Addresses of what people see of a conversation, say about its grades and make of it."""

from evals_app.admin.conversation.review_actions import withdraw_review, write_review
from evals_app.admin.executions.case_making import ask_to_add_checks, ask_to_make_case
from evals_app.admin.executions.execution_pages import judge, live, strip
from evals_app.admin.executions.forgetting import (
    ask_to_delete_run,
    ask_to_forget,
    ask_to_forget_run,
)
from evals_app.admin.kit.pages import fragment_path, page_path

urlpatterns = [
    fragment_path("execution/<int:pk>/live/", live, name="execution_live"),
    page_path("execution/<int:pk>/strip/", strip, name="execution_strip"),
    page_path("execution/<int:pk>/judge/<int:grade>/", judge, name="execution_judge"),
    page_path("execution/<int:pk>/review/", write_review, name="execution_review"),
    page_path(
        "execution/<int:pk>/review/<int:review>/withdraw/",
        withdraw_review,
        name="execution_withdraw",
    ),
    page_path("execution/<int:pk>/forget/", ask_to_forget, name="execution_forget"),
    page_path("run/<int:pk>/forget/", ask_to_forget_run, name="run_forget"),
    page_path("run/<int:pk>/delete-for-good/", ask_to_delete_run, name="run_delete_for_good"),
    page_path("execution/<int:pk>/case/", ask_to_make_case, name="execution_case"),
    page_path("execution/<int:pk>/checks/", ask_to_add_checks, name="execution_checks"),
]
