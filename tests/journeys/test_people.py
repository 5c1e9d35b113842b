"""An admin invites a viewer by a link, who sets a password and reads: in two browsers."""

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from evals_app.models import Provider, Run, Suite
from evals_app.models.people.profiles import zone_of
from tests.authored import a_case, write_suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.makers import make_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def suite() -> Suite:
    return write_suite([a_case()])


@pytest.fixture
def run(suite: Suite) -> Run:
    return make_run({"Where is it": ["failed"]}, suite=suite)


def test_an_admin_invites_a_viewer_who_reads_runs_and_can_do_no_more(
    visit: Visit, live_server: LiveServer, run: Run, suite: Suite
) -> None:
    page = visit("auth_user_changelist")
    page.get_by_role("link", name="Invite a colleague").click()
    page.get_by_label("Name").first.fill("Ann Smith")
    page.get_by_label("E-mail").focus()
    expect(page.get_by_label("Username")).to_have_value("ann-smith")
    page.get_by_role("checkbox", name="Viewer Sees suites").press("Space")
    page.get_by_role("button", name="Save").click()
    link = page.get_by_label("Link").input_value()

    # The colleague, in a browser of their own that is in another time zone.
    browser = page.context.browser
    assert browser is not None
    theirs = browser.new_context(timezone_id="Africa/Nairobi").new_page()
    complaints: list[str] = []
    theirs.on("pageerror", lambda error: complaints.append(str(error)))
    theirs.goto(link)
    theirs.get_by_label("New password").first.fill("long-enough-1")
    theirs.get_by_label("New password confirmation").fill("long-enough-1")
    theirs.keyboard.press("Enter")
    theirs.wait_for_url("**/admin/login/")
    expect(theirs.get_by_text("Sign in as ann-smith")).to_be_visible()
    theirs.get_by_label("Username").fill("ann-smith")
    theirs.get_by_label("Password").fill("long-enough-1")
    theirs.keyboard.press("Enter")
    theirs.wait_for_url("**/admin/")

    theirs.get_by_role("button", name="Use the browser").click()
    expect(theirs.get_by_text("Africa/Nairobi").first).to_be_visible()
    person = elsewhere(lambda: User.objects.get(username="ann-smith"))
    assert str(elsewhere(lambda: zone_of(person))) == "Africa/Nairobi"

    theirs.get_by_role("link", name="Results", exact=True).click()
    theirs.get_by_role("link", name=f"run {run.pk}").click()
    title = theirs.locator("time").first.get_attribute("title") or ""
    assert "UTC+3, Africa/Nairobi" in title
    for name in ("Providers", "People", "Roles", "API tokens", "Monthly ceilings"):
        expect(theirs.get_by_role("link", name=name, exact=True)).to_have_count(0)
    theirs.goto(f"{live_server.url}/admin/evals_app/suite/{suite.pk}/change/")
    expect(theirs.get_by_role("link", name="Run", exact=True)).to_have_count(0)
    expect(theirs.get_by_role("button", name="Save")).to_have_count(0)
    for kind in ("link", "button"):
        expect(theirs.get_by_role(kind, name="Delete")).to_have_count(0)
    provider = elsewhere(Provider.objects.first)
    assert provider is not None
    for address in (
        f"evals_app/suite/{suite.pk}/run/",
        f"evals_app/provider/{provider.pk}/change/",
        "auth/user/add/",
    ):
        answer = theirs.goto(f"{live_server.url}/admin/{address}")
        assert answer is not None
        assert answer.status == 403, address
    assert complaints == []

    # More rights take effect at once; and no one signs in who is deactivated.
    elsewhere(lambda: person.groups.add(Group.objects.get(name="Runner")))
    theirs.goto(f"{live_server.url}/admin/evals_app/suite/{suite.pk}/change/")
    expect(theirs.get_by_role("link", name="Run", exact=True)).to_be_visible()
    page = visit("auth_user_change", person.pk)
    page.get_by_label("Active").press("Space")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/auth/user/")
    theirs.goto(f"{live_server.url}/admin/")
    expect(theirs.get_by_label("Password")).to_be_visible()
