"""The loop around attempts: slots, waiting, retries, patience and keys."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest

from evals_app.engine.basics.errors import (
    AuthFailedError,
    BadRequestError,
    ConfigurationError,
    ProviderError,
    RateLimitedError,
    UnavailableError,
)
from evals_app.engine.llm.models import Block, Models, preload
from evals_app.engine.llm.provider import TimeSource
from evals_app.engine.llm.slots import Pace
from evals_app.engine.specs.base_spec import ProviderSpec
from tests.engine.llm.makers import KEY_VARIABLE, MESSAGES, Lab, make_call, make_provider
from tests.model_server import KEY, Answer, Cut, Failure, Hang, ModelServer, Reply

pytestmark = pytest.mark.anyio

preload({"anthropic"})  # it takes a second, which is nobody's waiting


def is_about(seconds: list[float]) -> object:
    return pytest.approx(seconds, abs=0.5)


@pytest.mark.parametrize(
    ("answers", "slept"),
    [
        pytest.param([Failure(500)], [2], id="one bad answer"),
        pytest.param([Failure(500)] * 5, [2, 4, 8, 16, 32], id="the waits double"),
        pytest.param([Cut(), Failure(529), Failure(503)], [2, 4, 8], id="mixed trouble"),
        pytest.param([Failure(429)] * 2, [30, 30], id="rate limit"),
        ([Failure(429, headers={"retry-after": "7"}), Failure(500)], [7, 4]),
        ([Failure(529, headers={"retry-after-ms": "1500"})], [1.5]),
        ([Failure(503, headers={"retry-after": "Fri, 15 Jan 2027 08:00:20 GMT"})], [20]),
        ([Failure(400, headers={"x-should-retry": "true"})], [2]),
        pytest.param([], [], id="no trouble"),
    ],
)
async def test_trouble_is_waited_out_and_recorded(
    lab: Lab, answers: list[Answer], slept: list[float]
) -> None:
    got = await lab.ask(*answers, Reply("At last."))

    assert got.text == "At last."
    assert lab.time.slept == is_about(slept)
    assert [attempt.waited_ms / 1000 for attempt in got.attempts] == is_about(slept)
    assert got.waited_ms / 1000 == pytest.approx(sum(slept), abs=10)
    assert got.latency_ms < 20_000


async def test_jitter_adds_up_to_a_tenth(lab: Lab) -> None:
    await lab.ask(Failure(500), Failure(429), Reply("At last."), opened={"jitter": 1.0})

    assert lab.time.slept == is_about([2.2, 33])


async def test_after_five_retries_it_gives_up_and_says_so(lab: Lab) -> None:
    lab.server.answers(lambda _: Failure(529))

    with pytest.raises(UnavailableError) as caught:
        await lab.ask()

    assert str(caught.value).startswith("Anthropic answered 529 (overloaded) 6 times in 62 s.")
    assert caught.value.status == 529
    assert len(lab.server.requests) == 6
    assert [attempt.error for attempt in caught.value.attempts] == [
        "answered 529 (overloaded): Overloaded."
    ] * 6
    assert caught.value.attempts[-1].waited_ms == 0


@pytest.mark.parametrize(
    ("answers", "patience_s", "requests"),
    [
        ([Failure(429, headers={"retry-after": "3600"})], 600, 1),
        pytest.param([Failure(429)] * 6, 70, 3, id="the third wait would be too long"),
        pytest.param([Failure(500)] * 6, 20, 4, id="doubling"),
        pytest.param([Failure(500)] * 6, 1, 1, id="hardly any patience"),
    ],
)
async def test_it_gives_up_at_once_where_the_wait_would_pass_the_patience(
    lab: Lab, answers: list[Answer], patience_s: float, requests: int
) -> None:
    with pytest.raises(ProviderError, match=rf"\b{patience_s} s\b") as caught:
        await lab.ask(*answers, patience_s=patience_s)

    assert len(lab.server.requests) == requests
    assert sum(lab.time.slept) <= patience_s
    assert caught.value.retryable


async def test_an_error_after_retries_tells_the_whole_story(lab: Lab) -> None:
    with pytest.raises(AuthFailedError) as caught:
        await lab.ask(Failure(529), Failure(401))

    assert str(caught.value).startswith(
        "Anthropic failed 2 times in 2 s; the last time it answered"
    )
    assert len(caught.value.attempts) == 2


async def test_no_wait_is_added_after_an_error_that_is_not_retried(lab: Lab) -> None:
    lab.server.replies([Failure(402, headers={"x-should-retry": "true"}), Reply("Never.")])

    async with lab.open(MESSAGES) as models:
        with pytest.raises(ProviderError):
            await models.complete(MESSAGES.ask())
        assert models.loads()["anthropic"].block is None

    assert lab.time.slept == []


@pytest.mark.parametrize(
    ("failure", "waits"),
    [
        pytest.param(Failure(429, headers={"retry-after": "50"}), 50, id="429"),
        pytest.param(Failure(529), 2, id="529"),
    ],
)
async def test_a_busy_provider_is_left_alone_by_every_caller(
    lab: Lab, failure: Failure, waits: float
) -> None:
    async with lab.open(MESSAGES, failure, Reply("Other.")) as models:
        with pytest.raises(ProviderError):
            await models.complete(MESSAGES.ask(patience_s=1))
        first, second = models.loads()["anthropic"], models.loads()["anthropic"]
        got = await models.complete(MESSAGES.ask())

    assert first.block is not None
    assert first.block.for_s == pytest.approx(waits, abs=0.5)
    assert second.block is None  # reported once
    assert lab.time.slept == is_about([waits])
    assert got.attempts == ()
    assert got.waited_ms / 1000 == pytest.approx(waits, abs=0.5)


async def test_a_pause_that_no_date_can_hold_is_one_beyond_all_patience(lab: Lab) -> None:
    async with lab.open(MESSAGES, Failure(429, headers={"retry-after": "1e300"})) as models:
        for _ in range(2):
            with pytest.raises(RateLimitedError, match="600 s"):
                await models.complete(MESSAGES.ask())

    assert len(lab.server.requests) == 1


@pytest.mark.parametrize("failure", [Failure(500), Failure(503), Cut()], ids=repr)
async def test_trouble_of_one_call_holds_back_nobody_else(lab: Lab, failure: Answer) -> None:
    async with lab.open(MESSAGES, failure, Reply("Other.")) as models:
        with pytest.raises(UnavailableError):
            await models.complete(MESSAGES.ask(patience_s=1))
        await models.complete(MESSAGES.ask())

    assert lab.time.slept == []


async def test_a_block_that_others_tell_of_is_kept_and_never_shortened(lab: Lab) -> None:
    async with lab.open(MESSAGES, Reply("At last.")) as models:
        models.apply(places={}, blocks={"anthropic": Block(100, "asked by others")})
        models.apply(places={}, blocks={"anthropic": Block(10, "asked by others")})
        await models.complete(MESSAGES.ask())
        standing = models.loads()["anthropic"]

    assert lab.time.slept == is_about([100])
    assert standing.block is None  # they know it already


async def test_a_call_without_the_patience_for_a_block_sends_nothing(lab: Lab) -> None:
    async with lab.open(MESSAGES) as models:
        models.apply(places={}, blocks={"anthropic": Block(3600, "asked by others")})
        with pytest.raises(RateLimitedError) as caught:
            await models.complete(MESSAGES.ask(patience_s=600))

    assert {"Anthropic", "600"} <= set(str(caught.value).split())
    assert "agent" in str(caught.value)
    assert caught.value.attempts == ()
    assert lab.server.requests == []


@pytest.mark.parametrize(
    ("max_concurrency", "at_once"),
    [pytest.param(2, 2, id="limit"), pytest.param(None, 8, id="no limit")],
)
async def test_as_many_calls_at_once_as_the_provider_takes(
    lab: Lab, max_concurrency: int | None, at_once: int
) -> None:
    # Nobody is answered before so many are there: fewer would break the barrier.
    meeting = threading.Barrier(at_once, timeout=20)

    def answer(_: object) -> Reply:
        meeting.wait()
        return Reply("Fine.")

    lab.server.answers(answer)
    calls = [MESSAGES.ask(timeout_s=30.0) for _ in range(8)]

    async with lab.open(MESSAGES, max_concurrency=max_concurrency) as models:
        await asyncio.gather(*map(models.complete, calls))

    assert (len(lab.server.requests), lab.server.most_at_once) == (8, at_once)


async def test_a_call_that_waits_holds_no_slot(model_server: ModelServer) -> None:
    asleep, wake = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        asleep.set()
        await wake.wait()

    model_server.replies([Failure(500), Reply("The other."), Reply("The first.")])
    provider = make_provider(model_server.url, max_concurrency=1)

    setting = TimeSource(sleep=sleep)
    async with Models([provider], setting=setting, environ={KEY_VARIABLE: KEY}) as models:
        first = asyncio.create_task(models.complete(make_call()))
        await asleep.wait()
        other = await models.complete(make_call())
        wake.set()

        assert (other.text, (await first).text) == ("The other.", "The first.")


async def test_whoever_stood_in_the_queue_when_the_provider_said_wait_waits_too(lab: Lab) -> None:
    lab.server.replies([Failure(429, headers={"retry-after": "60"}), Reply("A"), Reply("B")])

    async with lab.open(MESSAGES, max_concurrency=1) as models:
        got = await asyncio.gather(models.complete(MESSAGES.ask()), models.complete(MESSAGES.ask()))

    assert sorted(len(reply.attempts) for reply in got) == [0, 1]
    assert lab.time.slept == is_about([60, 60])
    assert len(lab.server.requests) == 3


async def test_a_call_can_be_cancelled_while_it_waits_and_gives_everything_back(
    model_server: ModelServer,
) -> None:
    model_server.replies([Failure(429), Reply("Next.")])
    provider = make_provider(model_server.url, max_concurrency=1)

    async with Models([provider], environ={KEY_VARIABLE: KEY}) as models:
        waiting = asyncio.create_task(models.complete(make_call()))
        await models.news.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

        block = models.loads()["anthropic"].block
        assert block is not None
        assert block.for_s == pytest.approx(30, abs=5)


async def test_a_call_can_be_cancelled_in_the_middle_of_an_attempt(lab: Lab) -> None:
    async with lab.open(MESSAGES, Hang(), Reply("Next."), max_concurrency=1) as models:
        hanging = asyncio.create_task(models.complete(MESSAGES.ask()))
        while not lab.server.requests:  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.01)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        got = await models.complete(MESSAGES.ask())

    assert got.text == "Next."


SCRIPTED = ProviderSpec(provider="Scripted", slug="scripted", kind="scripted")


async def test_a_line_end_after_the_key_does_no_harm(lab: Lab) -> None:
    got = await lab.ask(Reply("Fine."), opened={"environ": {KEY_VARIABLE: KEY + "\n"}})

    assert got.text == "Fine."


async def test_only_the_named_key_is_sent(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    # The SDK reads the real environment on its own account.
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another-key")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-token")

    await lab.ask(Reply("Fine."))

    headers = repr(lab.server.requests[0].headers)
    assert KEY in headers
    assert "another-key" not in headers
    assert "a-token" not in headers


async def test_without_a_base_url_the_sdks_own_environment_decides(lab: Lab) -> None:
    environ = {KEY_VARIABLE: KEY, "ANTHROPIC_BASE_URL": lab.server.url}

    got = await lab.ask(Reply("Fine."), opened={"environ": environ, "base_url": None})

    assert got.text == "Fine."


async def test_a_misspelt_provider_is_named_with_its_neighbour(lab: Lab) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await lab.ask(provider="antropic")

    assert str(caught.value) == (
        "There is no provider 'antropic'. Did you mean 'anthropic'? Known: anthropic."
    )


async def test_a_scripted_provider_has_no_api() -> None:
    async with Models([SCRIPTED]) as models:
        with pytest.raises(ConfigurationError, match="has no model API"):
            await models.complete(make_call(provider="scripted"))


async def test_models_must_be_opened_first(lab: Lab) -> None:
    models = lab.open(MESSAGES)

    with pytest.raises(ConfigurationError, match="must be opened first"):
        await models.complete(MESSAGES.ask())


def test_it_can_be_opened_again_in_another_event_loop(lab: Lab) -> None:
    lab.server.answers(lambda _: Reply("Fine."))
    models = lab.open(MESSAGES, max_concurrency=1)

    async def hold() -> str:
        async with models:
            return (await models.complete(MESSAGES.ask())).text

    assert [anyio.run(hold), anyio.run(hold)] == ["Fine.", "Fine."]


async def test_two_providers_do_not_share_their_trouble(lab: Lab) -> None:
    providers = [make_provider(lab.server.url), make_provider(lab.server.url, slug="other")]
    lab.server.replies([Failure(400), Reply("Fine.")])

    setting = TimeSource(lab.time.sleep, lab.time.clock)
    async with Models(providers, setting=setting, environ={KEY_VARIABLE: KEY}) as models:
        models.apply(places={}, blocks={"other": Block(100, "asked by others")})
        with pytest.raises(BadRequestError):
            await models.complete(MESSAGES.ask())

        assert lab.time.slept == []
        assert (await models.complete(MESSAGES.ask(provider="other"))).text == "Fine."

    assert len(lab.time.slept) == 1


@pytest.mark.slow
def test_an_sdk_is_loaded_only_on_demand() -> None:
    code = """
