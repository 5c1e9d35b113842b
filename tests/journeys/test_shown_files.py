"""A person shows files to an agent, and reads how a kind of check scores, in a browser."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import FilePayload, Page, expect
from pytest_django.live_server_helper import LiveServer

from evals_app.models import Attachment, Case, Execution, Turn
from evals_app.runs.shift import work
from evals_app.runs.start import start_run
from tests.authored import write_case
from tests.elsewhere import elsewhere
from tests.signed_in import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


def upload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def open_case(page: Page, live_server: LiveServer, case: Case) -> None:
    page.goto(live_server.url + reverse("admin:evals_app_case_change", args=[case.pk]))


@pytest.mark.parametrize("width", [1360, 390], ids=["desktop", "phone"])
def test_files_are_shown_taken_away_and_read_on_the_review_page(
    page: Page, live_server: LiveServer, admin_user: User, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, live_server, admin_user)
    case = elsewhere(write_case)
    open_case(page, live_server, case)
    turn = page.locator(".ts-turn").first
    turn.locator("summary", has_text="Files, facts and data").press("Enter")
    files = turn.get_by_label("Files", exact=True)
    files.set_input_files([upload("receipt.png", PNG), upload("list.csv", b"book,12\n")])
    turn.get_by_label("Facts for judges").first.fill("The shop is in Lyon.")
    page.get_by_role("button", name="Save and continue editing").click()
    expect(turn.get_by_label("receipt.png")).to_be_checked()
    turn.get_by_label("list.csv").press("Space")
    page.get_by_role("button", name="Save and continue editing").click()
    expect(turn.get_by_label("list.csv")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    def run() -> Execution:
        run = start_run(case.suite)
        work()
        return run.executions.get()

    execution = elsewhere(run)
    page.goto(live_server.url + reverse("admin:evals_app_execution_change", args=[execution.pk]))

    expect(page.get_by_text("receipt.png (24 bytes)")).to_be_visible()
    stored = elsewhere(lambda: Turn.objects.get().written())
    assert stored["context"] == ["The shop is in Lyon."]
    assert len(stored["files"]) == 1
    assert elsewhere(Attachment.objects.count) == 2


def test_how_a_check_scores_is_told_beside_it(
    page: Page, live_server: LiveServer, admin_user: User
) -> None:
    sign_in(page, live_server, admin_user)
    open_case(page, live_server, elsewhere(write_case))
    check = page.locator(".ts-check-row").first
    check.locator("summary").first.click()
    check.get_by_label("Kind of check").select_option("rouge")

    check.locator("summary", has_text="Scoring and example").press("Enter")

    expect(check.get_by_text("harmonic mean (F1)")).to_be_visible()
    expect(check.get_by_text("type: rouge")).to_be_visible()
