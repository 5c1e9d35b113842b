"""OpenAI's APIs of the tests are only worth something if they refuse what the real ones refuse."""

from typing import Any

import pytest

from tests import chat_api, responses_api
from tests.chat_api import problem_with_texts

USER = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
STRICT = {"type": "object", "additionalProperties": False}


def call(id_: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": "f", "arguments": arguments}}


def asked(*calls: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **changes}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": ""}


def make_request(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages or [USER]), **changes}


def with_schema(schema: dict[str, Any]) -> dict[str, Any]:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return make_request(response_format=form)


PICTURE = {"type": "image_url", "image_url": {"url": "chart.png"}}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        pytest.param(make_request(effort="low"), "supplied: effort", id="unknown field"),
        pytest.param({"messages": [USER]}, "parameter: 'model'", id="no model"),
        pytest.param(make_request(max_tokens=1, max_completion_tokens=1), "same time", id="limits"),
        pytest.param(make_request(messages=[]), "empty array", id="no messages"),
        pytest.param(make_request({"role": "robot"}), "'robot'", id="role"),
        pytest.param(make_request(USER, result("a")), "preceding message", id="never asked"),
        pytest.param(make_request(USER, asked(call("a")), USER), "followed by", id="not answered"),
        pytest.param(make_request(USER, asked(call("a"))), "followed by", id="left open"),
        pytest.param(
            make_request(asked(call("a"), reasoning="Hm"), result("a")), "'reasoning'", id="extra"
        ),
        pytest.param(make_request(asked(call("a", "{")), result("a")), "JSON object", id="no JSON"),
        pytest.param(
            make_request({"role": "assistant", "content": None}), "got null", id="no content"
        ),
        pytest.param(make_request({"role": "user", "content": None}), "expected", id="no text"),
        pytest.param(make_request({"role": "user", "content": [PICTURE]}), "part", id="a link"),
        pytest.param(
            make_request(tools=[{"type": "function", "function": {"name": "a.b"}}]),
            "pattern",
            id="tool name",
        ),
        pytest.param(make_request(tools=[TOOL, TOOL]), "unique", id="same tool twice"),
        pytest.param(make_request(tool_choice="auto"), "'tool_choice'", id="no tools"),
        pytest.param(make_request(tools=[TOOL], tool_choice="any"), "'any'", id="choice"),
        pytest.param(make_request(top_logprobs=5), "'logprobs' is enabled", id="no logprobs"),
        pytest.param(make_request(stream_options={}), "'stream' is enabled", id="no stream"),
        pytest.param(make_request(temperature=3), "'temperature'", id="temperature"),
        pytest.param(make_request(reasoning_effort="most"), "'most'", id="effort"),
        pytest.param(with_schema({"type": "object"}), "additionalProperties", id="open schema"),
        pytest.param(
            with_schema({**STRICT, "properties": {"a": {}}}), "'required'", id="optional property"
        ),
    ],
)
def test_what_the_chat_api_refuses_is_refused(request_: dict[str, Any], words: str) -> None:
    problem = chat_api.problem_with(request_)

    assert problem is not None
    assert words in problem


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
    problem = problem_with_texts({"model": "m", "input": texts})

    assert (problem is not None) is is_refused


CALLED = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
ANSWERED = {"type": "function_call_output", "call_id": "a", "output": ""}


def make_input(*items: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items or [USER]), "store": False, **changes}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        pytest.param(make_input(seed=1), "'seed'", id="unknown field"),
        pytest.param(make_input(store=True), "'store'", id="stored"),
        pytest.param(make_input(input=[]), "'input'", id="no input"),
        pytest.param(make_input(CALLED), "No tool output", id="not answered"),
        pytest.param(make_input(ANSWERED), "No tool call", id="never asked"),
        pytest.param(make_input({**CALLED, "arguments": "{"}), "arguments", id="no JSON"),
        pytest.param(make_input({"type": "reasoning"}), "not persisted", id="thoughts unsigned"),
        pytest.param(
            make_input({"type": "reasoning", "encrypted_content": "signed"}, USER),
            "required following item",
            id="thoughts of nothing",
        ),
        pytest.param(make_input({"role": "assistant", "content": ""}), "Invalid", id="blank"),
        pytest.param(make_input(tools=[{"type": "function"}]), "name", id="tool"),
        pytest.param(
            make_input(
                text={"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}}}
            ),
            "additionalProperties",
            id="open schema",
        ),
    ],
)
def test_what_the_responses_api_refuses_is_refused(request_: dict[str, Any], words: str) -> None:
    problem = responses_api.problem_with(request_, signatures={"signed"})

    assert problem is not None
    assert words in problem
