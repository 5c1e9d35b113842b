"""Conversations with scripted agents; the model driver has its own tests."""

import asyncio
from datetime import UTC, datetime

import pytest

from evals_app.engine.basics.errors import UnavailableError
from evals_app.engine.llm.call import ModelCall, ModelReply
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.trial import Cause, Failure, Message, Trial
from evals_app.engine.record.usage import Usage
from tests.engine.makers import (
    CLOCK,
    ECHO,
    converse,
    make_agent,
    make_conversation,
    make_model_agent,
    make_world,
)
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio


async def test_the_agent_speaks_in_every_turn() -> None:
    trial = await converse("one", "two", number=3)

    assert [(turn.index, turn.user, turn.reply) for turn in trial.turns] == [
        (1, "one", "You said: one"),
        (2, "two", "You said: two"),
    ]
    assert (trial.case, trial.number, trial.planned_turns, trial.agent) == (
        "Greeting",
        3,
        2,
        "echo",
    )
    assert trial.is_scripted
    assert not trial.ended_early
    assert trial.failure is None
    assert all(turn.latency_ms is not None for turn in trial.turns)


async def test_what_a_judge_should_know_is_noted() -> None:
    tool = {
        "name": "weather",
        "description": "Tells the\n  weather.",
        "rules": [{"result": "rain"}],
    }
    agent = make_agent(ECHO, tools=["entity.query", tool])

    trial = await converse("one", agent=agent, clock=CLOCK)

    assert trial.clock == CLOCK
    assert [tool.name for tool in trial.tools] == ["entity.query", "weather"]
    assert all(tool.description for tool in trial.tools)
    assert trial.tools[1].description == "Tells the weather."
    assert Trial.from_json(trial.to_json()) == trial


async def test_a_transcript_of_before_has_no_tools_and_no_clock() -> None:
    stored = (await converse("one")).to_json()
    del stored["tools"], stored["clock"]

    trial = Trial.from_json(stored)

    assert (trial.tools, trial.clock) == ((), "")


@pytest.mark.parametrize(
    ("messages", "errors"),
    [
        pytest.param(["a", "crash", "b"], [None, "It broke.", None], id="one error"),
        (["crash", "a", "crash", "b"], ["It broke.", None, "It broke.", None]),
        pytest.param(["a", "crash", "crash", "b"], [None, "It broke.", "It broke."], id="in a row"),
        pytest.param(["crash", "crash"], ["It broke.", "It broke."], id="at the end"),
        pytest.param(["crash", "crash", "a"], ["It broke.", "It broke."], id="at the beginning"),
    ],
)
async def test_two_errors_in_a_row_end_a_conversation(
    messages: list[str], errors: list[str | None]
) -> None:
    trial = await converse(*messages)

    assert [turn.error for turn in trial.turns] == errors
    assert trial.planned_turns == len(messages)
    assert trial.failure is None  # it is the agent that failed, and not the execution


async def test_a_turn_has_its_time() -> None:
    trial = await converse("late", "still there?", turn_timeout_s=0.5)

    first, second = trial.turns
    assert (first.reply, first.error) == ("", "The agent did not answer within 0.5 s.")
    assert 400 < (first.latency_ms or 0) < 20_000
    assert (second.reply, second.error) == ("You said: still there?", None)


@pytest.mark.parametrize("reply", ["", "   ", "\n\t", " \u200b\ufeff ", "{{result.1.nothing}}"])
async def test_an_agent_that_says_nothing_has_failed(reply: str) -> None:
    trial = await converse("hello", agent=make_agent({"reply": reply}))

    assert trial.turns[0].error == "The agent's reply is empty."


async def test_what_the_agent_thinks_is_kept_apart_from_its_reply() -> None:
    agent = make_agent({"reply": "<think>42</think> I do not know."})
    trial = await converse("What is it?", agent=agent)

    (turn,) = trial.turns
    assert (turn.reply, turn.error) == ("I do not know.", None)
    assert turn.messages == (Message("assistant", "I do not know.", reasoning="42"),)
    assert Trial.from_json(trial.to_json()) == trial


@pytest.mark.parametrize("reply", ["<think>42</think>", "<think>Is it 42? No, it"])
async def test_an_agent_that_only_thinks_has_failed(reply: str) -> None:
    trial = await converse("What is it?", agent=make_agent({"reply": reply}))

    (turn,) = trial.turns
    assert turn.error is not None
    assert "only reasoning" in turn.error
    assert turn.reasoning


async def test_what_a_turn_cost_is_known_where_the_agent_says_so() -> None:
    frugal = {"when": "a", "reply": "b", "usage": {"input_tokens": 7, "output_tokens": 2}}

    trial = await converse("a", "x", agent=make_agent(frugal, ECHO))

    assert [turn.usage for turn in trial.turns] == [Usage(7, 2), Usage()]
    assert trial.usage == Usage()


async def test_the_world_is_changed_and_the_changes_are_kept() -> None:
    call = {"tool": "entity.update", "args": {"id": "order-1", "data": {"total": 0}}}
    world = make_world()

    trial = await converse(
        "Refund!", agent=make_agent({"calls": [call], "reply": "Done."}), world=world
    )

    assert trial.world_changes == world.changes()
    assert [entry["id"] for entry in trial.world_journal] == ["order-1"]
    assert [call.name for call in trial.tool_calls] == ["entity.update"]


async def test_each_turn_notes_how_far_the_journal_went() -> None:
    order = {"tool": "entity.update", "args": {"id": "order-1", "data": {"total": "{{input}}"}}}
    mute = {"when": "mute", "calls": [order], "reply": ""}
    agent = make_agent(
        {"when": "[0-9]", "calls": [order, order], "reply": "Done."}, mute, {"reply": "Hello."}
    )

    trial = await converse("5", "hi", "mute", "6", agent=agent)

    assert [turn.journal_end for turn in trial.turns] == [1, 1, 2, 3]
    assert [turn.error is None for turn in trial.turns] == [True, True, False, True]


