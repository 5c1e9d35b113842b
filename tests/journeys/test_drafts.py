"""What a person types is kept in the browser until it is saved."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from evals_app.models import Case, SignedInSession, Turn
from tests.authored import write_case
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import add_check, in_menu
from tests.journeys.test_case_editor import checks, save, turns

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "password"  # of the fixture `admin_user`


def write(page: Page) -> None:
    """Type a name, a turn and a check."""
    page.get_by_label("Name").first.fill("Typed")
    page.get_by_role("button", name="Add a turn").click()
    turns(page).nth(1).get_by_label("User message").fill("two\nlines")
    add_check(turns(page).nth(1), "Reply contains text").get_by_label("Text to look for").fill("x")
    in_menu(turns(page).nth(1), "Move up")


def expect_written(page: Page) -> None:
    expect(page.get_by_label("Name").first).to_have_value("Typed")
    expect(turns(page).first.get_by_label("User message")).to_have_value("two\nlines")
    expect(checks(turns(page).first)).to_have_count(1)


def test_a_session_that_ends_loses_nothing(visit: Visit, admin_user: User) -> None:
    case = write_case(turns=[{"user": "one", "assertions": []}])
    page = visit("evals_app_case_change", case.pk)
    write(page)
    elsewhere(lambda: SignedInSession.objects.all().delete())

    save(page)
    expect(page.locator("[data-kept-draft]")).to_be_visible()
    page.get_by_label("Username").fill(admin_user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")

    expect(page.locator("[data-when=restored]")).to_be_visible()
    expect_written(page)
    assert Case.objects.get().name != "Typed"
    save(page)
    assert Case.objects.get().name == "Typed"
    assert list(Turn.objects.order_by("position").values_list("user", flat=True)) == [
        "two\nlines",
        "one",
    ]
    page = visit("evals_app_case_change", case.pk)
    expect(page.locator("[data-draft]")).to_be_hidden()
    assert kept(page) == 0


def kept(page: Page) -> int:
    return int(page.evaluate("Object.keys(localStorage).filter(key => /draft/.test(key)).length"))


def test_a_draft_can_be_discarded(visit: Visit) -> None:
    page = leave_a_draft(visit)

    expect(page.locator("[data-when=restored]")).to_be_visible()
    expect(page.get_by_label("Name").first).to_have_value("Typed")
    page.get_by_role("button", name="Discard").click()

    expect(page.get_by_label("Name").first).not_to_have_value("Typed")
    expect(page.locator("[data-draft]")).to_be_hidden()
    assert kept(page) == 0


def leave_a_draft(visit: Visit, *, meanwhile: str = "") -> Page:
    """Type into a case, and come back; meanwhile someone else may rename it."""
    case = write_case(turns=[{"user": "one", "assertions": []}])
    page = visit("evals_app_case_change", case.pk)
    page.on("dialog", lambda dialog: dialog.accept())  # the browser asks whether to leave
    page.get_by_label("Name").first.fill("Typed")
    if meanwhile:
        case.name = meanwhile
        elsewhere(case.save)
    visit("evals_app_case_changelist")
    return visit("evals_app_case_change", case.pk)


def test_a_draft_of_an_older_version_is_offered_and_replaces_nothing(visit: Visit) -> None:
    page = leave_a_draft(visit, meanwhile="Theirs")

    expect(page.locator("p[data-when=stale]")).to_be_visible()
    expect(page.get_by_label("Name").first).to_have_value("Theirs")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_label("Name").first).to_have_value("Typed")
    save(page)

    expect(page.get_by_role("button", name="Overwrite it with mine")).to_be_visible()
    assert Case.objects.get().name == "Theirs"
