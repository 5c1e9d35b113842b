from typing import Any

import pytest

from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.apis.responses_wire import (
    StreamedResponse,
    is_native,
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
    ToolResult,
    ToolResults,
    UserMessage,
)
from evals_app.engine.record.usage import Usage
from tests.engine.llm.makers import QUERY, VERDICT, make_call

NO_TOOLS = ToolNames([])
SAID = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
THOUGHT = {"type": "reasoning", "id": "rs", "encrypted_content": "s", "summary": []}


def request_for(call: ModelCall, *without: str) -> dict[str, Any]:
    names = ToolNames(tool.name for tool in call.tools)
    return to_request(call, names=names, without=frozenset(without))


def make_body(*output: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"model": "m", "status": "completed", "output": list(output), **changes}


def make_function_call(arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": "c1", "name": "f", "arguments": arguments}


def test_a_plain_call_sends_nothing_but_the_necessary_and_has_nothing_stored() -> None:
    assert request_for(make_call("Hi")) == {
        "model": "claude-haiku-5-5",
        "max_output_tokens": 4096,
        "input": [{"role": "user", "content": "Hi"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"system": "Be kind."}, {"instructions": "Be kind."}, id="system prompt"),
        pytest.param({"temperature": 0.0}, {"temperature": 0.0}, id="temperature"),
        pytest.param({"effort": "max"}, {"reasoning": {"effort": "max"}}, id="effort"),
        pytest.param({"seed": 7}, {}, id="no seed"),
        pytest.param({"cache_key": "a1"}, {"prompt_cache_key": "a1"}, id="what it shares"),
        pytest.param(
            {"top_logprobs": 5},
            {
                "top_logprobs": 5,
                "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
            },
            id="probabilities",
        ),
        pytest.param(
            {"schema": VERDICT},
            {
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "answer",
                        "strict": True,
                        "schema": VERDICT,
                    }
                }
            },
            id="schema",
        ),
        pytest.param(
            {"tools": (QUERY,), "tool_choice": "any"},
            {
                "tools": [
                    {
                        "type": "function",
                        "name": "entity_query",
                        "description": "Look up entities.",
                        "parameters": QUERY.parameters,
                        "strict": False,
                    }
                ],
                "tool_choice": "required",
            },
            id="tools",
        ),
    ],
)
def test_what_is_set_is_sent(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    plain = request_for(make_call())

    assert request_for(make_call(**changes)) == plain | expected


def test_refused_settings_are_left_out() -> None:
    call = make_call(temperature=0.0, effort="low", schema=VERDICT, top_logprobs=3)

    request = request_for(call, "temperature", "effort", "schema", "top_logprobs")

    assert request == request_for(make_call())


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            UserMessage("Look", (FileContent("a.png", "image/png", b"png"),)),
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_image", "image_url": "data:image/png;base64,cG5n"},
                        {"type": "input_text", "text": "Look"},
                    ],
                }
            ],
            id="picture",
        ),
        pytest.param(AssistantMessage(""), [], id="assistant who said nothing"),
        pytest.param(NativeTurn([THOUGHT, SAID]), [THOUGHT, SAID], id="its own turn"),
        pytest.param(
            NativeTurn(
                {
                    "role": "assistant",
                    "content": "Let me see.",
                    "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}],
                }
            ),
            [
                {"role": "assistant", "content": "Let me see."},
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            ],
            id="a turn of the chat API",
        ),
        pytest.param(
            ToolResults((ToolResult("c1", "f", "[]"),)),
            [{"type": "function_call_output", "call_id": "c1", "output": "[]"}],
            id="results",
        ),
    ],
)
def test_messages_become_items(message: ChatMessage, expected: list[dict[str, Any]]) -> None:
    request = request_for(make_call(messages=(UserMessage("First"), message)))

    assert request["input"][1:] == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(NativeTurn([SAID]), True, id="its own"),
        pytest.param(NativeTurn({"content": "Hi"}), False, id="of the chat API"),
        pytest.param(AssistantMessage("Hi"), False, id="by hand"),
    ],
)
def test_a_conversation_is_known_by_its_turns(turn: ChatMessage, *, expected: bool) -> None:
    assert is_native(make_call(messages=(turn, UserMessage("?")))) is expected


