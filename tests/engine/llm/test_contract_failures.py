"""What goes wrong with every model API, with the real SDKs against a server on this machine."""

import gzip
import json
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus

import pytest

from evals_app.engine.basics.errors import (
    AuthFailedError,
    BadRequestError,
    ConfigurationError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    TimedOutError,
    UnavailableError,
)
from evals_app.engine.llm import keys
from evals_app.engine.llm.apis import adapter
from tests.agent_server import Sent, WebServer
from tests.engine.llm.makers import (
    APIS,
    CHAT,
    KEY_VARIABLE,
    MESSAGES,
    OPENAI,
    SDKS,
    Api,
    FakeTime,
    Lab,
)
from tests.model_server import (
    KEY,
    Answer,
    Cut,
    Drip,
    Failure,
    Garbage,
    Hang,
    ModelServer,
    Reply,
    Trickle,
)

pytestmark = pytest.mark.anyio

EVENTS = "text/event-stream"

JSON = "application/json"
RETRY, NO_RETRY = {"x-should-retry": "true"}, {"x-should-retry": "false"}
LARGE = HTTPStatus(413).phrase.lower()
UNREADABLE = "sent a reply that cannot be read:"


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        *(
            pytest.param(
                Failure(status, headers=NO_RETRY, message="No, not now."),
                kind,
                f"answered {status} ({words}): No, not now.",
                id=str(status),
            )
            for status, kind, words in [
                (400, BadRequestError, "bad request"),
                (402, QuotaExhaustedError, "payment required"),
                (403, AuthFailedError, "not permitted"),
                (404, BadRequestError, "not found"),
                (408, UnavailableError, "request timeout"),
                (409, UnavailableError, "conflict"),
                (429, RateLimitedError, "rate limited"),
                (500, UnavailableError, "internal error"),
                (503, UnavailableError, "service unavailable"),
                (529, UnavailableError, "overloaded"),
                (599, UnavailableError, "unknown status"),
            ]
        ),
        *(
            pytest.param(answer, QuotaExhaustedError, "answered 429 (rate limited): None.", id=id_)
            for id_, answer in {
                "limit of a contract": Failure(
                    429, code="enforced_spend_limit_reached", message="None."
                ),
                "quota, whatever is said of retrying": Failure(
                    429, code="insufficient_quota", message="None.", headers=RETRY
                ),
                "quota in another place": Garbage(
                    '{"error": {"code": "insufficient_quota", "message": "None."}}', status=429
                ),
            }.items()
        ),
        *(
            pytest.param(Garbage(body, status, content_type), BadRequestError, message, id=id_)
            for id_, body, status, content_type, message in [
                (
                    "in a list, as Google writes it",
                    '[{"error": {"code": 400, "message": "Bad argument."}}]',
                    *(400, JSON, "answered 400 (bad request): Bad argument."),
                ),
                (
                    "only words",
                    '{"error": "model \'x\' not found"}',
                    *(404, JSON, "answered 404 (not found): model 'x' not found."),
                ),
                ("a proxy's page", "<html>No</html>", 413, "text/html", f"answered 413 ({LARGE})."),
                ("anybody's text", " Blocked ", 418, "text/plain", "answered 418 (i'm a teapot)."),
                ("neither success nor error", "", 304, JSON, "answered 304 (not modified)."),
                ("no JSON", "{'text': 'Hello'}", 200, JSON, f"{UNREADABLE} it is not JSON."),
                ("a page", "<html>Hi</html>", 200, "text/html", f"{UNREADABLE} it is not JSON."),
                ("bottomless nesting", "[" * 100_000, 200, JSON, f"{UNREADABLE} it is not JSON."),
                (
                    "a list",
                    '["Hello"]',
                    *(200, JSON, f"{UNREADABLE} it is JSON, but not an object."),
                ),
            ]
        ),
        pytest.param(
            Garbage(
                '[{"error": {"code": 400, "message": "API key not valid.", "details": ["x", '
                '{"reason": "API_KEY_INVALID"}]}}]',
                status=400,
            ),
            AuthFailedError,
            "answered 400 (bad request): API key not valid. Ask your administrator to"
            f" check the environment variable {KEY_VARIABLE}.",
            id="a wrong key, as Google says it",
        ),
    ],
)
@SDKS
async def test_an_error_that_is_not_retried_becomes_one_of_ours(
    lab: Lab, answer: Failure | Garbage, kind: type[ProviderError], message: str, *, api: Api
) -> None:
    with pytest.raises(ProviderError) as caught:
        await lab.ask(answer, api=api)

    assert type(caught.value) is kind
    assert str(caught.value) == f"{api.name} {message}"
    assert lab.time.slept == []


