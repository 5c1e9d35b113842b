"""A support lead lets conversations come every day, and sees what goes wrong more often: in a browser."""

from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from evals_app.library.saving import add_general_check
from evals_app.models import ConversationSet, DailyImport, NoteGroup, Reading, Suite
from evals_app.runs.recorded.group_checks import check_of
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.runs.judged_runs import JUDGE_RULES
from tests.runs.recorded.conversations import make_set, row_of
from tests.runs.recorded.daily import fire, owner, put
from tests.runs.suites import make_agent, make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "data")
    (tmp_path / "exports").mkdir()
    monkeypatch.setattr(settings, "IMPORT_FOLDERS", [str(tmp_path / "exports")])
    return tmp_path / "exports"


def _make_set_with_a_checked_group() -> ConversationSet:
    make_agent("judge", name="Judge", rules=JUDGE_RULES)
    suite = make_suite(judge_model="scripted/judge")
    target = make_set()
    group = NoteGroup(reading=Reading.objects.create(conversation_set=target), name="Rude")
    group.suite, group.criterion = suite, "Be polite."
    group.assertion = add_general_check(suite, check_of(group, "Be polite."), by=owner())
    group.save()
    return target


def _next_day(folder: Path, day: int, failed: int) -> None:
    rows = [
        row_of(f"{day}-{n}", ("user", "Why?"), ("assistant", "rude" if n < failed else "So."))
        for n in range(30)
    ]
    put(folder, f"{day}.jsonl", rows)
    DailyImport.objects.update(next_at=timezone.now())
    fire(timezone.now())


def test_conversations_come_every_day_and_a_group_that_grows_shows(
    visit: Visit, folder: Path
) -> None:
    target = elsewhere(_make_set_with_a_checked_group)
    page = visit("evals_app_conversationset_change", target.pk)
    page.get_by_role("link", name="Import every day").click()
    page.get_by_label("Folder on the server").fill(str(folder))
    page.get_by_label("Time", exact=True).fill("02:30")
    expect(page.get_by_text("every day at 02:30")).to_be_visible()
    page.get_by_label("Suite").select_option(label=elsewhere(lambda: Suite.objects.get().name))
    page.get_by_role("button", name="Save", exact=True).click()
    section = page.locator("#every-day")
    expect(section).to_contain_text("has not looked for files yet")

    elsewhere(lambda: _next_day(folder, 1, failed=1))
    page.reload()
    expect(section).to_contain_text("1.jsonl: 30 new")
    expect(section).to_contain_text("Too few to tell")

    elsewhere(lambda: _next_day(folder, 2, failed=14))
    page.reload()
    expect(section).to_contain_text("14 of 30")
    expect(section).to_contain_text("More than before")
    section.get_by_role("link", name="An example").click()
    page.wait_for_url("**/evals_app/execution/**")