import sys
from evals_app.engine.llm.models import preload
for kinds in [], ["scripted"], ["groq", "ollama"], ["anthropic", "scripted"]:
    preload(kinds)
    print(*(name for name in ("anthropic", "openai") if name in sys.modules))
"""

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert printed.stdout.splitlines() == ["", "", "openai", "anthropic openai"]


async def test_the_callers_clock_stands_still_while_a_call_waits(lab: Lab) -> None:
    paused: list[float] = []

    @contextmanager
    def waiting() -> Iterator[None]:
        began = lab.time.clock()
        yield
        paused.append(lab.time.clock() - began)

    reply = await lab.ask(
        Failure(429, headers={"retry-after": "7"}), Reply("hello"), waiting=waiting
    )

    assert reply.text == "hello"
    assert sum(paused) >= 7


async def test_places_at_once_may_change_while_calls_are_under_way(lab: Lab) -> None:
    lab.server.answers(lambda _: Reply("So.", latency_s=0.02))

    async with lab.open(MESSAGES, max_concurrency=8) as models:
        models.apply(places={"anthropic": 0}, blocks={})
        calls = [asyncio.create_task(models.complete(MESSAGES.ask())) for _ in range(6)]
        await asyncio.sleep(0.05)
        before = len(lab.server.requests)
        models.apply(places={"anthropic": 2}, blocks={})
        await asyncio.gather(*calls)
        standing = models.loads()["anthropic"]

    assert before == 0
    assert lab.server.most_at_once == 2
    assert (standing.under_way, standing.wanted) == (0, 6)


async def test_calls_keep_to_the_pace(lab: Lab) -> None:
    lab.server.answers(lambda _: Reply("So."))

    async with lab.open(MESSAGES, requests_per_minute=30) as models:
        for _ in range(3):
            await models.complete(MESSAGES.ask())

    assert lab.time.slept == is_about([2, 2])


async def test_what_a_call_waits_for_is_explained(lab: Lab) -> None:
    heard: list[str] = []

    await lab.ask(Failure(429, headers={"retry-after": "7"}), Reply("So."), tell=heard.append)

    assert (
        "waiting for Anthropic until 08:00:07 UTC (answered 429 (rate limited)), then attempt 2 of 6"
        in heard
    )
    assert heard[-1] == ""


async def test_a_process_keeps_to_its_own_pace_whatever_is_booked(lab: Lab) -> None:
    async def book(count: int) -> float:
        return 0.0

    pace = Pace(30, book=book, sleep=lab.time.sleep, clock=lab.time.clock)

    for _ in range(3):
        await pace()

    assert lab.time.slept == is_about([2, 2])
