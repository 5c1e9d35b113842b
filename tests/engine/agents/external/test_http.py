"""Agents on the network: what they are asked, and what is made of their answers."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.agents.external.agent_queue import AgentQueue
from evals_app.engine.agents.external.chat import chat_reply
from evals_app.engine.agents.external.http import HttpSession
from evals_app.engine.agents.headers import secrets_of
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.errors import AgentError, ConfigurationError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.llm.call import FileContent
from evals_app.engine.network.web import Web
from evals_app.engine.record.trial import Cause, Message, ToolCall, Trial
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.agent_spec import HttpAgent
from evals_app.engine.specs.outside_spec import RateGroup
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.makers import converse
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

SESSION = "0123456789abcdef0123456789abcdef"
KEYS = {"AGENT_KEY": "tok-secret"}


def make_agent(url: str, **changes: Any) -> HttpAgent:
    written = {"agent": "Juniper", "slug": "support", "driver": "http", "url": url}
    return HttpAgent.model_validate(written | changes, context=FROZEN)


def make_setting(**changes: Any) -> Setting:
    fields: dict[str, Any] = {
        "system_prompt": "",
        "session_id": SESSION,
        "case": "Greeting",
        "channel": "widget",
        "context_params": {"tenant": "acme"},
        "trial": 2,
        "clock": "2026-05-01T09:30:00+00:00",
    }
    return Setting(**(fields | changes))


async def no_pause(_seconds: float) -> None:
    pass


@asynccontextmanager
async def open_session(
    server: WebServer,
    *,
    setting: Setting | None = None,
    sleep: Callable[[float], Awaitable[object]] = no_pause,
    **changes: Any,
) -> AsyncIterator[HttpSession]:
    agent = make_agent(server.url, **changes)
    with permitting(hosts=(server.host,), variables=("AGENT_*",)):
        async with Web(secrets=secrets_of([agent.headers], environ=KEYS)) as web:
            yield HttpSession(
                agent, setting=setting or make_setting(), web=web, environ=KEYS, sleep=sleep
            )


async def say(session: HttpSession, message: str) -> Exchange:
    exchange = Exchange(1, message, 60)
    await session.respond(exchange)
    return exchange


async def exchange_with(
    answer: Callable[[Asked], Sent], *messages: str, **changes: Any
) -> tuple[list[Asked], Exchange]:
    """Say something; give what the server was asked, and the last exchange."""
    with WebServer(answer) as server:
        async with open_session(server, **changes) as session:
            exchanges = [await say(session, message) for message in messages or ("Hi",)]
    return server.asked, exchanges[-1]


async def hold(
    server: WebServer, *messages: str, agent: dict[str, Any] | None = None, **changes: Any
) -> Trial:
    with permitting(hosts=(server.host,)):
        return await converse(*messages, agent=make_agent(server.url, **(agent or {})), **changes)


def answer_politely(asked: Asked) -> Sent:
    return Sent.json({"output": f"You said {asked.body['input']}"})


async def test_each_message_is_shown_with_what_was_said_before() -> None:
    history = (Message("user", "Hello?"), Message("assistant", "Hi."))
    setting = make_setting(history=history)

    (first, second), _ = await exchange_with(answer_politely, "one", "two", setting=setting)

    assert first.method == "POST"
    assert first.body == {
        "input": "one",
        "history": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}],
        "session_id": SESSION,
        "channel": "widget",
        "context_params": {"tenant": "acme"},
        "case": "Greeting",
        "trial": 2,
        "clock": "2026-05-01T09:30:00+00:00",
    }
    assert second.body["history"][2:] == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "You said one"},
    ]


async def test_what_it_thinks_is_not_sent_back() -> None:
    def think(asked: Asked) -> Sent:
        return Sent.json({"output": f"<think>{asked.body['input']}?</think> Yes."})

    (_, second), exchange = await exchange_with(think, "one", "two")

    assert second.body["history"] == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "Yes."},
    ]
    assert exchange.messages == [Message("assistant", "Yes.", reasoning="two?")]


async def test_an_execution_is_one_trace_and_each_turn_a_span() -> None:
    with WebServer(answer_politely) as server:
        trial = await hold(server, "one", "two")
        other = await hold(server, "one")

    headers = [
        re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01", request.headers["traceparent"])
        for request in server.asked
    ]
    (trace, span), (same, next_span), (another, _) = [
        header.groups() for header in headers if header
    ]
    assert trace == same == trial.trace_id == server.asked[0].body["session_id"]
    assert span != next_span
    assert another == other.trace_id != trace


async def test_what_the_agent_did_is_put_down() -> None:
    reply = {
        "output": "It ships on Monday.",
        "tool_calls": [{"name": "orders.find", "args": {"number": "1042"}, "result": {"a": 1}}],
        "usage": {"input_tokens": 12, "output_tokens": 7},
        "estimated_cost_usd": 0.0004,
        "model": "big-1",
    }
    _, exchange = await exchange_with(lambda _: Sent.json(reply), "When?")

    assert exchange.reply == "It ships on Monday."
    assert exchange.messages[0].tool_calls == (
        ToolCall("orders.find", {"number": "1042"}, result={"a": 1}),
    )
    assert exchange.usages == [Usage(12, 7)]
    assert exchange.costs == [Decimal("0.0004")]
    assert exchange.model == "big-1"


async def test_plain_text_is_a_reply_of_unknown_cost() -> None:
    _, exchange = await exchange_with(lambda _: Sent.text("Good morning.\n"))

    assert exchange.reply == "Good morning."
    assert (exchange.usages, exchange.costs) == ([Usage()], [None])


@pytest.mark.parametrize(
    ("sent", "reply"),
    [
        pytest.param(Sent.json("Grüße\n"), "Grüße\n", id="JSON"),
        pytest.param(Sent.text('"Grüße"'), '"Grüße"', id="text in quotes"),
        pytest.param(
            Sent.text('"Yes" and "no"', headers={"content-type": "application/json"}),
            '"Yes" and "no"',
            id="no JSON after all",
        ),
        pytest.param(Sent.json(["Hi."]), '["Hi."]', id="a list"),
    ],
)
async def test_a_text_that_was_sent_as_json_stands_without_its_quotes(
    sent: Sent, reply: str
) -> None:
    _, exchange = await exchange_with(lambda _: sent)

    assert exchange.reply == reply


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        pytest.param(Sent.text("Oops", status=500), "status 500 Internal Server Error: Oops"),
        pytest.param(
            Sent.text("slow down", status=429, headers={"retry-after": "1"}),
            "status 429 Too Many Requests: slow down",
            id="busy",
        ),
        pytest.param(Sent(status=404), "status 404 Not Found", id="nothing there"),
        (Sent(302, {"location": "http://169.254.169.254/"}), "redirects"),
        pytest.param(Sent(content=b"x" * 1_000_001), "more than 1,000 kB", id="too long"),
        (Sent(headers={"content-encoding": "gzip"}, content=b"a"), "compressed"),
        (Sent.json({"output": None, "tool_calls": []}), "no answer under output"),
        (Sent.json({"output": "a", "tool_calls": {}}), "tool_calls is"),
        pytest.param(Sent.json(None), "reply is null", id="null"),
        pytest.param(Sent.json({"error": "No money."}), "reports an error: No money.", id="error"),
    ],
)
async def test_a_bad_answer_is_the_agents_error(sent: Sent, words: str) -> None:
    with pytest.raises(AgentError, match=re.escape(words)):
        await exchange_with(lambda _: sent)


async def test_what_a_failed_turn_cost_is_unknown_and_it_is_not_remembered() -> None:
    replies = iter([Sent(500), Sent.text("Here again.")])
    with WebServer(lambda _: next(replies)) as server:
        async with open_session(server) as session:
            exchange = Exchange(1, "one", 60)
            with pytest.raises(AgentError):
                await session.respond(exchange)
            await say(session, "two")

    assert (exchange.usages, exchange.costs) == ([Usage()], [None])
    assert server.asked[1].body["history"] == []


async def test_an_agent_that_is_silent_fails_its_turn_and_the_conversation_goes_on() -> None:
    def answer(asked: Asked) -> Sent:
        return server.wait() if asked.body["input"] == "one" else answer_politely(asked)

    with WebServer(answer) as server:
        trial = await hold(server, "one", "two", turn_timeout_s=1.5)

    first, second = trial.turns
    assert first.error == "The agent did not answer within 1.5 s."
    assert first.cost_usd is None
    assert (second.error, second.reply) == (None, "You said two")


async def test_headers_are_sent_and_keys_come_from_the_environment() -> None:
    headers = {"Authorization": {"env": "AGENT_KEY"}, "X-Tenant": "acme"}
    requests, _ = await exchange_with(answer_politely, headers=headers)

    (asked,) = requests
    assert asked.headers["authorization"] == "tok-secret"
    assert asked.headers["x-tenant"] == "acme"


async def test_a_key_that_the_agent_repeats_is_nowhere_kept() -> None:
    def answer(asked: Asked) -> Sent:
        return Sent.text(f"Your key is {asked.headers['authorization']}.")

    _, exchange = await exchange_with(answer, headers={"Authorization": {"env": "AGENT_KEY"}})

    assert exchange.reply == "Your key is ***."


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("AGENT_OTHER", "AGENT_OTHER is not set"),
        ("HOME", "does not permit HOME"),
        ("AGENT_LINES", "single line"),
    ],
)
async def test_a_conversation_without_its_key_does_not_begin(variable: str, words: str) -> None:
    agent = make_agent("https://a.org/", headers={"Authorization": {"env": variable}})
    environ = {"HOME": "/root", "AGENT_LINES": "a\nb"}

    async with Web() as web:
        with permitting(variables=("AGENT_*",)), pytest.raises(ConfigurationError, match=words):
            HttpSession(agent, setting=make_setting(), web=web, environ=environ)


@pytest.mark.parametrize(
    ("url", "poll", "words"),
    [
        ("https://evil.example/chat", None, "AGENT_KEY is sent only to agent.example.org"),
        ("https://agent.example.org/chat", "https://evil.example/{{job}}", "agent.example.org"),
    ],
)
async def test_a_key_that_was_bound_to_another_host_meanwhile_is_not_sent(
    url: str, poll: str | None, words: str
) -> None:
    later = {"poll": {"interval_s": 1, "url": poll, "job": "id"}} if poll else {}
    agent = make_agent(url, headers={"Authorization": {"env": "AGENT_KEY"}}, **later)

    async with Web() as web:
        with (
            permitting(variables=("AGENT_KEY@agent.example.org",)),
            pytest.raises(ConfigurationError, match=words),
        ):
            HttpSession(agent, setting=make_setting(), web=web, environ=KEYS)


async def test_an_address_that_may_not_be_called_is_no_failure_of_the_agent() -> None:
    with WebServer(answer_politely) as server:
        async with open_session(server) as session:
            with permitting(hosts=()), pytest.raises(ConfigurationError, match="this machine"):
                await say(session, "Hi")

    assert server.asked == []


# Agents that are busy


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        pytest.param({"retry-after": "7"}, 7, id="as long as it asks for"),
        pytest.param({}, 1, id="it does not say"),
        pytest.param({"retry-after": "0"}, 1, id="at once"),
        pytest.param({"retry-after": "soon"}, 1, id="unreadable"),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_agent_gets_the_message_again(
    status: int, headers: dict[str, str], pause: float
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    answers = iter([Sent(status, headers), Sent.text("Here again.")])
    requests, exchange = await exchange_with(lambda _: next(answers), sleep=sleep)

    assert (exchange.reply, pauses) == ("Here again.", [pause])
    assert requests[0].body == requests[1].body
    (attempt,) = exchange.attempts
    assert (str(status) in attempt.error, attempt.waited_ms) == (True, pause * 1000)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        pytest.param(Sent(503, {"retry-after": "61"}), "after 61 s", id="no time left"),
        pytest.param(Sent(500), "status 500", id="broken"),
        pytest.param(Sent(502), "status 502", id="not reached"),
        pytest.param(Sent(400), "status 400", id="refused"),
    ],
)
async def test_an_agent_that_fails_gets_the_message_once(sent: Sent, words: str) -> None:
    with WebServer(lambda _: sent) as server:
        async with open_session(server) as session:
            with pytest.raises(AgentError, match=words):
                await say(session, "Hi")

    assert len(server.asked) == 1


async def test_an_agent_gets_no_more_messages_at_once_than_its_line_has_places() -> None:
    queue = AgentQueue(RateGroup("agent:support", 1, None))
    here, most = [0], [0]

    def answer(_asked: Asked) -> Sent:
        here[0] += 1
        most[0] = max(most[0], here[0])
        here[0] -= 1
        return Sent.text("Hi.")

    with WebServer(answer) as server, permitting(hosts=(server.host,)):
        agent = make_agent(server.url)
        async with Web() as web:
            sessions = [
                HttpSession(agent, setting=make_setting(), web=web, queue=queue) for _ in range(4)
            ]
            exchanges = await asyncio.gather(*(say(session, "Hi") for session in sessions))

    assert [exchange.reply for exchange in exchanges] == ["Hi."] * 4
    assert most == [1]
    assert queue.load().wanted == 4
    queue.set_places(0)
    async with asyncio.timeout(5):
        waiting = asyncio.create_task(_exchange_in(queue))
        await asyncio.sleep(0)
        assert not waiting.done()
        queue.set_places(1)
        exchange = await waiting
    assert exchange.waited_s > 0


async def _exchange_in(queue: AgentQueue) -> Exchange:
    exchange = Exchange(1, "Hi", 60)
    async with queue.place(exchange):
        return exchange


# Sessions of the agent


async def test_the_session_that_the_agent_opens_is_sent_back() -> None:
    def answer(_asked: Asked) -> Sent:
        count = len(server.asked)
        return Sent.json({"text": "Hi.", "thread": {"id": f"t-{count}"} if count != 2 else {}})

    with WebServer(answer) as server:
        async with open_session(
            server,
            request={"q": "{{input}}", "thread": "{{agent_session_id}}"},
            response={"text": "text", "session_id": "thread.id"},
            headers={"X-Thread": "id={{agent_session_id}}"},
        ) as session:
            exchanges = [await say(session, message) for message in ("one", "two", "three")]

    assert [asked.body["thread"] for asked in server.asked] == [None, "t-1", "t-1"]
    assert [asked.headers.get("x-thread") for asked in server.asked] == [None, "id=t-1", "id=t-1"]
    assert [len(exchange.notes) for exchange in exchanges] == [0, 1, 0]


async def test_a_session_that_no_header_can_have_is_the_agents_error() -> None:
    changes = {
        "response": {"text": "text", "session_id": "id"},
        "headers": {"X-Thread": "{{agent_session_id}}"},
    }
    with pytest.raises(AgentError, match="session id"):
        await exchange_with(
            lambda _: Sent.json({"text": "Hi.", "id": "a\nb"}), "one", "two", **changes
        )


# JSON of the agent's own


async def test_an_agent_is_asked_and_read_in_json_of_its_own() -> None:
    reply = {"data": {"text": "On Monday.", "steps": [{"tool": "find", "input": {"n": 1}}]}}
    request = {"question": "{{input}}", "said": "{{history}}", "stream": False}
    places = {"text": "data.text", "tool_calls": "data.steps", "name": "tool"}

    requests, exchange = await exchange_with(
        lambda _: Sent.json(reply),
        *("When?", "Really?"),
        request=request,
        response=places | {"arguments": "input"},
    )

    assert [asked.body for asked in requests] == [
        {"question": "When?", "said": [], "stream": False},
        {
            "question": "Really?",
            "said": [
                {"role": "user", "content": "When?"},
                {"role": "assistant", "content": "On Monday."},
            ],
            "stream": False,
        },
    ]
    assert exchange.reply == "On Monday."
    assert exchange.messages[0].tool_calls == (ToolCall("find", {"n": 1}),)
    assert exchange.reports_calls


async def test_a_place_that_is_not_in_the_reply_fails_the_turn() -> None:
    with pytest.raises(AgentError, match="no data: it is an object with the keys “dta”"):
        await exchange_with(lambda _: Sent.json({"dta": 1}), response={"text": "data.text"})


@pytest.mark.parametrize(("request_body", "notes"), [({"f": "{{files}}"}, 0), ({}, 1)])
async def test_files_are_sent_where_the_request_has_them(
    request_body: dict[str, Any], notes: int
) -> None:
    file = FileContent("a.txt", "text/plain", b"Hello")
    with WebServer(lambda _: Sent.text("Hi.")) as server:
        async with open_session(server, request={"q": "{{input}}"} | request_body) as session:
            exchange = Exchange(1, "Read it.", 60, files=(file,))
            await session.respond(exchange)

    files = server.asked[0].body.get("f", [])
    assert [file["text"] for file in files] == ["Hello"] * (1 - notes)
    assert len(exchange.notes) == notes


# Replies in pieces


def stream_of(*events: Any, media_type: str = "text/event-stream") -> Sent:
    """Send events one after the other, a few bytes at a time."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    sse = media_type == "text/event-stream"
    raw = "".join(f"data: {text}\r\n\r\n" if sse else f"{text}\n" for text in texts).encode()
    parts = [raw[start : start + 7] for start in range(0, len(raw), 7)]
    return Sent(headers={"content-type": media_type}, parts=parts)


