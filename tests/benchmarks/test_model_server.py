"""The model server of the benchmarks as the SDKs see it, over a real socket."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import pytest

from benchmarks.model_server import WORD, fitting
from benchmarks.runs import model_server
from evals_app.engine.judging.answers.verdict import read_verdict, verdict_schema
from tests.messages_api import Json

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


# Anthropic


def test_a_stream_brings_the_same_message(url: str) -> None:
    with (
        client_of(url) as client,
        client.messages.stream(model="m", max_tokens=99, messages=ASK) as stream,
    ):
        message = stream.get_final_message()

    assert message.content[0].to_dict()["text"] == "You said: Where is my parcel?"
    assert (message.stop_reason, message.usage.output_tokens) == ("end_turn", 10)


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


def test_a_schema_is_answered_with_an_object_that_fits(url: str) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}},
        "required": ["verdict"],
    }
    output: Any = {"format": {"type": "json_schema", "schema": schema}}

    with client_of(url) as client:
        message = client.messages.create(
            model="m", max_tokens=99, messages=ASK, output_config=output
        )

    assert json.loads(str(message.content[0].to_dict()["text"])) == {"verdict": "pass"}


# OpenAI


def test_a_streamed_chat_ends_with_its_usage(url: str) -> None:
    text = chat(url, stream=True, stream_options={"include_usage": True}).text

    *events, done = [line.removeprefix("data: ") for line in text.splitlines() if line]
    chunks = [json.loads(event) for event in events]
    assert done == "[DONE]"
    assert chunks[1]["choices"][0]["delta"]["content"] == "You said: Where is my parcel?"
    assert chunks[2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[3]["usage"]["prompt_tokens"] == 20


def test_a_chat_with_tools_begins_with_a_call_and_ends_with_an_answer(url: str) -> None:
    function = {"name": "find", "parameters": TOOL["input_schema"]}
    offered = [{"type": "function", "function": function}]

    called = chat(url, tools=offered).json()["choices"][0]
    call = called["message"]["tool_calls"][0]
    result = {"role": "tool", "tool_call_id": call["id"], "content": "nowhere"}
    answered = chat(url, tools=offered, messages=[*ASK, called["message"], result]).json()

    assert called["finish_reason"] == "tool_calls"
    assert call["function"] == {"name": "find", "arguments": json.dumps({"text": WORD})}
    assert answered["choices"][0]["message"]["content"] == "You said: Where is my parcel?"


def test_a_chat_with_a_schema_is_answered_with_an_object_that_fits(url: str) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}

    form = {"type": "json_schema", "json_schema": {"name": "v", "schema": schema}}
    reply = chat(url, response_format=form).json()

    assert json.loads(reply["choices"][0]["message"]["content"]) == {"ok": False}


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


def test_statistics_count_what_was_answered_and_how_much_at_once() -> None:
    with model_server(100, "--most-at-once", "1") as url:
        host = url.removeprefix("http://")
        connections = [http.client.HTTPConnection(host) for _ in range(2)]
        body = json.dumps({"model": "m", "messages": ASK})
        for connection in connections:
            connection.request("POST", "/v1/messages", body)
        statuses = [connection.getresponse().status for connection in connections]
        for connection in connections:
            connection.close()

        stats: Json = httpx2.get(f"{url}/stats").json()

    assert sorted(statuses) == [200, 429]
    assert stats == {"answered": {"429": 1, "ok": 1}, "most_at_once": 2}


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
