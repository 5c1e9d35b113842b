"""From a curl command to an agent that answers, though its JSON is its own."""

import json

import pytest
from playwright.sync_api import expect

from evals_app.models import Agent
from evals_app.runs.process.worker_loop import work
from tests.agent_server import Asked, Sent, WebServer
from tests.elsewhere import elsewhere
from tests.engine.permitting import permitting
from tests.journeys.conftest import Visit
from tests.journeys.picking import save_and_stay

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def answer(asked: Asked) -> Sent:
    steps = [{"tool": "orders.find", "input": {"number": 1042}}]
    reply = f"“{asked.body['question']}” It has shipped."
    return Sent.json({"status": "all is well", "data": {"reply": reply, "steps": steps}})


def test_an_agent_with_json_of_its_own_is_added_tested_and_talked_to(visit: Visit) -> None:
    with WebServer(answer) as server, permitting(hosts=(server.host,)):
        page = visit("evals_app_agent_changelist")
        page.get_by_role("link", name="Add your first agent").click()
        page.get_by_role("link", name="It has a web address").click()
        page.get_by_label("Name*").fill("Shop")
        body = json.dumps({"question": "Where is order 1042?", "stream": False})
        page.get_by_label("curl command").fill(f"curl {server.url} -d '{body}'")

        page.get_by_role("button", name="Send it once").click()
        expect(page.get_by_label("A reply from your agent")).to_have_value(server_said())
        for question, choice in (
            ("message", "question"),
            ("answer", "reply in data"),
            ("tool calls", "steps in data"),
        ):
            choices = page.get_by_role("radiogroup", name=question)
            expect(choices.get_by_role("radio", name=choice)).to_be_checked()

        choices = page.get_by_role("radiogroup", name="answer")
        choices.get_by_role("radio", name="reply in data").focus()
        page.keyboard.press("ArrowDown")
        page.get_by_role("button", name="Ask the agent").press("Enter")
        expect(page.get_by_text("all is well", exact=True)).to_be_visible()
        choices.get_by_role("radio", name="reply in data").check()
        page.get_by_label("Message", exact=True).fill("Really?")
        page.get_by_role("button", name="Ask the agent").click()
        expect(page.get_by_text("“Really?” It has shipped.", exact=True)).to_be_visible()
        expect(page.get_by_text("orders.find", exact=True)).to_be_visible()

        page.get_by_role("button", name="Use this").click()
        expect(page.get_by_label("Text", exact=True)).to_have_value("data.reply")
        save_and_stay(page)
        page.wait_for_url("**/evals_app/agent/*/change/**")
        agent = elsewhere(Agent.objects.get)
        assert agent.connection["request"] == {"question": "{{input}}", "stream": False}

        page.get_by_role("link", name="Talk to it").click()
        page.get_by_label("Your message").fill("Hello")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("No worker is running")).to_be_visible()
        elsewhere(work)
        expect(page.get_by_text("“Hello” It has shipped.", exact=True)).to_be_visible()


def test_a_developer_connects_an_agent_without_an_account(visit: Visit) -> None:
    with WebServer(answer) as server, permitting(hosts=(server.host,)):
        page = visit("evals_app_agent_changelist")
        page.get_by_role("link", name="Add your first agent").click()
        page.get_by_role("link", name="Ask your developer").click()
        page.get_by_label("Name of the agent").fill("Shop")
        page.get_by_role("button", name="Make a link").click()
        link = page.get_by_label("Link").input_value()
        page.get_by_role("link", name="I have copied it").click()
        expect(page.get_by_role("heading", name="Waiting for your developer")).to_be_visible()

        assert page.context.browser is not None
        developer = page.context.browser.new_context().new_page()
        developer.goto(link)
        body = json.dumps({"question": "Where is order 1042?", "stream": False})
        developer.get_by_label("curl command").fill(f"curl {server.url} -d '{body}'")
        developer.get_by_role("button", name="Send it once").click()
        developer.get_by_role("radio", name="reply in data").check()
        developer.get_by_role("button", name="Ask the agent").click()
        expect(developer.get_by_text("orders.find", exact=True)).to_be_visible()
        developer.get_by_role("button", name="Send", exact=True).click()
        expect(developer.get_by_role("status")).to_contain_text("An answer arrived")

        page.reload()
        expect(page.get_by_role("heading", name="Your developer answered")).to_be_visible()
        page.locator("#content-main, main").get_by_role("link", name="Talk to it").first.click()
        expect(page.get_by_label("Your message")).to_be_visible()


def server_said() -> str:
    sent = answer(Asked("POST", "/", {}, b'{"question": "Where is order 1042?"}'))
    return json.dumps(json.loads(sent.content), ensure_ascii=False, indent=2)
