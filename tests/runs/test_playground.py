"""Talking to an agent: each message is a trial run, which leaves no suite behind."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import TestCase

from evals_app.models import Agent, MonthlyCeiling, Run, Spending, Suite, Transcript
from evals_app.runs.playground import Exchanged, start_talk
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.freeze import CannotStartError
from fixtures_app.library import save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec
from tests.agent_server import Sent, WebServer
from tests.engine.permitting import permitting
from tests.model_server import ModelServer
from tests.runs.priced import make_priced_suite, one_cent
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db

COUNTING = [
    {"when": "again", "turn": 2, "reply": "The second: {{input}}"},
    {"reply": "You said: {{input}}"},
]


def answered(agent: Agent, message: str, **how: Any) -> dict[str, Any]:
    """Return the last turn of the conversation that answers a message."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        run = start_talk(agent, message, **how)
    work()
    turns = Transcript.objects.get(execution__run=run).trial["turns"]
    turn: dict[str, Any] = turns[-1]
    return turn


def test_a_message_is_a_trial_run_that_leaves_no_suite() -> None:
    turn = answered(make_agent(rules=COUNTING), "Hello {{name}}")

    assert turn["messages"][-1]["text"] == "You said: Hello {{name}}"
    run = Run.objects.get()
    assert (run.is_tryout, run.is_whole, run.suite) == (True, False, None)
    assert run.verdict == "passed"
    assert not Suite.objects.exists()


def test_rules_know_the_number_of_the_turn() -> None:
    before = [Exchanged("Hello", "You said: Hello")]

    turn = answered(make_agent(rules=COUNTING), "again", before=before)

    assert turn["messages"][-1]["text"] == "The second: again"


def test_other_agents_are_sent_the_earlier_messages_once() -> None:
    with WebServer(lambda _: Sent.json({"output": "Fine."})) as server:
        agent = make_agent(driver="http", rules=[], url=server.url)
        with permitting(hosts=(server.host,)):
            answered(agent, "And now?", before=[Exchanged("{{Hello}}", "Hi.")])

    (asked,) = server.asked
    assert asked.body["input"] == "And now?"
    assert asked.body["history"] == [
        {"role": "user", "content": "{{Hello}}"},
        {"role": "assistant", "content": "Hi."},
    ]


def test_tools_use_the_chosen_test_data() -> None:
    shop = {
        "name": "Shop",
        "slug": "shop",
        "entity_types": [{"slug": "order", "schema": {}}],
        "entities": [{"ref": "o-1", "type": "order", "data": {"total": 7}}],
    }
    save_fixture(FixtureSpec.model_validate(shop))
    call = {"tool": "entity.query", "args": {"type": "order"}}
    rules = [{"calls": [call], "reply": "{{result.1.total}}"}]
    agent = make_agent(rules=rules, tools=["entity.query"])

    texts = [
        answered(agent, "How many?", fixture=fixture)["messages"][-1]["text"]
        for fixture in (None, Fixture.objects.get())
    ]

    assert texts == ["0", "1"]


def test_an_agent_that_cannot_be_asked_leaves_nothing() -> None:
    agent = make_agent(driver="model", rules=[], model="nowhere/big")

    with pytest.raises(CannotStartError, match="nowhere"):
        start_talk(agent, "Hello")

    assert not Suite.objects.exists()
    assert not Run.all_runs.exists()


def test_a_suite_of_the_same_slug_is_left_alone() -> None:
    suite = make_suite(slug="talk-with-echo")

    answered(suite.agent, "Hello")

    assert list(Suite.objects.all()) == [suite]


def test_messages_to_a_model_are_paid_by_whoever_sends_them(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.answers(one_cent)
    agent = make_priced_suite(model_server, monkeypatch, cases=1).agent
    ann = User.objects.create(username="ann")

    turn = answered(agent, "And now?", before=[Exchanged("First", "Yes.")], by=ann)

    (body,) = model_server.bodies
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert Decimal(turn["cost_usd"]) == Decimal("0.01")
    entry = Spending.objects.get()
    assert (entry.person, entry.spent_usd) == (ann, Decimal("0.01"))


def test_nobody_talks_above_their_monthly_ceiling(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_priced_suite(model_server, monkeypatch, cases=1).agent
    ann = User.objects.create(username="ann")
    MonthlyCeiling.objects.create(person=ann, max_usd=0)

    with pytest.raises(CannotStartError):
        start_talk(agent, "Hello", by=ann)
