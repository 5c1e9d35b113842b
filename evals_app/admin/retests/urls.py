"""Addresses of what people see of a retest and do with it."""

from evals_app.admin.kit.pages import fragment_path, page_path
from evals_app.admin.retests.views import ask_to_cancel, ask_to_settle, live, price

urlpatterns = [
    page_path("settlement/start/<int:pk>/", ask_to_settle, name="settlement_start"),
    page_path("settlement/start/<int:pk>/price/", price, name="settlement_price"),
    fragment_path("settlement/<int:pk>/live/", live, name="settlement_live"),
    page_path("settlement/<int:pk>/cancel/", ask_to_cancel, name="settlement_cancel"),
]
