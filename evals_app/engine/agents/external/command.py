"""The command driver: an agent that is a program, run once for each turn.

It reads the message on standard input and writes its reply on standard output: text, or the JSON of
`reply`. Its environment has AGENTURA_HISTORY, the conversation so far as JSON
`[{"role", "content"}]`, and EVALWELL_SESSION_ID, EVALWELL_CASE, EVALWELL_TRIAL,
EVALWELL_CLOCK (empty if time is not frozen), EVALWELL_CHANNEL and
EVALWELL_CONTEXT_PARAMS (JSON), and TRACEPARENT (W3C Trace Context). Any exit code except 0 is an error.
"""

import json
from collections.abc import Mapping
from typing import Any

from evals_app.engine.agents.external.outside import Outside
from evals_app.engine.agents.external.reply import parse_reply
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.errors import AgentError, CodeError, ConfigurationError
from evals_app.engine.callables.pool import Callables, ProgramResult
from evals_app.engine.callables.processes import readable
from evals_app.engine.callables.references import command_problem, program_path
from evals_app.engine.llm.call import MAX_REPLY_BYTES
from evals_app.engine.specs.agent_spec import CommandAgent

_MAX_VARIABLE_BYTES = 120_000  # Linux takes 131,072, its name included


class CommandSession:
    """Run a program for each message."""

    def __init__(
        self, agent: CommandAgent, *, setting: Setting, callables: Callables | None
    ) -> None:
        if callables is None:
            raise ConfigurationError(f"Agent {agent.slug} has no program to run.")
        self._words = agent.command
        self._outside = Outside(setting)
        self._callables = callables

    async def respond(self, exchange: Exchange) -> None:
        if problem := command_problem(self._words):
            raise ConfigurationError(problem)
        program, *arguments = self._words
        request = self._outside.request(exchange)
        with self._outside.asking(exchange):
            try:
                ran = await self._callables.run(
                    [program_path(program) or program, *arguments],
                    message=as_bytes(exchange.user),
                    variables=program_variables(request, self._outside.traceparent(exchange)),
                    most_bytes=MAX_REPLY_BYTES,
                )
            except CodeError as exc:
                raise ConfigurationError(str(exc)) from exc
            if problem := program_failure(program, ran):
                raise AgentError(problem)
            reply = parse_reply(ran.output.decode("utf-8-sig", "replace"))
        self._outside.note(exchange, reply)


def program_failure(program: str, ran: ProgramResult) -> str | None:
    """Explain why a program gave no reply; None if it did."""
    if ran.is_too_much:
        return f"{program} wrote more than {MAX_REPLY_BYTES:,} bytes, the maximum."
    if ran.has_succeeded:
        return None
    wrote = ran.errors or readable(ran.output)
    return f"{program} ended with {ran.ending}{f': {wrote}' if wrote else '.'}"


def program_variables(request: Mapping[str, Any], traceparent: str) -> dict[str, bytes]:
    """Return the environment variables that tell a program about the conversation.

    Raises:
        ConfigurationError: the conversation is too long for a variable.
    """
    history = as_bytes(json.dumps(request["history"], ensure_ascii=False))
    if len(history) > _MAX_VARIABLE_BYTES:
        raise ConfigurationError(
            f"The conversation so far has {len(history):,} bytes as JSON; AGENTURA_HISTORY can hold"
            f" {_MAX_VARIABLE_BYTES:,}."
        )
    return {
        "AGENTURA_HISTORY": history,
        "EVALWELL_SESSION_ID": as_bytes(request["session_id"]),
        "EVALWELL_CASE": as_bytes(request["case"]),
        "EVALWELL_TRIAL": as_bytes(str(request["trial"])),
        "EVALWELL_CLOCK": as_bytes(request["clock"] or ""),
        "EVALWELL_CHANNEL": as_bytes(request["channel"] or ""),
        "EVALWELL_CONTEXT_PARAMS": as_bytes(json.dumps(request["context_params"])),
        "TRACEPARENT": as_bytes(traceparent),
    }


def as_bytes(text: str) -> bytes:
    """Return a text as programs read it."""
    # Half of a surrogate pair cannot be encoded.
    return text.encode(errors="replace")
