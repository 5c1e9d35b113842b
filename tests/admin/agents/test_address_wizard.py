"""An agent that begins with a starting point, or with what a person pastes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from lxml import html

from evals_app.admin.agents.address_wizard import EXAMPLE_REPLY, EXAMPLE_REQUEST
from evals_app.admin.agents.starting_cards import STARTING_POINTS
from evals_app.models import Agent, SignedInSession
from tests.agent_server import Asked, Sent, WebServer
from tests.authored import client_who_may
from tests.engine.permitting import permitting
from tests.page_form import Fields, PageForm, open_page, posted_by

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
CHAT_REPLY = {"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}
FOREIGN = {
    "status": "everything is fine",
    "data": {"answer": "Hi.", "steps": [{"tool": "orders.find", "input": {"number": 7}}]},
    "usage": {"prompt_tokens": 12},
}
SEND = f"curl {URL} -d"


def paste(client: Client, request: str, reply: str = "", **more: str) -> Any:
    address = reverse("admin:evals_app_agent_address")
    return client.post(address, {"name": "Ours", "request": request, "reply": reply} | more)


def page_form(response: Any) -> Fields:
    """Return what the wizard's page would post."""
    page = html.fromstring(response.content.decode())
    (form,) = (form for form in page.iter("form") if form.xpath(".//*[@name='request']"))
    return posted_by("".join(html.tostring(part, encoding="unicode") for part in form))


def press(client: Client, response: Any, button: str, **changes: str) -> Any:
    """Press a button of the wizard's page."""
    assert response.status_code == 200
    fields = page_form(response) | {name: [value] for name, value in changes.items()}
    return client.post(reverse("admin:evals_app_agent_address"), {**fields, button: "1"})


def begun(client: Client, request: str, reply: str = "", **choices: str) -> PageForm:
    """Return the page that adds an agent, with what was pasted and chosen."""
    used = press(client, paste(client, request, reply), "use", **choices)
    assert used.status_code == 302, used.content.decode()
    page = open_page(client, used.headers["Location"])
    page.url = ADD
    return page


def add_agent(client: Client, request: str, reply: str = "", **choices: str) -> Agent:
    saved = begun(client, request, reply, **choices).post(slug="ours")
    assert saved.is_saved, saved.problems
    return Agent.objects.get()


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        pytest.param(
            "curl '{url}?q=Where+is+it&session=a1&v=2'",
            {
                "method": "GET",
                "query": {"q": "{{input}}", "session": "{{session_id}}", "v": "2"},
            },
            id="get",
        ),
        pytest.param(
            "curl -X PUT {url} -d 'input=Where+is+it' -d v=2",
            {
                "method": "PUT",
                "request": {"input": "{{input}}", "v": "2"},
                "request_format": "form",
            },
            id="form",
        ),
        pytest.param(
            "curl {url} -F 'question=Where is it' -F doc=@a.pdf",
            {
                "request": {"question": "{{input}}", "doc": "{{files}}"},
                "request_format": "multipart",
            },
            id="form with a file",
        ),
    ],
)
def test_other_requests_are_tried_and_become_agents(
    admin_client: Client, command: str, keys: dict[str, Any]
) -> None:
    with (
        WebServer(lambda asked: Sent.text(f"{asked.path} {asked.raw!r}")) as server,
        permitting(hosts=(server.host,)),
    ):
        text = command.format(url=server.url)
        sent = press(admin_client, paste(admin_client, text), "send")
        assert "Where" in page_form(sent)["reply"][0]
        tried = press(admin_client, sent, "test", message="Hello")
        assert "Hello" in tried.content.decode()
        agent = add_agent(admin_client, text, "It is here.")

    assert server.asked[0].method == server.asked[1].method == keys.get("method", "POST")
    assert b"Hello" in server.asked[1].raw + server.asked[1].path.encode()
    assert {key: agent.connection[key] for key in keys} == keys
    assert agent.connection["url"] == server.url


