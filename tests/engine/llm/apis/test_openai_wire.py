import json
from typing import Any

import pytest

from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.apis.openai_wire import (
    error_in,
    to_logprobs,
    to_reply,
    to_request,
    to_usage,
)
from evals_app.engine.llm.apis.wire import UnreadableReplyError
from evals_app.engine.llm.call import (
    AssistantMessage,
    ChatMessage,
    FileContent,
    ModelCall,
    NativeTurn,
    TokenLogprob,
    ToolResult,
    ToolResults,
    UserMessage,
)
from evals_app.engine.record.usage import Usage
from tests.engine.llm.makers import QUERY, VERDICT, make_call

NO_TOOLS = ToolNames([])


def request_for(call: ModelCall, *without: str) -> dict[str, Any]:
    names = ToolNames(tool.name for tool in call.tools)
    return to_request(
        call, names=names, without=frozenset(without), max_tokens_parameter="max_tokens"
    )


def make_body(message: dict[str, Any], reason: Any = "stop", **changes: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"message": message, "finish_reason": reason}], **changes}


def make_tool_call(arguments: Any = "{}", **changes: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return call | changes


def test_a_plain_call_sends_nothing_but_the_necessary() -> None:
    assert request_for(make_call("Hi")) == {
        "model": "claude-haiku-5-5",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hi"}],
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"stream": True}, {"stream_options": {"include_usage": True}}, id="stream"),
        pytest.param({"temperature": 0.0}, {"temperature": 0.0}, id="temperature"),
        pytest.param({"top_p": 0.9}, {"top_p": 0.9}, id="top_p"),
        pytest.param({"seed": 0}, {"seed": 0}, id="seed"),
        pytest.param({"effort": "low"}, {"reasoning_effort": "low"}, id="effort"),
        ({"top_logprobs": 5}, {"logprobs": True, "top_logprobs": 5}),
        pytest.param(
            {"schema": VERDICT},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": True, "schema": VERDICT},
                }
            },
            id="schema",
        ),
        pytest.param(
            {"schema": {"type": "object"}},
            {"response_format": {"type": "json_object"}},
            id="any JSON object",
        ),
        pytest.param({"cache_key": "a1"}, {"prompt_cache_key": "a1"}, id="what it shares"),
        pytest.param({"system": " "}, {}, id="blank system prompt"),
    ],
)
def test_what_is_set_is_sent(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    plain = request_for(make_call())

    assert request_for(make_call(**changes)) == plain | expected


def test_refused_settings_are_left_out_and_the_others_stay() -> None:
    call = make_call(temperature=0.0, top_p=0.5, effort="low", schema=VERDICT, top_logprobs=3)

    request = request_for(call, "temperature", "effort", "schema", "top_logprobs")

    assert request.keys() == {"model", "max_tokens", "messages", "top_p"}


@pytest.mark.parametrize(
    ("choice", "sent"), [("auto", "auto"), ("none", "none"), ("any", "required")]
)
def test_a_choice_of_tools_has_the_apis_name(choice: str, sent: str) -> None:
    request = request_for(make_call(tools=(QUERY,), tool_choice=choice))

    assert request["tool_choice"] == sent


PICTURE = FileContent("a.png", "image/png", b"png")
SHOWN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(UserMessage("Hi"), [{"role": "user", "content": "Hi"}], id="user"),
        pytest.param(
            UserMessage("Look", (PICTURE,)),
            [{"role": "user", "content": [SHOWN, {"type": "text", "text": "Look"}]}],
            id="picture",
        ),
        (UserMessage(" ", (PICTURE,)), [{"role": "user", "content": [SHOWN]}]),
        (AssistantMessage("Hello"), [{"role": "assistant", "content": "Hello"}]),
        pytest.param(AssistantMessage(" \n"), [], id="assistant who said nothing"),
        pytest.param(
            NativeTurn({"role": "assistant", "tool_calls": []}),
            [{"role": "assistant", "tool_calls": []}],
            id="native turn as it was",
        ),
        pytest.param(
            ToolResults((ToolResult("c1", "f", "[]"), ToolResult("c2", "g", "no", is_error=True))),
            [
                {"role": "tool", "tool_call_id": "c1", "content": "[]"},
                {"role": "tool", "tool_call_id": "c2", "content": "no"},
            ],
            id="a message for each result",
        ),
    ],
)
def test_messages_become_the_apis(message: ChatMessage, expected: list[dict[str, Any]]) -> None:
    request = request_for(make_call(messages=(UserMessage("First"), message)))

    assert request["messages"][1:] == expected


