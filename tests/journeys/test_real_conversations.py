"""A lead in a browser: an export is graded in three decisions, read by keys, and becomes a check."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.models import Assertion, Execution, Run
from evals_app.runs.process.worker_loop import work
from tests.elsewhere import elsewhere
from tests.journeys import real_conversations as guide
from tests.journeys.actions import count_actions
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def suite() -> None:
    import_files([SourceFile(name, text.encode()) for name, text in guide.FILES.items()])


def test_an_export_of_1000_rows_is_graded_read_and_becomes_a_check(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit("index")
    actions = count_actions(page)
    guide.choose_export(page, guide.write_export(tmp_path))
    expect(page.get_by_text("The first 200 conversations were read.")).to_be_visible()
    guide.import_export(page)
    imported = len(actions)
    guide.ask_to_grade(page)
    guide.grade(page)
    # The set, the suite, and how many: all else is a way to a page, and the usual 100 stay.
    assert actions[imported:] == ["press Grade", "choose Suite", "press Grade"]
    assert [action for action in actions if action.startswith(("fill in", "choose"))] == [
        "fill in Set",
        "choose Suite",
    ]

    elsewhere(work)
    page.reload()
    run = Run.objects.get(conversation_set__isnull=False)
    assert (run.total, run.failed) == (100, page.locator(".ew-list-row.is-child").count())
    assert (run.agent_cost_usd, run.spent_usd) == (None, 0)  # of nobody who was asked
    assert Execution.objects.filter(source=None).count() == guide.CONVERSATIONS
    expect(page.get_by_role("heading", name="of 100 conversations passed")).to_be_visible()
    expect(page.get_by_role("region", name="May we ship?")).to_have_count(0)

    page.get_by_text("Belongs to this run").click()
    page.get_by_role("link", name=guide.NAME, exact=True).click()
    guide.begin_to_read(page, 40)
    guide.read_all(page)
    guide.group_notes(page)
    guide.try_check(page)
    elsewhere(work)
    page.reload()
    expect(
        page.get_by_role("heading", name="The judge agrees with people in 10 of 10")
    ).to_be_visible()
    assert not Assertion.objects.filter(type="llm_judge").exists()
    guide.save_check(page)
    assert Assertion.objects.get(type="llm_judge", suite__name=guide.SUITE)
    page.get_by_role("link", name="Calibration").click()
    expect(page.get_by_text("Only 10 answers checked")).to_be_visible()
