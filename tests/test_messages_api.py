"""The model API of the tests is only worth something if it refuses what the real one refuses."""

import contextlib
import http.client
import json
from typing import Any

import pytest

from tests.messages_api import problem_with
from tests.model_server import KEY, ModelServer, Reply

USER = {"role": "user", "content": "Hi"}
REPLY = {"role": "assistant", "content": "Hello."}
ASKED = {
    "role": "assistant",
    "content": [
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
        {"type": "tool_use", "id": "t2", "name": "f", "input": {}},
    ],
}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
THOUGHT = {"type": "thinking", "signature": "signed"}


def results(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": id_, "content": ""} for id_ in ids]
    return {"role": "user", "content": blocks}


def make_request(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages or [USER]), **changes}


def with_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return make_request(output_config={"format": {"type": "json_schema", "schema": schema}})


STRICT = {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        pytest.param(make_request(seed=1), "seed: Extra inputs", id="unknown field"),
        pytest.param({"model": "m", "messages": [USER]}, "max_tokens: Field required", id="limit"),
        pytest.param(make_request(max_tokens=0), "max_tokens", id="no tokens"),
        pytest.param(make_request(messages=[]), "at least one message", id="no messages"),
        pytest.param(make_request(REPLY, USER), "first message", id="assistant first"),
        pytest.param(make_request(USER, REPLY), "prefill", id="assistant last"),
        pytest.param(make_request({"role": "system", "content": "x"}), "role", id="role"),
        pytest.param(make_request({"role": "user", "content": ""}), "non-empty", id="no content"),
        pytest.param(make_request({"role": "user", "content": " "}), "non-empty", id="blank text"),
        pytest.param(make_request(USER, ASKED, USER), "without `tool_result`", id="not answered"),
        pytest.param(
            make_request(USER, ASKED, results("t1")), "without `tool_result`", id="half answered"
        ),
        pytest.param(
            make_request(USER, ASKED, results("t1", "t2", "t3")), "unexpected", id="never asked"
        ),
        pytest.param(
            make_request(USER, ASKED, results("t1", "t2", "t2")), "single result", id="twice"
        ),
        pytest.param(
            make_request(USER, ASKED, USER, results("t1", "t2")), "come first", id="results late"
        ),
        pytest.param(
            make_request(USER, {"role": "assistant", "content": [{"type": "thinking"}]}, USER),
            "Invalid `signature`",
            id="thoughts of somebody else",
        ),
        pytest.param(
            make_request(USER, {"role": "assistant", "content": [THOUGHT]}, USER),
            "cannot be `thinking`",
            id="thoughts of nothing",
        ),
        pytest.param(make_request(system=" "), "non-whitespace", id="blank system prompt"),
        pytest.param(make_request(tools=[{**TOOL, "name": "a.b"}]), "name", id="tool name"),
        pytest.param(make_request(tools=[TOOL, TOOL]), "unique", id="same tool twice"),
        pytest.param(make_request(tools=[{"name": "f"}]), "input_schema", id="tool without schema"),
        pytest.param(make_request(tool_choice={"type": "any"}), "tool_choice", id="no tools"),
        pytest.param(make_request(output_config={"efort": 1}), "efort", id="misspelt output"),
        pytest.param(make_request(output_config={"effort": "most"}), "effort", id="effort"),
        pytest.param(with_schema({"type": "object"}), "additionalProperties", id="open schema"),
        pytest.param(
            with_schema({**STRICT, "properties": {"a": {}}}), "required", id="optional property"
        ),
        pytest.param(
            with_schema({"type": "array", "items": {"type": "object"}}),
            "additionalProperties",
            id="open schema deep inside",
        ),
    ],
)
def test_what_the_real_api_refuses_is_refused(request_: dict[str, Any], words: str) -> None:
    problem = problem_with(request_, signatures={"signed"})

    assert problem is not None
    assert words in problem


def test_a_handler_that_fails_fails_the_test() -> None:
    def handler(_: dict[str, Any]) -> Reply:
        msg = "the test is wrong"
        raise ValueError(msg)

    server = ModelServer()
    server.answers(handler)
    body = json.dumps(make_request())
    headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))

    with contextlib.closing(connection):
        connection.request("POST", "/v1/messages", body, headers)
        status = connection.getresponse().status

    assert status == 500
    with pytest.raises(ValueError, match="the test is wrong"):
        server.close()