@pytest.mark.parametrize(
    ("body", "stop", "category"),
    [
        pytest.param(make_body(SAID), "ok", None, id="text"),
        pytest.param(make_body(make_function_call()), "tool", None, id="calls"),
        pytest.param(
            make_body(
                make_function_call(),
                status="incomplete",
                incomplete_details={"reason": "max_output_tokens"},
            ),
            "length",
            None,
            id="cut",
        ),
        pytest.param(
            make_body(status="incomplete", incomplete_details={"reason": "content_filter"}),
            "refusal",
            "content_filter",
            id="filter",
        ),
        pytest.param(
            make_body({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}),
            "refusal",
            None,
            id="refusal",
        ),
    ],
)
def test_every_end_has_its_meaning(body: dict[str, Any], stop: str, category: str | None) -> None:
    reply = to_reply(body, names=NO_TOOLS)

    assert (reply.stop, reply.refusal_category) == (stop, category)


@pytest.mark.parametrize(
    ("output", "sent_back"),
    [
        pytest.param([THOUGHT, SAID], [THOUGHT, SAID], id="all of it"),
        pytest.param([SAID, THOUGHT], [SAID], id="no thought at the end"),
        pytest.param([THOUGHT, THOUGHT], None, id="nothing said"),
    ],
)
def test_no_thought_goes_back_without_what_it_led_to(
    output: list[dict[str, Any]], sent_back: list[dict[str, Any]] | None
) -> None:
    turn = to_reply(make_body(*output), names=NO_TOOLS).native_turn

    assert (None if turn is None else turn.value) == sent_back


def test_odd_probabilities_are_none() -> None:
    part = {"type": "output_text", "text": "Hi", "logprobs": 5}

    reply = to_reply(make_body({"type": "message", "content": [part]}), names=NO_TOOLS)

    assert (reply.text, reply.logprobs) == ("Hi", ())


def test_only_messages_make_the_text_and_the_turn_stays_whole() -> None:
    reply = to_reply(make_body(THOUGHT, SAID, SAID), names=NO_TOOLS)

    assert reply.text == "HiHi"
    assert reply.native_turn == NativeTurn([THOUGHT, SAID, SAID])


@pytest.mark.parametrize(("written", "sent_back"), [("{oops", "{}"), ('{"a": 1}', '{"a": 1}')])
def test_arguments_that_are_no_object_do_not_go_back(written: str, sent_back: str) -> None:
    reply = to_reply(make_body(make_function_call(written)), names=NO_TOOLS)

    assert reply.tool_calls[0].arguments_raw == written
    assert reply.native_turn == NativeTurn([make_function_call(sent_back)])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param({}, "no list of output items", id="empty"),
        pytest.param({"output": [5]}, "no list of output items", id="no item"),
        (make_body(status="incomplete", incomplete_details={"reason": [1]}), "for the reason"),
        pytest.param(make_body(status="cancelled"), "the status 'cancelled'", id="status"),
        pytest.param(
            make_body(status="incomplete", incomplete_details={"reason": "tired"}),
            "for the reason 'tired'",
            id="reason",
        ),
    ],
)
def test_what_is_no_response_is_refused(body: dict[str, Any], words: str) -> None:
    with pytest.raises(UnreadableReplyError, match=words):
        to_reply(body, names=NO_TOOLS)


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        pytest.param(None, Usage(), id="nothing"),
        pytest.param({"input_tokens": 5}, Usage(5, None), id="half of it"),
        pytest.param(
            {
                "input_tokens": 110,
                "input_tokens_details": {"cached_tokens": 70, "cache_write_tokens": 30},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(10, 5, cache_read=70, cache_write_5m=30, reasoning=3),
            id="all of it",
        ),
    ],
)
def test_usage_is_read_kind_by_kind(reported: object, usage: Usage) -> None:
    assert to_usage(reported) == usage


@pytest.mark.parametrize("end", ["completed", "incomplete", "failed"])
def test_the_last_event_of_a_stream_holds_all_of_it(end: str) -> None:
    streamed = StreamedResponse()

    tokens = [
        streamed.add({"type": "response.created", "response": {}}),
        streamed.add({"type": "response.reasoning_summary_text.delta", "delta": "Hm"}),
        streamed.add({"type": "response.output_text.delta", "delta": "Hi"}),
        streamed.add({"type": f"response.{end}", "response": make_body(SAID)}),
    ]

    assert tokens == [False, False, True, False]
    assert streamed.is_complete
    assert streamed.body == make_body(SAID)


def test_an_error_ends_a_stream() -> None:
    streamed = StreamedResponse()

    streamed.add({"type": "error", "code": "server_error", "message": "Down."})

    assert streamed.is_complete
    assert streamed.body["error"]["message"] == "Down."


def test_a_stream_that_only_began_is_not_complete() -> None:
    streamed = StreamedResponse()

    streamed.add({"type": "response.output_text.delta", "delta": "Hi"})

    assert not streamed.is_complete
