"""What only OpenAI's APIs and those like them do, with the SDK against a server on this machine."""

import json
from typing import Any

import pytest

from evals_app.engine.errors import (
    AuthFailedError,
    BadRequestError,
    QuotaExhaustedError,
)
from evals_app.engine.llm.call import ToolResult, ToolResults, UserMessage
from evals_app.engine.trial import NO_USAGE, Usage
from tests.engine.llm.makers import (
    BY_BOTH,
    CHAT,
    NOT_CHAT,
    QUERY,
    RESPONSES,
    STREAMED,
    VERDICT,
    Api,
    FakeTime,
)
from tests.messages_api import Json
from tests.model_server import KEY, Failure, Garbage, ModelServer, Reply, ToolUse

pytestmark = pytest.mark.anyio

ask = CHAT.ask


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        pytest.param({}, "max_completion_tokens", id="as its kind"),
        pytest.param({"kind": "ollama"}, "max_tokens", id="another kind"),
        pytest.param({"max_tokens_parameter": "max_tokens"}, "max_tokens", id="an older server"),
    ],
)
async def test_the_limit_of_an_answer_is_named_as_the_server_wants_it(
    model_server: ModelServer, fake_time: FakeTime, changes: dict[str, Any], parameter: str
) -> None:
    model_server.replies([Reply("Fine.")])

    async with CHAT.open(model_server, fake_time, **changes) as models:
        await models.complete(ask(max_output_tokens=77))

    assert {name: value for name, value in model_server.bodies[0].items() if "max" in name} == {
        parameter: 77
    }


async def test_the_responses_api_takes_over_a_conversation_of_the_chat_api(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Reply("Let me see.", tools=(ToolUse("entity_query"),)), Reply("None.")])

    async with CHAT.open(model_server, fake_time) as models:
        first = await models.complete(ask(tools=(QUERY,)))
        assert first.native_turn is not None
        results = ToolResults((ToolResult(first.tool_calls[0].id, "entity.query", "[]"),))
        messages = (UserMessage("Hello?"), first.native_turn, results)
        second = await models.complete(ask(messages=messages, tools=(QUERY,), model=NOT_CHAT))

    assert second.text == "None."


async def test_a_model_that_the_chat_api_does_not_serve_is_remembered(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.answers(lambda _: Reply("Fine."))

    async with CHAT.open(model_server, fake_time) as models:
        first = await models.complete(ask(model=NOT_CHAT, tools=(QUERY,), effort="high", seed=7))
        await models.complete(ask(model=NOT_CHAT, tools=(QUERY,)))
        without_tools = await models.complete(ask(model=NOT_CHAT, seed=7))

    paths = [each.path.removeprefix("/v1/") for each in model_server.requests]
    assert paths == ["chat/completions", "responses", "responses", "chat/completions"]
    assert model_server.bodies[1]["reasoning"] == {"effort": "high"}
    assert (first.dropped, without_tools.dropped) == (("seed",), ())


async def test_a_conversation_of_the_responses_api_stays_there(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Reply("Hi.", thinking="Hm."), Reply("Fine.")])
    async with CHAT.open(model_server, fake_time) as models:
        first = await models.complete(ask(model=NOT_CHAT, tools=(QUERY,)))
    assert first.native_turn is not None
    messages = (UserMessage("Hello?"), first.native_turn, UserMessage("And?"))

    async with CHAT.open(model_server, fake_time) as models:  # which remembers nothing
        await models.complete(ask(messages=messages, model=NOT_CHAT, tools=(QUERY,)))

    paths = [each.path for each in model_server.requests]
    assert paths.count("/v1/chat/completions") == 1


async def test_only_openai_and_azure_have_the_responses_api(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    async with CHAT.open(model_server, fake_time, kind="groq") as models:
        with pytest.raises(BadRequestError, match="use /v1/responses"):
            await models.complete(ask(model=NOT_CHAT, tools=(QUERY,)))

    assert len(model_server.requests) == 1


@BY_BOTH
async def test_the_first_token_may_be_one_of_a_refusal(
    model_server: ModelServer, fake_time: FakeTime, *, api: Api
) -> None:
    model_server.replies([Reply(thinking="Hm, let me see.", thinking_s=0.05, refusal="No.")])

    async with api.open(model_server, fake_time) as models:
        got = await models.complete(api.ask(stream=True))

    assert got.first_token_ms is not None
    assert 50 <= got.first_token_ms <= got.latency_ms


async def test_an_error_with_status_200_is_one(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Garbage('{"error": {"code": 402, "message": "No credits."}}')])

    async with CHAT.open(model_server, fake_time) as models:
        with pytest.raises(QuotaExhaustedError, match=r"\(payment required\): No credits"):
            await models.complete(ask())