@SDKS
async def test_a_long_explanation_is_cut(lab: Lab, *, api: Api) -> None:
    with pytest.raises(BadRequestError) as caught:
        await lab.ask(Failure(400, message="no " * 1000), api=api)

    assert len(str(caught.value)) < 600


@SDKS
async def test_a_stream_that_is_none_cannot_be_read(lab: Lab, *, api: Api) -> None:
    with pytest.raises(BadRequestError, match="it is not a stream of events"):
        await lab.ask(
            Garbage("<html>Welcome</html>", content_type="text/html"), api=api, stream=True
        )


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        pytest.param(Cut(after_events=4), "cut off its reply", id="connection lost"),
        pytest.param(Cut(after_events=4, is_clean=True), "cut off its reply", id="ended too soon"),
        (Failure(529, type="overloaded_error", after_events=4), "answered 529 (overloaded)"),
        (Failure(500, after_events=4), "answered 500 (internal error)"),
        pytest.param(
            Garbage("event: message_start\ndata: {oops\n\n", content_type=EVENTS),
            "cut off its reply",
            id="events that are no JSON",
        ),
        pytest.param(
            Garbage(f"event: message_start\ndata: {'[' * 100_000}\n\n", content_type=EVENTS),
            "cut off its reply",
            id="events that are nested without end",
        ),
        pytest.param(
            Garbage("event: content_block_stop\ndata: 5\n\n", content_type=EVENTS),
            "cut off its reply",
            id="events that are no objects",
        ),
        pytest.param(Garbage("", content_type=EVENTS), "cut off its reply", id="empty"),
    ],
)
@APIS
async def test_a_broken_stream_is_tried_again_and_leaves_nothing_behind(
    lab: Lab, answer: Cut | Failure | Garbage, what: str, *, api: Api
) -> None:
    got = await lab.ask(answer, Reply("Whole."), api=api, stream=True)

    assert got.text == "Whole."
    (attempt,) = got.attempts
    assert attempt.error.startswith(what), attempt.error


@pytest.mark.parametrize(
    ("answer", "stream"),
    [
        pytest.param(Hang(), False, id="silence"),
        pytest.param(Hang(), True, id="silence instead of a stream"),
        pytest.param(Reply("Late.", thinking_s=5.0), True, id="a stream that stands still"),
    ],
)
@SDKS
async def test_an_attempt_without_an_answer_in_time_is_tried_again(
    lab: Lab, answer: Hang | Reply, *, stream: bool, api: Api
) -> None:
    # On a busy machine the second attempt may be late as well.

    got = await lab.ask(answer, *[Reply("Now.")] * 5, api=api, timeout_s=0.5, stream=stream)

    assert got.text == "Now."
    assert {attempt.error for attempt in got.attempts} == {"did not answer within 0.5 s."}


@SDKS
async def test_a_server_that_does_not_exist_could_not_be_reached(
    fake_time: FakeTime, *, api: Api
) -> None:
    gone = ModelServer()
    gone.close()

    async with api.open(gone, fake_time) as models:
        with pytest.raises(UnavailableError, match=rf"^{api.name} could not be reached 6 times in"):
            await models.complete(api.ask())


@SDKS
async def test_a_proxy_that_lets_nothing_through_was_paid_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, api: Api
) -> None:
    with WebServer(lambda _: Sent(status=403)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.host}")
        opened = {"base_url": "https://models.invalid"}
        with pytest.raises(UnavailableError, match="could not be reached"):
            await lab.ask(api=api, opened=opened, patience_s=1)


@SDKS
async def test_a_server_that_never_answers_times_out_in_the_end(lab: Lab, *, api: Api) -> None:
    lab.server.answers(lambda _: Hang())

    with pytest.raises(TimedOutError, match=r"0.05 s 3 times in \d+ s"):
        await lab.ask(api=api, timeout_s=0.05)


SILENT = pytest.mark.parametrize(
    ("answer", "stream"),
    [
        pytest.param(Hang(), False, id="never answers"),
        pytest.param(Hang(), True, id="never begins a stream"),
        pytest.param(Drip(), False, id="sends blanks for ever"),
        pytest.param(Drip(), True, id="sends comments and pings for ever"),
        pytest.param(Drip(after_events=3), True, id="stops in the middle"),
    ],
)


