"""Every page, on a desk and on a phone, light and dark, as axe judges it."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.test import Client
from playwright.sync_api import Page, ViewportSize

from tests.addresses import routes, samples_for
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
GRAVE = ("critical", "serious", "moderate")
DESK: ViewportSize = {"width": 1360, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
# All that is folded but examples of commands, which scroll without a place for the focus.
UNFOLD = (
    "document.querySelectorAll('#content details:not(:has(pre))').forEach(fold => fold.open = true)"
)
IN_THEME = "(isDark) => document.documentElement.classList.toggle('dark', isDark)"


def violations(page: Page) -> list[str]:
    """Return what axe calls critical, serious or moderate, with where it is."""
    page.evaluate(AXE)
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['target'][0]}"
        for rule in result["violations"]
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


def is_page(answer: Any) -> bool:
    """Tell pages from parts of pages, files and redirects."""
    if answer.status_code != HTTPStatus.OK or answer.streaming:
        return False
    return bool(answer.content.lstrip()[:9].lower() == b"<!doctype")


# In two halves, which run side by side. To save time each page is loaded once, and looked at once in
# each width and once in each theme.
@pytest.mark.parametrize("half", [0, 1])
def test_every_page_fits_and_has_no_barriers(
    visit: Visit, admin_client: Client, settings: Any, half: int
) -> None:
    urls = [url for url in map(samples_for(settings).url, routes()) if url.startswith("/admin/")]
    addresses = [url for url in urls[half::2] if is_page(admin_client.get(url))]
    page = visit("index")
    site = page.url.removesuffix("/admin/")
    page.emulate_media(reduced_motion="reduce")  # nothing fades in while axe measures contrasts
    barriers: dict[str, list[str]] = {}
    too_wide = []

    for place, url in enumerate(addresses):
        page.set_viewport_size(DESK)
        page.goto(site + url)
        page.evaluate(UNFOLD)
        for number, width in enumerate((DESK, PHONE)):
            page.set_viewport_size(width)
            page.evaluate(IN_THEME, (place + number) % 2 == 1)
            barriers[url] = barriers.get(url, []) + violations(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            too_wide.append(url)

    assert {url: problems for url, problems in barriers.items() if problems} == {}
    assert too_wide == []
    assert len(addresses) > 40
