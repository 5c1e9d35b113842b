"""What several checks of a long conversation cost, and who waits for whom."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evals_app.engine.basics.errors import UnavailableError
from evals_app.engine.judging.answers.sharing import MIN_BYTES, Sharing
from evals_app.engine.llm.call import ModelCall, ModelReply, UserMessage
from evals_app.engine.record.usage import Usage
from evals_app.engine.running.run_gateway import Outcome
from evals_app.engine.specs.base_spec import ModelSpec
from tests.engine.judging.makers import requirement, verdict
from tests.engine.llm.makers import KEY_VARIABLE, OPENAI, make_provider
from tests.engine.makers import ECHO, make_agent, make_case
from tests.engine.memory_gateway import execute_in_memory, make_plan
from tests.messages_api import Json
from tests.model_server import KEY, ModelServer, Reply

pytestmark = pytest.mark.anyio
LONG = "The parcel has left our house this morning. " * 1200
APIS = pytest.mark.parametrize(
    ("provider", "model"),
    [
        pytest.param({}, "anthropic/claude-haiku-5-5", id="Anthropic"),
        pytest.param(OPENAI, "openai/gpt-6-mini", id="OpenAI"),
    ],
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with ModelServer(counts_tokens=True, latency_s=0.1, refuses=()) as running:
        met = requirement(quote="left our house")
        running.answers(
            lambda _: Reply(verdict(None, verdict="pass", requirements=[met]), output_tokens=60)
        )
        yield running


async def judge_all(
    server: ModelServer,
    checks: Sequence[dict[str, Any]],
    *,
    provider: dict[str, Any],
    model: str,
    text: str = LONG,
) -> Outcome:
    asserted = [{"type": "llm_judge", **check} for check in checks]
    plan = make_plan(
        make_case(turns=[{"user": text, "assertions": asserted}]),
        agent=make_agent(ECHO),
        judge=ModelSpec.model_validate(
            dict(zip(("provider", "name"), model.split("/"), strict=True))
        ),
        providers=[make_provider(server.url, **provider)],
    )
    (outcome,) = await execute_in_memory(plan)
    assert [check.grade.passed for check in outcome.graded] == [True] * len(checks)
    return outcome


def share_paid(usage: Usage) -> float:
    """Return what the input costs, as a share of what it would cost without any cache."""
    assert usage.input_uncached is not None
    assert usage.prompt_tokens is not None
    paid = usage.input_uncached + 1.25 * usage.cache_write_5m + 0.1 * usage.cache_read
    return paid / usage.prompt_tokens


def marks(request: Json) -> int:
    return str(request).count("'cache_control'")


FIVE = [{"criteria": f"Says {word}"} for word in ("when", "what", "where", "who", "how")]


async def test_five_checks_mark_what_they_share_at_anthropic_and_pay_a_third_of_the_input(
    server: ModelServer,
) -> None:
    outcome = await judge_all(server, FIVE, provider={}, model="anthropic/claude-haiku-5-5")

    firsts = [body["messages"][0]["content"][0] for body in server.bodies]
    assert [marks(body) for body in server.bodies] == [1] * 5
    assert firsts == [firsts[0]] * 5
    assert "Says when" not in firsts[0]["text"]
    assert share_paid(outcome.judge_usage) < 0.37
    assert server.most_at_once < 5  # one was asked first


async def test_nothing_is_marked_where_nobody_knows_what_a_cache_costs(server: ModelServer) -> None:
    price = {"model": "claude-*", "valid_from": "2026-05-01", "input_usd": 1, "output_usd": 5}

    outcome = await judge_all(
        server, FIVE, provider={"prices": [price]}, model="anthropic/claude-haiku-5-5"
    )

    assert [marks(body) for body in server.bodies] == [0] * 5
    assert all(call.cost_usd is not None for call in outcome.judge_calls)


async def test_five_checks_have_a_name_in_common_at_openai_and_pay_a_third_of_the_input(
    server: ModelServer,
) -> None:
    outcome = await judge_all(server, FIVE, provider=OPENAI, model="openai/gpt-6-mini")

    assert len({body["prompt_cache_key"] for body in server.bodies}) == 1
    assert [marks(body) for body in server.bodies] == [0] * 5
    assert share_paid(outcome.judge_usage) < 0.37
    assert server.most_at_once < 5


async def test_other_servers_hear_nothing_of_it(server: ModelServer) -> None:
    groq = OPENAI | {"slug": "groq", "kind": "groq"}

    await judge_all(server, FIVE, provider=groq, model="groq/llama")

    assert not any("prompt_cache_key" in body for body in server.bodies)


@APIS
async def test_votes_share_their_question(
    server: ModelServer, provider: dict[str, str], model: str
) -> None:
    check = {"criteria": "Says when", "votes": 5}

    outcome = await judge_all(server, [check], provider=provider, model=model)

    assert len(server.requests) == 3  # which decide
    assert share_paid(outcome.judge_usage) < 0.5


async def test_a_rubric_shares_it_among_its_calls(server: ModelServer) -> None:
    item = {"quote": "left our house", "critique": "Yes.", "verdict": "pass"}
    ticks = [item | {"id": number} for number in range(1, 81)]
    answer = str({"items": ticks, "injection_suspected": False})
    server.answers(lambda _: Reply(answer.replace("'", '"').replace("False", "false")))
    bullets = "\n".join(f"- Says {number}" for number in range(80))
    check = {"type": "rubric", "criteria": bullets, "threshold": 0.5}

    outcome = await judge_all(server, [check], provider={}, model="anthropic/claude-haiku-5-5")

    assert [marks(body) for body in server.bodies] == [1, 1]
    assert outcome.judge_usage.cache_read > 10_000


async def test_a_single_question_pays_nothing_for_a_cache(server: ModelServer) -> None:
    outcome = await judge_all(server, FIVE[:1], provider={}, model="anthropic/claude-haiku-5-5")

    assert marks(server.bodies[0]) == 0
    assert outcome.judge_usage.cache_write_5m == 0


async def test_questions_about_a_short_conversation_wait_for_nobody(server: ModelServer) -> None:
    text = "The parcel has left our house this morning."
    all_there = threading.Barrier(5, timeout=20)

    def answer(_: Json) -> Reply:
        all_there.wait()
        met = requirement(quote="left our house")
        return Reply(verdict(None, verdict="pass", requirements=[met]))

    server.answers(answer)

    await judge_all(server, FIVE, provider={}, model="anthropic/claude-haiku-5-5", text=text)

    assert [marks(body) for body in server.bodies] == [0] * 5


async def test_questions_of_several_forms_begin_with_caches_of_their_own(
    server: ModelServer,
) -> None:
    def answer(request: Json) -> Reply:
        met = [requirement(quote="left our house")]
        if "graded" in str(request["output_config"]):
            return Reply(verdict(5, requirements=met))
        return Reply(verdict(None, verdict="pass", requirements=met))

    server.answers(answer)
    checks = [check | {"scale": scale} for check in FIVE[:2] for scale in ("pass_fail", "1-5")]

    outcome = await judge_all(server, checks, provider={}, model="anthropic/claude-haiku-5-5")

    written = outcome.judge_usage.cache_write_5m
    assert outcome.judge_usage.cache_read == written > 20_000


# The order itself.


def call(text: str) -> ModelCall:
    return ModelCall(provider="p", model="m", purpose="judge", messages=(UserMessage(text),))


async def test_when_the_first_fails_all_others_go_on() -> None:
    sharing, asked = Sharing(), []
    sharing.questions = 3
    beginning = "x" * MIN_BYTES

    async def complete(call: ModelCall) -> ModelReply:
        asked.append(call)
        await asyncio.sleep(0.01)
        if len(asked) == 1:
            raise UnavailableError("down")
        return ModelReply(text="4")

    calls = [
        sharing.complete(call(f"{beginning}{n}"), shared=MIN_BYTES, complete=complete)
        for n in range(3)
    ]
    replies = await asyncio.gather(*calls, return_exceptions=True)

    assert isinstance(replies[0], UnavailableError)
    assert [reply.text for reply in replies[1:] if isinstance(reply, ModelReply)] == ["4", "4"]
    assert len({request.cache_key for request in asked}) == 1


async def test_questions_that_begin_otherwise_wait_for_nobody() -> None:
    sharing, both = Sharing(), asyncio.Barrier(2)
    sharing.questions = 2

    async def complete(_: ModelCall) -> ModelReply:
        await both.wait()
        return ModelReply()

    async with asyncio.timeout(5):
        await asyncio.gather(
            *(
                sharing.complete(call(letter * MIN_BYTES), shared=MIN_BYTES, complete=complete)
                for letter in "ab"
            )
        )
