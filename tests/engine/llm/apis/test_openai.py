"""What only OpenAI's APIs and those like them do, with the SDK against a server on this machine."""

import json
from typing import Any

import pytest

from evals_app.engine.basics.errors import AuthFailedError, BadRequestError, QuotaExhaustedError
from evals_app.engine.llm.call import ToolResult, ToolResults, UserMessage
from evals_app.engine.record.usage import NO_USAGE, Usage
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
    Lab,
)
from tests.messages_api import Json
from tests.model_server import KEY, Failure, Garbage, ModelServer, Reply, ToolUse

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        pytest.param({}, "max_completion_tokens", id="as its kind"),
        pytest.param({"kind": "ollama"}, "max_tokens", id="another kind"),
        pytest.param({"max_tokens_parameter": "max_tokens"}, "max_tokens", id="an older server"),
    ],
)
async def test_the_limit_of_an_answer_is_named_as_the_server_wants_it(
    lab: Lab, changes: dict[str, Any], parameter: str
) -> None:
    await lab.ask(Reply("Fine."), api=CHAT, opened={**changes}, max_output_tokens=77)

    assert {name: value for name, value in lab.server.bodies[0].items() if "max" in name} == {
        parameter: 77
    }


async def test_the_responses_api_takes_over_a_conversation_of_the_chat_api(lab: Lab) -> None:
    lab.server.replies([Reply("Let me see.", tools=(ToolUse("entity_query"),)), Reply("None.")])

    async with lab.open(CHAT) as models:
        first = await models.complete(CHAT.ask(tools=(QUERY,)))
        assert first.native_turn is not None
        results = ToolResults((ToolResult(first.tool_calls[0].id, "entity.query", "[]"),))
        messages = (UserMessage("Hello?"), first.native_turn, results)
        second = await models.complete(CHAT.ask(messages=messages, tools=(QUERY,), model=NOT_CHAT))

    assert second.text == "None."


async def test_a_model_that_the_chat_api_does_not_serve_is_remembered(lab: Lab) -> None:
    lab.server.answers(lambda _: Reply("Fine."))

    async with lab.open(CHAT) as models:
        first = await models.complete(
            CHAT.ask(model=NOT_CHAT, tools=(QUERY,), effort="high", seed=7)
        )
        await models.complete(CHAT.ask(model=NOT_CHAT, tools=(QUERY,)))
        without_tools = await models.complete(CHAT.ask(model=NOT_CHAT, seed=7))

    paths = [request.path.removeprefix("/v1/") for request in lab.server.requests]
    assert paths == ["chat/completions", "responses", "responses", "chat/completions"]
    assert lab.server.bodies[1]["reasoning"] == {"effort": "high"}
    assert (first.dropped, without_tools.dropped) == (("seed",), ())


async def test_a_conversation_of_the_responses_api_stays_there(lab: Lab) -> None:
    lab.server.replies([Reply("Hi.", thinking="Hm."), Reply("Fine.")])
    async with lab.open(CHAT) as models:
        first = await models.complete(CHAT.ask(model=NOT_CHAT, tools=(QUERY,)))
    assert first.native_turn is not None
    messages = (UserMessage("Hello?"), first.native_turn, UserMessage("And?"))

    async with lab.open(CHAT) as models:  # which remembers nothing
        await models.complete(CHAT.ask(messages=messages, model=NOT_CHAT, tools=(QUERY,)))

    paths = [request.path for request in lab.server.requests]
    assert paths.count("/v1/chat/completions") == 1


async def test_only_openai_and_azure_have_the_responses_api(lab: Lab) -> None:
    with pytest.raises(BadRequestError, match="use /v1/responses"):
        await lab.ask(api=CHAT, opened={"kind": "groq"}, model=NOT_CHAT, tools=(QUERY,))

    assert len(lab.server.requests) == 1


@BY_BOTH
async def test_the_first_token_may_be_one_of_a_refusal(lab: Lab, *, api: Api) -> None:
    got = await lab.ask(
        Reply(thinking="Hm, let me see.", thinking_s=0.05, refusal="No."), api=api, stream=True
    )

    assert got.first_token_ms is not None
    assert 50 <= got.first_token_ms <= got.latency_ms


