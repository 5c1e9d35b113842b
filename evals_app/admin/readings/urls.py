"""Addresses of conversations to read, and of the groups of notes."""

from evals_app.admin.kit.pages import page_path
from evals_app.admin.readings.check_page import check_live, make_check, price_check
from evals_app.admin.readings.draw_page import read_run, read_set
from evals_app.admin.readings.groups_page import change_group, download_notes, show_groups
from evals_app.admin.readings.proposal_pages import (
    ask_for_criterion,
    ask_for_groups,
    proposals_live,
)
from evals_app.admin.readings.read_page import read_next, read_one

urlpatterns = [
    page_path("conversationset/<int:pk>/read/", read_set, name="conversationset_read"),
    page_path("run/<int:pk>/read/", read_run, name="run_read"),
    page_path("reading/<int:pk>/", read_next, name="reading"),
    page_path("reading/<int:pk>/<int:position>/", read_one, name="reading_item"),
    page_path("reading/<int:pk>/groups/", show_groups, name="reading_groups"),
    page_path("reading/<int:pk>/notes.csv", download_notes, name="reading_notes"),
    page_path("reading/<int:pk>/propose/", ask_for_groups, name="reading_propose"),
    page_path("reading/<int:pk>/proposals/", proposals_live, name="reading_proposals"),
    page_path("notegroup/<int:pk>/", change_group, name="notegroup"),
    page_path("notegroup/<int:pk>/check/", make_check, name="notegroup_check"),
    page_path("notegroup/<int:pk>/check/price/", price_check, name="notegroup_price"),
    page_path("notegroup/<int:pk>/check/draft/", ask_for_criterion, name="notegroup_draft"),
    page_path("notegroup/<int:pk>/check/live/", check_live, name="notegroup_live"),
]
