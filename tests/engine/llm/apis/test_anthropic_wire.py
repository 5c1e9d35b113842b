import json
from typing import Any

import pytest

from evals_app.engine.llm.apis.anthropic_wire import StreamedMessage, to_reply, to_request, to_usage
from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.apis.wire import UnreadableReplyError
from evals_app.engine.llm.call import (
    AssistantMessage,
    ChatMessage,
    FileContent,
    ModelCall,
    NativeTurn,
    ToolResult,
    ToolResults,
    UserMessage,
)
from evals_app.engine.record.usage import Usage
from tests.engine.llm.makers import QUERY, VERDICT, make_call

NO_TOOLS = ToolNames([])


def make_message(*content: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"content": list(content), "stop_reason": "end_turn", "model": "m", **changes}


def request_for(call: ModelCall, *without: str) -> dict[str, Any]:
    names = ToolNames(tool.name for tool in call.tools)
    return to_request(call, names=names, without=frozenset(without))


def test_a_plain_call_sends_nothing_but_the_necessary() -> None:
    assert request_for(make_call("Hi")) == {
        "model": "claude-haiku-5-5",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hi"}],
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"system": "Be kind."}, {"system": "Be kind."}, id="system prompt"),
        pytest.param({"system": " \n"}, {}, id="blank system prompt"),
        pytest.param({"max_output_tokens": 7}, {"max_tokens": 7}, id="output limit"),
        pytest.param({"effort": "low"}, {"output_config": {"effort": "low"}}, id="effort"),
        pytest.param(
            {"schema": VERDICT},
            {"output_config": {"format": {"type": "json_schema", "schema": VERDICT}}},
            id="schema",
        ),
        ({"temperature": 0.0, "top_p": 0.9}, {"extra_body": {"temperature": 0.0, "top_p": 0.9}}),
        pytest.param(
            {"tools": (QUERY,), "tool_choice": "any"},
            {
                "tools": [
                    {
                        "name": "entity_query",
                        "description": "Look up entities.",
                        "input_schema": QUERY.parameters,
                    }
                ],
                "tool_choice": {"type": "any"},
            },
            id="tools",
        ),
    ],
)
def test_what_is_set_is_sent(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    plain = request_for(make_call())

    assert request_for(make_call(**changes)) == plain | expected


def test_a_refused_setting_is_left_out_and_the_others_stay() -> None:
    call = make_call(temperature=0.0, top_p=0.5, effort="low", schema=VERDICT)

    request, bare = (
        request_for(call, "temperature", "effort"),
        request_for(call, "effort", "schema"),
    )

    assert request["extra_body"] == {"top_p": 0.5}
    assert request["output_config"].keys() == {"format"}
    assert "output_config" not in bare


def file_block(kind: str, media_type: str) -> dict[str, Any]:
    return {
        "type": kind,
        "source": {"type": "base64", "media_type": media_type, "data": "ZmlsZQ=="},
    }


def user(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(blocks)}]


def text(words: str, **changes: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **changes}


PICTURE, PAPER = (
    FileContent("a.png", "image/png", b"file"),
    FileContent("b.pdf", "application/pdf", b"file"),
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(UserMessage("Hi"), [{"role": "user", "content": "Hi"}], id="user"),
        pytest.param(
            UserMessage("Look", (PICTURE, PAPER)),
            user(
                file_block("image", "image/png"),
                file_block("document", "application/pdf") | {"title": "b.pdf"},
                text("Look"),
            ),
            id="files before the question",
        ),
        pytest.param(
            UserMessage("All of it. What of it?", shared=10),
            user(text("All of it.", cache_control={"type": "ephemeral"}), text(" What of it?")),
            id="what is shared is marked",
        ),
        (UserMessage("", (PICTURE,)), user(file_block("image", "image/png"))),
        (AssistantMessage("Hello"), [{"role": "assistant", "content": "Hello"}]),
        pytest.param(AssistantMessage(" \n"), [], id="assistant who said nothing"),
        pytest.param(
            NativeTurn({"role": "assistant", "content": [{"type": "thinking"}]}),
            [{"role": "assistant", "content": [{"type": "thinking"}]}],
            id="native turn as it was",
        ),
        pytest.param(
            ToolResults((ToolResult("t1", "f", "[]"), ToolResult("t2", "f", "no", is_error=True))),
            user(
                {"type": "tool_result", "tool_use_id": "t1", "content": "[]"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True},
            ),
            id="all tool results in one message",
        ),
    ],
)
def test_messages_become_the_apis(message: ChatMessage, expected: list[dict[str, Any]]) -> None:
    assert request_for(make_call(messages=(message,)))["messages"] == expected


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "ok"),
        ("stop_sequence", "ok"),
        ("pause_turn", "ok"),
        ("tool_use", "tool"),
        ("max_tokens", "length"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context"),
    ],
)
def test_every_stop_reason_has_its_meaning(reason: str, stop: str) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    message = make_message({"type": "text", "text": "x"}, call, stop_reason=reason)

    assert to_reply(message, names=NO_TOOLS, raw_inputs={}).stop == stop