async def test_an_error_with_status_200_is_one(lab: Lab) -> None:
    with pytest.raises(QuotaExhaustedError, match=r"\(payment required\): No credits"):
        await lab.ask(Garbage('{"error": {"code": 402, "message": "No credits."}}'), api=CHAT)


@pytest.mark.parametrize(
    ("end", "what"),
    [
        pytest.param(
            '{"delta": {}, "finish_reason": "error", "error": {"code": 502}}',
            "answered 502 (bad gateway)",
            id="an error as its end",
        ),
        pytest.param("5", "cut off its reply", id="a chunk that does not fit"),
        ('{"delta": {"content": "He"}, "finish_reason": ""}', "cut off its reply"),
    ],
)
async def test_a_stream_that_ends_oddly_is_tried_again(lab: Lab, end: str, what: str) -> None:
    events = f'data: {{"choices": [{end}]}}\n\n'

    got = await lab.ask(
        Garbage(events, content_type="text/event-stream"), Reply("Whole."), api=CHAT, stream=True
    )

    assert got.text == "Whole."
    assert [attempt.error.startswith(what) for attempt in got.attempts] == [True]


@pytest.mark.parametrize(
    ("answer", "stopped"),
    [
        (Reply("Bad", stop="content_filter"), ("refusal", "Bad", "content_filter")),
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
    lab: Lab,
    answer: Reply | Failure,
    stopped: tuple[str, str, str | None],
    *,
    api: Api,
    stream: bool,
) -> None:
    got = await lab.ask(answer, api=api, stream=stream)

    assert (got.stop, got.text, got.refusal_category) == stopped
    assert (got.usage == NO_USAGE) is isinstance(answer, Failure)


@pytest.mark.parametrize("code", ["json_validate_failed", "tool_use_failed"])
async def test_what_a_model_wrote_badly_is_its_reply_where_a_server_will_not_send_it(
    lab: Lab, code: str
) -> None:
    extra = {"failed_generation": "verdict: pass"}

    got = await lab.ask(
        Failure(400, message="Failed to generate JSON.", code=code, extra=extra),
        api=CHAT,
        opened={"kind": "groq"},
        schema=VERDICT,
    )

    assert (got.text, got.stop, got.usage) == ("verdict: pass", "ok", Usage())


@pytest.mark.parametrize(
    ("error", "what"),
    [
        pytest.param({"code": "server_error"}, "answered 500", id="down"),
        pytest.param({"code": "rate_limit_exceeded"}, "answered 429", id="limited"),
    ],
)
async def test_a_response_that_failed_is_tried_again(lab: Lab, error: Json, what: str) -> None:
    failed = {"id": "resp_1", "status": "failed", "error": error, "output": []}

    got = await lab.ask(Garbage(json.dumps(failed)), Reply("Whole."), api=RESPONSES)

    assert got.text == "Whole."
    assert got.attempts[0].error.startswith(what)


@pytest.mark.parametrize(
    ("code", "stop"), [("context_length_exceeded", "context"), ("invalid_prompt", "refusal")]
)
async def test_a_response_that_failed_for_its_prompt_is_not_tried_again(
    lab: Lab, code: str, stop: str
) -> None:
    failed = {"status": "failed", "error": {"code": code, "message": "No."}, "output": []}

    got = await lab.ask(Garbage(json.dumps(failed)), api=RESPONSES)

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
    lab: Lab, details: list[Json], slept: float
) -> None:
    await lab.ask(Failure(429, extra={"details": details}), Reply("At last."), api=CHAT)

    assert lab.time.slept == pytest.approx([slept], abs=0.5)


async def test_what_the_environment_says_of_openai_goes_nowhere(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The SDK reads the real environment on its own account.
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "leaked")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer leaked\nX-Other: leaked")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://leaked.invalid/v1")

    await lab.ask(Reply("Fine."), api=CHAT, opened={"kind": "groq"})

    (request,) = lab.server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "leaked" not in repr(request.headers)