@APIS
@SILENT
async def test_an_attempt_in_which_nothing_comes_is_given_up_and_tried_again(
    lab: Lab, *, api: Api, answer: Hang | Drip, stream: bool
) -> None:
    refunded: list[float] = []

    reply = await lab.ask(
        *(answer, answer, Reply("At last.")),
        api=api,
        stream=stream,
        silence_s=lambda **_: 0.3,
        refund=refunded.append,
    )

    assert reply.text == "At last."
    assert [attempt.error for attempt in reply.attempts] == [reply.attempts[0].error] * 2
    assert "0.3 s" in reply.attempts[0].error
    assert refunded == [pytest.approx(0.3, abs=0.25)] * 2
    assert lab.time.slept == [2.0, 4.0]


def allowed_silence(*, is_thinking: bool) -> float:
    """Wait as a turn does whose limit somebody chose."""
    return math.inf if is_thinking else 0.2


@APIS
@pytest.mark.parametrize(
    ("answer", "is_given_up"),
    [
        pytest.param(Hang(), True, id="never begins to answer"),
        pytest.param(Drip(), False, id="begins to answer, and thinks"),
        pytest.param(Trickle(Reply("Slow. " * 9), rest_s=0.15), False, id="is still writing"),
        pytest.param(Drip(after_events=5), True, id="stops in the middle"),
    ],
)
async def test_a_model_at_work_is_told_from_an_api_that_is_down(
    lab: Lab, *, api: Api, answer: Answer, is_given_up: bool
) -> None:
    lab.server.answers(lambda _: answer)

    with pytest.raises(TimedOutError) as failed:
        await lab.ask(api=api, silence_s=allowed_silence, timeout_s=0.6, patience_s=1)

    assert ("0.2 s" in str(failed.value), failed.value.may_be_billed) == (is_given_up, True)


@APIS
@pytest.mark.parametrize(
    ("answers", "error", "may_be_billed"),
    [
        pytest.param([Failure(429)] * 2, RateLimitedError, False, id="too many requests"),
        pytest.param([Failure(500)] * 9, UnavailableError, False, id="down"),
        pytest.param([Failure(500), *[Cut()] * 9], UnavailableError, True, id="cut off at last"),
    ],
)
async def test_what_may_have_been_billed_is_known_of_a_call_that_came_to_nothing(
    lab: Lab, answers: list[Answer], error: type[ProviderError], *, api: Api, may_be_billed: bool
) -> None:
    with pytest.raises(error) as failed:
        await lab.ask(*answers, api=api, patience_s=20)

    assert failed.value.may_be_billed is may_be_billed
    assert "says nothing about the agent" in str(failed.value)


@APIS
async def test_a_stream_that_brings_something_again_and_again_is_not_given_up(
    lab: Lab, *, api: Api
) -> None:
    reply = await lab.ask(
        Trickle(Reply("A long reply. " * 4, thinking="Slowly."), rest_s=0.15),
        api=api,
        stream=True,
        silence_s=lambda **_: 1.2,
    )

    assert reply.text.startswith("A long reply.")
    assert reply.latency_ms > 1200
    assert reply.attempts == ()


async def test_thoughts_are_a_part_of_an_answer(lab: Lab) -> None:
    thoughts = [{"reasoning_content": f"{n}, "} for n in range(6)]
    chunks = [{"choices": [{"index": 0, "delta": thought}]} for thought in thoughts]
    last = {"choices": [{"index": 0, "delta": {"content": "Six."}, "finish_reason": "stop"}]}

    def parts() -> Iterator[bytes]:
        for chunk in [*chunks, last]:
            time.sleep(0.15)
            yield f"data: {json.dumps(chunk)}\n\n".encode()

    sent = Sent(headers={"content-type": EVENTS}, parts=parts())
    with WebServer(lambda _: sent) as server:
        url = f"http://localhost:{server.port}/v1"
        opened = {"base_url": url}
        reply = await lab.ask(api=CHAT, opened=opened, stream=True, silence_s=lambda **_: 0.4)

    assert (reply.text, reply.attempts) == ("Six.", ())


# Keys


