"""The model server of the tests is only worth something if it refuses what real APIs refuse."""

import contextlib
import http.client
import json
from functools import partial
from typing import Any

import pytest

from tests import chat_api, messages_api, responses_api
from tests.model_server import KEY, ModelServer, Reply

Json = dict[str, Any]

USER = {"role": "user", "content": "Hi"}
OPEN: Json = {"type": "object"}
OPTIONAL = {**OPEN, "additionalProperties": False, "properties": {"a": {}}}


def wrong(api: Any, about: str, request: Json, words: str) -> Any:
    """Return a row of the table: a request, and words of what is wrong with it."""
    signed = {} if api is chat_api else {"signatures": {"signed"}}
    return pytest.param(partial(api.problem_with, request, **signed), words, id=about)


def messages(*given: Json, **changes: Any) -> Json:
    return {"model": "m", "max_tokens": 9, "messages": list(given or [USER]), **changes}


def chat(*given: Json, **changes: Any) -> Json:
    return {"model": "m", "messages": list(given or [USER]), **changes}


def responses(*given: Json, **changes: Any) -> Json:
    return {"model": "m", "input": list(given or [USER]), "store": False, **changes}


# Anthropic's Messages API
REPLY = {"role": "assistant", "content": "Hello."}
USES: list[Json] = [
    {"type": "tool_use", "id": id_, "name": "f", "input": {}} for id_ in ("t1", "t2")
]
USED = {"role": "assistant", "content": USES}
TOOL = {"name": "f", "input_schema": OPEN}


def thought(**block: str) -> Json:
    return {"role": "assistant", "content": [{"type": "thinking", **block}]}


def results(*ids: str) -> Json:
    blocks = [{"type": "tool_result", "tool_use_id": id_, "content": ""} for id_ in ids]
    return {"role": "user", "content": blocks}


def output(**config: Any) -> Json:
    return messages(output_config=config)


def formed(schema: Json) -> Json:
    return output(format={"type": "json_schema", "schema": schema})


of_messages = partial(wrong, messages_api)

# OpenAI's chat API
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": OPEN}}
DOTTED = {"type": "function", "function": {"name": "a.b"}}
PICTURE = {"type": "image_url", "image_url": {"url": "chart.png"}}
ANSWERED = {"role": "tool", "tool_call_id": "a", "content": ""}


def called(arguments: str = "{}", **changes: Any) -> Json:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call], **changes}


def with_schema(schema: Json) -> Json:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return chat(response_format=form)


of_chat = partial(wrong, chat_api)

# OpenAI's Responses API
CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": ""}
SIGNED = {"type": "reasoning", "encrypted_content": "signed"}
FORM = {"format": {"type": "json_schema", "name": "a", "schema": OPEN}}

