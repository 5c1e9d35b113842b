"""Single attempts, with the real SDK against a server on this machine."""

import json
from typing import Any

import pytest

from evals_app.engine.errors import (
    AuthFailedError,
    BadRequestError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    TimedOutError,
    UnavailableError,
)
from evals_app.engine.llm.call import (
    AssistantMessage,
    ModelReply,
    ToolDef,
    ToolResult,
    ToolResults,
    UserMessage,
)
from evals_app.engine.trial import NO_USAGE, Usage
from tests.engine.llm.makers import KEY_VARIABLE, FakeTime, make_call, make_models
from tests.model_server import (
    KEY,
    Cut,
    Failure,
    Garbage,
    Hang,
    ModelServer,
    Reply,
    ToolUse,
)

pytestmark = pytest.mark.anyio

QUERY = ToolDef(
    "entity.query",
    "Look up entities.",
    {"type": "object", "properties": {"type": {"type": "string"}}},
)
VERDICT = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@STREAMED
async def test_a_reply_says_everything_about_itself(
    model_server: ModelServer, fake_time: FakeTime, *, stream: bool
) -> None:
    reply = Reply(
        "Hello there, how are you?",
        input_tokens=20,
        output_tokens=11,
        cache_read=100,
        cache_write_5m=7,
        cache_write_1h=3,
        thinking_tokens=4,
    )
    model_server.replies([reply])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(stream=stream, system="Be kind.", effort="low"))

    assert (got.text, got.stop, got.tool_calls) == ("Hello there, how are you?", "ok", ())
    assert got.usage == Usage(
        20, 11, cache_read=100, cache_write_5m=7, cache_write_1h=3, reasoning=4
    )
    assert got.model == "claude-haiku-5-5"
    assert got.request_id is not None
    assert got.request_id.startswith("req_")
    assert got.sent == {"max_output_tokens": 4096, "effort": "low"}
    assert got.latency_ms > 0
    assert got.attempts == ()
    assert (got.first_token_ms is not None) is stream
    (body,) = model_server.bodies
    assert body["system"] == "Be kind."


@STREAMED
async def test_tools_make_the_round_trip_with_thinking_untouched(
    model_server: ModelServer, fake_time: FakeTime, *, stream: bool
) -> None:
    uses = (
        ToolUse("entity_query", {"type": "order", "note": "größer als 20 €"}),
        ToolUse("entity_query"),
    )
    model_server.replies(
        [Reply("Let me see.", tools=uses, thinking="I need the orders."), Reply("No orders.")]
    )

    async with make_models(model_server, fake_time) as models:
        question = UserMessage("Any orders?")
        first = await models.complete(
            make_call(messages=(question,), tools=(QUERY,), stream=stream)
        )
        results = ToolResults(tuple(ToolResult(t.id, t.name, "[]") for t in first.tool_calls))
        assert first.native_turn is not None
        messages = (question, first.native_turn, results)
        second = await models.complete(make_call(messages=messages, tools=(QUERY,), stream=stream))

    assert (first.stop, first.text) == ("tool", "Let me see.")
    assert [tool.name for tool in first.tool_calls] == ["entity.query", "entity.query"]
    assert [tool.arguments for tool in first.tool_calls] == [uses[0].input, {}]
    assert json.loads(first.tool_calls[0].arguments_raw) == uses[0].input
    assert second.text == "No orders."
    sent_back = model_server.bodies[1]["messages"][1]["content"]
    assert sent_back[0]["thinking"] == "I need the orders."
    assert [block["type"] for block in sent_back] == ["thinking", "text", "tool_use", "tool_use"]


@STREAMED
async def test_arguments_that_are_no_object_are_kept_raw_and_the_turn_can_go_back(
    model_server: ModelServer, fake_time: FakeTime, *, stream: bool
) -> None:
    model_server.replies([Reply(tools=(ToolUse("entity_query", "{oops"),)), Reply("Sorry.")])

    async with make_models(model_server, fake_time) as models:
        first = await models.complete(make_call(tools=(QUERY,), stream=stream))
        (request,) = first.tool_calls
        result = ToolResult(request.id, request.name, "not JSON", is_error=True)
        assert first.native_turn is not None
        messages = (UserMessage("Hello?"), first.native_turn, ToolResults((result,)))
        second = await models.complete(make_call(messages=messages, tools=(QUERY,)))

    assert request.is_malformed
    assert request.arguments == {}
    assert "{oops" in request.arguments_raw
    assert second.text == "Sorry."


