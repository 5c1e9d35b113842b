"""Addresses of what pages load of checks."""

from evals_app.admin.checks.views import (
    check_reference,
    inputs_of_check,
    inputs_of_kind,
    last_reply,
    try_posted_check,
)
from evals_app.admin.kit.pages import page_path

urlpatterns = [
    page_path("suite/checks/<slug:kind>/", check_reference, name="check_reference"),
    page_path("suite/checks/<slug:kind>/inputs/", inputs_of_kind, name="check_kind_inputs"),
    page_path("suite/checks/stored/<int:pk>/", inputs_of_check, name="check_inputs"),
    page_path("case/try/", try_posted_check, name="case_try"),
    page_path("case/<int:pk>/last-reply/", last_reply, name="case_reply"),
]
