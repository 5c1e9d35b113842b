"""The page on which people talk to an agent."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, TestCase
from django.urls import reverse

from evals_app.models import Agent, Run
from evals_app.runs.process.worker_loop import work
from tests.runs.suites import make_agent

pytestmark = pytest.mark.django_db

RULES = [{"when": "order", "reply": "It <b>ships</b>."}]


def url(agent: Agent, what: str = "talk") -> str:
    return reverse(f"admin:evals_app_agent_{what}", args=[agent.pk])


def send(client: Client, agent: Agent, message: str, **more: Any) -> Any:
    with TestCase.captureOnCommitCallbacks(execute=True):
        return client.post(url(agent), {"message": message, **more})


def test_a_reply_appears_when_a_worker_has_asked(admin_client: Client) -> None:
    agent = make_agent(rules=RULES)

    assert send(admin_client, agent, "My order").status_code == 302
    waiting = admin_client.get(url(agent, "talk_live")).content.decode()
    work()
    answered = admin_client.get(url(agent, "talk_live")).content.decode()

    assert "hx-get" in waiting
    assert "My order" in waiting
    assert "hx-get" not in answered
    assert "It &lt;b&gt;ships&lt;/b&gt;." in answered


def test_a_second_message_waits_for_the_first_reply_and_stays_typed(admin_client: Client) -> None:
    agent = make_agent(rules=RULES)
    send(admin_client, agent, "My order")

    page = send(admin_client, agent, "Please hurry").content.decode()

    assert "still answering" in page
    assert "Please hurry" in page
    assert Run.objects.count() == 1


def test_what_an_agent_did_not_answer_is_no_part_of_the_conversation(admin_client: Client) -> None:
    agent = make_agent(rules=[*RULES, {"when": "more", "turn": 2, "reply": "Second."}])

    for message in ("xyzzy", "xyzzy", "My order", "more"):
        send(admin_client, agent, message)
        work()
    page = admin_client.get(url(agent)).content.decode()

    assert page.count("No rule") == 2
    assert "Second." in page


@pytest.mark.parametrize("message", ["", "   ", "x" * 20_001], ids=["none", "blank", "long"])
def test_a_message_that_is_none_is_refused(admin_client: Client, message: str) -> None:
    agent = make_agent(rules=RULES)

    assert send(admin_client, agent, message).status_code == 200
    assert not Run.objects.exists()


def test_why_an_agent_cannot_be_asked_is_beside_the_message(admin_client: Client) -> None:
    agent = make_agent(driver="model", rules=[], model="nowhere/big")

    page = send(admin_client, agent, "Hello there").content.decode()

    assert "nowhere" in page
    assert "Hello there" in page


def test_starting_over_forgets_the_conversation(admin_client: Client) -> None:
    agent = make_agent(rules=RULES)
    send(admin_client, agent, "My order")
    work()

    admin_client.post(url(agent), {"reset": "1", "message": ""})

    assert "My order" not in admin_client.get(url(agent)).content.decode()


def test_no_one_sees_the_conversation_of_someone_else(admin_client: Client) -> None:
    agent = make_agent(rules=RULES)
    send(admin_client, agent, "My order")
    other = Client()
    other.force_login(User.objects.create_superuser("other"))
    session = other.session
    session[f"talk-{agent.pk}"] = {"runs": [Run.objects.get().pk]}
    session.save()

    assert "My order" not in other.get(url(agent)).content.decode()


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({"driver": "model", "model": "anthropic/big"}, "anthropic/big", id="model"),
        pytest.param({"driver": "http", "url": "https://a.example/"}, "money", id="outside"),
        pytest.param({"rules": RULES}, "nothing", id="scripted"),
    ],
)
def test_the_page_says_what_a_message_costs_before_the_first(
    admin_client: Client, changes: dict[str, Any], word: str
) -> None:
    agent = make_agent(**{"rules": []} | changes)

    assert word in admin_client.get(url(agent)).content.decode()


def test_a_longer_conversation_needs_no_more_queries(
    admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    agent = make_agent(rules=RULES)
    for _ in range(4):
        send(admin_client, agent, "My order")
        work()

    with django_assert_max_num_queries(10):
        assert admin_client.get(url(agent)).content.count(b"ships") == 4