@pytest.mark.parametrize(
    ("message", "words"),
    [
        pytest.param({}, "no list of content blocks", id="empty object"),
        pytest.param({"content": "Hi"}, "no list of content blocks", id="content is text"),
        pytest.param({"content": ["Hi"]}, "no list of content blocks", id="blocks are text"),
        pytest.param(make_message(stop_reason=None), "unknown reason .None", id="no stop reason"),
        pytest.param(make_message(stop_reason="tired"), "'tired'.*end_turn", id="new reason"),
        pytest.param(make_message(stop_reason=["end_turn"]), "unknown reason", id="odd reason"),
        pytest.param(make_message({"type": "text", "text": 5}), "not a text", id="a number"),
        pytest.param(make_message(stop_reason="tool_use"), "none", id="no tool call"),
        (make_message({"type": "tool_use", "id": "c1"}), "name of a tool call"),
        (make_message({"type": "tool_use", "name": "f"}), "id of a tool call"),
    ],
)
def test_what_is_no_message_is_refused(message: dict[str, Any], words: str) -> None:
    with pytest.raises(UnreadableReplyError, match=words):
        to_reply(message, names=NO_TOOLS, raw_inputs={})


def test_only_text_blocks_make_the_text_and_the_turn_stays_whole() -> None:
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Let me "},
        {"type": "from_the_future", "payload": 1},
        {"type": "text", "text": "see."},
    ]

    reply = to_reply(make_message(*content), names=NO_TOOLS, raw_inputs={})

    assert reply.text == "Let me see."
    assert reply.native_turn == NativeTurn({"role": "assistant", "content": content})


THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
HIDDEN = {"type": "redacted_thinking", "data": "x"}
SAID = {"type": "text", "text": "Hi"}
BLANK = {"type": "text", "text": " \n"}
USE = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


@pytest.mark.parametrize(
    ("content", "sent_back"),
    [
        pytest.param([THOUGHT, SAID], [THOUGHT, SAID], id="all of it"),
        pytest.param([THOUGHT, BLANK, USE], [THOUGHT, USE], id="no blank text"),
        pytest.param([{"type": "text", "text": None}, USE], [USE], id="no text at all"),
        pytest.param([SAID, THOUGHT, HIDDEN], [SAID], id="no thoughts at the end"),
        pytest.param([THOUGHT, HIDDEN], None, id="nothing said"),
        pytest.param([BLANK], None, id="only blanks"),
    ],
)
def test_of_a_turn_goes_back_what_the_api_takes(
    content: list[dict[str, Any]], sent_back: list[dict[str, Any]] | None
) -> None:
    reply = to_reply(make_message(*content), names=NO_TOOLS, raw_inputs={})

    turn = None if reply.native_turn is None else reply.native_turn.value["content"]
    assert turn == sent_back
    assert "None" not in reply.text


def test_what_a_filter_broke_off_is_not_whole() -> None:
    cut, whole = (
        make_message(text("Mix the"), stop_reason=reason) for reason in ("refusal", "end_turn")
    )

    assert not to_reply(cut, names=NO_TOOLS, raw_inputs={}).is_whole
    assert to_reply(whole, names=NO_TOOLS, raw_inputs={}).is_whole


@pytest.mark.parametrize("tokens", [10**30, -1, 1.5, "3", True])
def test_tokens_that_nobody_can_have_counted_are_unknown_with_a_note(tokens: object) -> None:
    usage = {"input_tokens": 3, "output_tokens": tokens}

    reply = to_reply(make_message(usage=usage), names=NO_TOOLS, raw_inputs={})

    assert reply.usage == Usage()
    (note,) = reply.notes
    assert "output_tokens" in note


def test_a_refusal_may_say_nothing_of_its_category() -> None:
    message = make_message(SAID, stop_reason="refusal", stop_details="odd")

    assert to_reply(message, names=NO_TOOLS, raw_inputs={}).refusal_category is None


