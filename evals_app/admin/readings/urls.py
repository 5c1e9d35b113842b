"""Addresses of conversations to read, and of the groups of notes."""

from evals_app.admin.kit.pages import page_path
from evals_app.admin.readings.draw_page import read_run, read_set
from evals_app.admin.readings.groups_page import change_group, download_notes, show_groups
from evals_app.admin.readings.read_page import read_next, read_one

urlpatterns = [
    page_path("conversationset/<int:pk>/read/", read_set, name="conversationset_read"),
    page_path("run/<int:pk>/read/", read_run, name="run_read"),
    page_path("reading/<int:pk>/", read_next, name="reading"),
    page_path("reading/<int:pk>/<int:position>/", read_one, name="reading_item"),
    page_path("reading/<int:pk>/groups/", show_groups, name="reading_groups"),
    page_path("reading/<int:pk>/notes.csv", download_notes, name="reading_notes"),
    page_path("notegroup/<int:pk>/", change_group, name="notegroup"),
]