@SDKS
async def test_a_wrong_key_is_named_by_its_variable_and_never_shown_not_even_half_of_it(
    lab: Lab, *, api: Api
) -> None:
    environ = {KEY_VARIABLE: "sk-wrong-key-1234"}

    with pytest.raises(AuthFailedError) as caught:
        await lab.ask(api=api, opened={"environ": environ})

    message = str(caught.value)
    assert message.startswith(f"{api.name} answered 401 (key refused): ")
    assert message.endswith(
        f". Ask your administrator to check the environment variable {KEY_VARIABLE}."
    )
    assert "sk-" not in message
    assert "**" not in message


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Failure(400, message=f"cannot use {KEY} here"), id="API error"),
        pytest.param(Garbage(f'{{"error": "denied: {KEY}"}}', status=403), id="in words"),
        pytest.param(
            Garbage(
                json.dumps(
                    {
                        "content": [],
                        "stop_reason": KEY,
                        "choices": [{"message": {}, "finish_reason": KEY}],
                    }
                )
            ),
            id="a reason that cannot be read",
        ),
        Failure(302, headers={"location": f"https://other.invalid/?key={KEY}"}),
    ],
)
@SDKS
async def test_a_key_that_the_server_repeats_is_blotted_out(
    lab: Lab, answer: Failure | Garbage, *, api: Api
) -> None:
    with pytest.raises(ProviderError) as caught:
        await lab.ask(answer, api=api)

    assert "[key]" in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.attempts
    assert KEY not in repr(caught.value.attempts)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize(
    "api",
    [
        pytest.param(MESSAGES, id="x-api-key"),
        pytest.param(CHAT, id="authorization"),
        pytest.param(replace(CHAT, provider={**OPENAI, "kind": "azure_openai"}), id="api-key"),
    ],
)
async def test_a_key_follows_no_redirect(lab: Lab, status: int, *, api: Api) -> None:
    with ModelServer() as other:
        lab.server.replies([Failure(status, message="Moved.", headers={"location": other.url})])

        async with lab.open(api) as models:
            with pytest.raises(BadRequestError) as caught:
                await models.complete(api.ask())

        assert other.requests == []
        assert f"It has moved to {other.url}." in str(caught.value)


async def lead_here(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


@SDKS
@pytest.mark.parametrize(
    "base_url", ["https://rebound.example/v1", "https://api.openai.com.evil.tld"]
)
async def test_a_name_that_leads_inside_is_never_connected_to(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, base_url: str, *, api: Api
) -> None:
    monkeypatch.setattr(adapter, "look_up", lead_here)

    with pytest.raises(ConfigurationError, match="which is this machine"):
        await lab.ask(api=api, opened={"base_url": base_url})

    assert lab.server.requests == []


@SDKS
@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_host_says_that_nobody_vouches_for_is_not_shown(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, stream: bool, api: Api
) -> None:
    monkeypatch.setattr(keys, "is_vouched_for", lambda *_: False)
    body = json.dumps({"error": {"message": "INTERNAL-SECRET", "type": "t"}})
    lab.server.answers(lambda _: Garbage(body, status=404))

    with pytest.raises(BadRequestError, match=r"answered 404 \(not found\)") as failed:
        await lab.ask(api=api, stream=stream)

    assert "INTERNAL" not in str(failed.value)
    assert "INTERNAL" not in str(failed.value.attempts)
    assert "hidden" in str(failed.value)


@SDKS
async def test_a_text_that_is_not_of_an_api_is_shown_of_nobody(lab: Lab, *, api: Api) -> None:
    page = Garbage("INTERNAL-SECRET aws_key=1", status=404, content_type="text/plain")
    lab.server.answers(lambda _: page)

    with pytest.raises(BadRequestError) as failed:
        await lab.ask(api=api)

    assert str(failed.value) == f"{api.name} answered 404 (not found)."


@SDKS
@pytest.mark.parametrize("stream", [False, True])
async def test_a_compressed_reply_cannot_fill_the_memory(
    fake_time: FakeTime, *, stream: bool, api: Api
) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    sent = Sent(headers={"content-encoding": "gzip"}, content=bomb)
    with WebServer(lambda _: sent) as server, ModelServer() as gone:
        url = f"http://localhost:{server.port}"
        async with api.open(gone, fake_time, base_url=url) as models:
            with pytest.raises(BadRequestError, match="compressed"):
                await models.complete(api.ask(stream=stream))

    assert server.asked[0].headers["accept-encoding"] == "identity"


@SDKS
async def test_connections_are_kept_for_the_next_call(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, api: Api
) -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr(adapter, "look_up", resolve)
    lab.server.answers(lambda _: Reply("Yes."))

    async with lab.open(api) as models:
        for _ in range(3):
            await models.complete(api.ask())

    assert asked == ["localhost"]
    assert lab.server.connections == 1