@pytest.mark.parametrize(
    ("stream", "media_type"),
    [({"format": "sse"}, "text/event-stream"), ({"format": "ndjson"}, "application/x-ndjson")],
    ids=["events", "lines"],
)
async def test_a_reply_in_pieces_is_joined(stream: dict[str, str], media_type: str) -> None:
    events = ({"d": "Grü"}, {"d": "ße: tok-"}, {"d": "secret"})
    requests, exchange = await exchange_with(
        lambda _: stream_of(*events, "[DONE]", media_type=media_type),
        stream=stream,
        response={"text": "d"},
        headers={"Authorization": {"env": "AGENT_KEY"}},
    )

    assert exchange.reply == "Grüße: ***"
    assert exchange.first_token_ms is not None
    assert requests[0].headers["accept"].startswith(media_type)


async def test_the_first_piece_is_timed_while_the_rest_is_on_its_way() -> None:
    times = iter([0.0, 0.25])
    exchange = Exchange(1, "Hi", 60, clock=lambda: next(times))
    with WebServer(lambda _: stream_of("a", "b", "[DONE]")) as server:
        async with open_session(server, stream={"format": "sse"}) as session:
            await session.respond(exchange)

    assert (exchange.reply, exchange.first_token_ms) == ("ab", 250)


@pytest.mark.parametrize(
    ("changes", "sent"),
    [
        pytest.param({}, stream_of({"output": "Hi."}), id="events"),
        pytest.param({"response": {"text": "a"}}, stream_of({"a": "b"}), id="with places"),
        pytest.param({}, Sent.text("data: Hi.\n\ndata: [DONE]\n\n"), id="as plain text"),
        (
            {"protocol": "openai-chat"},
            stream_of({"choices": []}, media_type="application/x-ndjson"),
        ),
    ],
)
async def test_a_stream_that_was_not_declared_is_never_graded(
    changes: dict[str, Any], sent: Sent
) -> None:
    with WebServer(lambda _: sent) as server:
        trial = await hold(server, "one", "two", agent=changes)

    assert trial.failure is not None
    assert trial.failure.cause is Cause.CASE
    assert "stream: {format:" in trial.failure.message
    assert [turn.reply for turn in trial.turns] == [""]


