"""The model driver, with the real SDK against a model API on this machine and a real world."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from evals_app.engine.agents import session
from evals_app.engine.agents.model import ModelSession
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.agents.tools.toolbox import Toolbox
from evals_app.engine.basics.errors import AgentError, ProviderError, UnavailableError
from evals_app.engine.llm.apis.anthropic import AnthropicAdapter
from evals_app.engine.llm.call import AssistantMessage, ModelCall, ModelReply, NativeTurn
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.trial import Cause, Message, Trial
from evals_app.engine.record.usage import NO_USAGE, Usage
from evals_app.engine.running import conversation
from tests.engine.llm.makers import FakeTime, make_models
from tests.engine.makers import converse, make_model_agent, make_world
from tests.model_server import (
    Answer,
    Cut,
    Drip,
    Failure,
    Hang,
    ModelServer,
    Reply,
    ToolUse,
    Trickle,
    Whole,
    last_text,
    tool_results,
)

pytestmark = pytest.mark.anyio

AnthropicAdapter.preload()  # it takes a second, which is nobody's latency
STREAMED = pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
FIND = ToolUse("entity_query", {"type": "order", "filters": {"number": "1042"}})


@dataclass(frozen=True)
class Talk:
    """Holds conversations with the model behind a server."""

    server: ModelServer

    async def __call__(
        self,
        answers: Sequence[Answer],
        *messages: str,
        agent: dict[str, Any] | None = None,
        provider: dict[str, Any] | None = None,
        **changes: Any,
    ) -> Trial:
        if answers:
            self.server.replies(answers)
        async with make_models(self.server, FakeTime(), **(provider or {})) as models:
            model_agent = make_model_agent(**(agent or {}))
            return await converse(*messages, agent=model_agent, complete=models.complete, **changes)


@pytest.fixture
def talk(model_server: ModelServer) -> Talk:
    return Talk(model_server)


@STREAMED
async def test_a_conversation_of_several_turns_with_tools(talk: Talk, *, streaming: bool) -> None:
    world = make_world()
    change = ToolUse("entity_update", {"id": "order-1", "data": {"state": "refunded"}})

    trial = await talk(
        [
            Reply("Let me see.", tools=(FIND,), thinking="I need the order."),
            Reply("Order 1042 cost 24.50. Shall I refund it?"),
            Reply(tools=(change,)),
            Reply("Done.", cache_read=90),
        ],
        "I want my money back for 1042.",
        "Yes, please.",
        world=world,
        streaming=streaming,
        agent={"system_prompt": "You are {{agentName}}."},
    )

    first, second = trial.turns
    assert [turn.error for turn in trial.turns] == [None, None]
    assert (first.reply, second.reply) == ("Order 1042 cost 24.50. Shall I refund it?", "Done.")
    assert [message.text for message in first.messages] == ["Let me see.", first.reply]
    (query,) = first.tool_calls
    assert (query.name, query.args) == ("entity.query", FIND.input)
    assert query.result["entities"][0]["data"]["total"] == 24.5
    assert [call.name for call in second.tool_calls] == ["entity.update"]
    assert (first.usage.prompt_tokens, first.usage.response_tokens) == (20, 10)
    assert second.usage.prompt_tokens == 110
    assert trial.usage.prompt_tokens == 130
    assert first.model == "claude-haiku-5-5"
    assert [turn.first_token_ms is not None for turn in trial.turns] == [streaming] * 2
    assert trial.world_changes == world.changes()
    assert [entry["id"] for entry in trial.world_journal] == ["order-1"]
    assert not trial.is_scripted
    body = talk.server.bodies[-1]
    assert body["system"] == "You are Juniper."
    assert body["stream"] is True
    assert [tool["name"] for tool in body["tools"]] == [
        "entity_query",
        "entity_update",
        "knowledge_search",
    ]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant"] * 3 + ["user"]


@STREAMED
async def test_the_model_sees_what_its_tools_returned(talk: Talk, *, streaming: bool) -> None:
    search = ToolUse("knowledge_search", {"query": "returned books"})
    wrong = ToolUse("entity_query", {"type": "order", "limit": "many"})

    trial = await talk(
        [Reply(tools=(search, wrong)), Reply("Within 30 days.")], "How long?", streaming=streaming
    )

    chunks_sent, refused = tool_results(talk.server.bodies[1])
    assert json.loads(chunks_sent["content"])["chunks"][0]["id"] == "returns"
    assert "is_error" not in chunks_sent
    assert json.loads(refused["content"])["error"]["code"] == "invalid_arguments"
    assert refused["is_error"] is True
    calls = trial.turns[0].tool_calls
    assert [chunk.id for chunk in calls[0].chunks] == ["returns"]
    assert calls[1].error is not None


@STREAMED
async def test_malformed_arguments_are_answered_and_never_run(
    talk: Talk, *, streaming: bool
) -> None:
    world = make_world()

    trial = await talk(
        [Reply(tools=(ToolUse("entity_update", "{oops"),)), Reply("Sorry.")],
        "Hi",
        world=world,
        streaming=streaming,
    )

    (call,) = trial.turns[0].tool_calls
    assert trial.turns[0].reply == "Sorry."
    assert call.error is not None
    assert call.error.startswith("The arguments are not a JSON object")
    assert list(world.journal) == []
    (result,) = tool_results(talk.server.bodies[1])
    assert json.loads(result["content"])["error"]["code"] == "malformed_arguments"


async def test_a_scripted_history_comes_first(talk: Talk) -> None:
    history = [
        {"role": "user", "content": "Hello, this is Inês."},
        {"role": "assistant", "content": "Good morning!"},
    ]

    trial = await talk([Reply("Hello again.")], "It is me.", history=history)

    (body,) = talk.server.bodies
    assert [(message["role"], message["content"]) for message in body["messages"]] == [
        ("user", "Hello, this is Inês."),
        ("assistant", "Good morning!"),
        ("user", "It is me."),
    ]
    assert trial.history == (
        Message("user", "Hello, this is Inês."),
        Message("assistant", "Good morning!"),
    )


async def test_what_is_expected_is_never_shown(talk: Talk) -> None:
    talk.server.answers(lambda _: Reply("Hello."))
    turns = [{"user": "Hi", "expected": "SECRET one"}, {"user": "Bye", "expected": "SECRET two"}]

    await talk((), turns=turns)

    assert len(talk.server.bodies) == 2
    assert "SECRET" not in json.dumps(talk.server.bodies)


@pytest.mark.parametrize(
    ("agent", "sent"),
    [
        pytest.param({}, {"max_tokens": 4096}, id="default"),
        pytest.param({"settings": {"max_output_tokens": 77}}, {"max_tokens": 77}, id="settings"),
        pytest.param(
            {
                "model": {
                    "provider": "anthropic",
                    "name": "claude-haiku-5-5",
                    "max_tokens": 33,
                    "temperature": 0.5,
                },
                "settings": {"max_output_tokens": 77},
            },
            {"max_tokens": 33, "temperature": 0.5},
            id="the model's own",
        ),
    ],
)
async def test_settings_are_sent(agent: dict[str, Any], sent: dict[str, Any]) -> None:
    with ModelServer(refuses=()) as server:
        await Talk(server)([Reply("Hello.")], "Hi", agent=agent)

        assert server.bodies[0].items() >= sent.items()


async def test_a_setting_that_the_model_refuses_is_noted_once(talk: Talk) -> None:
    model = {"provider": "anthropic", "name": "claude-haiku-5-5", "temperature": 0.0}

    trial = await talk([Reply(tools=(FIND,)), Reply("Hello.")], "Hi", agent={"model": model})

    assert trial.turns[0].notes == ("The model does not accept temperature; it was left out.",)


# Replies that are none


@STREAMED
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(stop="refusal", category="cyber"), "The model refused to answer (cyber)."),
        pytest.param(Reply(stop="refusal"), "The model refused to answer.", id="refused"),
        pytest.param(Reply(""), "The agent's reply is empty.", id="nothing"),
        pytest.param(Reply(" \n"), "The agent's reply is empty.", id="blank"),
        (Reply(thinking="Hm.", stop="max_tokens"), "The agent's reply is empty."),
        pytest.param(
            Reply("So", stop="model_context_window_exceeded"),
            "The conversation is too long for the model.",
            id="too long",
        ),
    ],
)
async def test_a_reply_that_is_none_fails_the_turn_and_the_next_one_runs(
    talk: Talk, reply: Reply, error: str, *, streaming: bool
) -> None:
    trial = await talk(
        [reply, Reply("Here I am.")], "Do it.", "Are you there?", streaming=streaming
    )

    assert [turn.error for turn in trial.turns] == [error, None]
    assert trial.turns[0].usage == Usage(10, 5)
    assert trial.failure is None
    # A turn that failed has left nothing in what the model reads next.
    assert [message["content"] for message in talk.server.bodies[1]["messages"]] == [
        "Are you there?"
    ]


OPENAI = {"slug": "anthropic", "kind": "openai"}


async def test_a_refusal_in_words_is_a_reply(talk: Talk) -> None:
    trial = await talk([Reply(refusal="I would rather not.")], "Do it.", provider=OPENAI)

    assert (trial.turns[0].reply, trial.turns[0].error) == ("I would rather not.", None)


@STREAMED
@pytest.mark.parametrize(
    ("reply", "provider"),
    [
        pytest.param(Reply("First, mix", stop="refusal", category="bio"), {}, id="messages"),
        pytest.param(Reply("First, mix", stop="content_filter"), OPENAI, id="chat"),
    ],
)
async def test_a_reply_that_a_filter_broke_off_is_never_graded_as_a_whole_one(
    talk: Talk, reply: Reply, provider: dict[str, Any], *, streaming: bool
) -> None:
    trial = await talk([reply], "Do it.", provider=provider, streaming=streaming)

    (turn,) = trial.turns
    assert turn.error is not None
    assert "filter" in turn.error
    assert turn.reply == ""
    assert any("First, mix" in note for note in turn.notes)
    assert trial.failure is None


@STREAMED
@pytest.mark.parametrize("provider", [{}, OPENAI], ids=["messages", "chat"])
async def test_a_reply_without_end_is_not_kept(
    talk: Talk, provider: dict[str, Any], *, streaming: bool
) -> None:
    trial = await talk(
        [Reply("long " * 210_000), Reply("Fine.")],
        "Hi",
        "Again?",
        provider=provider,
        streaming=streaming,
    )

    first, second = trial.turns
    assert first.error == "The agent's reply is longer than 1,000 kB."
    assert (first.reply, first.usage, first.cost_usd) == ("", Usage(), None)
    assert (second.reply, second.error) == ("Fine.", None)
    assert len(talk.server.requests) == 2  # it is not asked for again


@STREAMED
async def test_a_reply_that_was_cut_is_taken_and_noted(talk: Talk, *, streaming: bool) -> None:
    trial = await talk(
        [Reply("It was a dark and", stop="max_tokens"), Reply("stormy night.")],
        "Tell.",
        "Go on.",
        streaming=streaming,
    )

    first, second = trial.turns
    assert (first.reply, first.error) == ("It was a dark and", None)
    (note,) = first.notes
    assert "output limit" in note
    assert (second.reply, second.notes) == ("stormy night.", ())
    assert talk.server.bodies[1]["messages"][1]["content"][0]["text"] == "It was a dark and"


@STREAMED
async def test_calls_in_a_reply_that_was_cut_are_neither_run_nor_sent_back(
    talk: Talk, *, streaming: bool
) -> None:
    cut = Reply("Let me", tools=(ToolUse("entity_query", '{"type": "or'),), stop="max_tokens")

    trial = await talk([cut, Reply("Hello.")], "Hi", "Go on.", streaming=streaming)

    assert [turn.reply for turn in trial.turns] == ["Let me", "Hello."]
    assert trial.tool_calls == ()
    assert talk.server.bodies[1]["messages"][1] == {"role": "assistant", "content": "Let me"}


@pytest.mark.parametrize(
    ("rounds", "limit", "is_fine"), [(1, 1, True), (2, 2, True), (2, 1, False), (9, 3, False)]
)
async def test_tools_are_called_for_at_most_so_many_rounds(
    talk: Talk, rounds: int, limit: int, *, is_fine: bool
) -> None:
    trial = await talk(
        [*[Reply(tools=(FIND,))] * rounds, Reply("Found.")],
        "Find it.",
        agent={"settings": {"max_tool_rounds": limit}},
    )

    error = (
        None if is_fine else f"The agent was still calling tools after {limit} rounds, the maximum."
    )
    assert trial.turns[0].error == error
    assert len(trial.tool_calls) == min(rounds, limit)


# Trouble with the provider


@STREAMED
async def test_a_provider_that_stays_away_ends_the_conversation(
    talk: Talk, *, streaming: bool
) -> None:
    answers: list[Answer] = [Reply("Hello."), *[Failure(529)] * 6]

    trial = await talk(answers, "Hi", "And now?", "Anyone?", streaming=streaming)

    assert trial.failure is not None
    assert trial.failure.cause is Cause.PROVIDER
    assert "answered 529 (overloaded) 6 times" in trial.failure.message
    assert [turn.error for turn in trial.turns] == [None, trial.failure.message]
    assert len(trial.turns[1].attempts) == 6


async def test_a_provider_that_comes_back_costs_the_agent_no_time(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.replies([Failure(429), Failure(500), Reply(tools=(FIND,)), Reply("At last.")])
    exchange = Exchange(1, "Hi", 60, fake_time.clock)

    async with make_models(model_server, fake_time) as models:
        await run(make_session(models.complete), exchange)
    record = exchange.record()

    assert record.reply == "At last."
    assert (record.latency_ms or 0) < 20_000
    assert record.waited_ms == pytest.approx(34_000, abs=10_000)
    assert [attempt.waited_ms for attempt in record.attempts] == pytest.approx([30_000, 4_000])


async def test_a_provider_that_stays_away_costs_the_agent_no_time_either(
    model_server: ModelServer, fake_time: FakeTime
) -> None:
    model_server.answers(lambda _: Failure(500))
    exchange = Exchange(1, "Hi", 60, fake_time.clock)

    async with make_models(model_server, fake_time) as models:
        session = make_session(models.complete)
        with pytest.raises(ProviderError):
            await run(session, exchange)
    record = exchange.record()

    assert record.waited_ms == pytest.approx(62_000, abs=10_000)
    assert (record.latency_ms or 0) < 20_000


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


async def run(session: ModelSession, exchange: Exchange) -> None:
    """Let a session answer as in a turn."""
    async with asyncio.timeout(exchange.timeout_s) as timer:
        with exchange.run_clock(timer):
            await session.respond(exchange)


def make_session(complete: Callable[[ModelCall], Any], **changes: Any) -> ModelSession:
    agent = make_model_agent(**changes)
    return ModelSession(
        agent,
        setting=Setting("Be kind."),
        toolbox=Toolbox(agent.world_tools, world=make_world()),
        complete=complete,
    )


async def test_waiting_for_a_provider_does_not_use_up_the_turn() -> None:
    async def busy(call: ModelCall) -> ModelReply:
        with call.waiting():
            await asyncio.sleep(2.2)
        return ModelReply(text="At last.", waited_ms=2200.0, native_turn=NativeTurn({}))

    trial = await converse("Hi", agent=make_model_agent(), complete=busy, turn_timeout_s=2)

    (turn,) = trial.turns

    assert (turn.reply, turn.error) == ("At last.", None)
    assert turn.waited_ms == 2200


@STREAMED
async def test_what_a_model_thinks_in_its_text_is_kept_apart_and_not_sent_back(
    talk: Talk, *, streaming: bool
) -> None:
    trial = await talk(
        [
            Reply("<think>I need the order.</think>Let me see.", tools=(FIND,)),
            Reply("<think>It is 24.50.</think>\n\nIt was cheap."),
            Reply("<think>Cheap, I"),
            Reply("I said so."),
        ],
        "What did 1042 cost?",
        "How much?",
        "Well?",
        streaming=streaming,
    )

    first, second, third = trial.turns
    assert [message.text for message in first.messages] == ["Let me see.", "It was cheap."]
    assert first.reasoning == "I need the order.\n\nIt is 24.50."
    assert (second.reply, second.reasoning) == ("", "Cheap, I")
    assert second.error is not None
    assert "only reasoning" in second.error
    assert (third.reply, third.error) == ("I said so.", None)
    sent = json.dumps(talk.server.bodies[-1]["messages"])
    assert "It was cheap." in sent
    assert "24.50." not in sent
    assert "I need the order." in sent  # a turn with tool calls goes back as it came


async def test_an_agent_that_asks_its_model_too_often_has_failed_and_costs_are_unknown(
    talk: Talk,
) -> None:
    def answer(request: dict[str, Any]) -> Reply:
        if last_text(request) == "Again?":
            return Reply("Hello.")
        return Reply(tools=(FIND,), latency_s=1.5 if tool_results(request) else 0.0)

    talk.server.answers(answer)

    trial = await talk((), "Hi", "Again?", turn_timeout_s=4)

    first, second = trial.turns
    assert first.error is not None
    assert first.error.startswith("The agent did not answer within 4 s")
    assert {call.name for call in first.tool_calls} == {"entity.query"}  # what it did is kept
    assert first.usage == Usage()
    assert first.latency_ms == pytest.approx(4000, abs=1500)
    assert (second.reply, second.error) == ("Hello.", None)
    assert trial.failure is None


SILENT = pytest.mark.parametrize(
    ("answer", "streaming"),
    [
        pytest.param(Hang(), False, id="never answers"),
        pytest.param(Drip(after_events=5), True, id="stops in the middle"),
    ],
)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blame a provider after half a second, so that a test need not wait for half a minute."""
    monkeypatch.setattr(session, "MIN_SILENCE_S", 0.5)


