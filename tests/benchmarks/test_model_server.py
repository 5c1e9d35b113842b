"""The model server of the benchmarks as the SDKs see it, over a real socket."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import pytest

from benchmarks.model_server import WORD, fitting, replied
from benchmarks.runs import model_server
from evals_app.engine.judging.answers.verdict import read_verdict, verdict_schema
from tests.messages_api import Json
from tests.model_server import Reply, ToolUse

ASK: list[Any] = [{"role": "user", "content": "Where is my parcel?"}]
TOOL: Any = {
    "name": "find",
    "description": "Find parcels.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["text"],
    },
}


@contextmanager
def client_of(url: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        yield client


def chat(url: str, **request: Any) -> httpx2.Response:
    body = {"model": "m", "messages": ASK, **request}
    return httpx2.post(f"{url}/v1/chat/completions", json=body)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with model_server(0) as address:
        yield address


# What it replies; tests/engine/llm has how the APIs word it.


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_turn_with_tools_begins_with_a_call_and_ends_with_an_answer(
    url: str, *, is_streamed: bool
) -> None:
    def ask(client: anthropic.Anthropic, messages: list[Any]) -> anthropic.types.Message:
        request: Any = {"model": "m", "max_tokens": 99, "messages": messages, "tools": [TOOL]}
        if not is_streamed:
            reply: anthropic.types.Message = client.messages.create(**request)
            return reply
        with client.messages.stream(**request) as stream:
            return stream.get_final_message()

    with client_of(url) as client:
        called = ask(client, ASK)
        call = called.content[0]
        assert isinstance(call, anthropic.types.ToolUseBlock)
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "nowhere"}
        asked = {"role": "assistant", "content": [call.to_dict()]}
        answered = ask(client, [*ASK, asked, {"role": "user", "content": [result]}])

    assert (called.stop_reason, call.name, call.input) == ("tool_use", "find", {"text": WORD})
    assert answered.stop_reason == "end_turn"
    assert answered.content[0].to_dict()["text"] == "You said: Where is my parcel?"


OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
FUNCTION = {"name": "find", "parameters": TOOL["input_schema"]}
TO_CHAT: dict[str, Any] = {"messages": ASK}
WITH_FORM = {"response_format": {"type": "json_schema", "json_schema": {"name": "v", "schema": OK}}}
OF_CLAUDE = {"output_config": {"format": {"type": "json_schema", "schema": OK}}}
RESULT = {"role": "tool", "tool_call_id": "call", "content": "nowhere"}
TOOLS = {"tools": [{"type": "function", "function": FUNCTION}]}
SAID = Reply("You said: Where is my parcel?")


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        pytest.param(TO_CHAT | WITH_FORM, Reply('{"ok": false}'), id="schema of OpenAI"),
        pytest.param(TO_CHAT | OF_CLAUDE, Reply('{"ok": false}'), id="schema of Anthropic"),
        pytest.param(TO_CHAT | TOOLS, Reply(tools=(ToolUse("find", {"text": WORD}),)), id="tools"),
        pytest.param({"messages": [*ASK, RESULT], **TOOLS}, SAID, id="result of a tool"),
    ],
)
def test_a_reply_fits_its_request(request_: Json, reply: Reply) -> None:
    assert replied(request_) == reply


# What goes wrong


def test_a_rate_limit_says_when_to_come_back() -> None:
    with (
        model_server(0, "--rate-limited", "1", "--retry-after", "7") as url,
        client_of(url) as client,
    ):
        with pytest.raises(anthropic.RateLimitError) as caught:
            client.messages.create(model="m", max_tokens=99, messages=ASK)

        assert caught.value.response.headers["retry-after"] == "7"
        assert chat(url).status_code == 429


def test_failures_are_answered_with_500_or_529() -> None:
    with model_server(0, "--failing", "1") as url:
        statuses = {chat(url).status_code for _ in range(20)}

    assert statuses == {500, 529}


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_cut_reply_breaks_off_in_the_body(*, is_streamed: bool) -> None:
    with (
        model_server(0, "--cut", "1") as url,
        pytest.raises(httpx2.RemoteProtocolError, match="peer closed connection"),
    ):
        chat(url, stream=is_streamed)


def test_a_truncated_reply_says_that_it_ended_too_early() -> None:
    with model_server(0, "--truncated", "1") as url, client_of(url) as client:
        message = client.messages.create(model="m", max_tokens=99, messages=ASK)
        choice = chat(url).json()["choices"][0]

    assert message.stop_reason == "max_tokens"
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"] == "You said: Where is my parcel?"[:14]


def test_more_calls_at_once_than_it_takes_are_refused() -> None:
    with model_server(100, "--most-at-once", "1") as url:
        host = url.removeprefix("http://")
        connections = [http.client.HTTPConnection(host) for _ in range(2)]
        body = json.dumps({"model": "m", "messages": ASK})
        for connection in connections:
            connection.request("POST", "/v1/chat/completions", body)
        statuses = [connection.getresponse().status for connection in connections]
        for connection in connections:
            connection.close()

    assert sorted(statuses) == [200, 429]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param({"type": "string", "enum": ["pass", "fail"]}, "pass", id="first-word"),
        pytest.param({"type": "integer", "enum": [1, 2, 5]}, 5, id="last-number"),
        pytest.param({"type": "array"}, [], id="empty-list"),
        pytest.param({"type": "array", "items": {}}, [WORD], id="list"),
        pytest.param({"type": "integer", "minimum": 3}, 3, id="least-number"),
        pytest.param({}, WORD, id="anything"),
    ],
)
def test_a_value_fits_its_schema(schema: Json, value: object) -> None:
    assert fitting(schema) == value


def test_what_a_judge_answers_is_a_pass() -> None:
    answer = json.dumps(fitting(verdict_schema("pass_fail")))

    assert read_verdict(answer, "pass_fail").score == 1
