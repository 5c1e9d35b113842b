"""Settings that models refuse, with the real SDKs against a server on this machine."""

import json
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
from tests.model_server import Failure, ModelServer, Reply

pytestmark = pytest.mark.anyio


async def sent_twice(
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
        first, second = await sent_twice(api, server, fake_time, settings, settings)

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
        first, second = await sent_twice(
            api, server, fake_time, {"temperature": 0.0}, {"top_p": 0.5}
        )

    assert (first.dropped, first.sent["temperature"]) == ((), 0.0)
    assert (second.dropped, "top_p" in second.sent) == (("top_p",), False)


@pytest.mark.parametrize(
    ("second", "sent"),
    [
        pytest.param({"temperature": 0.0}, [1.5, None, 0.0, None], id="another value"),
        pytest.param(
            {"temperature": 1.5, "model": "other"}, [1.5, None, 1.5, None], id="another model"
        ),
    ],
)
@SDKS
async def test_what_was_not_refused_is_tried(
    fake_time: FakeTime, second: dict[str, Any], sent: list[float | None], *, api: Api
) -> None:
    with ModelServer(refuses=["temperature"]) as server:
        await sent_twice(api, server, fake_time, {"temperature": 1.5}, second)

    assert [body.get("temperature") for body in server.bodies] == sent


@pytest.mark.parametrize(
    ("api", "refusal"),
    [
        pytest.param(
            MESSAGES,
            Failure(400, message="output_config.format: not supported for this model"),
            id="messages",
        ),
        pytest.param(
            MESSAGES,
            Failure(400, message="'x' does not support structured outputs."),
            id="messages, in other words",
        ),
        pytest.param(
            CHAT, Failure(400, param="response_format", message="Invalid parameter."), id="chat"
        ),
        pytest.param(
            RESPONSES, Failure(400, param="text.format", message="Invalid."), id="responses"
        ),
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