async def test_an_agent_that_answers_as_a_whole_after_all_is_read() -> None:
    _, exchange = await exchange_with(
        lambda _: Sent.json({"output": "Hi."}), stream={"format": "sse"}
    )

    assert (exchange.reply, len(exchange.notes)) == ("Hi.", 1)


async def test_a_stream_that_breaks_off_is_the_agents_error() -> None:
    sent = Sent(
        headers={"content-type": "text/event-stream", "content-length": "100"},
        parts=[b"data: Hel\n\n"],
    )
    with pytest.raises(AgentError, match="did not answer"):
        await exchange_with(lambda _: sent, stream={"format": "sse"})


# Chat completions


async def test_a_chat_completion_may_arrive_in_pieces() -> None:
    def chunk(**delta: Any) -> dict[str, Any]:
        return {"model": "big-1", "choices": [{"delta": delta}]}

    usage = {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7}}
    requests, exchange = await exchange_with(
        lambda _: stream_of(chunk(content="H"), chunk(content="i."), usage, "[DONE]"),
        protocol="openai-chat",
        stream={"format": "sse"},
    )

    assert (exchange.reply, exchange.usages, exchange.model) == ("Hi.", [Usage(12, 7)], "big-1")
    assert (requests[0].body["stream"], exchange.first_token_ms is not None) == (True, True)


