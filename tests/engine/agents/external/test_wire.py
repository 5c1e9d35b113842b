"""Agents with JSON of their own: the request as they expect it, and the places in their reply."""

import json
import re
from typing import Any

import pytest

from evals_app.engine.agents.external.wire import filled_request, read_at_places
from evals_app.engine.basics.errors import AgentError
from evals_app.engine.record.trial import ToolCall
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.wire_spec import Places

EARLIER = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
REQUEST: dict[str, Any] = {
    "input": "Where is it?",
    "history": EARLIER,
    "channel": None,
    "context_params": {"tenant": "acme", "vip": True},
    "trial": 2,
}
REPLY = {
    "data": {
        "answer": "On Monday.",
        "steps": [
            {"tool": "orders.find", "input": {"number": 7}, "output": {"state": "sent"}},
            {"tool": "orders.cancel"},
        ],
    },
    "usage": {"in": 12, "out": 7},
}
PLACES = {
    "text": "data.answer",
    "tool_calls": "data.steps",
    "name": "tool",
    "arguments": "input",
    "result": "output",
    "input_tokens": "usage.in",
    "output_tokens": "usage.out",
}


def read(value: Any, **places: str | None) -> Any:
    text = value if isinstance(value, str) else json.dumps(value)
    return read_at_places(text, Places.model_validate(PLACES | places))


@pytest.mark.parametrize(
    ("body", "filled"),
    [
        pytest.param({"q": "{{input}}"}, {"q": "Where is it?"}, id="text"),
        pytest.param({"q": "Say: {{ input }}!"}, {"q": "Say: Where is it?!"}, id="within a text"),
        pytest.param({"n": ["{{trial}}", 1.5]}, {"n": [2, 1.5]}, id="a number stays one"),
        pytest.param({"h": "{{history}}"}, {"h": EARLIER}, id="a list stays one"),
        pytest.param(
            {"a": {"messages": "{{messages}}"}},
            {"a": {"messages": [*EARLIER, {"role": "user", "content": "Where is it?"}]}},
            id="with the message",
        ),
        pytest.param({"{{input}}": "a"}, {"{{input}}": "a"}, id="keys stay"),
        pytest.param({"a": r"\{{input}}"}, {"a": "{{input}}"}, id="literal braces"),
        pytest.param({"f": "{{files}}"}, {"f": []}, id="no files"),
        pytest.param(
            {"c": "{{channel}}", "t": "on {{channel}}: {{context_params.vip}}"},
            {"c": None, "t": "on : true"},
            id="nothing there",
        ),
    ],
)
def test_a_request_is_filled_in(body: dict[str, Any], filled: dict[str, Any]) -> None:
    assert filled_request(body, REQUEST) == (filled, ())


def test_a_parameter_that_the_case_does_not_set_is_null_with_a_warning() -> None:
    body = {"a": "{{context_params.tenat}}", "b": "x{{context_params.tenat}}"}

    filled, (warning,) = filled_request(body, REQUEST)

    assert filled == {"a": None, "b": "x"}
    assert "context_params.tenat" in warning


def test_text_calls_and_tokens_are_read_at_their_places() -> None:
    reply = read(REPLY)

    assert (reply.text, reply.usage) == ("On Monday.", Usage(12, 7))
    assert reply.tool_calls == (
        ToolCall("orders.find", {"number": 7}, {"state": "sent"}),
        ToolCall("orders.cancel", {}),
    )
    assert reply.reports_calls
    assert [note.split(":")[0] for note in reply.notes] == [
        "A tool call in the agent's reply has no input"
    ]


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ('{"number": 7}', {"number": 7}),
        ("", {}),
        (None, {}),
        ("order 7", {"arguments": "order 7"}),
        ([7], {"arguments": [7]}),
    ],
)
def test_arguments_may_be_json_as_text_or_one_value(
    arguments: Any, read_as: dict[str, Any]
) -> None:
    value = {"a": "Hi", "calls": [{"function": {"name": "find", "arguments": arguments}}]}
    places = {"text": "a", "tool_calls": "calls", "name": "function.name"}

    reply = read_at_places(
        json.dumps(value), Places.model_validate(places | {"arguments": "function.arguments"})
    )

    assert reply.tool_calls == (ToolCall("find", read_as),)


def test_names_alone_are_calls_and_the_whole_reply_may_be_the_text() -> None:
    places = Places.model_validate({"text": "$", "tool_calls": "tools", "name": "$"})

    reply = read_at_places('{"tools": ["find"]}', places)

    assert json.loads(reply.text) == {"tools": ["find"]}
    assert reply.tool_calls == (ToolCall("find", {}),)


@pytest.mark.parametrize("steps", [{}, {"steps": None}])
def test_calls_and_tokens_that_are_missing_are_unknown(steps: dict[str, Any]) -> None:
    reply = read({"data": {"answer": "Hi", **steps}})

    assert (reply.tool_calls, reply.reports_calls, reply.usage) == ((), False, Usage())
    assert any("has no usage" in note for note in reply.notes)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param({"data": {"answr": "Hi"}}, "no data.answer: data is an object", id="no text"),
        pytest.param({"data": {"answr": "Hi"}}, "“answr”", id="the nearest key"),
        pytest.param({"data": {"answer": None}}, "data.answer", id="null"),
        pytest.param("Good morning", "not valid JSON: Good morning", id="no JSON"),
        pytest.param('{"data": 1, "data": 2}', "'data' twice", id="a key twice"),
        pytest.param({"data": {"answer": "Hi", "steps": "none"}}, "data.steps", id="no list"),
        ({"data": {"answer": "Hi", "steps": [{"tol": "a"}]}}, "Tool call 1"),
        pytest.param({"data": {"answer": "Hi", "steps": [7]}}, "Tool call 1", id="no object"),
        ({"data": {"answer": "Hi", "steps": [{"tool": 7}]}}, "tool_calls[0].name"),
        ({"data": {"answer": "Hi"}, "usage": {"in": "many"}}, "input_tokens"),
    ],
)
def test_a_reply_without_its_parts_is_the_agents_error(value: Any, words: str) -> None:
    with pytest.raises(AgentError, match=re.escape(words)):
        read(value)
