"""The agent on this computer: a program that runs for each message, or an address."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from evals_app.engine.agents.external.command import (
    as_bytes,
    program_failure,
    program_variables,
)
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.callables.pool import ProgramResult
from evals_app.engine.callables.processes import Guard, Process, ending, readable
from evals_app.engine.llm.call import MAX_REPLY_BYTES
from evals_app.engine.network.addresses import read_url
from evals_app.engine.network.web import Web, WebError


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    """What the agent answered: its output, or why there is none."""

    output: str = ""
    error: str = ""
    ignored_files: bool = False


class LocalAgent(Protocol):
    """An agent on this computer."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...

    async def ask(self, request: Mapping[str, Any]) -> LocalAnswer:
        """Return the agent's answer to a message."""


class LocalProgram:
    """A program, run once for each message, as the type “A program” runs it on the site.

    It has this shell's variables and folder. All that it starts ends with it, and with this command.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._guard = Guard()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._guard.stop()

    async def ask(self, request: Mapping[str, Any]) -> LocalAnswer:
        ignored = bool(request.get("files"))
        try:
            variables = program_variables(request, request["traceparent"])
            ran = await self._run(request["input"], variables)
        except ConfigurationError as error:
            return LocalAnswer(error=str(error))
        except OSError as error:
            return LocalAnswer(error=f"{self._words[0]} cannot be started: {error.strerror}.")
        problem = program_failure(self._words[0], ran)
        output = "" if problem else ran.output.decode("utf-8-sig", "replace")
        return LocalAnswer(output, problem or "", ignored)

    async def _run(self, message: str, variables: Mapping[str, bytes]) -> ProgramResult:
        process = await Process.start(
            self._words,
            variables={**os.environ, **variables},
            most_bytes=MAX_REPLY_BYTES,
            guard=self._guard,
            folder=Path.cwd(),
        )
        try:
            process.write(as_bytes(message))
            process.write_eof()
            await process.wait()
        finally:
            await process.end()
        return ProgramResult(
            ending(process.code or 0),
            bytes(process.output),
            readable(bytes(process.printed)),
            process.is_too_much,
        )


class LocalAddress:
    """An address on this computer or near it, as the type “An agent over HTTP” calls it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._web = Web(permitted=[read_url(url).host])

    async def __aenter__(self) -> Self:
        await self._web.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._web.__aexit__(*error)

    async def ask(self, request: Mapping[str, Any]) -> LocalAnswer:
        body = {key: value for key, value in request.items() if key not in _FOR_US}
        headers = {"traceparent": request["traceparent"]}
        try:
            answer = await self._web.ask(
                "POST", self._url, headers=headers, body=body, most_bytes=MAX_REPLY_BYTES
            )
        except WebError as error:
            return LocalAnswer(error=f"The agent did not answer. {error}")
        except ConfigurationError as error:
            return LocalAnswer(error=str(error))
        if not answer.is_ok:
            return LocalAnswer(error=f"The agent answered with {answer.problem}")
        return LocalAnswer(answer.text)


_FOR_US = ("traceparent", "timeout_s")


async def ask_within(agent: LocalAgent, request: Mapping[str, Any]) -> LocalAnswer:
    """Ask the agent, for as long as a turn may take."""
    limit = request["timeout_s"]
    try:
        async with asyncio.timeout(limit):
            return await agent.ask(request)
    except TimeoutError:
        return LocalAnswer(error=f"The agent did not answer within {limit:g} s.")
