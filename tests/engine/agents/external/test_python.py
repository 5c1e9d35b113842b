"""Agents that are functions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.agents.external.python import PythonSession
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.callables.pool import Callables
from evals_app.engine.llm.call import FileContent
from evals_app.engine.record.trial import Chunk, Trial
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.agent_spec import PythonAgent
from tests.engine.makers import CLOCK, converse
from tests.engine.operator_code import OperatorCode
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio


def make_python(reference: str) -> PythonAgent:
    written = {"agent": "Python", "slug": "python", "driver": "python", "callable": reference}
    return PythonAgent.model_validate(written)


@dataclass(frozen=True)
class Functions:
    """Agents that are functions, and the processes that call them."""

    callables: Callables
    code: OperatorCode

    async def converse(self, code: str, *messages: str, **changes: Any) -> Trial:
        agent = make_python(self.code.function(code))
        return await converse(*messages, agent=agent, callables=self.callables, **changes)


@pytest.fixture
async def functions(operator_code: OperatorCode) -> AsyncIterator[Functions]:
    async with Callables(most=2) as callables:
        yield Functions(callables, operator_code)


async def test_it_answers_turn_by_turn_and_reports_what_it_did(functions: Functions) -> None:
    trial = await converse(
        "What was the weighted average exercise price per share in 2007?",
        "And in 2005?",
        "What was the change over the years?",
        agent=make_python("evals_app.engine.examples.agents:analyst"),
        callables=functions.callables,
    )

    assert [turn.reply for turn in trial.turns] == ["60.94", "25.14", "35.8"]
    assert [call.name for call in trial.turns[2].tool_calls] == ["subtract"]
    assert trial.turns[2].tool_calls[0].args == {"a": 60.94, "b": 25.14}
    [fetched] = trial.turns[0].tool_calls
    assert fetched.is_retrieval
    assert [chunk.id for chunk in fetched.chunks] == ["prices-2007"]
    assert isinstance(fetched.chunks[0], Chunk)
    assert (trial.usage, trial.cost_usd) == (Usage(0, 0), Decimal(0))


async def test_what_it_thinks_is_no_part_of_its_reply(functions: Functions) -> None:
    code = """
        def it(message, history):
            return {"output": "<think>Hm.</think> " + repr([said["content"] for said in history])}
    """

    trial = await functions.converse(code, "one", "two")

    assert [turn.reply for turn in trial.turns] == ["[]", "['one', '[]']"]
    assert [turn.reasoning for turn in trial.turns] == ["Hm.", "Hm."]


async def test_each_turn_is_a_span_of_the_trace(functions: Functions) -> None:
    code = """
        import os

        def it(message, traceparent):
            return f"{traceparent} {os.environ['TRACEPARENT'] == traceparent}"
        """

    trial = await functions.converse(code, "one", "two")

    assert [turn.reply for turn in trial.turns] == [
        f"00-{trial.trace_id}-{turn.span_id}-01 True" for turn in trial.turns
    ]
    assert trial.turns[0].span_id != trial.turns[1].span_id


async def test_it_is_shown_everything_that_its_parameters_ask_for(functions: Functions) -> None:
    code = """
        async def it(message, *, history, session_id, channel, context_params, case, **more):
            told = [message, history, len(session_id), channel, context_params, case]
            return [*told, more["trial"], more["clock"]].__repr__()
        """
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Good morning."},
    ]

    trial = await functions.converse(
        code,
        "Who am I?",
        history=history,
        channel="api",
        context_params={"tier": "gold"},
        clock=CLOCK,
    )

    expected = ["Who am I?", history, 32, "api", {"tier": "gold"}, "Greeting", 1, CLOCK]
    assert trial.turns[0].reply == repr(expected)


async def test_what_a_module_keeps_about_a_session_is_there_in_the_next_turn(
    functions: Functions,
) -> None:
    trials = await asyncio.gather(
        *(
            functions.converse(
                """
        said = {}
        def it(message, session_id):
            said.setdefault(session_id, []).append(message)
            return " ".join(said[session_id])
        """,
                f"{n}a",
                f"{n}b",
                f"{n}c",
            )
            for n in range(6)
        )
    )

    assert [trial.turns[-1].reply for trial in trials] == [f"{n}a {n}b {n}c" for n in range(6)]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param("raise ValueError('no stock')", "failed: ValueError: no stock", id="raises"),
        pytest.param("import os; os._exit(1)", "ended its process (exit code 1)", id="dies"),
        pytest.param("return 5", "The agent's reply is 5; expected a text", id="a number"),
        pytest.param("return None", "is null; expected a text", id="nothing"),
        pytest.param("return object()", "cannot be written as JSON", id="no JSON"),
        pytest.param("return {'output': float('nan')}", "cannot be written as JSON", id="NaN"),
        pytest.param("return {'error': 'no stock'}", "reports an error: no stock", id="an error"),
        pytest.param("return ''", "empty", id="an empty text"),
    ],
)
async def test_a_turn_that_fails_is_an_agent_error_and_the_conversation_goes_on(
    functions: Functions, code: str, message: str
) -> None:
    trial = await functions.converse(
        f"""
        def it(message):
            if message == "fail":
                {code}
            return "fine"
        """,
        "fail",
        "hello",
    )

    assert message in (trial.turns[0].error or "")
    assert (trial.turns[1].reply, trial.turns[1].error) == ("fine", None)
    assert trial.failure is None


async def test_a_turn_that_takes_too_long_is_broken_off(functions: Functions) -> None:
    trial = await functions.converse(
        """
        def it(message):
            while message == "hang": pass
            return "fine"
        """,
        "hang",
        "hello",
        turn_timeout_s=1.5,
    )

    assert trial.turns[0].error == "The agent did not answer within 1.5 s."
    assert trial.turns[1].reply == "fine"


async def test_a_copy_of_its_process_answers_nobody(functions: Functions) -> None:
    trial = await functions.converse(
        """
        import os
        def it(message):
            os.fork()
            return message
        """,
        "one",
        "two",
        "three",
    )

    assert [turn.reply for turn in trial.turns] == ["one", "two", "three"]


async def test_importing_is_not_the_agents_time(functions: Functions) -> None:
    trial = await functions.converse(
        "import time; time.sleep(2.2)\ndef it(message): return 'ok'", "hello", turn_timeout_s=2
    )

    [turn] = trial.turns
    assert turn.error is None
    assert (turn.latency_ms or 0) < 2000
    assert turn.waited_ms > 2000


async def test_a_function_that_is_gone_is_no_failure_of_the_agent(functions: Functions) -> None:
    agent = make_python(functions.code.function("def it(message): return 'ok'"))

    with permitting(modules=()), pytest.raises(ConfigurationError, match="does not permit"):
        await converse("hello", agent=agent, callables=functions.callables)


async def test_where_no_code_can_run_that_is_shown() -> None:
    with pytest.raises(ConfigurationError, match="Agent python has no function"):
        await converse("hello", agent=make_python("evals_app.engine.examples.agents:analyst"))


async def test_what_a_call_that_failed_cost_is_unknown(functions: Functions) -> None:
    trial = await functions.converse("def it(message): raise ValueError('no stock')", "hello")

    assert trial.turns[0].error
    assert (trial.usage.prompt_tokens, trial.cost_usd) == (None, None)


@pytest.mark.parametrize(
    ("parameters", "takes"),
    [
        pytest.param("message", False, id="the message alone"),
        pytest.param("message, files", True, id="files"),
        pytest.param("message, **more", True, id="everything"),
    ],
)
async def test_files_are_for_functions_that_take_them(
    functions: Functions, parameters: str, *, takes: bool
) -> None:
    reference = functions.code.function(f"def it({parameters}): return 'Seen.'")
    exchange = Exchange(1, "hello", 60, files=(FileContent("a.txt", "text/plain", b"a"),))

    async with AsyncExitStack() as processes:
        agent, setting = make_python(reference), Setting("")
        session = PythonSession(
            agent, setting=setting, callables=functions.callables, processes=processes
        )
        await session.respond(exchange)

    note = "This agent does not accept files. It did not get those of the turn."
    assert exchange.notes == ([] if takes else [note])


async def test_a_function_that_takes_files_is_given_none_where_there_are_none(
    functions: Functions,
) -> None:
    trial = await functions.converse("def it(message, files): return repr(files)", "hello")

    assert trial.turns[0].reply == "[]"