def test_a_turn_in_which_nothing_was_said_is_not_sent_back() -> None:
    reply = to_reply(
        make_message(stop_reason="refusal", stop_details={"category": "bio"}),
        names=NO_TOOLS,
        raw_inputs={},
    )

    assert reply.native_turn is None
    assert reply.refusal_category == "bio"


@pytest.mark.parametrize(
    ("given", "raw", "arguments", "arguments_raw", "is_malformed"),
    [
        pytest.param({"id": 7}, None, {"id": 7}, '{"id": 7}', False, id="object"),
        pytest.param({}, None, {}, "{}", False, id="no arguments"),
        pytest.param({}, '{"id": 7}', {"id": 7}, '{"id": 7}', False, id="streamed"),
        pytest.param({}, "", {}, "{}", False, id="streamed without arguments"),
        pytest.param("[1", None, {}, '"[1"', True, id="text"),
        pytest.param([1], None, {}, "[1]", True, id="list"),
        pytest.param(None, None, {}, "null", True, id="null"),
        pytest.param({}, '{"id": ', {}, '{"id": ', True, id="streamed and cut"),
        pytest.param({}, "[1]", {}, "[1]", True, id="streamed list"),
    ],
)
def test_arguments_are_an_object_or_marked_as_malformed(
    given: object,
    raw: str | None,
    arguments: dict[str, Any],
    arguments_raw: str,
    is_malformed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "entity_query", "input": given}
    raw_inputs = {} if raw is None else {0: raw}

    reply = to_reply(
        make_message(block, stop_reason="tool_use"),
        names=ToolNames(["entity.query"]),
        raw_inputs=raw_inputs,
    )

    (request,) = reply.tool_calls
    assert (request.id, request.name) == ("t1", "entity.query")
    assert (request.arguments, request.arguments_raw) == (arguments, arguments_raw)
    assert request.is_malformed is is_malformed
    assert reply.native_turn is not None
    assert isinstance(reply.native_turn.value["content"][0]["input"], dict)


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        pytest.param(None, Usage(), id="nothing is unknown, not 0"),
        pytest.param({}, Usage(), id="nothing inside"),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(input_uncached=3, output=4)),
        pytest.param(
            {"input_tokens": 3, "output_tokens": 4, "cache_creation_input_tokens": 9},
            Usage(input_uncached=3, output=4, cache_write_5m=9),
            id="written without a split",
        ),
        pytest.param(
            {
                "input_tokens": 3,
                "output_tokens": 4,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 9,
                "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 7},
                "output_tokens_details": {"thinking_tokens": 1},
            },
            Usage(3, 4, cache_read=5, cache_write_5m=2, cache_write_1h=7, reasoning=1),
            id="everything",
        ),
        pytest.param(
            {
                "input_tokens": 3,
                "output_tokens": 4,
                "cache_read_input_tokens": None,
                "cache_creation": None,
                "output_tokens_details": None,
            },
            Usage(input_uncached=3, output=4),
            id="nulls",
        ),
    ],
)
def test_usage_is_read_kind_by_kind(reported: object, usage: Usage) -> None:
    assert to_usage(reported) == usage


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **given: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **given}}


def test_events_add_up_to_the_message() -> None:
    streamed = StreamedMessage()
    begun = make_message(stop_reason=None, usage={"input_tokens": 3, "output_tokens": 1})
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        start(0, type="text", text=""),
        delta(0, "text_delta", text="Hi"),
        delta(0, "citations_delta", citation={"url": "x"}),
        delta(0, "from_the_future"),
        {"type": "content_block_stop", "index": 0},
        start(1, type="tool_use", id="t", name="f", input={}),
        delta(1, "input_json_delta", partial_json='{"a"'),
        delta(1, "input_json_delta", partial_json=": 1}"),
        {"type": "content_block_stop", "index": 1},
        {"type": "from_the_future"},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_details": None},
            "usage": {"input_tokens": None, "output_tokens": 9},
        },
        {"type": "message_stop"},
    ]

    tokens = [streamed.add(json.loads(json.dumps(event))) for event in events]

    assert streamed.is_complete
    assert streamed.message == make_message(
        {"type": "text", "text": "Hi", "citations": [{"url": "x"}]},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        stop_reason="tool_use",
        usage={"input_tokens": 3, "output_tokens": 9},
    )
    assert streamed.raw_inputs == {1: '{"a": 1}'}
    assert [index for index, is_token in enumerate(tokens) if is_token] == [2, 7, 8]
