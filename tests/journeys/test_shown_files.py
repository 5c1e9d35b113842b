"""A person shows files to an agent in a browser."""

import pytest
from playwright.sync_api import FilePayload, expect

from evals_app.models import Attachment, Execution, Turn
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.authored import write_case
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import save_and_stay

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


def upload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def test_files_are_shown_taken_away_and_read_on_the_review_page_of_a_phone(visit: Visit) -> None:
    case = elsewhere(write_case)
    page = visit("evals_app_case_change", case.pk)
    page.set_viewport_size({"width": 390, "height": 844})
    turn = page.locator(".ew-turn").first
    turn.locator("summary", has_text="Files, facts and data").press("Enter")
    files = turn.get_by_label("Files", exact=True)
    files.set_input_files([upload("receipt.png", PNG), upload("list.csv", b"book,12\n")])
    turn.get_by_label("Facts for judges").first.fill("The shop is in Lyon.")
    save_and_stay(page)
    expect(turn.get_by_label("receipt.png")).to_be_checked()
    turn.get_by_label("list.csv").press("Space")
    save_and_stay(page)
    expect(turn.get_by_label("list.csv")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    def run() -> Execution:
        run = start_run(case.suite)
        work()
        return run.executions.get()

    visit("evals_app_execution_change", elsewhere(run).pk)

    expect(page.get_by_text("receipt.png (24 bytes)")).to_be_visible()
    stored = elsewhere(lambda: Turn.objects.get().to_mapping())
    assert stored["context"] == ["The shop is in Lyon."]
    assert len(stored["files"]) == 1
    assert elsewhere(Attachment.objects.count) == 2