@pytest.mark.parametrize(
    ("reason", "message", "stop"),
    [
        pytest.param("stop", {"content": "Hi"}, "ok", id="stop"),
        pytest.param("stop", {"tool_calls": [make_tool_call()]}, "tool", id="calls, unsaid"),
        pytest.param("tool_calls", {"tool_calls": [make_tool_call()]}, "tool", id="calls"),
        pytest.param("tool_calls", {"content": "Hi"}, "ok", id="calls that are not there"),
        pytest.param("length", {"content": "Hi"}, "length", id="length"),
        pytest.param("length", {"tool_calls": [make_tool_call()]}, "length", id="calls, cut"),
        pytest.param("MAX_TOKENS", {"content": None}, "length", id="length, in Google's words"),
        pytest.param("content_filter", {"content": None}, "refusal", id="filter"),
        pytest.param("content_filter: SAFETY", {"content": None}, "refusal", id="filter, and why"),
        pytest.param("PROHIBITED_CONTENT", {}, "refusal", id="filter, in Google's words"),
        pytest.param("stop", {"refusal": "No."}, "refusal", id="refusal"),
        pytest.param("function_call_filter: MALFORMED_FUNCTION_CALL", {}, "ok", id="bad call"),
    ],
)
def test_every_reason_has_its_meaning(reason: str, message: dict[str, Any], stop: str) -> None:
    assert to_reply(make_body(message, reason), names=NO_TOOLS).stop == stop


def test_a_filter_says_what_for() -> None:
    reply = to_reply(make_body({"content": None}, "content_filter: SAFETY"), names=NO_TOOLS)

    assert reply.refusal_category == "safety"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param({}, "no list of choices", id="empty"),
        pytest.param({"choices": [5]}, "no list of choices", id="no choice"),
        pytest.param({"choices": [{"finish_reason": "stop"}]}, "no message", id="no message"),
        pytest.param(make_body({}, "tired"), "unknown reason .*tired", id="reason"),
        pytest.param(make_body({}, None), "unknown reason .None", id="no reason"),
    ],
)
def test_what_is_no_reply_is_refused(body: dict[str, Any], words: str) -> None:
    with pytest.raises(UnreadableReplyError, match=words):
        to_reply(body, names=NO_TOOLS)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("Hi", "Hi", id="text"),
        pytest.param(None, "", id="nothing"),
        ([{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}], "Hi"),
    ],
)
def test_text_is_read_in_every_form(content: Any, text: str) -> None:
    assert to_reply(make_body({"content": content}), names=NO_TOOLS).text == text


@pytest.mark.parametrize(
    ("written", "raw", "arguments", "is_malformed"),
    [
        pytest.param('{"a": 1}', '{"a": 1}', {"a": 1}, False, id="object"),
        pytest.param("", "{}", {}, False, id="nothing means none"),
        pytest.param(None, "{}", {}, False, id="null means none"),
        pytest.param({"a": 1}, '{"a": 1}', {"a": 1}, False, id="not even as text"),
        pytest.param("{oops", "{oops", {}, True, id="no JSON"),
        pytest.param("[1]", "[1]", {}, True, id="list"),
        pytest.param("[" * 100_000, "[" * 100_000, {}, True, id="too deep"),
    ],
)
def test_arguments_are_an_object_or_marked_as_malformed(
    written: Any, raw: str, arguments: dict[str, Any], *, is_malformed: bool
) -> None:
    body = make_body({"tool_calls": [make_tool_call(written)]}, "tool_calls")

    reply = to_reply(body, names=NO_TOOLS)

    (request,) = reply.tool_calls
    assert (request.arguments, request.arguments_raw) == (arguments, raw)
    assert request.is_malformed is is_malformed
    assert reply.native_turn is not None
    (sent_back,) = reply.native_turn.value["tool_calls"]
    assert isinstance(json.loads(sent_back["function"]["arguments"]), dict)


