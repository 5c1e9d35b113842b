"""A person of the company signs in with the button, and reads what their groups let them read."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import ConsoleMessage, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.company_server import ANN, company_server
from tests.elsewhere import elsewhere

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the provider, about Authlib
]


def roles() -> list[str]:
    groups = User.objects.get().groups.order_by("pk").values_list("name", flat=True)
    return elsewhere(lambda: list(groups))


def test_a_person_comes_through_the_company_and_loses_a_role_with_the_group(
    page: Page, live_server: LiveServer, settings: Any
) -> None:
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        is_ours = message.location["url"].startswith(live_server.url)
        if message.type == "error" and is_ours and "status of 403" not in message.text:
            complaints.append(message.text)

    page.on("console", hear)
    settings.GROUP_ROLES = {"quality": ("Author", "Runner"), "everyone-in-berlin": ("Viewer",)}
    with company_server(settings) as company:
        company.hire("a-1", **ANN)
        company.hire("m-1", name="Mallory", groups=["sales"])

        # A stranger of the company learns why not.
        page.goto(f"{live_server.url}/admin/evals_app/suite/")
        page.get_by_role("link", name="Sign in with Acme").click()
        page.get_by_placeholder("sub").fill("m-1")
        page.get_by_role("button", name="Authorize").click()
        expect(page.get_by_role("alert")).to_contain_text("none of your groups opens it")

        # Ann comes in with the keyboard alone.
        page.goto(f"{live_server.url}/admin/evals_app/suite/")
        page.get_by_role("link", name="Sign in with Acme").focus()
        page.keyboard.press("Enter")
        page.get_by_placeholder("sub").fill("a-1")
        page.keyboard.press("Enter")
        page.wait_for_url("**/admin/evals_app/suite/")
        expect(
            page.get_by_role("link", name=re.compile("^(New|Add) suite|Write")).first
        ).to_be_visible()
        assert roles() == ["Viewer", "Author", "Runner"]

        # Her group is gone: the next sign-in takes the role.
        company.hire("a-1", **ANN | {"groups": ["everyone-in-berlin"]})
        page.context.clear_cookies()
        page.goto(f"{live_server.url}/admin/")
        page.get_by_role("link", name="Sign in with Acme").click()
        page.get_by_role("button", name="a-1").click()
        page.wait_for_url("**/admin/")
        assert roles() == ["Viewer"]
    assert complaints == []
