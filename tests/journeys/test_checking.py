"""A person draws grades of a run and checks them, with the keyboard alone: in a real browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, ViewportSize, expect

from evals_app.models import Review, ReviewTask
from evals_app.runs.reviews.review_tasks import create_task
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import open_more
from tests.runs.judged_runs import judged_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


def press_on_the_next_page(page: Page, key: str) -> None:
    with page.expect_navigation():
        page.keyboard.press(key)
    expect(page.locator("html")).to_have_attribute("data-review", "ready")


def test_a_sample_is_drawn_and_checked_by_keyboard(visit: Visit) -> None:
    run = elsewhere(lambda: judged_run("hello", "hello", "rude", "hello", "rude", "hello"))
    page = visit("evals_app_run_change", run.pk)

    open_more(page)
    page.get_by_role("button", name="Check grades").first.press("Enter")
    dialog = page.get_by_role("dialog", name="Check grades")
    dialog.get_by_label("Grades to check").fill("5")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="5 grades")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-review", "ready")
    press_on_the_next_page(page, "Enter")

    for number in range(1, 6):
        expect(page.get_by_text(f"{number} of 5", exact=False).first).to_be_visible()
        expect(page.locator(".is-checked")).to_have_count(1)
        if number == 1:
            page.keyboard.press("r")
            expect(page.get_by_label("Reason")).to_be_focused()
            page.keyboard.type("It is yes and no.")
            page.keyboard.press("Escape")
        press_on_the_next_page(page, "y")
        reveal = page.get_by_role("heading", name="gree with the judge")
        expect(reveal).to_be_focused()
        press_on_the_next_page(page, "Enter")

    expect(page.get_by_text("You have checked all of them.")).to_be_visible()
    expect(page.get_by_role("region", name="People disagree with the judge")).to_be_visible()
    said = elsewhere(lambda: list(Review.objects.order_by("pk").values_list("passed", "was_blind")))
    assert said == [(True, True)] * 5
    assert elsewhere(lambda: Review.objects.earliest("pk").reason) == "It is yes and no."


def test_on_a_phone_the_answers_are_in_reach(visit: Visit, admin_user: User) -> None:
    def draw() -> ReviewTask:
        return create_task(judged_run("hello " * 1000), by=admin_user)

    task = elsewhere(draw)
    page = visit("evals_app_reviewtask_check", task.pk, 1)
    page.set_viewport_size(PHONE)

    button = page.get_by_role("button", name="Does not meet it")
    place = button.bounding_box()
    assert place is not None
    assert place["x"] + place["width"] <= PHONE["width"]
    assert place["y"] + place["height"] <= PHONE["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    button.click()
    expect(page.get_by_role("heading", name="You disagree with the judge")).to_be_in_viewport()
