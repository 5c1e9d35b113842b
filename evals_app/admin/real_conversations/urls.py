"""Addresses of what people do with sets of real conversations."""

from evals_app.admin.kit.pages import page_path
from evals_app.admin.real_conversations.copy_page import copy_of_list, copy_of_run
from evals_app.admin.real_conversations.daily_section import (
    ask_to_remove_daily_import,
    change_daily_import,
)
from evals_app.admin.real_conversations.grading import ask_to_cancel, grade, price
from evals_app.admin.real_conversations.import_page import import_file, look
from evals_app.admin.real_conversations.inbox_section import change_inbox
from evals_app.admin.real_conversations.set_cases import make_cases_of_set
from evals_app.admin.real_conversations.set_page import ask_to_discard, ask_to_remove

_SET = "conversationset"

urlpatterns = [
    page_path("run/<int:pk>/copy/", copy_of_run, name="run_copy"),
    page_path("execution/copy/", copy_of_list, name="execution_copy"),
    page_path(f"{_SET}/import/", import_file, name=f"{_SET}_import"),
    page_path(f"{_SET}/import/look/", look, name=f"{_SET}_look"),
    page_path(f"{_SET}/<int:pk>/cases/", make_cases_of_set, name=f"{_SET}_cases"),
    page_path(f"{_SET}/<int:pk>/grade/", grade, name=f"{_SET}_grade"),
    page_path(f"{_SET}/<int:pk>/grade/price/", price, name=f"{_SET}_price"),
    page_path(f"{_SET}/gradings/<int:pk>/cancel/", ask_to_cancel, name=f"{_SET}_cancel"),
    page_path(f"{_SET}/imports/<int:pk>/discard/", ask_to_discard, name=f"{_SET}_discard"),
    page_path(f"{_SET}/<int:pk>/daily/do/", change_daily_import, name=f"{_SET}_daily_do"),
    page_path(
        f"{_SET}/<int:pk>/daily/remove/", ask_to_remove_daily_import, name=f"{_SET}_daily_remove"
    ),
    page_path(f"{_SET}/<int:pk>/agents/do/", change_inbox, name=f"{_SET}_agents_do"),
    page_path(f"{_SET}/<int:pk>/remove/", ask_to_remove, name=f"{_SET}_remove"),
]
