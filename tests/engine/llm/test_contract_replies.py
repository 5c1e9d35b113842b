"""Replies of every model API, with the real SDKs against a server on this machine."""

import json
from typing import Any

import pytest

from evals_app.engine.basics.errors import BadRequestError, ReplyTooLongError
from evals_app.engine.llm.apis import adapter
from evals_app.engine.llm.call import FileContent, ToolResult, ToolResults, UserMessage
from evals_app.engine.record.usage import NO_USAGE, Usage
from tests.engine.llm.makers import APIS, KEY_VARIABLE, QUERY, SDKS, STREAMED, Api, FakeTime, Lab
from tests.model_server import KEY, Cut, Failure, Garbage, ModelServer, Reply, ToolUse

pytestmark = pytest.mark.anyio


@APIS
@STREAMED
async def test_a_reply_says_everything_about_itself(lab: Lab, *, api: Api, stream: bool) -> None:
    reply = Reply(
        "Hello there, how are you?",
        input_tokens=20,
        output_tokens=11,
        cache_read=100,
        cache_write_5m=7,
        thinking_tokens=4,
    )

    got = await lab.ask(reply, api=api, stream=stream, system="Be kind.", effort="low")

    assert (got.text, got.stop, got.tool_calls) == ("Hello there, how are you?", "ok", ())
    assert got.usage == Usage(20, 11, cache_read=100, cache_write_5m=7, reasoning=4)
    assert got.model == api.ask().model
    assert got.request_id is not None
    assert got.request_id.startswith("req_")
    assert got.sent == {"max_output_tokens": 4096, "effort": "low"}
    assert (got.dropped, got.attempts) == ((), ())
    assert got.latency_ms > 0
    assert (got.first_token_ms is not None) is stream
    assert "Be kind." in json.dumps(lab.server.bodies[-1])


@APIS
@STREAMED
async def test_tools_make_the_round_trip(lab: Lab, *, api: Api, stream: bool) -> None:
    uses = (
        ToolUse("entity_query", {"type": "order", "note": "größer als 20 €"}),
        ToolUse("entity_query"),
    )
    lab.server.replies(
        [Reply("Let me see.", tools=uses, thinking="I need the orders."), Reply("No orders.")]
    )

    async with lab.open(api) as models:
        question = UserMessage("Any orders?")
        first = await models.complete(api.ask(messages=(question,), tools=(QUERY,), stream=stream))
        results = ToolResults(tuple(ToolResult(t.id, t.name, "[]") for t in first.tool_calls))
        assert first.native_turn is not None
        messages = (question, first.native_turn, results)
        second = await models.complete(api.ask(messages=messages, tools=(QUERY,), stream=stream))

    assert (first.stop, first.text) == ("tool", "Let me see.")
    assert [tool.name for tool in first.tool_calls] == ["entity.query", "entity.query"]
    assert [tool.arguments for tool in first.tool_calls] == [uses[0].input, {}]
    assert json.loads(first.tool_calls[0].arguments_raw) == uses[0].input
    assert second.text == "No orders."
    answered = api.results(lab.server.bodies[-1])
    assert len(answered) == 2
    assert {result.get("output") or result.get("content") for result in answered} == {"[]"}


@APIS
@STREAMED
@pytest.mark.parametrize(
    "written",
    [
        *("{oops", "[1]", "null", '{"price": NaN}', '{"n": 1e999}'),
        pytest.param(f'{{"a": {"[" * 300}{"]" * 300}}}', id="too deep"),
    ],
)
async def test_arguments_that_are_no_object_are_kept_raw_and_the_turn_can_go_back(
    lab: Lab, *, api: Api, stream: bool, written: str
) -> None:
    lab.server.replies([Reply(tools=(ToolUse("entity_query", written),)), Reply("Sorry.")])

    async with lab.open(api) as models:
        first = await models.complete(api.ask(tools=(QUERY,), stream=stream))
        (request,) = first.tool_calls
        result = ToolResult(request.id, request.name, "not JSON", is_error=True)
        assert first.native_turn is not None
        messages = (UserMessage("Hello?"), first.native_turn, ToolResults((result,)))
        second = await models.complete(api.ask(messages=messages, tools=(QUERY,)))

    assert request.is_malformed
    assert request.arguments == {}
    assert request.arguments_raw in {written, json.dumps(written)}
    assert second.text == "Sorry."


@APIS
@pytest.mark.parametrize(
    "spoken",
    [
        pytest.param({"text": "Hello there."}, id="text"),
        pytest.param({"tools": (ToolUse("f", {"a": 1}),)}, id="tool"),
    ],
)
async def test_the_first_token_is_the_first_that_is_not_a_thought(
    lab: Lab, *, api: Api, spoken: dict[str, Any]
) -> None:
    got = await lab.ask(
        Reply(thinking="Hm, let me see.", thinking_s=0.05, **spoken),
        api=api,
        stream=True,
        tools=(QUERY,),
    )

    assert got.first_token_ms is not None
    assert 50 <= got.first_token_ms <= got.latency_ms


@APIS
@STREAMED
async def test_half_an_emoji_neither_comes_out_nor_goes_back(
    lab: Lab, *, api: Api, stream: bool
) -> None:
    half = "\ud83d"
    lab.server.replies([Reply(f"Cut {half}", tools=(ToolUse("f", {"a": half}),)), Reply("Fine.")])

    async with lab.open(api) as models:
        first = await models.complete(api.ask(stream=stream))
        assert first.native_turn is not None
        result = ToolResult(first.tool_calls[0].id, "f", f"odd {half}")
        messages = (UserMessage("\U0001f600"), first.native_turn, ToolResults((result,)))
        await models.complete(api.ask(messages=messages, stream=stream))

    assert first.text == "Cut \ufffd"
    assert first.tool_calls[0].arguments == {"a": "\ufffd"}
    sent = json.dumps(lab.server.bodies[-1], ensure_ascii=False)
    assert "\U0001f600" in sent
    assert "odd \ufffd" in sent
    assert half not in sent


