"""Agents that are programs."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.basics.permits import OUR_COMMAND
from evals_app.engine.callables.pool import Callables
from evals_app.engine.record.trial import Trial
from evals_app.engine.specs.agent_spec import CommandAgent
from tests.engine.makers import CLOCK, converse
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio


def make_command(*words: str) -> CommandAgent:
    written = {"agent": "Program", "slug": "program", "driver": "command"}
    return CommandAgent.model_validate(written | {"command": list(words)})


@dataclass(frozen=True)
class Program:
    """An agent that is a program, which is permitted; tests write it."""

    path: Path
    callables: Callables

    def write(self, script: str) -> None:
        self.path.write_text(f"#!/bin/sh\n{dedent(script)}\n")
        self.path.chmod(0o755)

    async def converse(
        self, *messages: str, arguments: Sequence[str] = (), **changes: Any
    ) -> Trial:
        agent = make_command(str(self.path), *arguments)
        return await converse(*messages, agent=agent, callables=self.callables, **changes)


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    async with Callables(most=2) as callables:
        program = Program(tmp_path / "agent", callables)
        program.write("cat")
        with permitting(commands=(str(program.path),)):
            yield program


async def test_it_reads_the_message_and_writes_its_reply(program: Program) -> None:
    trial = await program.converse("Grüße\nan alle")

    [turn] = trial.turns
    assert (turn.reply, turn.error) == ("Grüße\nan alle", None)
    assert turn.usage.prompt_tokens is None


async def test_the_mark_of_utf_8_is_no_part_of_its_reply(program: Program) -> None:
    program.write(r"""printf '\357\273\277{"output": "4"}'""")

    trial = await program.converse("2 + 2")

    assert trial.turns[0].reply == "4"


async def test_what_it_thinks_is_no_part_of_its_reply(program: Program) -> None:
    trial = await program.converse("So it must be 42.\n</think>\n\nI do not know.")

    [turn] = trial.turns
    assert (turn.reply, turn.reasoning) == ("I do not know.", "So it must be 42.")


async def test_it_may_write_what_it_did_as_json(program: Program) -> None:
    agent = make_command(*OUR_COMMAND.split())
    questions = ("And in 2007?", "And in 2005?", "What is the change?")

    trial = await converse(*questions, agent=agent, callables=program.callables)

    assert [turn.reply for turn in trial.turns] == ["60.94", "25.14", "35.8"]
    assert [call.name for call in trial.turns[2].tool_calls] == ["subtract"]


async def test_it_is_shown_what_was_said_and_where_it_is(program: Program) -> None:
    program.write(
        """
        cat >/dev/null
        echo "$AGENTURA_HISTORY"
        echo "$EVALWELL_CASE|$EVALWELL_CHANNEL|$EVALWELL_CONTEXT_PARAMS"
        echo "$EVALWELL_TRIAL|$EVALWELL_CLOCK"
        echo "${#EVALWELL_SESSION_ID} $1"
        echo "$TRACEPARENT"
        """
    )

    trial = await program.converse(
        "Hello",
        arguments=["--quick; echo injected"],
        history=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ü"}],
        channel="api",
        context_params={"tier": "gold"},
        clock=CLOCK,
    )

    assert trial.turns[0].reply.splitlines() == [
        '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ü"}]',
        'Greeting|api|{"tier": "gold"}',
        f"1|{CLOCK}",
        "32 --quick; echo injected",
        f"00-{trial.trace_id}-{trial.turns[0].span_id}-01",
    ]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        pytest.param(
            "printf '\\033[31mno stock\\033[0m\\n' >&2; exit 3",
            "agent ended with exit code 3: no stock",
            id="it says why",
        ),
        pytest.param("echo no stock; exit 1", "exit code 1: no stock", id="on the other output"),
        pytest.param("exit 7", "agent ended with exit code 7.", id="it says nothing"),
        pytest.param("kill -9 $$", "agent ended with signal SIGKILL.", id="it is killed"),
        pytest.param("true", "empty", id="no reply"),
        pytest.param("yes", "more than 1,000,000 bytes", id="far too much"),
        ("""echo '{"output": "x", "tool_calls": 5}'""", "tool_calls is 5"),
        pytest.param('echo \'{"error": "no stock"}\'', "reports an error: no stock", id="error"),
    ],
)
async def test_a_turn_that_fails_is_an_agent_error(
    program: Program, script: str, message: str
) -> None:
    program.write(script)

    trial = await program.converse("hello")

    assert message in (trial.turns[0].error or "")
    assert trial.failure is None


async def test_a_turn_that_takes_too_long_ends_all_that_was_started(
    program: Program, tmp_path: Path
) -> None:
    program.write(f"(sleep 1.5; touch {tmp_path / 'survived'}) & wait")

    trial = await program.converse("hello", turn_timeout_s=0.3)
    await asyncio.sleep(1.5)

    assert trial.turns[0].error == "The agent did not answer within 0.3 s."
    assert not (tmp_path / "survived").exists()


async def test_what_left_its_group_cannot_hold_up_a_reply(program: Program) -> None:
    program.write("echo Hello; setsid sleep 30 &")

    trial = await program.converse("hello", turn_timeout_s=20)

    assert trial.turns[0].reply == "Hello"


async def test_a_program_that_is_not_permitted_any_more_does_not_run(program: Program) -> None:
    agent = make_command(str(program.path))

    with permitting(commands=()), pytest.raises(ConfigurationError, match="does not permit"):
        await converse("hello", agent=agent, callables=program.callables)


async def test_a_history_that_no_variable_holds_is_no_failure_of_the_agent(
    program: Program,
) -> None:
    history = [
        {"role": "user", "content": "x" * 130_000},
        {"role": "assistant", "content": "Thank you."},
    ]

    with pytest.raises(ConfigurationError, match=r"has 130,\d+ bytes.*AGENTURA_HISTORY can hold"):
        await program.converse("hello", history=history)


async def test_where_no_code_can_run_that_is_shown() -> None:
    with pytest.raises(ConfigurationError, match="Agent program has no program"):
        await converse("hello", agent=make_command(*OUR_COMMAND.split()))


async def test_what_a_run_that_failed_cost_is_unknown(program: Program) -> None:
    program.write("exit 3")

    trial = await program.converse("hello")

    assert trial.turns[0].error
    assert trial.cost_usd is None
    assert trial.is_outside