@pytest.mark.parametrize(
    "spoken",
    [
        pytest.param({"text": "Hello there."}, id="text"),
        pytest.param({"tools": (ToolUse("f", {"a": 1}),)}, id="tool"),
    ],
)
async def test_the_first_token_is_the_first_that_is_not_a_thought(
    model_server: ModelServer, fake_time: FakeTime, spoken: dict[str, Any]
) -> None:
    model_server.replies([Reply(thinking="Hm, let me see.", thinking_s=0.1, **spoken)])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(stream=True))

    assert got.first_token_ms is not None
    assert 100 <= got.first_token_ms <= got.latency_ms


@STREAMED
async def test_the_models_own_time_is_latency_and_not_waiting(
    model_server: ModelServer, fake_time: FakeTime, *, stream: bool
) -> None:
    model_server.replies([Failure(500), Reply("Fine.", latency_s=0.3)])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(stream=stream))

    assert 300 <= got.latency_ms < 1500
    assert 2000 <= got.waited_ms < 4000


@STREAMED
async def test_half_an_emoji_neither_comes_out_nor_goes_back(
    model_server: ModelServer, fake_time: FakeTime, *, stream: bool
) -> None:
    half = "\ud83d"
    model_server.replies([Reply(f"Cut {half}", tools=(ToolUse("f", {"a": half}),)), Reply("Fine.")])

    async with make_models(model_server, fake_time) as models:
        first = await models.complete(make_call(stream=stream))
        assert first.native_turn is not None
        result = ToolResult(first.tool_calls[0].id, "f", f"odd {half}")
        messages = (UserMessage("\U0001f600"), first.native_turn, ToolResults((result,)))
        await models.complete(make_call(messages=messages, stream=stream))

    assert first.text == "Cut \ufffd"
    assert first.tool_calls[0].arguments == {"a": "\ufffd"}
    sent = model_server.bodies[1]["messages"]
    assert sent[0]["content"] == "\U0001f600"
    assert sent[2]["content"][0]["content"] == "odd \ufffd"


async def test_a_schema_is_sent_and_the_text_is_json(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.answers(lambda _: Reply(json.dumps({"verdict": "pass"})))

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(schema=VERDICT, effort="low"))

    assert json.loads(got.text) == {"verdict": "pass"}
    assert model_server.bodies[0]["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": VERDICT},
    }


async def test_a_history_written_by_hand_is_accepted(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Reply("Fine.")])
    messages = (
        UserMessage("Hi"),
        AssistantMessage("Hello!"),
        AssistantMessage(""),
        UserMessage("?"),
    )

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(messages=messages))

    assert got.text == "Fine."


@pytest.mark.parametrize(
    ("answer", "stop", "text"),
    [
        pytest.param(Reply("It was a", stop="max_tokens"), "length", "It was a", id="cut short"),
        pytest.param(Reply("Hm", stop="stop_sequence"), "ok", "Hm", id="stop sequence"),
        pytest.param(
            Reply("Too mu", stop="model_context_window_exceeded"),
            "context",
            "Too mu",
            id="full window",
        ),
        pytest.param(
            Failure(400, message="prompt is too long: 210000 tokens > 200000 maximum"),
            "context",
            "",
            id="prompt too long",
        ),
        pytest.param(
            Failure(400, message="input length and `max_tokens` exceed context limit: 9 + 9 > 10"),
            "context",
            "",
            id="no room for the answer",
        ),
    ],
)
@STREAMED
async def test_a_reply_that_ends_early_says_why(
    model_server: ModelServer,
    fake_time: FakeTime,
    answer: Reply | Failure,
    stop: str,
    text: str,
    *,
    stream: bool,
) -> None:
    model_server.replies([answer])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(stream=stream))

    assert (got.stop, got.text) == (stop, text)