def completion(**message: Any) -> dict[str, Any]:
    return {
        "id": "c-1",
        "model": "big-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Hi.", **message},
            }
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19},
    }


async def test_an_endpoint_for_chat_completions_is_asked_in_its_words() -> None:
    history = (Message("user", "Hello?"), Message("assistant", "Yes."))
    setting = make_setting(system_prompt="Be kind.", history=history)
    agent = {"protocol": "openai-chat", "remote_model": "big"}

    requests, exchange = await exchange_with(
        lambda _: Sent.json(completion()), "one", setting=setting, **agent
    )

    (asked,) = requests
    assert asked.body == {
        "model": "big",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hello?"},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "one"},
        ],
    }
    assert SESSION in asked.headers["traceparent"]
    assert (exchange.reply, exchange.usages, exchange.model) == ("Hi.", [Usage(12, 7)], "big-1")
    assert exchange.costs == [None]


async def test_no_prompt_and_no_model_are_sent_unless_they_are_set() -> None:
    requests, _ = await exchange_with(
        lambda _: Sent.json(completion()), "one", protocol="openai-chat"
    )

    (asked,) = requests
    assert asked.body == {"messages": [{"role": "user", "content": "one"}]}


def test_tools_that_a_completion_asks_for_are_put_down_and_not_called() -> None:
    call = {
        "id": "t-1",
        "type": "function",
        "function": {"name": "orders.find", "arguments": '{"number": "1042"}'},
    }

    reply = chat_reply(_text(completion(content="One moment.", tool_calls=[call])))

    assert reply.text == "One moment."
    assert reply.tool_calls == (ToolCall("orders.find", {"number": "1042"}),)
    (note,) = reply.notes
    assert "protocol" in note


