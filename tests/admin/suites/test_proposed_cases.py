"""The pages that propose cases from a text."""

import json
from typing import Any

import pytest
from django.test import Client, TestCase

from evals_app.models import Agent, Case, Run, Suite
from evals_app.runs.process.worker_loop import work
from fixtures_app.library import save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec
from tests.authored import a_case, write_suite
from tests.runs.suites import make_agent

pytestmark = pytest.mark.django_db

POLICY = "Refunds are paid within 14 days. Shipping costs 4.90 euros."
PROPOSED = [
    {
        "source": "Refunds are paid within 14 days.",
        "question": "How long does a refund take?",
        "answer": "It takes up to 14 days.",
    },
    {"source": "Shipping costs 4.90", "question": "What is the postage?", "answer": "4.90 euros."},
    {"source": "Shipping is free", "question": "Is it free?", "answer": "Yes."},
]


@pytest.fixture
def suite() -> Suite:
    return write_suite([a_case("Postage", turns=[{"user": "What is the postage?"}])])


@pytest.fixture
def reader() -> Agent:
    reply = json.dumps({"cases": PROPOSED, "injection_suspected": False})
    return make_agent(slug="reader", rules=[{"when": "TASK: proposed_cases", "reply": reply}])


def url(suite: Suite, what: str = "") -> str:
    return f"/admin/evals_app/suite/{suite.pk}/propose/{what}"


def ask(client: Client, suite: Suite, what: str = "", **fields: Any) -> Any:
    form = {"text": POLICY, "count": 5, "model": "scripted/reader", **fields}
    with TestCase.captureOnCommitCallbacks(execute=True):
        return client.post(url(suite, what), form)


def answers(page: Any, *, keep: int, **words: str) -> dict[str, str]:
    """Return the form of the page with one case ticked."""
    rows = page.context["rows"]
    form = {f"form-{name}": value for name, value in rows.management_form.initial.items()}
    for row in rows:
        form |= {f"{row.prefix}-{name}": value for name, value in row.initial.items()}
    changed = {f"form-{keep}-{name}": text for name, text in words.items()}
    return form | {f"form-{keep}-keep": "on"} | changed


def test_only_what_is_ticked_becomes_a_case_with_its_source(
    admin_client: Client, suite: Suite, reader: Agent
) -> None:
    page = ask(admin_client, suite)["Location"]
    assert "No worker is running" in admin_client.get(page).content.decode()
    work()

    shown = admin_client.get(page)
    text = shown.content.decode()
    assert [case.question for case in shown.context["found"].cases] == [
        "How long does a refund take?",
        "What is the postage?",
    ]
    assert "A case asks nearly the same: What is the postage?" in text
    assert "Is it free? The sentence that it quotes is not in the text." in text
    assert suite.cases.count() == 1
    form = answers(shown, keep=0, answer="Up to 14 days, in words.")
    assert admin_client.post(page, form)["Location"].endswith(f"/suite/{suite.pk}/cases/")

    case = Case.objects.exclude(name="Postage").get()
    turn = case.to_spec().turns[0]
    assert turn.user == "How long does a refund take?"
    assert turn.context == ["Refunds are paid within 14 days."]
    assert turn.inherit
    (check,) = turn.assertions or []
    assert "The reply says: Up to 14 days, in words." in str(check)
    assert "which says: Refunds are paid within 14 days." in case.description
    assert Agent.objects.count() == 2
    assert not Suite.objects.exclude(pk=suite.pk).exists()


def test_without_a_tick_nothing_is_added(admin_client: Client, suite: Suite, reader: Agent) -> None:
    page = ask(admin_client, suite)["Location"]
    work()

    form = answers(admin_client.get(page), keep=0)
    form.pop("form-0-keep")
    assert "Tick what to add." in admin_client.post(page, form, follow=True).content.decode()
    assert suite.cases.count() == 1


def test_the_price_is_said_first_and_nothing_is_asked(
    admin_client: Client, suite: Suite, reader: Agent
) -> None:
    assert "1 conversation" in ask(admin_client, suite, "price/").content.decode()
    assert not Run.objects.exists()
    assert Agent.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"text": ""}, "Paste a text, or choose test data."),
        ({"model": "scripted/raeder"}, "No scripted agent is called"),
        ({"model": "nonsense"}, "nonsense"),
        ({"count": 21}, "20"),
    ],
)
def test_what_cannot_be_asked_is_explained(
    admin_client: Client, suite: Suite, reader: Agent, fields: dict[str, Any], problem: str
) -> None:
    page = ask(admin_client, suite, **fields)

    assert problem in page.content.decode()
    assert not Run.objects.exists()


def test_a_reply_in_another_form_is_said(admin_client: Client, suite: Suite) -> None:
    make_agent(slug="reader", rules=[{"reply": "I cannot do that."}])
    page = ask(admin_client, suite)["Location"]
    work()

    text = admin_client.get(page).content.decode()
    assert "Nothing was proposed." in text
    assert "The answer holds no JSON object." in text


def test_test_data_is_read_too(admin_client: Client, suite: Suite, reader: Agent) -> None:
    spec = {
        "name": "Policies",
        "slug": "policies",
        "entities": [],
        "chunks": [{"id": "a", "text": POLICY}],
    }
    save_fixture(FixtureSpec.model_validate(spec))
    fixture = Fixture.objects.get()

    page = ask(admin_client, suite, text="", fixture=fixture.pk)["Location"]
    work()
    assert len(admin_client.get(page).context["found"].cases) == 2
    both = ask(admin_client, suite, fixture=fixture.pk).content.decode()
    assert "Paste a text or choose test data, not both." in both