async def test_a_conversation_that_changes_nothing_says_so() -> None:
    trial = await converse("hello")

    assert trial.world_journal == ()
    assert trial.world_changes == make_world().changes()


# Prompts


async def test_the_prompt_is_filled_in_and_kept() -> None:
    agent = make_agent(
        system_prompt="{{agentName}} on {{threadContext.channel}} at {{datetime}}:"
        " {{threadContext.params.who}}"
    )

    trial = await converse(
        "hello", agent=agent, channel="widget", clock=CLOCK, context_params={"who": "Mateo"}
    )

    assert trial.system_prompt == f"Echo on widget at {CLOCK}: Mateo"
    assert (trial.channel, trial.context_params) == ("widget", {"who": "Mateo"})
    assert trial.warnings == ()


async def test_without_a_frozen_clock_it_is_now() -> None:
    moment = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)

    trial = await converse(
        "hello", agent=make_agent(system_prompt="{{datetime}}"), now=lambda: moment
    )

    assert trial.system_prompt == trial.started_at == "2026-02-03T04:05:00+00:00"


async def test_a_frozen_clock_does_not_change_when_it_ran() -> None:
    moment = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)

    trial = await converse("hello", clock=CLOCK, now=lambda: moment)

    assert trial.started_at == "2026-02-03T04:05:00+00:00"


async def test_a_parameter_that_is_not_set_is_empty_and_warned_of() -> None:
    trial = await converse(
        "hello", agent=make_agent(system_prompt="[{{threadContext.params.who}}]")
    )

    assert trial.system_prompt == "[]"
    assert trial.warnings == (
        "The prompt uses {{threadContext.params.who}}, which this case does not set. It is left empty.",
    )


# Ends


async def test_braces_behind_a_backslash_are_sent_as_they_are() -> None:
    before = [
        {"role": "user", "content": r"I like \{{a}}"},
        {"role": "assistant", "content": "Yes"},
    ]

    trial = await converse(r"Write {x} and \{{b}}", history=before)

    assert trial.history[0].text == "I like {{a}}"
    assert (trial.turns[0].user, trial.turns[0].reply) == (
        "Write {x} and {{b}}",
        "You said: Write {x} and {{b}}",
    )


async def test_trouble_with_the_provider_ends_the_conversation() -> None:
    async def away(call: ModelCall) -> ModelReply:
        error = UnavailableError("Anthropic answered 500.")
        error.attempts = (Attempt("answered 500", 0.0),)
        raise error

    trial = await converse("one", "two", agent=make_model_agent(), complete=away)

    assert trial.failure == Failure(Cause.PROVIDER, "Anthropic answered 500.")
    (turn,) = trial.turns
    assert (turn.error, turn.attempts) == (
        "Anthropic answered 500.",
        (Attempt("answered 500", 0.0),),
    )
    assert not trial.is_scripted


async def test_a_conversation_tells_what_has_happened_so_far() -> None:
    is_second = asyncio.Event()

    async def stuck_in_the_second(call: ModelCall) -> ModelReply:
        if len(call.messages) == 1:
            return ModelReply(text="Hello.", usage=Usage(3, 1))
        is_second.set()
        await asyncio.sleep(60)
        raise AssertionError

    conversation = make_conversation(
        "hello", "and?", agent=make_model_agent(), complete=stuck_in_the_second
    )

    before = conversation.trial()
    task = asyncio.ensure_future(conversation.run())
    await is_second.wait()
    during = conversation.trial()
    task.cancel()
    await asyncio.wait([task])
    after = conversation.trial()

    assert before.turns == ()
    assert [turn.reply for turn in during.turns] == ["Hello."]
    assert [(turn.user, turn.error) for turn in after.turns] == [
        ("hello", None),
        ("and?", "The turn was interrupted."),
    ]
    assert after.turns[1].usage == Usage()  # perhaps billed, and nobody said how much
    assert task.cancelled()
    assert after.failure is None


# Own tools


async def test_a_scripted_agent_uses_its_own_tools_with_the_cases_variables() -> None:
    rule = {"when": {"number": "1042"}, "result": {"by": "{{threadContext.params.courier}}"}}
    agent = make_agent(
        {
            "calls": [{"tool": "orders.find", "args": {"number": "1042"}}],
            "reply": "By {{result.1.by}}.",
        },
        tools=[{"name": "orders.find", "rules": [rule]}],
    )

    trial = await converse("When?", agent=agent, context_params={"courier": "Ada"})

    assert trial.turns[0].reply == "By Ada."
    assert trial.tool_calls[0].result == {"by": "Ada"}


async def test_a_parameter_of_a_tool_that_the_case_does_not_set_is_a_warning() -> None:
    rule = {"result": "{{threadContext.params.courier}}"}
    agent = make_agent(ECHO, tools=[{"name": "orders.find", "rules": [rule]}])

    trial = await converse("When?", agent=agent)

    assert trial.warnings == (
        "A tool uses {{threadContext.params.courier}}, which this case does not set. It is left empty.",
    )


async def test_a_server_of_tools_that_is_away_is_no_failure_of_the_agent() -> None:
    with permitting(mcp_servers={"gone": "/nowhere/at-all"}):
        agent = make_agent(ECHO, tools=[{"mcp": "gone", "tools": ["find"]}])
        trial = await converse("When?", agent=agent)

    assert trial.turns == ()
    assert trial.failure is not None
    assert trial.failure.cause == Cause.TOOL
    assert trial.failure.message.startswith("The MCP server gone cannot be used: ")