@pytest.fixture
def server() -> Iterator[WebServer]:
    def answer(asked: Asked) -> Sent:
        question = asked.body.get("question", "nothing")
        key = asked.headers.get("authorization", "")
        return Sent.json({"data": {"answer": f"You said {question}. {key}"}, "note": "a b c"})

    with WebServer(answer) as server, permitting(hosts=(server.host,), variables=("AGENT_*",)):
        yield server


def test_the_example_becomes_an_agent(admin_client: Client) -> None:
    agent = add_agent(admin_client, EXAMPLE_REQUEST, EXAMPLE_REPLY)

    assert agent.name == "Ours"
    assert agent.driver == "http"
    assert "protocol" not in agent.connection
    assert agent.connection["url"] == "https://agent.example.org/chat"
    assert agent.connection["headers"] == {"X-Tenant": "acme"}
    assert agent.connection["request"] == {"question": "{{input}}", "session_id": "{{session_id}}"}
    assert agent.connection["response"] == {
        "text": "data.answer",
        "tool_calls": "data.steps",
        "name": "tool",
        "arguments": "input",
    }


@pytest.mark.parametrize(
    ("request_text", "reply"),
    [
        pytest.param(URL, "", id="address alone"),
        pytest.param(f'{SEND} \'{{"input": "Hi"}}\'', "Hi.", id="text"),
        pytest.param(URL, '{"output": "a", "tool_calls": [{"name": "orders.find"}]}', id="keys"),
    ],
)
def test_an_agent_that_speaks_as_evalwell_does_is_asked_nothing(
    admin_client: Client, request_text: str, reply: str
) -> None:
    agent = add_agent(admin_client, request_text, reply)

    assert not {"request", "response"} & agent.connection.keys()


CHUNKS = """data: {"choices": [{"delta": {"content": "Hel"}}]}

data: {"choices": [{"delta": {"content": "lo."}, "finish_reason": "stop"}]}

data: [DONE]
"""


@pytest.mark.parametrize(
    ("request_text", "reply", "stream", "response"),
    [
        pytest.param(
            f'{SEND} \'{{"question": "Hi"}}\'',
            'data: {"type": "text", "delta": "Hel"}\r\n\r\ndata: {"delta": "lo.", "usage": '
            '{"output_tokens": 5}}\r\n\r\ndata: [DONE]',
            {"format": "sse"},
            {"text": "delta", "output_tokens": "usage.output_tokens"},
            id="events",
        ),
        (URL, '{"answer": "Hel"}\n{"answer": "lo."}', {"format": "ndjson"}, {"text": "answer"}),
        (URL, '{"output": "Hel"}\n{"output": "lo."}', {"format": "ndjson"}, {}),
        pytest.param(URL, "data: Hel\n\ndata: lo.\n", {"format": "sse"}, {}, id="text"),
        pytest.param(URL, CHUNKS, {"format": "sse"}, {}, id="chat"),
        (f"{SEND} '{json.dumps(CHAT | {'stream': True})}'", "", {"format": "sse"}, {}),
    ],
)
def test_a_stream_is_recognised(
    admin_client: Client,
    request_text: str,
    reply: str,
    stream: dict[str, Any],
    response: dict[str, str],
) -> None:
    agent = add_agent(admin_client, request_text, reply)

    parts = agent.connection
    assert (parts.get("stream", {}), parts.get("response", {})) == (stream, response)


@pytest.mark.parametrize("reply", ["", json.dumps(CHAT_REPLY)], ids=["request", "with reply"])
def test_chat_completions_are_recognised(admin_client: Client, reply: str) -> None:
    command = f"{SEND} '{json.dumps(CHAT)}'"
    assert page_form(paste(admin_client, command, reply))["message"] == ["Hello"]

    agent = add_agent(admin_client, command, reply)

    assert agent.connection["protocol"] == "openai-chat"
    assert agent.connection["remote_model"] == "big"
    assert agent.system_prompt == r"Be \{{kind}}."
    assert not {"request", "response"} & agent.connection.keys()


