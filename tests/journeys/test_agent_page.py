"""A person writes an agent in a browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from evals_app.models import Agent
from tests.signed_in import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_scripted_agent_is_asked_for_rules_and_for_no_model(
    page: Page, live_server: LiveServer, admin_user: User
) -> None:
    sign_in(page, live_server, admin_user)
    page.goto(f"{live_server.url}/admin/evals_app/agent/add/")
    expect(page.get_by_label("System prompt")).to_be_visible()
    expect(page.get_by_label("Rules")).to_be_hidden()

    page.get_by_label("Name").press_sequentially("My bot")
    page.get_by_label("Type*", exact=True).select_option("scripted")
    expect(page.get_by_label("System prompt")).to_be_hidden()
    page.get_by_label("Rules").fill("- reply: Hello")
    page.get_by_label("entity.get").check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()

    agent = Agent.objects.get()
    assert (agent.slug, agent.tools, agent.rules) == (
        "my-bot",
        ["entity.get"],
        [{"reply": "Hello"}],
    )


def test_only_what_the_chosen_kind_of_agent_needs_is_asked_for(
    page: Page, live_server: LiveServer, admin_user: User
) -> None:
    sign_in(page, live_server, admin_user)
    page.goto(f"{live_server.url}/admin/evals_app/agent/add/")
    kind = page.get_by_label("Type*", exact=True)
    shown = {
        "model": ["Temperature", "System prompt", "Own tools", "Max tool-call rounds per turn"],
        "http": ["Address", "Header", "Protocol*"],
        "python": ["Function"],
        "command": ["Program and arguments"],
        "scripted": ["Rules", "Own tools"],
    }

    for chosen, labels in shown.items():
        kind.select_option(chosen)
        for label in dict.fromkeys(each for some in shown.values() for each in some):
            field = page.get_by_label(label, exact=True).first
            if label in labels:
                expect(field).to_be_visible()
            else:
                expect(field).to_be_hidden()

    kind.select_option("http")
    page.get_by_label("Protocol").select_option("openai-chat")
    expect(page.get_by_label("System prompt")).to_be_visible()
    page.get_by_label("System prompt").fill("Be kind.")
    kind.select_option("command")
    # What stands in a field would be saved: it stays in sight.
    expect(page.get_by_label("System prompt")).to_be_visible()
