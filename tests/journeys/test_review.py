"""A person watches a run, reads what went wrong, and repeats it: in a real browser."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from evals_app.engine.record.judge_call import JudgeCall
from evals_app.models import Assertion, Execution, Run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.makers import make_execution, make_grade, make_run, make_trial
from tests.runs.suites import make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


def test_the_result_comes_by_itself_and_leaves_the_focus_alone(visit: Visit) -> None:
    run = elsewhere(lambda: start_run(make_suite(["hello", "bye"])))
    page = visit("evals_app_run_change", run.pk)
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    expect(page.get_by_text("python manage.py worker")).to_be_visible()
    page.evaluate("window.notReloaded = true")
    link = page.locator("#content-main").get_by_role("link", name="Greetings")
    link.focus()

    elsewhere(work)

    expect(page.get_by_role("heading", name="What went wrong")).to_be_visible()
    expect(page.get_by_role("heading", name="1 of 2 cases passed")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("Finished: failed. 1 of 2 cases passed.")
    expect(link).to_be_focused()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    assert page.evaluate("window.notReloaded")
    assert page.locator("[hx-trigger='every 2s']").count() == 0


def test_failures_come_while_the_run_goes_on_and_wait_while_one_is_in_focus(visit: Visit) -> None:
    run = elsewhere(lambda: make_run({"A": ["failed"], "B": ["queued"]}))
    page = visit("evals_app_run_change", run.pk)
    so_far = page.get_by_role("region", name="What went wrong so far")
    first = so_far.get_by_role("link", name="A")
    first.focus()

    elsewhere(lambda: make_execution(run, "C", state="failed"))

    with page.expect_response(lambda response: response.url.endswith("/live/")):
        pass  # other parts go on
    expect(first).to_be_focused()
    page.locator("#content-main").get_by_role("link", name="Refunds").focus()
    expect(so_far.get_by_role("link", name="C")).to_be_visible(timeout=10_000)


def test_from_a_failure_to_its_repair_and_a_rerun_by_keyboard(visit: Visit) -> None:
    run = elsewhere(lambda: start_run(make_suite(["hello", "bye"])))
    elsewhere(work)
    page = visit("evals_app_run_change", run.pk)

    page.get_by_role("region", name="What went wrong").get_by_role("link", name="case 2").press(
        "Enter"
    )
    expect(page.locator("#execution-verdict")).to_contain_text("bye")
    expect(page.locator(".bubble.is-user")).to_contain_text("bye")
    expect(page.locator(".bubble.is-agent")).to_contain_text("You said: bye")
    elsewhere(
        lambda: Assertion.objects.filter(turn__case__name="case 2").update(options={"value": "bye"})
    )
    page.locator(".review-actions summary").press("Enter")
    page.get_by_role("button", name="Re-run this case").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_focused()
    expect(dialog.get_by_role("radio", name="Current version")).to_be_checked()
    expect(dialog.get_by_role("listitem")).to_have_text("case “case 2”")
    dialog.get_by_role("button", name="Re-run").press("Enter")

    page.wait_for_url(lambda url: "/run/" in url)
    expect(page.get_by_text(f"Re-run of run {run.pk}").first).to_be_visible()
    elsewhere(work)
    expect(page.get_by_role("status")).to_have_text("Finished: passed. 1 of 1 case passed.")


def test_cancelling_asks_first_and_escape_lets_it_go_on(visit: Visit) -> None:
    run = elsewhere(lambda: start_run(make_suite(["hello", "bye"])))
    page = visit("evals_app_run_change", run.pk)
    cancel = page.get_by_role("button", name="Cancel", exact=True)

    cancel.press("Enter")
    expect(page.get_by_role("dialog")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(cancel).to_be_focused()
    cancel.press("Enter")
    page.get_by_role("button", name="Cancel run").click()

    expect(page.get_by_text("This run was cancelled.")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("2 not run")
    assert elsewhere(lambda: Run.objects.get().cancelled) == 2


def talk() -> Execution:
    quotes = [
        {"quote": "on  ITS way", "turn": 2, "bears_on": "", "is_verified": True},
        {"quote": "never said", "turn": None, "bears_on": "", "is_verified": False},
    ]
    call = JudgeCall("verdict", "scripted/mild", "Judge <this>.", "It is fine.", is_scripted=True)
    grade = make_grade(2, family="judged", evidence=quotes, calls=[call.to_json()])
    run = make_run(["passed", "failed"])
    return make_execution(run, "talk", trial=make_trial(turns=2), grades=[grade])


def test_evidence_is_highlighted_and_the_judges_words_are_loaded(visit: Visit) -> None:
    page = visit("evals_app_execution_change", elsewhere(talk).pk)

    page.locator(".check summary").first.press("Enter")
    page.get_by_role("button", name="on ITS way").press("Enter")
    expect(page.locator("mark.shown-quote")).to_have_text("on its way")
    expect(page.locator("#turn-2 mark.shown-quote")).to_be_in_viewport()
    expect(page.get_by_role("status")).to_have_text("Highlighted in turn 2.")
    page.get_by_role("button", name="never said").press("Enter")
    expect(page.locator("mark.shown-quote")).to_have_count(0)
    page.get_by_text("Judge prompt and answer").click()

    expect(page.get_by_text("Judge <this>.")).to_be_visible()
    expect(page.get_by_text("It is fine.")).to_be_visible()


def ticked_off() -> Execution:
    quote = {"quote": "on  ITS way", "turn": 1, "bears_on": "", "is_verified": True}
    items = [
        {
            "id": number,
            "text": f"Names the carrier {'and-the-number-of-the-parcel-' * 9}\n  - in full",
            "verdict": "fail" if number == 2 else "pass",
            "critique": "None is named.",
            "evidence": quote,
            "votes": ["pass", "fail", "pass"],
        }
        for number in range(1, 4)
    ]
    model = "openrouter/some-maker/a-model-with-quite-a-long-name-2026-05-01"
    votes = [{"model": model, "raw": "pass", "critique": "x" * 300}] * 3
    details = {"items": items, "votes": votes, "voters": [model] * 3, "flags": ["same_family"]}
    grade = make_grade(1, family="judged", type="rubric", passed=False, details=details)
    return make_execution(make_run(["failed"]), "talk", trial=make_trial(), grades=[grade])


def test_a_ticked_off_rubric_is_read_on_a_phone(visit: Visit) -> None:
    page = visit("evals_app_execution_change", elsewhere(ticked_off).pk)
    page.set_viewport_size(PHONE)

    expect(page.get_by_text("Items: 2 met, 1 missed; 3 votes on each")).to_be_visible()
    expect(page.locator("ol.judged > li")).to_have_count(3)
    expect(page.locator("ol.judged > li").nth(1)).to_contain_text("Missed")
    page.get_by_text("3 votes: pass, pass, pass").press("Enter")
    expect(page.locator("ul.judged > li").first).to_be_visible()
    page.locator("ol.judged").get_by_role("button").first.press("Enter")

    expect(page.locator("mark.shown-quote")).to_have_text("on its way")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def step(page: Page, key: str, arrives_at: str) -> None:
    # The heading stands before the script that hears keys has run.
    page.locator("html[data-review=ready]").wait_for()
    page.keyboard.press(key)
    expect(page.locator(".review-title")).to_have_text(arrives_at)


def test_j_and_k_step_through_executions_but_not_while_typing(visit: Visit) -> None:
    page = visit(
        "evals_app_execution_change", elsewhere(lambda: talk().run.executions.get(case="case 2")).pk
    )
    title = page.locator(".review-title")

    step(page, "j", "talk")
    step(page, "k", "case 2")
    page.locator("html[data-review=ready]").wait_for()
    page.keyboard.press("Control+j")
    page.evaluate("document.querySelector('.review').append(document.createElement('textarea'))")
    page.locator(".review textarea").press_sequentially("jk")

    expect(page.locator(".review textarea")).to_have_value("jk")
    expect(title).to_have_text("case 2")


def test_a_long_conversation_is_folded_and_a_quote_opens_its_turn(visit: Visit) -> None:
    quote = {"quote": "is on its way", "turn": 150, "bears_on": "", "is_verified": True}

    def long() -> Execution:
        grades = [make_grade(None, evidence=[quote])]
        return make_execution(make_run(), trial=make_trial(turns=200), grades=grades)

    page = visit("evals_app_execution_change", elsewhere(long).pk)
    assert page.locator("details.turn[open]").count() == 0

    page.locator(".check summary").first.press("Enter")
    page.get_by_role("button", name="is on its way").press("Enter")

    expect(page.locator("#turn-150[open] mark.shown-quote")).to_be_in_viewport()
    assert page.locator("details.turn[open]").count() == 1