@pytest.mark.parametrize(("usage", "notes"), [({"prompt_tokens": 10**30}, 1), (None, 0)])
def test_a_completion_without_usable_usage_is_of_unknown_cost(usage: Any, notes: int) -> None:
    reply = chat_reply(_text(completion() | {"usage": usage}))

    assert (reply.usage, len(reply.notes)) == (Usage(), notes)


def test_a_completion_that_does_not_say_why_it_ended_is_whole() -> None:
    reply = chat_reply('{"choices": [{"message": {"content": "Hi."}}]}')

    assert reply.text == "Hi."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Good morning.", "not a valid chat completion: Good morning."),
        (
            '{"choices": [{"text": "Hi."}]}',
            "not a valid chat completion (its choice has no message): {",
        ),
        ("[]", "not a valid chat completion"),
        ("{}", "not a valid chat completion"),
        ('{"choices": []}', "not a valid chat completion"),
        ('{"choices": [{"message": null}]}', "not a valid chat completion"),
        ("[" * 100_000, "not a valid chat completion"),
        ('{"error": {"message": "Out of money."}}', "reports an error: Out of money."),
        (
            '{"choices": [{"message": {"content": "Mix"}, "finish_reason": "content_filter"}]}',
            "filter cut off the agent's reply (content_filter): Mix",
        ),
        ('{"choices": [{"message": {"content": 5}}]}', "its content is not a text"),
        (
            '{"choices": [{"message": {"content": "A", "content": "B"}}]}',
            "has the key 'content' twice",
        ),
    ],
)
def test_what_is_no_completion_is_the_agents_error(text: str, words: str) -> None:
    with pytest.raises(AgentError, match=re.escape(words)):
        chat_reply(text)


def _text(body: dict[str, Any]) -> str:
    return Sent.json(body).content.decode()