async def test_a_prompt_that_was_too_long_has_cost_nothing(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Failure(400, message="prompt is too long: 9 tokens > 8 maximum")])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call())

    assert got.usage == NO_USAGE
    assert got.native_turn is None


@STREAMED
async def test_a_refusal_tells_its_category(
    model_server: ModelServer, fake_time: FakeTime, *, stream: bool
) -> None:
    model_server.replies([Reply(stop="refusal", category="cyber")])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(stream=stream))

    assert (got.stop, got.refusal_category, got.text) == ("refusal", "cyber", "")
    assert got.native_turn is None


async def test_a_long_answer_need_not_be_streamed(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Reply("Fine.")])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(max_output_tokens=128_000))

    assert got.text == "Fine."


NO_RETRY = {"x-should-retry": "false"}


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        pytest.param(
            Failure(400, message="messages: too many"),
            BadRequestError,
            "Anthropic answered 400 (bad request): messages: too many.",
            id="400",
        ),
        pytest.param(
            Failure(402, message="Your credit is used up."),
            QuotaExhaustedError,
            "Anthropic answered 402 (payment required): Your credit is used up.",
            id="402",
        ),
        pytest.param(
            Failure(429, code="enforced_spend_limit_reached", message="Monthly limit."),
            QuotaExhaustedError,
            "Anthropic answered 429 (rate limited): Monthly limit.",
            id="spend limit",
        ),
        pytest.param(
            Failure(429, code="insufficient_quota", message="No quota."),
            QuotaExhaustedError,
            "Anthropic answered 429 (rate limited): No quota.",
            id="quota of a compatible server",
        ),
        pytest.param(
            Garbage('{"error": {"code": "insufficient_quota", "message": "None."}}', status=429),
            QuotaExhaustedError,
            "Anthropic answered 429 (rate limited): None.",
            id="quota in another place",
        ),
        pytest.param(
            Failure(403, message="Your key may not use this model."),
            AuthFailedError,
            "Anthropic answered 403 (not permitted): Your key may not use this model.",
            id="403",
        ),
        pytest.param(
            Failure(404, message="model: claude-nonsense"),
            BadRequestError,
            "Anthropic answered 404 (not found): model: claude-nonsense.",
            id="unknown model",
        ),
        pytest.param(
            Garbage("<html>Not here</html>", status=413, content_type="text/html"),
            BadRequestError,
            "Anthropic answered 413 (request entity too large).",
            id="a proxy's page",
        ),
        pytest.param(
            Garbage("  Blocked by\npolicy ", status=418, content_type="text/plain"),
            BadRequestError,
            "Anthropic answered 418 (i'm a teapot): Blocked by policy.",
            id="a proxy's text",
        ),
        pytest.param(
            Garbage("", status=304),
            BadRequestError,
            "Anthropic answered 304 (not modified).",
            id="neither success nor error",
        ),
        pytest.param(
            Failure(429, headers=NO_RETRY, message="Slow down."),
            RateLimitedError,
            "Anthropic answered 429 (rate limited): Slow down.",
            id="429",
        ),
        *(
            pytest.param(
                Failure(status, headers=NO_RETRY, message="Down."),
                UnavailableError,
                f"Anthropic answered {status} ({words}): Down.",
                id=str(status),
            )
            for status, words in {
                408: "request timeout",
                409: "conflict",
                500: "internal error",
                503: "service unavailable",
                529: "overloaded",
                599: "unknown status",
            }.items()
        ),
        pytest.param(
            Garbage("{'text': 'Hello'}"),
            BadRequestError,
            "Anthropic sent a reply that cannot be read: it is not JSON.",
            id="no JSON",
        ),
        pytest.param(
            Garbage("<html>Welcome</html>", content_type="text/html"),
            BadRequestError,
            "Anthropic sent a reply that cannot be read: it is not JSON.",
            id="a page instead",
        ),
        pytest.param(
            Garbage("[" * 100_000),
            BadRequestError,
            "Anthropic sent a reply that cannot be read: it is not JSON.",
            id="bottomless nesting",
        ),
        pytest.param(
            Garbage('["Hello"]'),
            BadRequestError,
            "Anthropic sent a reply that cannot be read: it is JSON, but not an object.",
            id="a list",
        ),
        pytest.param(
            Garbage('{"text": "Hello"}'),
            BadRequestError,
            "Anthropic sent a reply that cannot be read: it has no list of content blocks.",
            id="another API's object",
        ),
    ],
)
async def test_an_error_that_is_not_retried_becomes_one_of_ours(
    model_server: ModelServer,
    fake_time: FakeTime,
    answer: Failure | Garbage,
    kind: type[ProviderError],
    message: str,
) -> None:
    model_server.replies([answer])

    async with make_models(model_server, fake_time) as models:
        with pytest.raises(ProviderError) as caught:
            await models.complete(make_call())

    assert type(caught.value) is kind
    assert str(caught.value) == message
    assert fake_time.slept == []


