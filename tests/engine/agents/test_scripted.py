"""Agents and judges that follow rules."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from evals_app.engine.agents.scripted import ScriptedSession, fill, matching_rule, scripted_judge
from evals_app.engine.agents.session import Exchange
from evals_app.engine.agents.tools.toolbox import Toolbox
from evals_app.engine.basics.errors import AgentError, JudgeError
from evals_app.engine.llm.call import AssistantMessage, ModelCall, UserMessage
from evals_app.engine.record.trial import ToolCall
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.agent_spec import ScriptedRule
from tests.engine.makers import make_call, make_world

pytestmark = pytest.mark.anyio


def rules(*written: dict[str, Any]) -> list[ScriptedRule]:
    return [ScriptedRule.model_validate(rule) for rule in written]


async def respond(
    message: str, *written: dict[str, Any], index: int = 1, world: Any = None
) -> Exchange:
    toolbox = Toolbox(["entity.query", "entity.get", "entity.update"], world=world or make_world())
    exchange = Exchange(index, message, 60)
    await ScriptedSession(rules(*written), toolbox=toolbox).respond(exchange)
    return exchange


BY_TURN = rules({"turn": 2, "reply": "second"}, {"when": "refund", "reply": "money"})


@pytest.mark.parametrize(
    ("message", "turn", "reply"),
    [
        pytest.param("A refund, please", 1, "money", id="pattern"),
        pytest.param("A REFUND, please", 1, "money", id="upper or lower case"),
        pytest.param("A refund, please", 2, "second", id="the first that fits"),
        pytest.param("Anything", 2, "second", id="turn alone"),
        pytest.param("Anything", 1, None, id="none"),
        pytest.param("", 1, None, id="nothing said"),
        pytest.param("half \ud83d a refund", 1, "money", id="half a character"),
        pytest.param("Anything", None, None, id="turns mean nothing to a judge"),
    ],
)
def test_the_first_rule_that_fits_acts(message: str, turn: int | None, reply: str | None) -> None:
    rule = matching_rule(BY_TURN, message, turn=turn)

    assert (rule.reply if rule else None) == reply


async def test_a_rule_calls_tools_in_order_and_then_replies() -> None:
    world = make_world()
    query = {"tool": "entity.query", "args": {"type": "order", "filters": {"number": "{{input}}"}}}
    update = {
        "tool": "entity.update",
        "args": {"id": "{{result.1.entities.0.id}}", "data": {"total": 0}},
    }

    exchange = await respond(
        "1042",
        {
            "calls": [query, update],
            "reply": "Order {{input}}: {{result.2.data.total}}, {{ result.1.total }} found.",
            "usage": {"input_tokens": 9, "output_tokens": 3},
        },
        world=world,
    )

    assert exchange.reply == "Order 1042: 0, 1 found."
    assert [call.name for message in exchange.messages for call in message.tool_calls] == [
        "entity.query",
        "entity.update",
    ]
    assert exchange.messages[1].tool_calls[0].args == {"id": "order-1", "data": {"total": 0}}
    assert exchange.usages == [Usage(9, 3)]
    assert len(world.journal) == 1


async def test_usage_is_unknown_unless_a_rule_gives_it() -> None:
    exchange = await respond("Hi", {"reply": "Hello"})

    assert exchange.usages == []


async def test_results_are_those_of_this_turn() -> None:
    call = {"tool": "entity.get", "args": {"id": "order-2"}}
    written = (
        {"turn": 1, "calls": [call], "reply": "{{result.1.id}}"},
        {"reply": "[{{result.1.id}}]"},
    )
    session = ScriptedSession(rules(*written), toolbox=Toolbox(["entity.get"], world=make_world()))
    first, second = Exchange(1, "a", 60), Exchange(2, "b", 60)

    await session.respond(first)
    await session.respond(second)

    assert (first.reply, second.reply) == ("order-2", "[]")


async def test_a_reply_that_is_a_whole_result_is_written_as_json() -> None:
    call = {"tool": "entity.get", "args": {"id": "order-2"}}

    exchange = await respond("Hi", {"calls": [call], "reply": "{{result.1.data}}"})

    assert exchange.reply == '{"number": "1043", "total": 8}'


async def test_no_rule_is_an_error_of_the_agent() -> None:
    with pytest.raises(AgentError, match="No rule of the scripted agent matches"):
        await respond("Hi", {"when": "bye", "reply": "Bye"})


async def test_an_agent_may_crash_after_it_did_something() -> None:
    world = make_world()
    call = {"tool": "entity.update", "args": {"id": "order-1", "data": {"total": 0}}}

    with pytest.raises(AgentError, match="It broke"):
        await respond("Hi", {"calls": [call], "error": "It broke."}, world=world)

    assert len(world.journal) == 1


async def test_a_delay_takes_time() -> None:
    began = time.monotonic()

    await respond("Hi", {"reply": "Hello", "delay_ms": 30})

    assert time.monotonic() - began >= 0.029


RESULTS: Sequence[ToolCall] = [
    make_call(
        result={"n": 3, "f": 1.5, "ok": True, "none": None, "l": [{"a": "x"}], "s": "größer"}
    ),
    make_call(result={"error": {"message": "no"}}),
]


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        pytest.param("{{input}}", "hello", id="the message"),
        pytest.param("a {{ input }} b", "a hello b", id="within a text"),
        pytest.param("{{result.1.n}}", 3, id="a number stays one"),
        pytest.param(" {{result.1.ok}} ", True, id="so does a truth value"),
        pytest.param("{{result.1.l}}", [{"a": "x"}], id="so does a list"),
        pytest.param("n = {{result.1.n}}", "n = 3", id="a number within a text"),
        pytest.param("{{result.1.ok}}, {{result.1.none}}", "true, null", id="as JSON says it"),
        pytest.param("{{result.1.f}} {{result.1.s}}", "1.5 größer", id="text as it is"),
        pytest.param("{{result.1.l.0.a}}", "x", id="into a list"),
        pytest.param("[{{result.1.l}}]", '[[{"a": "x"}]]', id="a list within a text"),
        pytest.param("{{result.2.error.message}}", "no", id="the second result"),
        pytest.param("{{result.1.l.5.a}}", "", id="behind the end"),
        pytest.param("{{result.1.n.x}}", "", id="into a number"),
        pytest.param("{{result.1.zzz}}", "", id="no such key"),
        pytest.param("{{result.3.n}}", "", id="no such result"),
        pytest.param("{{result.0.n}}", "", id="counted from 1"),
        pytest.param("{{other}} {result.1.n}", "{{other}} {result.1.n}", id="other braces"),
        pytest.param(["{{input}}", 1], ["hello", 1], id="inside a list"),
        pytest.param({"a": {"b": "{{result.1.n}}"}}, {"a": {"b": 3}}, id="inside a mapping"),
        pytest.param({"{{input}}": None}, {"{{input}}": None}, id="keys are no texts"),
        pytest.param(7, 7, id="no text"),
    ],
)
def test_placeholders(value: object, filled: object) -> None:
    rule = fill(value, message="hello", results=RESULTS)

    assert rule == filled
    assert type(rule) is type(filled)


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    assert fill("<{{input}}>", message="{{result.1.n}}", results=RESULTS) == "<{{result.1.n}}>"


# As a judge


def question(*texts: str) -> ModelCall:
    messages = tuple(UserMessage(text) for text in texts)
    return ModelCall(provider="scripted", model="judge", purpose="judge", messages=messages)


async def test_a_judge_answers_by_the_first_rule_that_fits_its_prompt() -> None:
    judge = scripted_judge(
        rules(
            {"when": "polite", "reply": "5", "usage": {"input_tokens": 7, "output_tokens": 1}},
            {"reply": "1"},
        )
    )

    good, bad = await judge(question("Is it polite?")), await judge(question("Is it short?"))

    assert (good.text, good.usage, good.model) == ("5", Usage(7, 1), "scripted")
    assert (bad.text, bad.usage) == ("1", Usage())


async def test_a_judge_reads_questions_and_not_what_it_said_itself() -> None:
    call = ModelCall(
        provider="scripted",
        model="judge",
        purpose="judge",
        messages=(UserMessage("Is it short?"), AssistantMessage("polite")),
    )

    with pytest.raises(JudgeError, match="has no rule for this question"):
        await scripted_judge(rules({"when": "polite", "reply": "5"}))(call)


async def test_a_judge_without_a_rule_or_with_an_error_cannot_grade() -> None:
    judge = scripted_judge(rules({"when": "polite", "error": "I am tired."}))

    with pytest.raises(JudgeError, match=r"I am tired\."):
        await judge(question("Is it polite?"))
    with pytest.raises(JudgeError, match="has no rule"):
        await judge(question("Is it short?"))


async def test_a_judge_may_take_its_time() -> None:
    began = time.monotonic()

    await scripted_judge(rules({"reply": "5", "delay_ms": 30}))(question("Well?"))

    assert time.monotonic() - began >= 0.029