@pytest.mark.parametrize(
    ("message", "reason", "words"),
    [
        pytest.param({"content": 5}, "stop", "its content is not a text", id="a number"),
        pytest.param({"content": {"text": "Hi"}}, "stop", "its content is not", id="an object"),
        pytest.param({"content": ["Hi"]}, "stop", "its content is not", id="texts in a list"),
        ({"content": [{"type": "text", "text": 5}]}, "stop", "a part of its content"),
        pytest.param({"refusal": 5}, "stop", "its content is not", id="an odd refusal"),
        pytest.param({"content": "Hi", "tool_calls": 5}, "stop", "not a list", id="no list"),
        pytest.param({"tool_calls": ["odd"]}, "tool_calls", "call 1 has no function", id="a text"),
        ({"tool_calls": [{"id": "1"}]}, "tool_calls", "call 1 has no"),
        ({"tool_calls": [{"id": "1", "function": {}}]}, "tool_calls", "name of its"),
        pytest.param({"tool_calls": []}, "tool_calls", "none", id="no call at all"),
    ],
)
def test_an_answer_that_is_malformed_is_not_taken_for_one_of_the_model(
    message: dict[str, Any], reason: str, words: str
) -> None:
    with pytest.raises(UnreadableReplyError, match=words):
        to_reply(make_body(message, reason), names=NO_TOOLS)


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        pytest.param({"prompt_tokens": 10**30, "completion_tokens": 1}, "prompt_tokens", id="huge"),
        pytest.param({"prompt_tokens": -1, "completion_tokens": 1}, "prompt_tokens", id="negative"),
        pytest.param({"prompt_tokens": 3, "completion_tokens": 1.5}, "completion_", id="half"),
        pytest.param({"prompt_tokens": "3", "completion_tokens": 1}, "prompt_tokens", id="a text"),
        pytest.param(
            {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 10**30}},
            "cached_tokens",
            id="a part",
        ),
        pytest.param("many", "not an object", id="no object"),
    ],
)
def test_tokens_that_nobody_can_have_counted_are_unknown_with_a_note(
    usage: object, words: str
) -> None:
    reply = to_reply(make_body({"content": "Hi"}, usage=usage), names=NO_TOOLS)

    assert (reply.text, reply.usage) == ("Hi", Usage())
    (note,) = reply.notes
    assert words in note


@pytest.mark.parametrize(
    ("reason", "message", "is_whole"),
    [
        ("stop", {"content": "All of it."}, True),
        ("length", {"content": "Some"}, True),
        ("stop", {"refusal": "I won't."}, True),
        ("content_filter", {"content": "Some"}, False),
        ("SAFETY", {"content": "Some"}, False),
        ("content_filter", {"refusal": "I w"}, False),
    ],
)
def test_what_a_filter_broke_off_is_not_whole(
    reason: str, message: dict[str, Any], *, is_whole: bool
) -> None:
    assert to_reply(make_body(message, reason), names=NO_TOOLS).is_whole is is_whole


def test_calls_without_an_id_of_their_own_get_one() -> None:
    calls = [make_tool_call(id=None), make_tool_call(id="x"), make_tool_call(id="x")]
    body = make_body({"content": "Let me see.", "tool_calls": calls}, "tool_calls")

    reply = to_reply(body, names=NO_TOOLS)

    assert [request.id for request in reply.tool_calls] == ["call_1", "x", "x_"]
    assert reply.native_turn is not None
    assert [call["id"] for call in reply.native_turn.value["tool_calls"]] == ["call_1", "x", "x_"]


