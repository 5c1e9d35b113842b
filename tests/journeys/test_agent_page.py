"""A person writes an agent in a browser."""

import pytest
from playwright.sync_api import expect

from evals_app.models import Agent
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_only_what_the_chosen_kind_of_agent_needs_is_asked_for(visit: Visit) -> None:
    page = visit("evals_app_agent_add")
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
        for label in dict.fromkeys(label for some in shown.values() for label in some):
            field = page.get_by_label(label, exact=True).first
            expect(field).to_be_visible(visible=label in labels)

    page.get_by_label("Name").press_sequentially("My bot")
    page.get_by_label("Rules").fill("- reply: Hello")
    page.get_by_label("entity.get").check()
    page.get_by_role("button", name="Save and continue editing").click()
    page.wait_for_url("**/evals_app/agent/*/change/")
    agent = Agent.objects.get()
    assert (agent.slug, agent.tools) == ("my-bot", ["entity.get"])
    assert agent.rules == [{"reply": "Hello"}]

    kind.select_option("http")
    page.get_by_label("Protocol").select_option("openai-chat")
    page.get_by_label("System prompt").fill("Be kind.")
    kind.select_option("command")
    # What stands in a field would be saved: it stays in sight.
    expect(page.get_by_label("System prompt")).to_be_visible()
