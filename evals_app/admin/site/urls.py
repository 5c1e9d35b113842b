"""Addresses of what belongs to the whole site."""

from evals_app.admin.kit.pages import page_path
from evals_app.admin.site.spending import show_spending

urlpatterns = [
    page_path("spending/", show_spending, name="spending_changelist"),
]
