"""A person lets a model play the user of a case, runs it, and reads what happened."""

import pytest
from playwright.sync_api import expect

from evals_app.models import Case, Run
from evals_app.runs.process.worker_loop import work
from tests.authored import a_case, write_suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.runs.suites import make_agent

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def write_case() -> Case:
    """Write a case for an agent that asks back, and a script that answers it."""
    make_agent("user", rules=[{"when": "Which order", "reply": "A-1042, please."}])
    ends = {"type": "contains", "value": "refunded"}
    suite = write_suite([a_case("A refund", final_assertions=[ends])])
    suite.cases.get().turns.get().assertions.all().delete()
    rules = [{"when": "A-1042", "reply": "It is refunded."}, {"reply": "Which order is it?"}]
    suite.agent.connection = {"rules": rules}
    suite.agent.save()
    return suite.cases.get()


def test_a_model_plays_the_user_of_a_case(visit: Visit) -> None:
    page = visit("evals_app_case_change", elsewhere(lambda: write_case().pk))

    page.locator("summary", has_text="User").press("Enter")
    expect(page.get_by_label("Goal")).to_be_hidden()
    page.get_by_label("Who says the user's words").select_option("A model, after the turns")
    page.get_by_label("Goal").fill("Get the money back for order A-1042.")
    page.get_by_label("At most", exact=True).fill("4")
    page.get_by_label("Model that plays the user").fill("scripted/user")
    page.get_by_role("button", name="Save and run").press("Enter")
    page.wait_for_url(lambda url: "/execution/" in url or "/run/" in url)
    elsewhere(work)

    run = elsewhere(Run.objects.get)
    assert (run.total, run.passed, run.is_simulated) == (3, 3, True)
    first = elsewhere(lambda: run.executions.earliest("pk").pk)
    page = visit("evals_app_execution_change", first)
    said = page.get_by_role("region", name="Turn 2").get_by_text("A-1042, please.")
    expect(said).to_be_visible()
    expect(page.locator("#execution-verdict")).to_contain_text("Passed")