async def test_azure_gets_its_key_in_its_own_header(lab: Lab) -> None:
    lab.server.replies([Reply("Fine."), Reply("Fine.")])
    base_url = f"{lab.server.url}/openai/v1/"

    async with lab.open(CHAT, kind="azure_openai", base_url=base_url) as models:
        await models.complete(CHAT.ask())
        await models.complete(CHAT.ask(stream=True))

    for request in lab.server.requests:
        assert request.path == "/openai/v1/chat/completions"
        assert request.headers["api-key"] == KEY
        assert "authorization" not in request.headers


async def test_ollama_needs_no_key(fake_time: FakeTime) -> None:
    with ModelServer(key="none") as server:
        server.replies([Reply("Fine."), Failure(404, message="try: none of these, ollama pull x")])
        async with CHAT.open(
            server, fake_time, kind="ollama", api_key_env=None, environ={}
        ) as models:
            got = await models.complete(CHAT.ask())
            with pytest.raises(BadRequestError, match="none of these, ollama pull x"):
                await models.complete(CHAT.ask())

    assert got.text == "Fine."


async def test_a_server_that_wants_a_key_where_none_is_named_says_what_to_do(lab: Lab) -> None:
    async with lab.open(CHAT, kind="ollama", api_key_env=None, environ={}) as models:
        with pytest.raises(AuthFailedError, match="provider's page"):
            await models.complete(CHAT.ask())


async def test_settings_that_it_names_otherwise_are_dropped_too(fake_time: FakeTime) -> None:
    settings: dict[str, Any] = {"temperature": 0.0, "effort": "low", "seed": 1, "top_logprobs": 5}

    with ModelServer(refuses=["temperature", "reasoning_effort", "logprobs"]) as server:
        server.answers(lambda _: Reply("Fine."))
        async with CHAT.open(server, fake_time) as models:
            first = await models.complete(CHAT.ask(**settings))
            second = await models.complete(CHAT.ask(**settings))

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
        (Failure(400, message="Unsupported value.", param="temperature"), "temperature"),
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
    lab: Lab, failure: Failure, dropped: str | None
) -> None:
    call = CHAT.ask(temperature=0.0, top_logprobs=5, effort="max")

    async with lab.open(CHAT, failure, Reply("Fine.")) as models:
        if dropped is None:
            with pytest.raises(BadRequestError):
                await models.complete(call)
            return
        got = await models.complete(call)

    assert got.dropped == ((dropped,) if dropped else ())


async def test_what_is_refused_beside_tools_is_sent_without_them(lab: Lab) -> None:
    def answer(request: Json) -> Reply | Failure:
        if request.get("tools") and "reasoning_effort" in request:
            return Failure(400, param="reasoning_effort", message="Not with function tools.")
        return Reply("Fine.")

    lab.server.answers(answer)

    async with lab.open(CHAT) as models:
        with_tools = await models.complete(CHAT.ask(effort="low", tools=(QUERY,)))
        alone = await models.complete(CHAT.ask(effort="low"))

    assert (with_tools.dropped, alone.dropped) == (("effort",), ())


async def test_what_no_model_of_a_kind_takes_is_not_even_sent(lab: Lab) -> None:
    got = await lab.ask(Reply("Fine."), api=CHAT, opened={"kind": "groq"}, top_logprobs=5, seed=1)

    assert (got.dropped, got.sent["seed"]) == (("top_logprobs",), 1)
    assert "logprobs" not in lab.server.bodies[0]


@BY_BOTH
@STREAMED
async def test_the_tokens_of_a_reply_are_found_by_their_place_in_its_text(
    lab: Lab, *, api: Api, stream: bool
) -> None:
    text = '{"critique": "größer €", "score": 4}'

    got = await lab.ask(Reply(text), api=api, top_logprobs=3, stream=stream)

    assert "".join(token.token for token in got.logprobs) == text
    for token in got.logprobs:
        assert text[token.offset :].startswith(token.token)
        assert token.logprob == -0.5
        assert [logprob for _, logprob in token.top] == [-0.5, -1.5, -2.5]
    assert got.sent["top_logprobs"] == 3