of_responses = partial(wrong, responses_api)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        of_messages("unknown field", messages(seed=1), "seed: Extra inputs"),
        of_messages("limit", {"model": "m", "messages": [USER]}, "max_tokens: Field required"),
        of_messages("no tokens", messages(max_tokens=0), "max_tokens"),
        of_messages("no messages", messages(messages=[]), "at least one message"),
        of_messages("assistant first", messages(REPLY, USER), "first message"),
        of_messages("assistant last", messages(USER, REPLY), "prefill"),
        of_messages("role", messages({"role": "system", "content": "x"}), "role"),
        of_messages("no content", messages({"role": "user", "content": ""}), "non-empty"),
        of_messages("blank text", messages({"role": "user", "content": " "}), "non-empty"),
        of_messages("not answered", messages(USER, USED, USER), "without `tool_result`"),
        of_messages("half", messages(USER, USED, results("t1")), "without `tool_result`"),
        of_messages("never asked", messages(USER, USED, results("t1", "t2", "t3")), "unexpected"),
        of_messages("twice", messages(USER, USED, results("t1", "t2", "t2")), "single result"),
        of_messages("late", messages(USER, USED, USER, results("t1", "t2")), "come first"),
        of_messages("unsigned", messages(USER, thought(), USER), "Invalid `signature`"),
        of_messages(
            "thoughts alone", messages(USER, thought(signature="signed"), USER), "cannot be"
        ),
        of_messages("blank system prompt", messages(system=" "), "non-whitespace"),
        of_messages("tool name", messages(tools=[{**TOOL, "name": "a.b"}]), "name"),
        of_messages("same tool twice", messages(tools=[TOOL, TOOL]), "unique"),
        of_messages("tool without schema", messages(tools=[{"name": "f"}]), "input_schema"),
        of_messages("no tools", messages(tool_choice={"type": "any"}), "tool_choice"),
        of_messages("misspelt output", output(efort=1), "efort"),
        of_messages("effort", output(effort="most"), "effort"),
        of_messages("open schema", formed(OPEN), "additionalProperties"),
        of_messages("optional property", formed(OPTIONAL), "required"),
        of_messages("deep", formed({"type": "array", "items": OPEN}), "additionalProperties"),
        of_chat("unknown field", chat(effort="low"), "supplied: effort"),
        of_chat("no model", {"messages": [USER]}, "parameter: 'model'"),
        of_chat("limits", chat(max_tokens=1, max_completion_tokens=1), "same time"),
        of_chat("no messages", chat(messages=[]), "empty array"),
        of_chat("role", chat({"role": "robot"}), "'robot'"),
        of_chat("never asked", chat(USER, ANSWERED), "preceding message"),
        of_chat("not answered", chat(USER, called(), USER), "followed by"),
        of_chat("left open", chat(USER, called()), "followed by"),
        of_chat("extra", chat(called(reasoning="Hm"), ANSWERED), "'reasoning'"),
        of_chat("no JSON", chat(called("{"), ANSWERED), "JSON object"),
        of_chat("no content", chat({"role": "assistant", "content": None}), "got null"),
        of_chat("no text", chat({"role": "user", "content": None}), "expected"),
        of_chat("a link", chat({"role": "user", "content": [PICTURE]}), "part"),
        of_chat("tool name", chat(tools=[DOTTED]), "pattern"),
        of_chat("same tool twice", chat(tools=[FUNCTION, FUNCTION]), "unique"),
        of_chat("no tools", chat(tool_choice="auto"), "'tool_choice'"),
        of_chat("choice", chat(tools=[FUNCTION], tool_choice="any"), "'any'"),
        of_chat("no logprobs", chat(top_logprobs=5), "'logprobs' is enabled"),
        of_chat("no stream", chat(stream_options={}), "'stream' is enabled"),
        of_chat("temperature", chat(temperature=3), "'temperature'"),
        of_chat("effort", chat(reasoning_effort="most"), "'most'"),
        of_chat("open schema", with_schema(OPEN), "additionalProperties"),
        of_chat("optional property", with_schema(OPTIONAL), "'required'"),
        of_responses("unknown field", responses(seed=1), "'seed'"),
        of_responses("stored", responses(store=True), "'store'"),
        of_responses("no input", responses(input=[]), "'input'"),
        of_responses("not answered", responses(CALL), "No tool output"),
        of_responses("never asked", responses(OUTPUT), "No tool call"),
        of_responses("no JSON", responses({**CALL, "arguments": "{"}), "arguments"),
        of_responses("unsigned", responses({"type": "reasoning"}), "not persisted"),
        of_responses("thoughts alone", responses(SIGNED, USER), "required following item"),
        of_responses("blank", responses({"role": "assistant", "content": ""}), "Invalid"),
        of_responses("tool", responses(tools=[{"type": "function"}]), "name"),
        of_responses("open schema", responses(text=FORM), "additionalProperties"),
    ],
)
def test_what_the_real_api_refuses_is_refused(problem: Any, words: str) -> None:
    found = problem()

    assert found is not None
    assert words in found


@pytest.mark.parametrize(
    ("texts", "is_refused"),
    [
        pytest.param(["a", "b"], False, id="texts"),
        pytest.param([], True, id="none"),
        pytest.param(["a", ""], True, id="an empty one"),
        pytest.param(["a"] * 2049, True, id="too many"),
    ],
)
def test_embeddings_take_texts_that_are_not_empty(texts: list[str], *, is_refused: bool) -> None:
    problem = chat_api.problem_with_texts({"model": "m", "input": texts})

    assert (problem is not None) is is_refused


def test_a_handler_that_fails_fails_the_test() -> None:
    def handler(_: Json) -> Reply:
        msg = "the test is wrong"
        raise ValueError(msg)

    server = ModelServer()
    server.answers(handler)
    body = json.dumps(messages())
    headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))

    with contextlib.closing(connection):
        connection.request("POST", "/v1/messages", body, headers)
        status = connection.getresponse().status

    assert status == 500
    with pytest.raises(ValueError, match="the test is wrong"):
        server.close()