def test_of_a_turn_goes_back_what_servers_take_and_what_they_signed() -> None:
    signature = {"google": {"thought_signature": "s"}}
    message = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "annotations": [],
        "reasoning": "Hm.",
        "reasoning_content": "Hm.",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "d"}],
        "tool_calls": [make_tool_call(extra_content=signature, index=0)],
    }

    reply = to_reply(make_body(message, "tool_calls"), names=NO_TOOLS)

    assert reply.native_turn is not None
    assert reply.native_turn.value == {
        "role": "assistant",
        "content": None,
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "d"}],
        "tool_calls": [make_tool_call(extra_content=signature)],
    }


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_a_turn_in_which_nothing_was_said_is_not_sent_back(content: str | None) -> None:
    assert to_reply(make_body({"content": content}), names=NO_TOOLS).native_turn is None


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        pytest.param(None, Usage(), id="nothing"),
        pytest.param({"total_tokens": 5}, Usage(), id="only a total"),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(10, 5)),
        pytest.param(
            {
                "prompt_tokens": 110,
                "completion_tokens": 5,
                "total_tokens": 115,
                "prompt_tokens_details": {"cached_tokens": 70, "cache_write_tokens": 30},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(10, 5, cache_read=70, cache_write_5m=30, reasoning=3),
            id="what is cached is part of the prompt",
        ),
        pytest.param(
            {"prompt_tokens": 20, "completion_tokens": 151, "total_tokens": 553},
            Usage(20, 533, reasoning=382),
            id="reasoning only in the total",
        ),
        pytest.param(
            {
                "prompt_tokens": 5,
                "completion_tokens": 1,
                "total_tokens": 6,
                "prompt_tokens_details": {"cached_tokens": 9},
                "completion_tokens_details": None,
            },
            Usage(0, 1, cache_read=9),
            id="more cached than sent",
        ),
        pytest.param({"prompt_tokens": 7}, Usage(7, None), id="half of it"),
    ],
)
def test_usage_is_read_kind_by_kind(reported: object, usage: Usage) -> None:
    assert to_usage(reported) == usage


def make_token(token: str, *, raw: bytes | None = None) -> dict[str, Any]:
    given = list(token.encode()) if raw is None else list(raw)
    return {"token": token, "bytes": given, "logprob": -0.1, "top_logprobs": []}


def test_a_character_of_several_tokens_begins_with_the_first_of_them() -> None:
    euro = "€".encode()
    tokens = [
        make_token("a"),
        make_token("\\xe2\\x82", raw=euro[:2]),
        make_token("\\xac", raw=euro[2:]),
        make_token("4") | {"bytes": None, "top_logprobs": [{"token": "5", "logprob": -2}]},
    ]

    logprobs_read = to_logprobs({"content": tokens}, text="a€4")

    assert [token.offset for token in logprobs_read] == [0, 1, 1, 2]
    assert logprobs_read[-1] == TokenLogprob(2, "4", -0.1, (("5", -2.0),))


@pytest.mark.parametrize(
    ("logprobs", "text"),
    [
        pytest.param(None, "", id="none"),
        pytest.param({"content": None}, "", id="none of the text"),
        pytest.param({"content": [make_token("Hi")]}, "Ho", id="of another text"),
        pytest.param({"content": [{"token": "Hi"}]}, "Hi", id="half told"),
        pytest.param({"content": ["Hi"]}, "Hi", id="of another form"),
    ],
)
def test_tokens_that_do_not_add_up_to_the_text_are_left_out(logprobs: Any, text: str) -> None:
    assert to_logprobs(logprobs, text=text) == ()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param({"error": {"code": 502}}, {"code": 502}, id="of all"),
        ({"choices": [{"finish_reason": "error", "error": {"code": 502}}]}, {"code": 502}),
        ({"choices": [{"finish_reason": "error"}]}, {"message": "it ended in an error"}),
        pytest.param({"error": None, "choices": []}, None, id="none"),
        pytest.param(make_body({"content": "Hi"}), None, id="a reply"),
    ],
)
def test_an_error_is_found_in_a_body_with_status_200(body: dict[str, Any], error: object) -> None:
    assert error_in(body) == error
