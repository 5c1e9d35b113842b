"""The notes of a turn while it runs, and its two clocks."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from evals_app.engine.agents.session import Exchange
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.trial import Message
from evals_app.engine.record.usage import Usage
from tests.engine.makers import make_call

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that only moves when advanced."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def run(exchange: Exchange, work: Callable[[asyncio.Timeout], Awaitable[None]]) -> None:
    """Do some work as a turn."""
    async with asyncio.timeout(exchange.timeout_s) as timer:
        with exchange.run_clock(timer):
            await work(timer)


async def test_latency_is_what_the_agent_took_and_waiting_is_distinguished(clock: Clock) -> None:
    exchange = Exchange(2, "Hi", 60, clock)

    async def work(timer: asyncio.Timeout) -> None:
        clock.now += 5
        exchange.waited_s += 4
        exchange.messages.append(Message("assistant", "Hello."))

    await run(exchange, work)
    clock.now += 100
    record = exchange.record()

    assert (record.index, record.user, record.reply) == (2, "Hi", "Hello.")
    assert (record.latency_ms, record.waited_ms) == (1000.0, 4000.0)


async def test_a_clock_that_is_off_gives_no_negative_latency(clock: Clock) -> None:
    exchange = Exchange(1, "Hi", 60, clock)

    async def work(timer: asyncio.Timeout) -> None:
        exchange.waited_s += 1

    await run(exchange, work)

    assert exchange.record().latency_ms == 0


async def test_a_turn_that_is_still_running_counts_up_to_now(clock: Clock) -> None:
    exchange = Exchange(1, "Hi", 60, clock)
    latencies = []

    async def work(timer: asyncio.Timeout) -> None:
        clock.now += 3
        latencies.append(exchange.record().latency_ms)

    await run(exchange, work)

    assert latencies == [3000]


async def test_a_pause_stops_the_timer_and_not_the_latency(clock: Clock) -> None:
    exchange = Exchange(1, "Hi", 60, clock)
    left: list[float | None] = []

    def look(timer: asyncio.Timeout) -> None:
        when = timer.when()
        left.append(None if when is None else when - asyncio.get_running_loop().time())

    async def work(timer: asyncio.Timeout) -> None:
        with exchange.pause():
            look(timer)
            clock.now += 500
        look(timer)

    await run(exchange, work)
    record = exchange.record()

    assert left == [None, pytest.approx(60, abs=5)]
    assert exchange.paused_s == 500
    assert (record.latency_ms, record.waited_ms) == (500_000, 0)


async def test_a_timer_has_after_a_pause_what_was_left_before(clock: Clock) -> None:
    exchange = Exchange(1, "Hi", 0.01, clock)

    async def work(timer: asyncio.Timeout) -> None:
        with exchange.pause():
            await asyncio.sleep(0.05)
        exchange.notes.append("still there")
        await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        await run(exchange, work)

    assert exchange.notes == ["still there"]


async def test_a_pause_ends_with_the_error_that_breaks_it(clock: Clock) -> None:
    exchange = Exchange(1, "Hi", 60, clock)
    timers: list[float | None] = []

    async def work(timer: asyncio.Timeout) -> None:
        with pytest.raises(KeyError), exchange.pause():
            raise KeyError
        timers.append(timer.when())

    await run(exchange, work)

    assert timers != [None]


async def test_a_timer_that_has_gone_off_is_left_alone(clock: Clock) -> None:
    exchange = Exchange(1, "Hi", 0.0, clock)

    async def work(timer: asyncio.Timeout) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            with exchange.pause():
                clock.now += 1

    with pytest.raises(TimeoutError):
        await run(exchange, work)

    assert exchange.paused_s == 1


def test_pausing_without_a_timer_only_counts(clock: Clock) -> None:
    exchange = Exchange(1, "Hi", 60, clock)

    with exchange.pause():
        clock.now += 2

    assert exchange.paused_s == 2


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([Message("assistant", "Hello.")], "Hello.", id="one"),
        pytest.param([Message("assistant", "Let me see.", (make_call(),))], "", id="only a call"),
        pytest.param(
            [Message("assistant", "Let me see.", (make_call(),)), Message("assistant", "Done.")],
            "Done.",
            id="the last",
        ),
    ],
)
def test_the_reply_is_what_was_said_without_calling_anything(
    messages: list[Message], reply: str
) -> None:
    exchange = Exchange(1, "Hi", 60, messages=messages)

    assert exchange.reply == exchange.record().reply == reply


@pytest.mark.parametrize(
    ("usages", "total"),
    [
        pytest.param([], Usage(), id="nobody reported: unknown"),
        pytest.param([Usage(1, 2), Usage(3, 4)], Usage(4, 6), id="known"),
        pytest.param([Usage(1, 2), Usage()], Usage(), id="one unknown"),
    ],
)
def test_usage_of_a_turn(usages: list[Usage], total: Usage) -> None:
    assert Exchange(1, "Hi", 60, usages=usages).record().usage == total


def test_everything_noted_is_kept_beside_an_error() -> None:
    exchange = Exchange(1, "Hi", 60)
    exchange.attempts.append(Attempt("answered 529", 10.0))
    exchange.notes.append("cut")
    exchange.model, exchange.first_token_ms = "claude", 12.0

    record = exchange.record(error="It broke.")

    assert (record.error, record.model, record.first_token_ms) == ("It broke.", "claude", 12.0)
    assert (record.attempts, record.notes) == ((Attempt("answered 529", 10.0),), ("cut",))
