"""A person adds a webhook, keeps its secret and sends a test: in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.agent_server import Sent, WebServer
from tests.authored import a_case, write_suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_webhook_is_added_and_tested(visit: Visit) -> None:
    elsewhere(lambda: write_suite([a_case()]))
    with WebServer(lambda _: Sent.json({})) as server:
        page = visit("evals_app_webhook_add")
        page.get_by_label("Name").fill("Team")
        page.get_by_label("Address").fill(f"http://localhost:{server.port}/in")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_label("Signing secret")).to_have_value(re.compile("^whsec_"))

        page.get_by_role("link", name="Back to the webhook").click()
        page.get_by_role("button", name="Send a test").click()

        expect(page.get_by_text("Delivered")).to_be_visible()
        (sent,) = server.asked
    assert "webhook-signature" in sent.headers
