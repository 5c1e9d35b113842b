"""An agent that begins with a starting point, or with what a person pastes."""

import json
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from evals_app.admin.address_wizard import EXAMPLE_REPLY, EXAMPLE_REQUEST
from evals_app.admin.starting_points import STARTING_POINTS
from evals_app.models import Agent
from tests.engine.permitting import permitting
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

ADD = "/admin/evals_app/agent/add/"
URL = "https://agent.example/chat"
CHAT = {
    "model": "big",
    "messages": [
        {"role": "system", "content": "Be {{kind}}."},
        {"role": "user", "content": "Hello"},
    ],
}


def paste(client: Client, request: str, reply: str = "") -> Any:
    address = reverse("admin:evals_app_agent_address")
    return client.post(address, {"name": "Ours", "request": request, "reply": reply})


def begun(client: Client, request: str, reply: str = "") -> PageForm:
    """Return the page that adds an agent, with what was pasted."""
    response = paste(client, request, reply)
    assert response.status_code == 302, response.content.decode()
    page = open_page(client, response.headers["Location"])
    page.url = ADD
    return page


def test_the_example_becomes_an_agent(admin_client: Client) -> None:
    page = begun(admin_client, EXAMPLE_REQUEST, EXAMPLE_REPLY)

    assert "It arrives tomorrow." in page.text
    assert "orders.find" in page.text
    saved = page.post(slug="ours")
    assert saved.is_saved, saved.problems
    agent = Agent.objects.get()
    assert agent.name == "Ours"
    assert (agent.driver, agent.protocol) == ("http", "json")
    assert (agent.url, agent.headers) == ("https://agent.example.org/chat", {"X-Tenant": "acme"})


@pytest.mark.parametrize(
    ("request_body", "reply"),
    [
        pytest.param(json.dumps(CHAT), "", id="request"),
        pytest.param(
            json.dumps(CHAT),
            json.dumps({"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}),
            id="request and reply",
        ),
    ],
)
def test_chat_completions_are_recognised(
    admin_client: Client, request_body: str, reply: str
) -> None:
    page = begun(admin_client, f"curl {URL} -d '{request_body}'", reply)

    assert page.post(slug="ours").is_saved
    agent = Agent.objects.get()
    assert (agent.protocol, agent.remote_model) == ("openai-chat", "big")
    assert agent.system_prompt == r"Be \{{kind}}."


@pytest.mark.parametrize("option", ["-H 'Authorization: Bearer s3cret'", "-u me:s3cret"])
@pytest.mark.parametrize(
    ("permitted", "variable"),
    [("PROVIDER_OUR_KEY", "PROVIDER_OUR_KEY"), ("AGENT_*", "AGENT_AUTHORIZATION")],
)
def test_keys_become_variables_and_are_kept_nowhere(
    admin_client: Client, option: str, permitted: str, variable: str
) -> None:
    with permitting(variables=(permitted,)):
        page = begun(admin_client, f"curl {URL} {option}")
        assert variable in page.text
        saved = page.post(slug="ours")

    assert saved.is_saved, saved.problems
    assert Agent.objects.get().headers == {"Authorization": {"env": variable}}
    kept = [session.get_decoded() for session in Session.objects.all()]
    assert "s3cret" not in f"{page.html}{kept}"


@pytest.mark.parametrize(
    ("request_text", "reply", "word"),
    [
        pytest.param("curl -X GET " + URL, "", "GET", id="method"),
        pytest.param(
            "http://127.0.0.1/chat", "", "EVALS_PRIVATE_HOSTS", id="address of this machine"
        ),
        pytest.param(URL, '{"output": null, "tool_calls": []}', "output", id="no text"),
        pytest.param(URL, '{"output": "a", "tool_calls": [{}]}', "name", id="call without a name"),
    ],
)
def test_what_cannot_be_used_is_refused_and_stays_typed(
    admin_client: Client, request_text: str, reply: str, word: str
) -> None:
    response = paste(admin_client, request_text, reply)

    assert response.status_code == 200
    errors = str(response.context["form"].errors)
    assert word in errors
    assert response.context["form"]["request"].value() == request_text


def test_a_reply_of_another_shape_says_where_its_texts_are(admin_client: Client) -> None:
    page = begun(admin_client, URL, '{"data": {"answers": ["Hello"]}}')

    assert "data.answers[0]" in page.text


def test_a_starting_point_that_needs_nothing_is_saved_as_it_is(admin_client: Client) -> None:
    page = open_page(admin_client, f"{ADD}?start=scripted")
    page.url = ADD

    saved = page.post(slug="order-bot")

    assert saved.is_saved, saved.problems
    agent = Agent.objects.get()
    assert agent.rules == STARTING_POINTS["scripted"].initial["rules"]
    assert agent.tool_names == ["orders.find"]


def test_a_model_needs_only_its_name(admin_client: Client) -> None:
    page = open_page(admin_client, f"{ADD}?start=model")
    page.url = ADD

    saved = page.post(slug="order-assistant", model="anthropic/claude-haiku-5-5")

    assert saved.is_saved, saved.problems
    assert Agent.objects.get().tool_names == ["orders.find"]


def test_every_starting_point_is_offered(admin_client: Client) -> None:
    page = open_page(admin_client, ADD)

    for name in STARTING_POINTS:
        assert f"?start={name}" in page.html
    assert reverse("admin:evals_app_agent_address") in page.html
