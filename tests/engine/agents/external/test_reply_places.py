"""Guesses where a foreign request has its message, and a foreign reply its text and tool calls."""

from typing import Any

import pytest

from evals_app.engine.agents.external.reply_places import (
    call_lists,
    guessed_calls,
    messages,
    request_for,
    texts,
    token_places,
)

STEP = {"tool": "orders.find", "input": {"name": "x", "number": 7}, "output": {"state": "sent"}}
FUNCTION = {"id": "c-1", "function": {"name": "orders.find", "arguments": "{}"}}
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


@pytest.mark.parametrize(
    ("reply", "path"),
    [
        ({"data": {"answer": "Yes.", "id": "7f3e-4c20-aa00"}}, "data.answer"),
        ({"message": "Request was successful", "data": {"answer": "Yes."}}, "data.answer"),
        ({"status": "ok", "x": "It arrives tomorrow."}, "x"),
        ({"messages": CHAT}, "messages[-1].content"),
        ({"choices": [{"text": "Hi"}]}, "choices[0].text"),
        ({"reply text": "Hi"}, "['reply text']"),
        ({"output": [{"content": [{"type": "output_text", "text": "Hi"}]}]}, "output[0].content[0].text"),
        ({"text": "Hi", "steps": [STEP | {"output": "A very long text of a tool"}]}, "text"),
        (["a", "b c"], "[-1]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_likeliest_answer_comes_first(reply: Any, path: str) -> None:
    assert texts(reply)[0].path == path


def test_a_reply_without_texts_has_no_places() -> None:
    assert texts({"a": [1, None, " "]}) == []


@pytest.mark.parametrize(
    ("reply", "path", "parts"),
    [
        pytest.param(
            {"data": {"steps": [STEP]}},
            "data.steps",
            {"name": "tool", "arguments": "input", "result": "output"},
            id="steps",
        ),
        pytest.param(
            {"message": {"tool_calls": [FUNCTION]}},
            "message.tool_calls",
            {"name": "function.name", "arguments": "function.arguments"},
            id="functions",
        ),
        pytest.param(
            {"sources": [{"name": "a.md"}], "toolCalls": [{"name": "find", "args": {}}]},
            "toolCalls",
            {"name": "name", "arguments": "args"},
            id="among others",
        ),
        pytest.param({"used": [{"tool": "a", "args": {}}]}, "used", {"name": "tool", "arguments": "args"}, id="by its parts"),
        pytest.param({"tools": [{"name": "a"}]}, "tools", {"name": "name"}, id="by its key"),
    ],
)  # fmt: skip
def test_the_likeliest_tool_calls_are_chosen_with_their_parts(
    reply: Any, path: str, parts: dict[str, str]
) -> None:
    calls = guessed_calls(reply)

    assert calls is not None
    assert (calls.place.path, calls.parts) == (path, parts)


def test_a_list_that_has_names_alone_is_offered_and_not_chosen() -> None:
    reply = {"sources": [{"name": "a.md"}, {"name": "b.md"}, {}], "empty": [], "numbers": [1]}

    (offered,) = call_lists(reply)

    assert (offered.place.path, offered.names) == ("sources", ["a.md", "b.md"])
    assert guessed_calls(reply) is None


def test_tokens_are_counted_where_the_keys_say_so() -> None:
    reply = {"usage": {"prompt_tokens": 12, "completionTokens": 7, "total_tokens": 19}}

    assert token_places(reply) == {
        "input_tokens": "usage.prompt_tokens",
        "output_tokens": "usage.completionTokens",
    }
    assert token_places({"usage": {"prompt_tokens": True}}) == {}


@pytest.mark.parametrize(
    ("body", "request_body"),
    [
        pytest.param({"input": "Hi", "history": [], "trial": 1}, None, id="our own"),
        pytest.param(
            {"question": "Hi", "stream": False, "note": "{{x}}"},
            {"question": "{{input}}", "stream": False, "note": r"\{{x}}"},
            id="other keys",
        ),
        pytest.param(
            {"x": "Hi", "session_id": "7f3e 4c20"},
            {"x": "{{input}}", "session_id": "{{session_id}}"},
            id="a session",
        ),
        pytest.param({"message": "", "n": 1}, {"message": "{{input}}", "n": 1}, id="blank"),
        pytest.param(
            {"user": {"id": "a b c d"}, "body": {"text": "Hi"}},
            {"user": {"id": "a b c d"}, "body": {"text": "{{input}}"}},
            id="inside",
        ),
        pytest.param(
            {"input": {"messages": CHAT}, "config": {"thread_id": "t-1"}},
            {"input": {"messages": "{{messages}}"}, "config": {"thread_id": "{{session_id}}"}},
            id="chat messages and a thread",
        ),
        pytest.param(
            {"query": "Hi", "chat_history": CHAT},
            {"query": "{{input}}", "chat_history": "{{history}}"},
            id="earlier messages",
        ),
        pytest.param(
            {"parts": [{"text": "Be kind."}, {"text": "x"}, {"text": "Where is it now?"}]},
            {"parts": [{"text": "Be kind."}, {"text": "x"}, {"text": "{{input}}"}]},
            id="in a list",
        ),
    ],
)
def test_a_request_that_was_sent_becomes_one_with_variables(
    body: dict[str, Any], request_body: dict[str, Any] | None
) -> None:
    assert request_for(body, messages(body)[0].steps) == request_body
