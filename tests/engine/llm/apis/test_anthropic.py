"""What only Anthropic's Messages API does, with its SDK against a server on this machine."""

import pytest

from evals_app.engine.basics.errors import BadRequestError
from evals_app.engine.llm.call import ToolResult, ToolResults, UserMessage
from tests.engine.llm.makers import (
    MESSAGES,
    QUERY,
    STREAMED,
    VERDICT,
    FakeTime,
    Lab,
    make_call,
    make_models,
)
from tests.model_server import Failure, ModelServer, Reply, ToolUse

pytestmark = pytest.mark.anyio


@STREAMED
async def test_thinking_goes_back_untouched(lab: Lab, *, stream: bool) -> None:
    use = ToolUse("entity_query", {"type": "order"})
    lab.server.replies([Reply("Let me see.", tools=(use,), thinking="Hm."), Reply("None.")])

    async with lab.open(MESSAGES) as models:
        first = await models.complete(MESSAGES.ask(tools=(QUERY,), stream=stream))
        assert first.native_turn is not None
        results = ToolResults((ToolResult(first.tool_calls[0].id, "entity.query", "[]"),))
        messages = (UserMessage("Hello?"), first.native_turn, results)
        await models.complete(MESSAGES.ask(messages=messages, tools=(QUERY,), stream=stream))

    sent_back = lab.server.bodies[1]["messages"][1]["content"]
    assert sent_back[0]["thinking"] == "Hm."
    assert [block["type"] for block in sent_back] == ["thinking", "text", "tool_use"]


async def test_a_long_answer_need_not_be_streamed(lab: Lab) -> None:
    got = await lab.ask(Reply("Fine."), max_output_tokens=128_000)

    assert got.text == "Fine."


async def test_a_schema_that_is_written_badly_is_a_mistake_and_not_dropped(lab: Lab) -> None:
    loose = {**VERDICT, "additionalProperties": True}

    with pytest.raises(BadRequestError, match="must be explicitly set to false"):
        await lab.ask(schema=loose)


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


async def test_a_400_about_a_setting_that_was_not_sent_is_an_error(lab: Lab) -> None:
    with pytest.raises(BadRequestError):
        await lab.ask(Failure(400, message="temperature: odd"), top_p=None, effort="low")

    assert len(lab.server.requests) == 1


async def test_what_it_has_no_setting_for_is_shown(lab: Lab) -> None:
    got = await lab.ask(Reply("Fine."), seed=1, top_logprobs=5)

    assert got.dropped == ("seed", "top_logprobs")
    assert len(lab.server.requests) == 1


async def test_headers_for_other_programs_go_nowhere(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Api-Key: leaked\nX-Other: leaked")

    await lab.ask(Reply("Fine."))

    assert "leaked" not in repr(lab.server.requests[0].headers)
