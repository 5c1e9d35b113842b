"""A person says what must change in the world: written by keyboard, or taken from what happened."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.library.saving import save_agent, save_suite
from evals_app.models import Assertion, Case, Execution, Run, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from fixtures_app.library import save_entity_types, save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import EntityTypeSpec, FixtureSpec
from tests.authored import a_case, write_case
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import add_check

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

REFUND = {"type": "refund", "data": {"order": "order-1", "amount": 24.5, "at": "{{input}}"}}
AGENT: dict[str, Any] = {
    "agent": "Shop",
    "slug": "shop",
    "driver": "scripted",
    "tools": ["entity.create", "entity.update"],
    "rules": [
        {
            "calls": [
                {"tool": "entity.create", "args": REFUND},
                {"tool": "entity.update", "args": {"id": "order-1", "data": {"state": "refunded"}}},
            ],
            "reply": "Your order has shipped back to us; here is your money.",
        }
    ],
}
ORDERS = {
    "name": "Orders",
    "slug": "orders",
    "entities": [{"ref": "order-1", "type": "order", "data": {"state": "paid"}}],
}


def write_things(*refs: str, suite: Suite) -> None:
    """Write a fixture with these entities, and give it to the suite."""
    save_entity_types([EntityTypeSpec.model_validate({"slug": "thing", "schema": {}})])
    entities = [{"ref": ref, "type": "thing", "data": {}} for ref in refs]
    save_fixture(
        FixtureSpec.model_validate({"name": "Things", "slug": "things", "entities": entities})
    )
    suite.fixtures.set(Fixture.objects.filter(slug="things"))


def write_shop(message: str) -> None:
    """Write a suite whose agent refunds an order, at the time that the message names."""
    kinds = [{"slug": "order", "schema": {}}, {"slug": "refund", "schema": {}}]
    save_entity_types([EntityTypeSpec.model_validate(kind) for kind in kinds])
    save_fixture(FixtureSpec.model_validate(ORDERS))
    save_agent(AgentSpec.model_validate(AGENT))
    turn = {"user": message, "assertions": [{"type": "contains", "value": "money"}]}
    case = a_case("Refund", turns=[turn])
    spec = {"suite": "Refunds", "slug": "refunds", "agent": "shop", "fixtures": ["orders"]}
    save_suite(SuiteSpec.model_validate(spec | {"cases": [case]}))


def hold() -> Execution:
    """Hold the case as it is now, as a worker does."""

    def run() -> Run:
        started = start_run(Case.objects.select_related("suite").get().suite)
        work()
        return started

    return elsewhere(run).executions.get()


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def final_check(page: Page) -> Locator:
    return page.locator("#final_assertions-group .ew-check-row").last


def test_what_must_change_is_written_by_keyboard(visit: Visit) -> None:
    case = write_case()
    schema = {"properties": {"state": {"enum": ["open", "paid"]}}}
    save_entity_types([EntityTypeSpec.model_validate({"slug": "refund", "schema": schema})])
    page = visit("evals_app_case_change", case.pk)

    add_check(page.locator("#final_assertions-group"), "World was changed")
    created = final_check(page).locator(".ew-blocks").first
    created.locator("> [data-line-add]").focus()
    press(page, "Enter", "Tab")  # past the id
    page.keyboard.type("refund")
    press(page, "Tab", "Tab", "Tab", "Tab")  # past status, how many, and the cross
    page.keyboard.type("amount")
    press(page, "Tab")
    page.keyboard.type("is close")
    press(page, "Tab")
    page.keyboard.type("24.5")
    press(page, "Enter")  # another field
    page.keyboard.type("state")
    press(page, "Tab", "Tab")
    values = page.locator("#ew-listed-value option")
    assert [value.get_attribute("value") for value in values.all()] == ["open", "paid"]
    page.keyboard.type("paid")
    press(page, "Enter")
    page.keyboard.type("order")
    press(page, "Tab")
    page.keyboard.type("is present")
    final_check(page).get_by_label("Nothing else may change").focus()
    press(page, "Space")
    save(page)

    check = Assertion.objects.get(type="world_changes")
    data = {"amount": {"fuzzy": 24.5}, "order": {"present": True}, "state": "paid"}
    assert check.options == {"created": [{"type": "refund", "data": data}], "nothing_else": True}


def test_removing_what_must_change_leaves_the_rest(visit: Visit) -> None:
    lines = [{"id": "a", "data": {"x": 1}}, {"id": "b", "data": {"y": 2, "z": 3}}, {"id": "c"}]
    case = write_case(final_assertions=[{"type": "world_changes", "updated": lines}])
    write_things("a", "b", "c", suite=case.suite)
    page = visit("evals_app_case_change", case.pk)
    final_check(page).locator("summary").first.click()
    blocks = final_check(page).locator(".ew-block")

    blocks.nth(0).get_by_role("button", name="Remove", exact=True).click()
    expect(page.locator(":focus")).to_have_text("+ Add")
    blocks.nth(0).get_by_role("button", name="Remove this line").first.click()
    save(page)

    assert Assertion.objects.get(type="world_changes").options == {
        "updated": [{"id": "b", "data": {"z": 3}}, {"id": "c"}]
    }


def test_what_happened_is_expected_from_now_on(visit: Visit) -> None:
    elsewhere(lambda: write_shop("2026-05-01T09:30:00Z"))
    page = visit("evals_app_execution_change", hold().pk)

    page.get_by_role("link", name="Add as a check").press("Enter")
    changes = page.get_by_role("region", name="Changes in the world")
    expect(page.locator("[data-tally]")).to_have_text("1 check")
    expect(changes.get_by_label("amount = 24.5")).to_be_checked()
    changes.get_by_label("order = order-1").press("Space")
    changes.get_by_label("at = ").press("Space")  # the user named this time
    page.get_by_role("button", name="Add the checks").press("Enter")

    page.wait_for_url("**/admin/evals_app/case/*/change/")
    expected: dict[str, Any] = {
        "created": [{"type": "refund", "data": {"amount": 24.5}}],
        "updated": [{"id": "order-1", "data": {"state": "refunded"}}],
        "nothing_else": True,
    }
    check = Assertion.objects.get(type="world_changes")
    assert check.options == expected
    final_check(page).locator("summary").first.click()
    save(page)
    check.refresh_from_db()
    assert check.options == expected

    # It holds when the time is another one.
    Case.objects.get().turns.update(user="2027-01-01T00:00:00Z")
    assert hold().verdict == "passed"