@pytest.mark.parametrize(
    ("end", "what"),
    [
        pytest.param(
            '{"delta": {}, "finish_reason": "error", "error": {"code": 502}}',
            "answered 502 (bad gateway)",
            id="an error as its end",
        ),
        pytest.param("5", "cut off its reply", id="a chunk that does not fit"),
        pytest.param(
            '{"delta": {"content": "He"}, "finish_reason": ""}',
            "cut off its reply",
            id="cut before a reason",
        ),
    ],
)
async def test_a_stream_that_ends_oddly_is_tried_again(
    model_server: ModelServer, fake_time: FakeTime, end: str, what: str
) -> None:
    events = f'data: {{"choices": [{end}]}}\n\n'
    model_server.replies([Garbage(events, content_type="text/event-stream"), Reply("Whole.")])

    async with CHAT.open(model_server, fake_time) as models:
        got = await models.complete(ask(stream=True))

    assert got.text == "Whole."
    assert [attempt.error.startswith(what) for attempt in got.attempts] == [True]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(
            Reply("Bad", stop="content_filter"), ("refusal", "Bad", "content_filter"), id="filtered"
        ),
        pytest.param(Reply(refusal="I won't."), ("refusal", "I won't.", None), id="refused"),
        pytest.param(
            Failure(403, message="Flagged", extra={"metadata": {"reasons": ["violence"]}}),
            ("refusal", "", "violence"),
            id="prompt flagged",
        ),
    ],
)
@BY_BOTH
@STREAMED
async def test_a_reply_that_ends_early_says_why(
    model_server: ModelServer,
    fake_time: FakeTime,
    answer: Reply | Failure,
    told: tuple[str, str, str | None],
    *,
    api: Api,
    stream: bool,
) -> None:
    model_server.replies([answer])

    async with api.open(model_server, fake_time) as models:
        got = await models.complete(api.ask(stream=stream))

    assert (got.stop, got.text, got.refusal_category) == told
    assert (got.usage == NO_USAGE) is isinstance(answer, Failure)


@pytest.mark.parametrize("code", ["json_validate_failed", "tool_use_failed"])
async def test_what_a_model_wrote_badly_is_its_reply_where_a_server_will_not_send_it(
    model_server: ModelServer, fake_time: FakeTime, code: str
) -> None:
    extra = {"failed_generation": "verdict: pass"}
    model_server.replies([Failure(400, message="Failed to generate JSON.", code=code, extra=extra)])

    async with CHAT.open(model_server, fake_time, kind="groq") as models:
        got = await models.complete(ask(schema=VERDICT))

    assert (got.text, got.stop, got.usage) == ("verdict: pass", "ok", Usage())


@pytest.mark.parametrize(
    ("error", "what"),
    [
        pytest.param({"code": "server_error"}, "answered 500", id="down"),
        pytest.param({"code": "rate_limit_exceeded"}, "answered 429", id="limited"),
    ],
)
async def test_a_response_that_failed_is_tried_again(
    model_server: ModelServer, fake_time: FakeTime, error: Json, what: str
) -> None:
    failed = {"id": "resp_1", "status": "failed", "error": error, "output": []}
    model_server.replies([Garbage(json.dumps(failed)), Reply("Whole.")])

    async with RESPONSES.open(model_server, fake_time) as models:
        got = await models.complete(RESPONSES.ask())

    assert got.text == "Whole."
    assert got.attempts[0].error.startswith(what)


@pytest.mark.parametrize(
    ("code", "stop"), [("context_length_exceeded", "context"), ("invalid_prompt", "refusal")]
)
async def test_a_response_that_failed_for_its_prompt_is_not_tried_again(
    model_server: ModelServer, fake_time: FakeTime, code: str, stop: str
) -> None:
    failed = {"status": "failed", "error": {"code": code, "message": "No."}, "output": []}
    model_server.replies([Garbage(json.dumps(failed))])

    async with RESPONSES.open(model_server, fake_time) as models:
        got = await models.complete(RESPONSES.ask())

    assert (got.stop, got.attempts) == (stop, ())


@pytest.mark.parametrize(
    ("details", "slept"),
    [
        pytest.param([{"@type": "x"}, {"retryDelay": "21s"}], 21, id="said"),
        pytest.param([{"retryDelay": "0s"}], 30, id="no pause at all"),
        pytest.param([{"retryDelay": "soon"}], 30, id="unreadable"),
    ],
)
async def test_a_rate_limit_is_waited_out_as_google_asks_for_it(
    model_server: ModelServer, fake_time: FakeTime, details: list[Json], slept: float
) -> None:
    model_server.replies([Failure(429, extra={"details": details}), Reply("At last.")])

    async with CHAT.open(model_server, fake_time) as models:
        await models.complete(ask())

    assert fake_time.slept == pytest.approx([slept], abs=0.5)


async def test_what_the_environment_says_of_openai_goes_nowhere(
    model_server: ModelServer, fake_time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The SDK reads the real environment on its own account.
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "leaked")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer leaked\nX-Other: leaked")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://leaked.invalid/v1")
    model_server.replies([Reply("Fine.")])

    async with CHAT.open(model_server, fake_time, kind="groq") as models:
        await models.complete(ask())

    (request,) = model_server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "leaked" not in repr(request.headers)