async def test_a_stream_that_is_none_cannot_be_read(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Garbage("<html>Welcome</html>", content_type="text/html")])

    async with make_models(model_server, fake_time) as models:
        with pytest.raises(BadRequestError, match="it is not a stream of events"):
            await models.complete(make_call(stream=True))


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        pytest.param(Cut(after_events=4), "broke off its reply", id="connection lost"),
        pytest.param(
            Cut(after_events=4, is_clean=True), "broke off its reply", id="ended too soon"
        ),
        pytest.param(
            Failure(529, after_events=4), "answered 529 (overloaded)", id="overloaded on the way"
        ),
        pytest.param(
            Failure(500, after_events=4), "answered 500 (internal error)", id="broken on the way"
        ),
        pytest.param(
            Garbage("event: content_block_stop\ndata: {}\n\n", content_type="text/event-stream"),
            "broke off its reply",
            id="events without a message",
        ),
        pytest.param(
            Garbage("event: message_start\ndata: {oops\n\n", content_type="text/event-stream"),
            "broke off its reply",
            id="events that are no JSON",
        ),
        pytest.param(
            Garbage("", content_type="text/event-stream"), "broke off its reply", id="empty"
        ),
    ],
)
async def test_a_broken_stream_is_tried_again_and_leaves_nothing_behind(
    model_server: ModelServer, fake_time: FakeTime, answer: Cut | Failure | Garbage, what: str
) -> None:
    model_server.replies([answer, Reply("Whole.")])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(stream=True))

    assert got.text == "Whole."
    assert [attempt.error.startswith(what) for attempt in got.attempts] == [True]


async def test_a_lost_connection_is_tried_again(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Cut(), Reply("Back.")])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call())

    assert got.text == "Back."
    assert got.attempts[0].error.startswith("broke off its reply")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Hang(), id="silence"),
        pytest.param(Reply("Late.", latency_s=5.0), id="late"),
    ],
)
@STREAMED
async def test_an_attempt_without_an_answer_in_time_is_tried_again(
    model_server: ModelServer, fake_time: FakeTime, answer: Hang | Reply, *, stream: bool
) -> None:
    # On a busy machine the second attempt may be late as well.
    model_server.replies([answer, *[Reply("Now.")] * 5])

    async with make_models(model_server, fake_time) as models:
        got = await models.complete(make_call(timeout_s=0.3, stream=stream))

    assert got.text == "Now."
    assert {attempt.error for attempt in got.attempts} == {"did not answer within 0.3 s."}


async def test_a_server_that_does_not_exist_could_not_be_reached(fake_time: FakeTime) -> None:
    gone = ModelServer()
    gone.close()

    async with make_models(gone, fake_time) as models:
        with pytest.raises(UnavailableError, match=r"^Anthropic could not be reached 6 times in"):
            await models.complete(make_call())