@APIS
@STREAMED
async def test_a_reply_that_was_cut_within_its_thoughts_leaves_no_turn(
    lab: Lab, *, api: Api, stream: bool
) -> None:
    got = await lab.ask(Reply(thinking="Hm, let me", stop=api.cut), api=api, stream=stream)

    assert (got.stop, got.text, got.native_turn) == ("length", "", None)


@pytest.mark.parametrize(
    ("failure", "stopped"),
    [
        *(
            pytest.param(Failure(400, message=message), ("context", None), id=message[:20])
            for message in (
                "prompt is too long: 210000 tokens > 200000 maximum",
                "Input is too long for requested model.",
                "input length and `max_tokens` exceed context limit: 9 + 9 > 10",
                "This model's maximum context length is 8192 tokens.",
                "The count (9) exceeds the maximum number of tokens allowed (8).",
                "the request exceeds the available context size",
            )
        ),
        pytest.param(
            Failure(400, message="Too many tokens.", code="context_length_exceeded"),
            ("context", None),
            id="context by code",
        ),
        pytest.param(
            Failure(400, message="The response was filtered", code="content_filter"),
            ("refusal", "content_filter"),
            id="prompt filtered",
        ),
        pytest.param(
            Failure(400, message="Your prompt was flagged.", code="invalid_prompt"),
            ("refusal", "invalid_prompt"),
            id="prompt flagged",
        ),
    ],
)
@APIS
async def test_a_prompt_that_no_model_was_shown_is_a_reply_that_cost_nothing(
    lab: Lab, failure: Failure, stopped: tuple[str, str | None], *, api: Api
) -> None:
    got = await lab.ask(failure, api=api)

    assert (got.stop, got.refusal_category, got.text) == (*stopped, "")
    assert (got.usage, got.native_turn) == (NO_USAGE, None)


@SDKS
async def test_what_a_provider_cannot_be_shown_is_refused_before_anything_is_sent(
    lab: Lab, *, api: Api
) -> None:
    table = FileContent("a.xlsx", "application/vnd.ms-excel", b"x")

    with pytest.raises(BadRequestError) as caught:
        await lab.ask(api=api, messages=(UserMessage("?", (table,)),))

    assert str(caught.value).startswith(
        f"{api.name} does not accept application/vnd.ms-excel (a.xlsx); it accepts "
    )
    assert lab.server.requests == []


@APIS
@STREAMED
async def test_a_key_that_comes_back_in_a_reply_is_blotted_out(
    lab: Lab, *, api: Api, stream: bool
) -> None:
    call = ToolUse("entity_query", {"type": KEY})

    got = await lab.ask(
        Reply(f"Your key is {KEY}.", tools=(call,)),
        api=api,
        tools=(QUERY,),
        stream=stream,
        model=f"m-{KEY}",
    )

    assert got.text == "Your key is [key]."
    assert got.model == "m-[key]"
    assert KEY not in repr(got)


@SDKS
async def test_a_key_that_is_no_secret_may_be_shown(fake_time: FakeTime, *, api: Api) -> None:
    with ModelServer(key="ollama") as server:
        server.replies([Reply("I run on ollama.")])
        async with api.open(server, fake_time, environ={KEY_VARIABLE: "ollama"}) as models:
            got = await models.complete(api.ask())

    assert got.text == "I run on ollama."


@APIS
@STREAMED
async def test_a_reply_without_end_is_refused(lab: Lab, *, api: Api, stream: bool) -> None:
    with pytest.raises(ReplyTooLongError, match="more than 1,000 kB"):
        await lab.ask(Reply("x" * 1_000_001), api=api, stream=stream, timeout_s=60.0)


@SDKS
async def test_a_stream_without_end_is_not_put_together_to_its_end(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, api: Api
) -> None:
    monkeypatch.setattr(adapter, "_MAX_STREAMED", 100)

    with pytest.raises(ReplyTooLongError):
        await lab.ask(Cut(after_events=60, reply=Reply("x" * 1000)), api=api, stream=True)


@SDKS
async def test_an_answer_that_would_fill_the_memory_is_not_read_to_its_end(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, api: Api
) -> None:
    monkeypatch.setattr(adapter, "_MAX_BYTES", 100_000)

    with pytest.raises(BadRequestError, match="more than 100 kB"):
        await lab.ask(Garbage(" " * 100_001), api=api)


@SDKS
@STREAMED
async def test_a_content_that_is_no_text_is_the_providers_mistake(
    lab: Lab, *, api: Api, stream: bool
) -> None:
    chunk = {"choices": [{"delta": {"content": 5}, "finish_reason": "stop"}]}
    start = {"type": "message_start", "message": {"content": [], "usage": {}}}
    block = {"type": "content_block_start", "content_block": {"type": "text", "text": 5}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    events: list[dict[str, Any]] = [start, block, delta, {"type": "message_stop"}]
    whole = {
        "content": [{"type": "text", "text": 5}],
        "stop_reason": "end_turn",
        "choices": [{"message": {"content": 5}, "finish_reason": "stop"}],
    }
    if not stream:
        answer = Garbage(json.dumps(whole))
    elif api.name == "OpenAI":
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
        answer = Garbage(body, content_type="text/event-stream")
    else:
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        answer = Garbage(body, content_type="text/event-stream")

    with pytest.raises(BadRequestError, match=r"cannot be read: .* is not a text"):
        await lab.ask(answer, api=api, stream=stream)
