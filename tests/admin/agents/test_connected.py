"""The page of an agent on someone's computer."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client

from evals_app.models import Agent, Computer
from evals_app.models.run_records.connections import SEEN_WITHIN
from tests.runs.suites import make_agent

pytestmark = pytest.mark.django_db


def page(client: Client, agent: Agent) -> str:
    return client.get(f"/admin/evals_app/agent/{agent.pk}/change/").text


def test_it_shows_who_is_connected_and_the_command(admin_client: Client) -> None:
    agent = make_agent("laptop", driver="connected", rules=None)
    ana = User.objects.create_user("ana")
    about: dict[str, Any] = {"agent": "laptop", "user": ana}
    Computer.objects.create(pk=uuid4(), host="anas-laptop", seen_at=Now(), **about)
    Computer.objects.create(pk=uuid4(), host="gone", seen_at=Now() - 2 * SEEN_WITHIN, **about)

    shown = page(admin_client, agent)

    assert "anas-laptop" in shown
    assert "gone" not in shown
    assert "evalwell connect laptop" in shown


def test_without_a_computer_it_says_so(admin_client: Client) -> None:
    agent = make_agent("laptop", driver="connected", rules=None)

    assert "No computer is connected" in page(admin_client, agent)
    assert "connected-title" not in page(admin_client, make_agent())


def test_a_new_agent_may_be_on_a_computer_and_the_command_is_there_to_copy(
    admin_client: Client,
) -> None:
    make_agent("my-agent")

    cards = admin_client.get("/admin/evals_app/agent/add/").text
    form = admin_client.get("/admin/evals_app/agent/add/?start=computer").text

    assert "evalwell connect my-agent-2 --site" in cards
    assert 'value="my-agent-2"' in form
    assert 'value="connected" selected' in form