@SILENT
@pytest.mark.usefixtures("quick")
async def test_a_model_api_that_never_answers_is_the_providers_fault(
    talk: Talk, answer: Answer, *, streaming: bool
) -> None:
    talk.server.answers(lambda _: answer)

    trial = await talk((), "Hi", "Again?", turn_timeout_s=1.5, streaming=streaming)

    assert trial.failure is not None
    assert trial.failure.cause is Cause.PROVIDER
    assert "turn_timeout_s" in trial.failure.message
    (turn,) = trial.turns
    assert len(turn.attempts) == len(talk.server.requests) == 3
    assert (turn.usage, turn.cost_usd) == (Usage(), None)  # perhaps it was billed


@pytest.mark.parametrize(
    ("answer", "streaming"),
    [
        pytest.param(Reply("Late.", latency_s=2.5), False, id="answers later"),
        pytest.param(Whole(Reply("Late.", latency_s=2.5)), False, id="answers later, unstreamed"),
        pytest.param(Reply("Late.", thinking_s=2.5), True, id="thinks for longer"),
        pytest.param(Drip(after_events=3), False, id="rests for longer"),
        pytest.param(Hang(), False, id="is not known to be alive so soon"),
    ],
)
async def test_a_model_that_is_slower_than_a_chosen_limit_fails_by_it(
    talk: Talk, answer: Answer, *, streaming: bool
) -> None:
    talk.server.answers(lambda _: answer)

    trial = await talk((), "Hi", turn_timeout_s=1, streaming=streaming)

    (turn,) = trial.turns
    assert trial.failure is None
    assert turn.error is not None
    assert "within 1 s" in turn.error
    assert len(talk.server.requests) == 1
    assert (turn.usage, turn.cost_usd) == (Usage(), None)


