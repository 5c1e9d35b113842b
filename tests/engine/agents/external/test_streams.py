"""Replies in pieces: how lines become events, and events a reply."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

import pytest

from evals_app.engine.agents.external.reply import AgentReply
from evals_app.engine.agents.external.streams import (
    ChatPieces,
    Event,
    Pieces,
    events_in,
    format_of,
    pieces_for,
)
from evals_app.engine.basics.errors import AgentError
from evals_app.engine.record.trial import ToolCall
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.wire_spec import Places, StreamSpec

PLACES = {"text": "delta.text", "tool_calls": "steps", "name": "tool", "arguments": "input"}


async def read_events(lines: Sequence[str], written: Literal["sse", "ndjson"]) -> list[Event]:
    async def arrivals() -> AsyncGenerator[str, None]:
        for line in lines:
            yield line

    return [event async for event in events_in(arrivals(), format=written)]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(["data: a", "", "data:b", ""], [Event("a"), Event("b")], id="two"),
        pytest.param(["data:  a", ""], [Event(" a")], id="one space belongs to the field"),
        pytest.param(["data: a", "data: b", ""], [Event("a\nb")], id="several lines"),
        pytest.param(["event: token", "data: a", ""], [Event("a", "token")], id="with a name"),
        pytest.param([": ping", "id: 7", "retry: 9", "", "data: a", ""], [Event("a")], id="others"),
        pytest.param(["event: ping", "", "data: a", ""], [Event("a")], id="no data"),
        pytest.param(["data: a"], [Event("a")], id="cut before its last empty line"),
        (["data: a", "", "data: [DONE]", "", "data: b", ""], [Event("a"), Event("[DONE]")]),
        pytest.param([], [], id="nothing"),
    ],
)
async def test_lines_are_read_as_server_sent_events(lines: list[str], events: list[Event]) -> None:
    assert await read_events(lines, "sse") == events


@pytest.mark.anyio
async def test_each_line_of_json_is_an_event() -> None:
    assert await read_events(['{"a": 1}', "", "[1]"], "ndjson") == [Event('{"a": 1}'), Event("[1]")]


@pytest.mark.parametrize(
    ("media_type", "text", "found"),
    [
        ("text/event-stream", "", "sse"),
        ("application/x-ndjson", "", "ndjson"),
        ("text/plain", 'data: {"a": 1}\n\ndata: [DONE]\n', "sse"),
        ("", ": ping\ndata: a", "sse"),
        ("text/plain", "data: these are two\nlines of a text", None),
        ("text/plain", "Hello.", None),
        ("text/plain", "", None),
        ("application/json", '{"data": "a"}', None),
        ("application/json", '{"a": 1}\n{"a": 2}\n', "ndjson"),
        ("application/json", '{\n"a": 1\n}', None),
        ("text/plain", '{"a": 1}\n{"a": 2}\n', None),
    ],
)
def test_a_stream_is_recognized(media_type: str, text: str, found: str | None) -> None:
    assert format_of(media_type, text) == found


def add_all(pieces: Pieces, *values: Any) -> tuple[AgentReply, list[bool]]:
    events = [
        value
        if isinstance(value, Event)
        else Event(value if isinstance(value, str) else json.dumps(value))
        for value in values
    ]
    had = [pieces.add(event) for event in events]
    return pieces.reply(lambda text: text.replace("tok-1", "***")), had


def read_own(*values: Any, **changes: Any) -> tuple[AgentReply, list[bool]]:
    """Read events at places, or under our own keys."""
    places = changes.pop("places", PLACES)
    stream = StreamSpec.model_validate({"format": "sse"} | changes)
    return add_all(
        pieces_for(stream, places=Places.model_validate(places) if places else None), *values
    )


def test_pieces_at_a_place_are_joined() -> None:
    reply, had = read_own(
        {"type": "start"},
        {"delta": {"text": ""}},
        {"delta": {"text": "It ships "}},
        {"delta": {"text": None}},
        {"steps": [{"tool": "find", "input": {"n": 1}}]},
        {"delta": {"text": "on Monday: tok"}, "in": 1},
        {"delta": {"text": "-1."}, "in": 12},
        "[DONE]",
        places=PLACES | {"input_tokens": "in", "output_tokens": "out"},
    )

    assert reply.text == "It ships on Monday: ***."
    assert reply.tool_calls == (ToolCall("find", {"n": 1}),)
    assert reply.usage == Usage(12, None)
    assert [note for note in reply.notes if "out" in note]
    assert had == [False, False, True, False, True, True, True, False]


@pytest.mark.parametrize(
    ("steps", "names", "is_known"),
    [
        pytest.param([[{"tool": "a"}], [{"tool": "b"}]], ["a", "b"], True, id="lists"),
        pytest.param([{"tool": "a"}, {"tool": "b"}], ["a", "b"], True, id="one at a time"),
        pytest.param([[]], [], True, id="none were made"),
        pytest.param([], [], False, id="unknown"),
    ],
)
def test_tool_calls_of_all_events_count(
    steps: list[Any], names: list[str], *, is_known: bool
) -> None:
    reply, _ = read_own(*({"steps": step} for step in steps), {"delta": {"text": "a"}})

    assert [call.name for call in reply.tool_calls] == names
    is_noted = any("has steps" in note for note in reply.notes)
    assert (reply.reports_calls, is_noted) == (is_known, not is_known)


def test_a_call_may_be_a_whole_event() -> None:
    places = {"text": "text", "tool_calls": "$", "name": "tool"}
    reply, _ = read_own({"text": "a"}, {"tool": "find"}, {"text": "b"}, places=places)

    assert (reply.text, [call.name for call in reply.tool_calls]) == ("ab", ["find"])


def test_only_named_events_have_text() -> None:
    reply, _ = read_own(
        {"type": "text", "delta": "a"},
        {"type": "thinking", "delta": "hm"},
        Event('{"delta": "b"}', "token"),
        places={"text": "delta"},
        text_events=["text", "token"],
    )

    assert reply.text == "ab"


def test_events_may_have_our_own_keys_or_be_text() -> None:
    call = {"name": "find", "args": {"n": 1}}
    reply, had = read_own(
        "Hello ",
        {"output": "you"},
        {"tool_calls": [call]},
        {"tool_calls": [call], "usage": {"input_tokens": 3}, "output": "."},
        '"!"',
        places=None,
    )

    assert reply.text == "Hello you.!"
    assert reply.tool_calls == (ToolCall("find", {"n": 1}),) * 2
    assert reply.usage == Usage(3, None)
    assert had == [True] * 5


TOO_MUCH = [{"delta": {"text": "a"}, "steps": [{"tool": "x" * 1_000_000}]}] * 3


@pytest.mark.parametrize(
    ("places", "values", "words"),
    [
        pytest.param(PLACES, [Event("{}", "error")], "reports an error", id="by its name"),
        pytest.param(PLACES, [{"error": {"message": "No money."}}], "No money", id="by its key"),
        pytest.param(None, [{"output": "a"}, {"error": "Oops"}], "Oops", id="our key"),
        pytest.param(PLACES, ['{"delta": {"te'], "not valid JSON", id="cut"),
        (PLACES, [{"delta": {"text": "a"}}, Event('{"delta": {"te', "delta")], "not valid JSON"),
        pytest.param(None, [{"output": "a"}, '{"outp'], "not valid JSON", id="our keys are cut"),
        pytest.param(PLACES, [{"delta": {"text": 5}}], "has 5 at", id="no text"),
        pytest.param(PLACES, [{"dleta": 1}], "delta.text.*dleta", id="nowhere"),
        pytest.param(PLACES, ['{"a": 1, "a": 2}'], "twice", id="a key twice"),
        pytest.param(PLACES, [], "No event", id="nothing"),
        pytest.param(PLACES, [{"steps": 7}], "list of tool calls", id="no list"),
        pytest.param(None, [], "no answer", id="nothing under our keys"),
        pytest.param(None, ["[1]"], "is a list", id="list"),
        pytest.param(PLACES, [{"delta": {"text": "x" * 1_000_001}}], "longer", id="too long"),
        pytest.param(PLACES, TOO_MUCH, "longer", id="too much beside the text"),
    ],
)
def test_a_broken_stream_is_the_agents_error(
    places: dict[str, str] | None, values: list[Any], words: str
) -> None:
    with pytest.raises(AgentError, match=words):
        read_own(*values, places=places)


def test_text_in_pieces_may_begin_like_json() -> None:
    reply, _ = read_own({"model": "m"}, '{"refund": ', "true}", places=None)

    assert reply.text == '{"refund": true}'


def test_a_named_event_need_not_be_json() -> None:
    ping, line = Event("12:00", "ping"), Event("[INFO] Ready.", "log")
    reply, _ = read_own(ping, line, {"delta": {"text": "a"}})

    assert reply.text == "a"


def chunk(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"model": "big-1", "choices": [choice]}


def test_chunks_of_a_chat_completion_are_joined() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "find", "arguments": '{"n"'}}
    reply, had = add_all(
        ChatPieces(),
        chunk(role="assistant", content=""),
        chunk(content="On "),
        chunk(content="Monday: tok"),
        chunk(content="-1"),
        chunk(tool_calls=[call]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
        chunk("stop"),
        {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7}},
        "[DONE]",
    )

    assert (reply.text, reply.model) == ("On Monday: ***", "big-1")
    assert reply.tool_calls == (ToolCall("find", {"n": 1}),)
    assert (reply.usage.prompt_tokens, reply.usage.output) == (12, 7)
    assert had.index(True) == 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param([chunk(content="Half")], "middle of its reply.*Half", id="no end"),
        pytest.param([{"error": {"message": "Busy."}}], "error: Busy", id="error"),
        pytest.param(["<html>"], "not a chunk", id="no JSON"),
        pytest.param([[1]], "not a chunk", id="a list"),
        pytest.param([chunk("content_filter", content="a")], "content filter", id="filtered"),
    ],
)
def test_a_chat_that_breaks_off_is_the_agents_error(values: list[Any], words: str) -> None:
    with pytest.raises(AgentError, match=words):
        add_all(ChatPieces(), *values)


@pytest.mark.parametrize("end", ["[DONE]", None])
def test_a_chat_ends_with_a_reason_or_with_done(end: str | None) -> None:
    values = [chunk(content="a"), end] if end else [chunk(content="a"), chunk("stop")]

    assert add_all(ChatPieces(), *values)[0].text == "a"
