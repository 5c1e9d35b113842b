"""Addresses of the page of what was deleted."""

from evals_app.admin.bin.bin_page import ask_to_delete_for_good, restore, show_deleted
from evals_app.admin.kit.pages import page_path

urlpatterns = [
    page_path("deleted/", show_deleted, name="deletedobject_changelist"),
    page_path("deleted/restore/", restore, name="restore"),
    page_path("deleted/<int:deleted>/for-good/", ask_to_delete_for_good, name="deleted_for_good"),
]