@pytest.mark.parametrize(
    ("body", "reply", "request_body", "text"),
    [
        (CHAT, {"answer": "Hi."}, {"model": "big", "messages": "{{messages}}"}, "answer"),
        ({"question": "Hi"}, CHAT_REPLY, {"question": "{{input}}"}, "choices[0].message.content"),
        pytest.param(
            {"input": "Hi"},
            {"output": "Hi.", "tool_calls": [{"name": "a", "arguments": "{}"}]},
            {},
            "output",
            id="calls of another shape",
        ),
    ],
)
def test_half_of_a_protocol_is_none(
    admin_client: Client, body: Any, reply: Any, request_body: Any, text: str
) -> None:
    agent = add_agent(admin_client, f"{SEND} '{json.dumps(body)}'", json.dumps(reply))

    assert "protocol" not in agent.connection
    parts = agent.connection
    assert (parts.get("request", {}), parts["response"]["text"]) == (request_body, text)


def test_a_person_chooses_other_places_than_the_guessed_ones(admin_client: Client) -> None:
    agent = add_agent(
        admin_client,
        f'{SEND} \'{{"question": "Hi", "note": "a b"}}\'',
        json.dumps(FOREIGN),
        message_at="note",
        text_at="status",
        calls_at="",
    )

    assert agent.connection["request"] == {"question": "Hi", "note": "{{input}}"}
    assert agent.connection["response"] == {"text": "status", "input_tokens": "usage.prompt_tokens"}


def test_choices_in_another_reply_are_made_again(admin_client: Client) -> None:
    chosen = paste(admin_client, URL, json.dumps(FOREIGN))

    again = press(admin_client, chosen, "use", reply='{"other": "Hi."}')

    assert again.status_code == 200
    assert page_form(again)["text_at"] == ["other"]


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
    assert Agent.objects.get().connection["headers"] == {"Authorization": {"env": variable}}
    kept = [session.get_decoded() for session in SignedInSession.objects.all()]
    assert "s3cret" not in f"{page.html}{kept}"


@pytest.mark.parametrize(
    ("request_text", "reply", "word"),
    [
        pytest.param("curl -X HEAD " + URL, "", "GET", id="method"),
        pytest.param("curl -X GET " + URL, "", "message", id="nothing is asked"),
        pytest.param("http://127.0.0.1/chat", "", "EVALS_PRIVATE_HOSTS", id="this machine"),
        pytest.param(f"{SEND} '[1]'", "", "object", id="a list"),
        pytest.param(f"{SEND} '{{\"n\": 1}}'", "", "message", id="no message"),
        pytest.param(f'{SEND} \'{{"n": "\\ud800"}}\'', "", "n", id="half a character"),
        pytest.param(f"curl {URL} -H 'X-A: ü'", "", "X-A", id="header"),
        pytest.param(URL, '{"output": null, "tool_calls": []}', "answer", id="no text"),
        pytest.param(URL, "[" * 200 + "]" * 200, "nested", id="too deep"),
    ],
)
def test_what_cannot_be_used_is_refused_and_stays_typed(
    admin_client: Client, request_text: str, reply: str, word: str
) -> None:
    response = paste(admin_client, request_text, reply, send="1", test="1", use="1")

    assert response.status_code == 200
    form = response.context["page"].form
    assert word in str(form.errors)
    assert form["request"].value() == request_text


def test_the_command_is_sent_once_and_its_reply_shown(
    admin_client: Client, server: WebServer
) -> None:
    command = f"curl {server.url} -H 'Authorization: tok-1' -d '{{\"question\": \"Hi\"}}'"

    sent = paste(admin_client, command, send="1")

    (asked,) = server.asked
    assert asked.body == {"question": "Hi"}
    assert asked.headers["authorization"] == "tok-1"
    fields = page_form(sent)
    assert json.loads(fields["reply"][0])["data"]["answer"] == "You said Hi. ***"
    assert (fields["message_at"], fields["text_at"]) == (["question"], ["data.answer"])
    assert "no-store" in sent.headers["Cache-Control"]


