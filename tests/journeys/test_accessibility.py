"""Every page, on a desk and on a phone, light and dark, as axe judges it."""

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.test import Client
from playwright.sync_api import Page, ViewportSize

from tests.addresses import Samples, routes, samples_for
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("critical", "serious")
WIDTHS: dict[str, ViewportSize] = {
    "desk": {"width": 1360, "height": 900},
    "phone": {"width": 390, "height": 844},
}


def violations(page: Page) -> list[str]:
    """Return what axe calls critical or serious, with where it is."""
    page.evaluate(AXE)
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['target'][0]}"
        for rule in result["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


def pages(samples: Samples, client: Client) -> Iterator[str]:
    """Yield the addresses of all pages of the admin; not parts of pages, files or redirects."""
    for route in routes():
        url = samples.url(route)
        if url.startswith("/admin/"):
            answer = client.get(url)
            is_page = answer.status_code == HTTPStatus.OK and not answer.streaming
            if is_page and answer.content.lstrip()[:9].lower() == b"<!doctype":
                yield url


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_has_serious_barriers(
    visit: Visit, admin_client: Client, settings: Any, width: str, theme: Any
) -> None:
    urls = list(pages(samples_for(settings), admin_client))
    page = visit("index")
    site = page.url.removesuffix("/admin/")
    page.set_viewport_size(WIDTHS[width])
    # Nothing fades in while axe measures contrasts.
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    barriers: dict[str, list[str]] = {}

    for url in urls:
        page.goto(site + url)
        if problems := violations(page):
            barriers[url] = problems

    assert barriers == {}
    assert len(urls) > 80


def test_the_pages_of_the_admin_have_one_main_landmark(visit: Visit) -> None:
    page = visit("index")

    assert page.get_by_role("main").count() == 1
