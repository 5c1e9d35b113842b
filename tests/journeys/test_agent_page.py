"""A person writes an agent in a browser."""

import pytest
from playwright.sync_api import expect

from evals_app.models import Agent
from evals_app.runs.process.worker_loop import work
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import save_and_stay

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_only_what_the_chosen_kind_of_agent_needs_is_asked_for(visit: Visit) -> None:
    page = visit("evals_app_agent_add", query="?start=form")
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
            place = "text" if label in {"Rules", "Own tools"} else "label"
            find = page.get_by_text if place == "text" else page.get_by_label
            expect(find(label, exact=True).last).to_be_visible(visible=label in labels)

    page.get_by_label("Name").press_sequentially("My bot")
    page.get_by_role("button", name="+ Add a rule").click()
    page.get_by_label("When the message").select_option("always")
    expect(page.get_by_label("Words", exact=True)).to_be_hidden()
    page.get_by_label("Then answer").fill("Hello")
    page.get_by_label("entity.get").check()
    save_and_stay(page)
    page.wait_for_url("**/evals_app/agent/*/change/**")
    agent = Agent.objects.get()
    assert (agent.slug, agent.tools) == ("my-bot", ["entity.get"])
    assert agent.connection["rules"] == [{"reply": "Hello"}]

    kind.select_option("http")
    page.get_by_label("Protocol").select_option("openai-chat")
    page.get_by_label("System prompt").fill("Be kind.")
    kind.select_option("command")
    # What stands in a field would be saved: it stays in sight.
    expect(page.get_by_label("System prompt")).to_be_visible()


def test_the_slug_of_a_begun_agent_follows_its_name_until_it_is_edited(visit: Visit) -> None:
    page = visit("evals_app_agent_add")
    page.get_by_role("link", name="I just want to try").press("Enter")
    name, slug = page.get_by_label("Name*").first, page.get_by_label("Slug")
    expect(slug).to_have_value("order-bot")

    name.press("Control+a")
    name.press_sequentially("Parcel bot")
    expect(slug).to_have_value("parcel-bot")
    slug.fill("mine")
    name.press("End")
    name.press_sequentially(" 2")

    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/evals_app/agent/*/change/**")
    agent = Agent.objects.get()
    assert (agent.name, agent.slug) == ("Parcel bot 2", "mine")


def test_a_scripted_agent_is_written_without_yaml_and_talked_to(visit: Visit) -> None:
    page = visit("evals_app_agent_add", query="?start=form")
    page.get_by_label("Name*").first.press_sequentially("Order bot")
    page.get_by_label("Type*", exact=True).select_option("scripted")

    page.get_by_role("button", name="+ Add a tool", exact=True).click()
    tool = page.locator(".ew-tool-row")
    tool.get_by_label("Name", exact=True).fill("orders.find")
    tool.get_by_label("Argument", exact=True).first.fill("number")
    tool.get_by_label("Kind", exact=True).first.select_option("integer")
    tool.get_by_role("button", name="+ Add an answer").click()
    tool.get_by_role("textbox", name="Answer", exact=True).fill("shipped")

    add_rule = page.get_by_role("button", name="+ Add a rule")
    rules = page.locator(".ew-rule-row")
    add_rule.click()
    rules.nth(0).get_by_label("When the message").select_option("always")
    rules.nth(0).get_by_label("Then answer").fill("Which order?")
    add_rule.click()  # above the one for any message
    rules.nth(0).get_by_label("Words", exact=True).fill("order 7")
    expect(page.get_by_text("Never reached")).to_have_count(2)
    expect(page.get_by_text("Never reached").locator("visible=true")).to_have_count(0)
    rules.nth(0).get_by_role("button", name="Move rule").press("ArrowDown")
    expect(rules.nth(1).get_by_text("Never reached")).to_be_visible()
    rules.nth(0).get_by_role("button", name="Move rule").press("ArrowDown")
    rules.nth(0).get_by_role("button", name="+ Add a tool call").click()
    call = rules.nth(0).locator("[data-row=Call]")
    call.get_by_role("combobox", name="Tool", exact=True).press_sequentially("orders.find")
    expect(page.locator("#ew-tool option").first).to_have_attribute("value", "orders.find")
    call.get_by_label("Argument", exact=True).focus()
    expect(page.locator("#ew-argument option")).to_have_attribute("value", "number")
    call.get_by_label("Argument", exact=True).fill("number")
    call.get_by_label("Value", exact=True).fill("7")
    expect(call.get_by_label("Kind of value")).to_have_value("number")
    rules.nth(0).get_by_label("Then answer").press_sequentially("It is ")
    rules.nth(0).get_by_text("Placeholders", exact=True).click()
    rules.nth(0).get_by_role("button", name="{{result.1}}", exact=True).click()
    page.keyboard.type(".")

    save_and_stay(page)
    page.wait_for_url("**/evals_app/agent/*/change/**")
    agent = Agent.objects.get()
    assert [rule.get("when") for rule in agent.connection["rules"]] == ["order 7", None]

    page.get_by_role("link", name="Talk to it").click()
    for message, reply in (("Hello", "Which order?"), ("Where is order 7?", "It is shipped.")):
        page.get_by_label("Your message").fill(message)
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("No worker is running")).to_be_visible()
        elsewhere(work)
        expect(page.get_by_text(reply, exact=True)).to_be_visible()
    page.locator("summary", has_text="orders.find").click()
    expect(page.get_by_text('"number": 7')).to_be_visible()