def test_a_test_shows_what_a_run_would_read_before_anything_is_saved(
    admin_client: Client, server: WebServer
) -> None:
    command = f"curl {server.url} -H 'Authorization: tok-1' -d '{{\"question\": \"Hi\"}}'"
    pasted = paste(admin_client, command, '{"data": {"answer": "Hi"}, "status": "fine"}')

    right = press(admin_client, pasted, "test", message="Where?")
    wrong = press(admin_client, pasted, "test", text_at="status")

    assert "You said Where?. ***" in right.content.decode()
    assert [asked.body["question"] for asked in server.asked] == ["Where?", "Hi"]
    assert "has no status" in wrong.content.decode()
    assert not Agent.objects.exists()


@pytest.mark.parametrize("button", ["send", "test"])
def test_an_agent_that_cannot_be_asked_is_a_problem_on_the_page(
    admin_client: Client, server: WebServer, button: str
) -> None:
    pasted = paste(admin_client, server.url, '{"a": "b"}')

    with permitting(hosts=()):
        refused = press(admin_client, pasted, button, request=server.url)
    assert "EVALS_PRIVATE_HOSTS" in str(refused.context["page"].form.errors)

    server.answer = lambda _: Sent.text("Oops", status=500)
    failed = press(admin_client, pasted, button)
    assert "status 500" in failed.content.decode()


def test_a_reply_with_halves_of_characters_is_shown_without_them(
    admin_client: Client, server: WebServer
) -> None:
    server.answer = lambda _: Sent(
        headers={"content-type": "application/json"},
        content=rb'{"\ud800": "a", "answer": "Hi \ud83d \u0000", "steps": [{"name": "a", "args": {"b": "\udc00"}}]}',
    )

    sent = paste(admin_client, server.url, send="1")
    tested = press(admin_client, sent, "test")

    assert (sent.status_code, tested.status_code) == (200, 200)
    assert page_form(sent)["text_at"] == ["answer"]
    assert tested.context["page"].turn.record.reply.startswith("Hi")


def test_keys_that_are_too_long_for_a_path_are_not_offered(admin_client: Client) -> None:
    body = json.dumps({"k" * 600: "Hello there", "q": "Hi", "session": "a" * 600})
    reply = json.dumps({"k" * 600: "Hello there", "b": "Hi"})

    agent = add_agent(admin_client, f"{SEND} '{body}'", reply)

    assert agent.connection["response"] == {"text": "b"}
    assert agent.connection["request"]["q"] == "{{input}}"


def test_only_people_who_may_start_runs_send_anything(server: WebServer) -> None:
    author = client_who_may("add_agent", "view_agent")

    pasted = paste(author, server.url, '{"a": "b"}')

    assert paste(author, server.url, send="1").status_code == 403
    assert press(author, pasted, "test").status_code == 403
    assert press(author, pasted, "use").status_code == 302
    assert server.asked == []


def test_a_person_sends_so_often_in_an_hour(
    admin_client: Client, server: WebServer, settings: Any
) -> None:
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"agent_tests": "1/hour"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}

    first, second = (paste(admin_client, server.url, send="1") for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 429)
    assert int(second.headers["Retry-After"]) > 0
    assert len(server.asked) == 1


def test_a_starting_point_that_needs_nothing_is_saved_as_it_is(admin_client: Client) -> None:
    page = open_page(admin_client, f"{ADD}?start=scripted")
    page.url = ADD

    saved = page.post(slug="order-bot")

    assert saved.is_saved, saved.problems
    agent = Agent.objects.get()
    assert agent.connection["rules"] == STARTING_POINTS["scripted"].initial["rules"]
    assert agent.tool_names == ["orders.find"]


def test_a_model_needs_only_its_name(admin_client: Client) -> None:
    page = open_page(admin_client, f"{ADD}?start=model")
    page.url = ADD

    saved = page.post(slug="order-assistant", model="anthropic/claude-haiku-5-5")

    assert saved.is_saved, saved.problems
    assert Agent.objects.get().tool_names == ["orders.find"]


def test_a_new_agent_begins_with_what_it_is(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()

    for name in (*STARTING_POINTS, "form"):
        assert f"?start={name}" in page
    assert reverse("admin:evals_app_agent_address") in page
    assert 'name="slug"' not in page
    assert 'name="slug"' in open_page(admin_client, f"{ADD}?start=form").html
