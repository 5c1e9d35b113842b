"""Settings that models refuse, with the real SDKs against a server on this machine."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evals_app.engine.llm.call import ModelReply
from tests.engine.llm.makers import (
    APIS,
    CHAT,
    MESSAGES,
    NOT_CHAT,
    RESPONSES,
    SDKS,
    VERDICT,
    Api,
    FakeTime,
    Lab,
)
from tests.model_server import Answer, Failure, Garbage, ModelServer, Reply, Whole

pytestmark = pytest.mark.anyio


async def send_twice(
    api: Api,
    server: ModelServer,
    fake_time: FakeTime,
    first: dict[str, Any],
    second: dict[str, Any],
) -> list[ModelReply]:
    server.answers(lambda _: Reply("Fine."))
    async with api.open(server, fake_time) as models:
        return [await models.complete(api.ask(**first)), await models.complete(api.ask(**second))]


@APIS
async def test_a_refused_setting_is_dropped_reported_and_remembered(
    fake_time: FakeTime, *, api: Api
) -> None:
    settings = {"temperature": 0.0, "top_p": 0.5}

    with ModelServer(refuses=settings, not_chat=[NOT_CHAT]) as server:
        first, second = await send_twice(api, server, fake_time, settings, settings)

    assert first.dropped == second.dropped == ("temperature", "top_p")
    assert first.sent == second.sent == {"max_output_tokens": 4096}
    assert first.attempts == ()
    sampling = [sorted(body.keys() & settings.keys()) for body in server.bodies[-4:]]
    assert sampling == [["temperature", "top_p"], sampling[1], [], []]
    assert len(sampling[1]) == 1


@SDKS
async def test_a_setting_that_is_accepted_is_sent_and_not_dropped(
    fake_time: FakeTime, *, api: Api
) -> None:
    with ModelServer(refuses=["top_p"]) as server:
        first, second = await send_twice(
            api, server, fake_time, {"temperature": 0.0}, {"top_p": 0.5}
        )

    assert (first.dropped, first.sent["temperature"]) == ((), 0.0)
    assert (second.dropped, "top_p" in second.sent) == (("top_p",), False)


@pytest.mark.parametrize(
    ("second", "sent"),
    [
        pytest.param({"temperature": 0.0}, [1.5, None, 0.0, None], id="another value"),
        ({"temperature": 1.5, "model": "other"}, [1.5, None, 1.5, None]),
    ],
)
@SDKS
async def test_what_was_not_refused_is_tried(
    fake_time: FakeTime, second: dict[str, Any], sent: list[float | None], *, api: Api
) -> None:
    with ModelServer(refuses=["temperature"]) as server:
        await send_twice(api, server, fake_time, {"temperature": 1.5}, second)

    assert [body.get("temperature") for body in server.bodies] == sent


@pytest.mark.parametrize(
    ("api", "refusal"),
    [
        (MESSAGES, Failure(400, message="output_config.format: not supported for this model")),
        (MESSAGES, Failure(400, message="'x' does not support structured outputs.")),
        (CHAT, Failure(400, param="response_format", message="Invalid parameter.")),
        (RESPONSES, Failure(400, param="text.format", message="Invalid.")),
    ],
)
async def test_a_model_without_structured_output_is_asked_without(
    lab: Lab, *, api: Api, refusal: Failure
) -> None:
    lab.server.answers(
        lambda request: refusal if "json_schema" in json.dumps(request) else Reply("{}")
    )

    async with lab.open(api) as models:
        first = await models.complete(api.ask(schema=VERDICT, effort="low"))
        second = await models.complete(api.ask(schema=VERDICT, effort="low"))

    assert (first.dropped, second.dropped) == (("schema",), ("schema",))
    assert "json_schema" not in json.dumps(lab.server.bodies[-1])


# Streams

UNCOUNTED = """\
data: {"choices": [{"index": 0, "delta": {"content": "Fine."}}]}

data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

data: [DONE]

"""


def refuse_streams(request: dict[str, Any]) -> Answer:
    refusal = Failure(400, message="Streaming is not supported by this model.", param="stream")
    return refusal if request.get("stream") else Reply("Fine.")


def stream_uncounted(request: dict[str, Any]) -> Answer:
    whole = Reply("Fine.")
    return Garbage(UNCOUNTED, content_type="text/event-stream") if request.get("stream") else whole


@pytest.mark.parametrize(
    ("api", "answer", "dropped", "streamed"),
    [
        *(
            pytest.param(api, answer, dropped, streamed, id=f"{name}, {what}")
            for name, api in {"messages": MESSAGES, "chat": CHAT, "responses": RESPONSES}.items()
            for what, answer, dropped, streamed in [
                ("streams", lambda _: Reply("Fine."), (), [True, True]),
                ("refuses", refuse_streams, ("streaming",), [True, False, False]),
                ("ignores it", lambda _: Whole(Reply("Fine.")), (), [True, False]),
            ]
        ),
        pytest.param(CHAT, stream_uncounted, (), [True, False], id="chat, without token counts"),
    ],
)
async def test_a_call_that_must_not_be_silent_is_streamed_where_that_is_possible(
    lab: Lab,
    api: Api,
    answer: Callable[[dict[str, Any]], Answer],
    dropped: tuple[str, ...],
    streamed: list[bool],
) -> None:
    call = api.ask(silence_s=lambda **_: 60.0)
    if api is RESPONSES:  # the first call finds out
        lab.server.answers(lambda _: Reply("Hi."))
    else:
        lab.server.answers(answer)

    async with lab.open(api) as models:
        if api is RESPONSES:
            await models.complete(api.ask())
            lab.server.answers(answer)
        begun = len(lab.server.bodies)
        first, second = await models.complete(call), await models.complete(call)

    assert (first.text, second.text) == ("Fine.", "Fine.")
    assert (second.usage.output is not None, second.first_token_ms) == (True, None)
    assert first.dropped == dropped
    assert [body.get("stream", False) for body in lab.server.bodies[begun:]] == streamed


@APIS
async def test_judges_are_asked_without_a_stream(lab: Lab, *, api: Api) -> None:
    await lab.ask(Reply("Fine."), api=api, purpose="judge")

    assert not lab.server.bodies[-1].get("stream")
