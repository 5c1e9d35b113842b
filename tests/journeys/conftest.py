"""What all journeys share: the browser of a signed-in administrator, whose pages never complain."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from tests.signed_in import sign_in

Visit: TypeAlias = Callable[..., Page]


@pytest.fixture
def visit(page: Page, live_server: LiveServer, admin_user: User) -> Iterator[Visit]:
    """Opens a page of the admin by its name: `visit("evals_app_case_change", case.pk)`."""
    complaints: list[str] = []
    page.on(
        "pageerror",
        # Unfold looks for its own field beside any input of files, and complains that there is none.
        lambda error: (
            None if "unfold/js/app.js" in (error.stack or "") else complaints.append(str(error))
        ),
    )
    # Violations of the content security policy are errors of the console.
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    sign_in(page, live_server, admin_user)

    def open_page(name: str, *args: object, query: str = "") -> Page:
        page.goto(f"{live_server.url}{reverse(f'admin:{name}', args=args)}{query}")
        return page

    yield open_page
    assert complaints == []
