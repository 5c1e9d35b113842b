"""Addresses of the parts of a suite's page."""

from evals_app.admin.kit.pages import page_path
from evals_app.admin.people.mail_wishes import mail_about_suite
from evals_app.admin.suites.can_fail_page import can_fail
from evals_app.admin.suites.case_undo import undo
from evals_app.admin.suites.proposed_cases import price_of_proposals, proposals, propose_cases
from evals_app.admin.suites.suite_pages import cases, highlights, judges, offer_tags, results

urlpatterns = [
    page_path("suite/<int:pk>/cases/", cases, name="suite_cases"),
    page_path("suite/<int:pk>/check/", can_fail, name="suite_check"),
    page_path("suite/<int:pk>/results/", results, name="suite_results"),
    page_path("suite/<int:pk>/notable/", highlights, name="suite_notable"),
    page_path("suite/<int:pk>/judges/", judges, name="suite_judges"),
    page_path("suite/<int:pk>/propose/", propose_cases, name="suite_propose"),
    page_path("suite/<int:pk>/propose/price/", price_of_proposals, name="suite_propose_price"),
    page_path("suite/<int:pk>/propose/<int:run>/", proposals, name="suite_proposals"),
    page_path("suite/<int:pk>/email/", mail_about_suite, name="suite_email"),
    page_path("bulkedit/<int:pk>/undo/", undo, name="bulkedit_undo"),
    page_path("suite/tags/", offer_tags, name="tags"),
]
