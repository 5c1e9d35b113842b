"""A person sends the result of a run by mail: downloads the page, opens it offline and finds what they look for."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from evals_app.models import Run
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import open_more
from tests.makers import make_execution, make_grade, make_run, make_trial

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def run_with_failures() -> Run:
    run = make_run({"Greets": ["passed"], "Angry customer": ["failed"], "Silent": ["errored"]})
    trial = make_trial(user="Where is the parcel?", reply="It is in <b>Lisbon</b>.")
    make_execution(run, "Lost parcel", state="failed", trial=trial, grades=[make_grade()])
    return run


def downloaded(page: Page, kind: str, folder: Path) -> Path:
    """Download a report with the keyboard."""
    open_more(page)
    link = page.get_by_role("link", name=kind)
    expect(link).to_be_visible()
    link.focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_the_page_to_send_by_mail_works_offline(visit: Visit, tmp_path: Path) -> None:
    run = elsewhere(run_with_failures)
    page = visit("evals_app_run_change", run.pk)
    open_more(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="One page")).to_be_hidden()
    path = downloaded(page, "One page to send by mail", tmp_path)
    assert path.name == f"run-{run.pk}-refunds.html"

    browser = page.context.browser
    assert browser is not None
    page = browser.new_context(offline=True).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())

    listed = page.locator(".execution:visible")
    expect(listed).to_have_count(4)
    expect(listed.first).to_contain_text("Angry customer")
    page.get_by_label("Failed (2)").check()
    expect(listed).to_have_count(2)
    expect(page.get_by_role("status")).to_have_text("2 of 4 conversations shown")

    page.get_by_label("Search").fill("lisbon PARCEL")
    expect(listed).to_have_count(1)
    page.get_by_text("Lost parcel").click()
    expect(page.get_by_text("It is in <b>Lisbon</b>.")).to_be_visible()
    expect(page.get_by_role("cell", name="Reply contains “refund”", exact=True)).to_be_visible()

    page.get_by_label("All (4)").check()
    page.get_by_label("Search").fill("")
    expect(listed).to_have_count(4)
    assert asked == [path.as_uri()]
    assert complaints == []