async def test_a_server_that_never_answers_times_out_in_the_end(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.answers(lambda _: Hang())

    async with make_models(model_server, fake_time) as models:
        with pytest.raises(TimedOutError, match=r"did not answer within 0.05 s 6 times in 6\d s"):
            await models.complete(make_call(timeout_s=0.05))


async def test_a_wrong_key_is_named_by_its_variable_and_never_shown(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    environ = {KEY_VARIABLE: "wrong-key-1234"}

    async with make_models(model_server, fake_time, environ=environ) as models:
        with pytest.raises(AuthFailedError) as caught:
            await models.complete(make_call())

    assert str(caught.value) == (
        "Anthropic answered 401 (key refused): invalid x-api-key. "
        "Check the environment variable TEST_MODEL_KEY."
    )


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Failure(400, message=f"cannot use {KEY} here"), id="API error"),
        pytest.param(Garbage(f"denied: {KEY}", status=403, content_type="text/plain"), id="proxy"),
    ],
)
async def test_a_key_that_the_server_repeats_is_blotted_out(
    model_server: ModelServer, fake_time: FakeTime, answer: Failure | Garbage
) -> None:
    model_server.replies([answer])

    async with make_models(model_server, fake_time) as models:
        with pytest.raises(ProviderError) as caught:
            await models.complete(make_call())

    assert "[key]" in str(caught.value)
    assert KEY not in str(caught.value)
    assert KEY not in repr(getattr(caught.value, "attempts", None))


async def test_a_long_explanation_is_cut(model_server: ModelServer, fake_time: FakeTime) -> None:
    model_server.replies([Failure(400, message="no " * 1000)])

    async with make_models(model_server, fake_time) as models:
        with pytest.raises(BadRequestError) as caught:
            await models.complete(make_call())

    assert len(str(caught.value)) < 600


async def sent_twice(
    server: ModelServer, fake_time: FakeTime, first: dict[str, Any], second: dict[str, Any]
) -> list[ModelReply]:
    server.answers(lambda _: Reply("Fine."))
    async with make_models(server, fake_time) as models:
        return [
            await models.complete(make_call(**first)),
            await models.complete(make_call(**second)),
        ]


async def test_a_refused_setting_is_dropped_said_so_and_remembered(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    settings = {"temperature": 0.0, "top_p": 0.5}

    first, second = await sent_twice(model_server, fake_time, settings, settings)

    assert first.dropped == second.dropped == ("temperature", "top_p")
    assert first.sent == second.sent == {"max_output_tokens": 4096}
    assert first.attempts == ()
    sampling = [sorted(body.keys() & settings.keys()) for body in model_server.bodies]
    assert sampling == [["temperature", "top_p"], ["top_p"], [], []]


async def test_a_setting_that_is_accepted_is_sent_and_not_dropped(fake_time: FakeTime) -> None:
    with ModelServer(refuses=["top_p"]) as server:
        first, second = await sent_twice(server, fake_time, {"temperature": 0.0}, {"top_p": 0.5})

    assert (first.dropped, first.sent["temperature"]) == ((), 0.0)
    assert (second.dropped, "top_p" in second.sent) == (("top_p",), False)


async def test_another_value_of_a_refused_setting_is_tried(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    await sent_twice(model_server, fake_time, {"temperature": 1.5}, {"temperature": 0.0})

    assert [body.get("temperature") for body in model_server.bodies] == [1.5, None, 0.0, None]


async def test_another_model_is_asked_anew(model_server: ModelServer, fake_time: FakeTime) -> None:
    model_server.answers(lambda _: Reply("Fine."))

    async with make_models(model_server, fake_time) as models:
        await models.complete(make_call(temperature=0.0))
        await models.complete(make_call(temperature=0.0, model="claude-other"))

    assert ["temperature" in body for body in model_server.bodies] == [True, False, True, False]


async def test_of_two_settings_that_exclude_each_other_the_temperature_stays(
    fake_time: FakeTime,
) -> None:
    def refuse_both(request: dict[str, object]) -> Reply | Failure:
        if "temperature" in request and "top_p" in request:
            return Failure(400, message="`temperature` and `top_p` cannot both be specified.")
        return Reply("Fine.")

    with ModelServer(refuses=[]) as server:
        server.answers(refuse_both)
        async with make_models(server, fake_time) as models:
            got = await models.complete(make_call(temperature=0.0, top_p=0.5))

    assert got.dropped == ("top_p",)
    assert got.sent["temperature"] == 0.0


async def test_a_400_about_a_setting_that_was_not_sent_is_an_error(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Failure(400, message="temperature: odd")])

    async with make_models(model_server, fake_time) as models:
        with pytest.raises(BadRequestError):
            await models.complete(make_call(top_p=None, effort="low"))

    assert len(model_server.requests) == 1
