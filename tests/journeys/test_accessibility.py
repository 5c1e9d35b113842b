"""Every main screen, on a desk and on a phone, light and dark, as axe judges it."""

from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, ViewportSize

from fixtures_app.library import save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec
from tests.authored import CONTAINS, write_case
from tests.journeys.conftest import Visit
from tests.makers import make_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("critical", "serious")
WIDTHS: dict[str, ViewportSize] = {
    "desk": {"width": 1360, "height": 900},
    "phone": {"width": 390, "height": 844},
}
SHOP: dict[str, Any] = {
    "name": "Shop",
    "slug": "shop",
    "entities": [{"ref": "one", "type": "order", "data": {"price": 1}}],
    "entity_types": [{"slug": "order", "schema": {"required": []}}],
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


SCREENS = {
    "lists": [
        "index",
        *(f"evals_app_{name}_changelist" for name in ("suite", "case", "execution")),
    ],
    "forms": ["evals_app_case_change", "evals_app_suite_change", "evals_app_agent_change"],
    "data": ["fixtures_app_fixture_change", "evals_app_suite_import", "evals_app_case_history"],
    "results": ["evals_app_run_change", "evals_app_execution_change"],
    "people": ["auth_user_changelist", "auth_user_change", "login"],
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("screens", SCREENS)
def test_screens_have_no_serious_barriers(
    visit: Visit, admin_user: User, screens: str, width: str, theme: Any
) -> None:
    case = write_case(turns=[{"user": "one", "assertions": [CONTAINS]}, {"user": "two"}])
    save_fixture(FixtureSpec.model_validate(SHOP))
    run = make_run(["passed", "failed"])
    keys = {
        "case": case.pk,
        "suite": case.suite_id,
        "agent": case.suite.agent_id,
        "fixture": Fixture.objects.get().pk,
        "run": run.pk,
        "execution": run.executions.latest("pk").pk,
        "user": admin_user.pk,
    }
    page = visit("index")
    page.set_viewport_size(WIDTHS[width])
    # Nothing fades in while axe measures contrasts.
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    barriers: dict[str, list[str]] = {}
    for name in SCREENS[screens]:
        if name == "login":
            page.context.clear_cookies()
        is_one = name.endswith(("_change", "_history"))
        visit(name, *([keys[name.split("_")[-2]]] if is_one else []))
        if problems := violations(page):
            barriers[name] = problems
    assert barriers == {}


def test_the_pages_of_the_admin_have_one_main_landmark(visit: Visit) -> None:
    page = visit("index")

    assert page.get_by_role("main").count() == 1
