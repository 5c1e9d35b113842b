"""Every page, on a desk and on a phone, light and dark, as axe judges it."""

from http import HTTPStatus
from itertools import cycle
from pathlib import Path
from typing import Any, cast

import axe_playwright_python
import pytest
from django.test import Client
from playwright.sync_api import Page, ViewportSize

from tests.addresses import routes, samples_for
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


@pytest.fixture
def addresses(admin_client: Client, settings: Any) -> list[str]:
    """The addresses of all pages of the admin; not parts of pages, files or redirects."""
    samples = samples_for(settings)
    urls = map(samples.url, routes())
    return [url for url in urls if url.startswith("/admin/") and is_page(admin_client.get(url))]


def is_page(answer: Any) -> bool:
    if answer.status_code != HTTPStatus.OK or answer.streaming:
        return False
    return bool(answer.content.lstrip()[:9].lower() == b"<!doctype")


# Each page twice, to save time: once in each width and once in each theme.
@pytest.mark.parametrize(("width", "themes"), [("desk", "light dark"), ("phone", "dark light")])
def test_no_page_has_serious_barriers(
    visit: Visit, addresses: list[str], *, width: str, themes: str
) -> None:
    page = visit("index")
    site = page.url.removesuffix("/admin/")
    page.set_viewport_size(WIDTHS[width])
    barriers: dict[str, list[str]] = {}

    for url, theme in zip(addresses, cycle(themes.split())):
        # Nothing fades in while axe measures contrasts.
        page.emulate_media(color_scheme=cast("Any", theme), reduced_motion="reduce")
        page.goto(site + url)
        if problems := violations(page):
            barriers[url] = problems

    assert barriers == {}
    assert len(addresses) > 80


def test_the_pages_of_the_admin_have_one_main_landmark(visit: Visit) -> None:
    page = visit("index")

    assert page.get_by_role("main").count() == 1