async def test_azure_gets_its_key_in_its_own_header(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Reply("Fine."), Reply("Fine.")])
    base_url = f"{model_server.url}/openai/v1/"

    async with CHAT.open(model_server, fake_time, kind="azure_openai", base_url=base_url) as models:
        await models.complete(ask())
        await models.complete(ask(stream=True))

    for request in model_server.requests:
        assert request.path == "/openai/v1/chat/completions"
        assert request.headers["api-key"] == KEY
        assert "authorization" not in request.headers


async def test_ollama_needs_no_key(fake_time: FakeTime) -> None:
    with ModelServer(key="none") as server:
        server.replies([Reply("Fine."), Failure(404, message="try: none of these, ollama pull x")])
        async with CHAT.open(
            server, fake_time, kind="ollama", api_key_env=None, environ={}
        ) as models:
            got = await models.complete(ask())
            with pytest.raises(BadRequestError, match="none of these, ollama pull x"):
                await models.complete(ask())

    assert got.text == "Fine."


async def test_a_server_that_wants_a_key_where_none_is_named_says_what_to_do(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    async with CHAT.open(
        model_server, fake_time, kind="ollama", api_key_env=None, environ={}
    ) as models:
        with pytest.raises(AuthFailedError, match="provider's page"):
            await models.complete(ask())


async def test_settings_that_it_names_otherwise_are_dropped_too(fake_time: FakeTime) -> None:
    settings: dict[str, Any] = {"temperature": 0.0, "effort": "low", "seed": 1, "top_logprobs": 5}

    with ModelServer(refuses=["temperature", "reasoning_effort", "logprobs"]) as server:
        server.answers(lambda _: Reply("Fine."))
        async with CHAT.open(server, fake_time) as models:
            first = await models.complete(ask(**settings))
            second = await models.complete(ask(**settings))

    assert first.dropped == second.dropped == ("effort", "temperature", "top_logprobs")
    assert first.sent == second.sent == {"max_output_tokens": 4096, "seed": 1}
    assert first.attempts == ()
    assert len(server.bodies) == 5
    assert not {"logprobs", "top_logprobs"} & server.bodies[-1].keys()


@pytest.mark.parametrize(
    ("failure", "dropped"),
    [
        pytest.param(
            Failure(
                400,
                message="Invalid schema for function 'oven': 'temperature' is odd.",
                param="tools[0].function.parameters",
            ),
            None,
            id="about a tool",
        ),
        pytest.param(
            Failure(400, message="Unsupported value.", param="temperature"),
            "temperature",
            id="named apart",
        ),
        pytest.param(
            Failure(403, message="You are not allowed to request logprobs from this model."),
            "top_logprobs",
            id="not permitted",
        ),
        pytest.param(
            Failure(400, message="Invalid reasoning_effort: max. Valid values are: high, low."),
            "effort",
            id="another value is welcome",
        ),
        pytest.param(
            Failure(400, message="logprobs are not supported with this model.", param="include"),
            "top_logprobs",
            id="in a list",
        ),
        pytest.param(Failure(500, message="temperature"), "", id="trouble"),
    ],
)
async def test_a_refusal_is_about_the_setting_that_it_names(
    model_server: ModelServer, fake_time: FakeTime, failure: Failure, dropped: str | None
) -> None:
    model_server.replies([failure, Reply("Fine.")])
    call = ask(temperature=0.0, top_logprobs=5, effort="max")

    async with CHAT.open(model_server, fake_time) as models:
        if dropped is None:
            with pytest.raises(BadRequestError):
                await models.complete(call)
            return
        got = await models.complete(call)

    assert got.dropped == ((dropped,) if dropped else ())


async def test_what_is_refused_beside_tools_is_sent_without_them(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    def answer(request: Json) -> Reply | Failure:
        if request.get("tools") and "reasoning_effort" in request:
            return Failure(400, param="reasoning_effort", message="Not with function tools.")
        return Reply("Fine.")

    model_server.answers(answer)

    async with CHAT.open(model_server, fake_time) as models:
        with_tools = await models.complete(ask(effort="low", tools=(QUERY,)))
        alone = await models.complete(ask(effort="low"))

    assert (with_tools.dropped, alone.dropped) == (("effort",), ())


async def test_what_no_model_of_a_kind_takes_is_not_even_sent(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Reply("Fine.")])

    async with CHAT.open(model_server, fake_time, kind="groq") as models:
        got = await models.complete(ask(top_logprobs=5, seed=1))

    assert (got.dropped, got.sent["seed"]) == (("top_logprobs",), 1)
    assert "logprobs" not in model_server.bodies[0]


@BY_BOTH
@STREAMED
async def test_the_tokens_of_a_reply_are_found_by_their_place_in_its_text(
    model_server: ModelServer, fake_time: FakeTime, *, api: Api, stream: bool
) -> None:
    text = '{"critique": "größer €", "score": 4}'
    model_server.replies([Reply(text)])

    async with api.open(model_server, fake_time) as models:
        got = await models.complete(api.ask(top_logprobs=3, stream=stream))

    assert "".join(token.token for token in got.logprobs) == text
    for token in got.logprobs:
        assert text[token.offset :].startswith(token.token)
        assert token.logprob == -0.5
        assert [logprob for _, logprob in token.top] == [-0.5, -1.5, -2.5]
    assert got.sent["top_logprobs"] == 3