@pytest.mark.usefixtures("quick")
async def test_a_model_that_thinks_is_blamed_by_a_chosen_limit_only(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk.server.answers(lambda _: Drip())

    chosen = await talk((), "Hi", turn_timeout_s=1.5)
    monkeypatch.setattr(conversation, "TURN_TIMEOUT_S", 1.5)
    default = await talk((), "Hi", turn_timeout_s=1.5)
    limited = await talk((), "Hi", turn_timeout_s=1.5, limits={"max_time_ms": 1400})

    for trial in (chosen, limited):
        assert (trial.failure, trial.turns[0].error is not None) == (None, True)
    assert default.failure is not None
    assert default.failure.cause is Cause.PROVIDER


async def test_a_call_that_was_repeated_says_that_it_may_have_cost_more(talk: Talk) -> None:
    trial = await talk([Cut(after_events=3), Reply("Hello.")], "Hi")

    (turn,) = trial.turns
    assert (turn.reply, turn.usage.response_tokens) == ("Hello.", 5)
    assert [note for note in turn.notes if "billed" in note]


@SILENT
@pytest.mark.usefixtures("quick")
async def test_a_model_api_that_is_silent_once_is_asked_again_in_its_own_time(
    talk: Talk, answer: Answer, *, streaming: bool
) -> None:
    trial = await talk(
        [answer, Reply("Hello.", latency_s=0.4)], "Hi", turn_timeout_s=1.2, streaming=streaming
    )

    (turn,) = trial.turns
    assert (turn.reply, turn.error) == ("Hello.", None)
    assert (turn.latency_ms or 0) < 1000
    assert len(turn.attempts) == 1


async def test_a_model_that_answers_shortly_before_the_end_of_its_turn_has_answered(
    talk: Talk,
) -> None:
    trial = await talk([Reply("Hello.", latency_s=1.5)], "Hi", turn_timeout_s=2)

    assert (trial.turns[0].reply, trial.turns[0].attempts) == ("Hello.", ())


async def test_a_model_that_is_still_writing_at_the_end_of_the_turn_is_the_agents_failure(
    talk: Talk,
) -> None:
    talk.server.answers(lambda _: Trickle(Reply("So slow. " * 300), rest_s=0.2))

    trial = await talk((), "Hi", turn_timeout_s=1.5, streaming=True)

    assert trial.failure is None
    assert trial.turns[0].error is not None


async def test_of_a_call_that_is_cut_off_only_the_pauses_were_not_the_agents() -> None:
    now = 100.0

    async def slow(call: ModelCall) -> ModelReply:
        nonlocal now
        with call.waiting():
            now += 30
        now += 5
        await asyncio.sleep(60)
        raise AssertionError

    exchange = Exchange(1, "Hi", 0.05, lambda: now)

    with pytest.raises(TimeoutError):
        await run(make_session(slow), exchange)
    record = exchange.record()

    assert (record.waited_ms, record.latency_ms) == (30_000, 5_000)


async def test_attempts_of_a_call_that_failed_are_for_the_conversation_to_keep() -> None:
    async def away(call: ModelCall) -> ModelReply:
        error = UnavailableError("It is away.")
        error.attempts = (Attempt("answered 500", 0.0),)
        raise error

    exchange = Exchange(1, "Hi", 60)

    with pytest.raises(ProviderError):
        await make_session(away).respond(exchange)

    assert exchange.attempts == []
    assert exchange.record().usage == NO_USAGE


# Alone


async def test_a_reply_without_anything_to_send_back_is_kept_as_text() -> None:
    asked: list[ModelCall] = []

    async def plain(call: ModelCall) -> ModelReply:
        asked.append(call)
        return ModelReply(text="Hello.")

    session = make_session(plain)
    await session.respond(Exchange(1, "Hi", 60))
    await session.respond(Exchange(2, "Bye", 60))

    assert asked[1].messages[1] == AssistantMessage("Hello.")
    assert (asked[1].purpose, asked[1].system, asked[1].timeout_s) == ("agent", "Be kind.", 60)


async def test_an_error_of_the_agent_leaves_the_chat_as_it_was() -> None:
    replies = iter([ModelReply(text="One."), ModelReply(stop="refusal"), ModelReply(text="Three.")])
    asked: list[ModelCall] = []

    async def complete(call: ModelCall) -> ModelReply:
        asked.append(call)
        return next(replies)

    session = make_session(complete)
    await session.respond(Exchange(1, "a", 60))
    with pytest.raises(AgentError):
        await session.respond(Exchange(2, "b", 60))
    await session.respond(Exchange(3, "c", 60))

    assert len(asked[2].messages) == 3


async def _never(call: ModelCall) -> ModelReply:
    raise AssertionError


async def test_seed_effort_and_format_are_sent(talk: Talk) -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    agent = {
        "model": {"provider": "anthropic", "name": "gpt-5", "seed": 7, "effort": "low"},
        "settings": {"response_format": schema},
        "tools": [],
    }

    await talk([Reply('{"answer": "Hi"}')], "Hi", agent=agent, provider=OPENAI)

    body = talk.server.bodies[0]
    assert (body["seed"], body["reasoning_effort"]) == (7, "low")
    form = body["response_format"]["json_schema"]
    assert (form["schema"], form["strict"]) == (schema, False)
