"""A person overrules a judge by keyboard, and takes it back: in a real browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import ViewportSize, expect

from evals_app.models import GradeResult, Run
from evals_app.runs.reviews.reviewing import review_grade
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.test_accessibility import violations
from tests.runs.suites import finished, make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


def failed_rubric() -> GradeResult:
    """Run a case, and make its grade that of a rubric of two bullets, one of which is missed."""
    finished(make_suite(["bye"]))
    items = [
        {"id": 1, "text": "Is kind", "verdict": "pass"},
        {"id": 2, "text": "Is brief", "verdict": "fail"},
    ]
    GradeResult.objects.update(
        type="rubric",
        family="judged",
        threshold=0.8,
        score=0.5,
        details={"scale": "rubric", "items": items, "met": 1, "applicable": 2, "undecided": 0},
    )
    grade = GradeResult.objects.get()
    other = User.objects.create_user("Ann")
    review_grade(grade, by=other, passed=True, item=1, reason="It is.")
    return grade


def test_a_bullet_is_overruled_and_withdrawn_by_keyboard(visit: Visit) -> None:
    grade = elsewhere(failed_rubric)
    page = visit("evals_app_execution_change", grade.execution_id)
    page.wait_for_selector("html[data-review=ready]")
    verdict, second = page.locator("#people-verdict"), page.locator(f"#people-{grade.pk}-2")
    expect(verdict).to_have_text("")

    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(second).to_be_focused()
    page.keyboard.press("x")
    expect(second.get_by_label("Because")).to_be_focused()
    page.keyboard.type("ny")  # writes, and neither steps nor says anything
    page.keyboard.press("Control+Enter")

    expect(verdict).to_contain_text("Passed with people's decisions")
    expect(second).to_contain_text("Met with people's decisions")
    expect(page.locator(f"#people-{grade.pk}")).to_contain_text("Passed with people's decisions")
    expect(page.locator("#execution-status")).to_contain_text("Passed with people's decisions")
    expect(second).to_be_focused()
    assert Run.objects.get().reviewed["verdict"] == "passed"
    assert violations(page) == []

    page.set_viewport_size(PHONE)
    second.get_by_role("button", name="Withdraw").press("Enter")

    expect(verdict).to_have_text("")
    expect(second.get_by_text("History: 1 withdrawn")).to_be_visible()
    expect(second).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    page.keyboard.press("y")
    expect(second.get_by_role("button", name="Right", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
