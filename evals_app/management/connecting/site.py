"""The site, as a connected computer calls it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self
from uuid import uuid4

from evals_app.engine.network.addresses import read_url
from evals_app.engine.network.web import Web, WebAnswer, WebError, proxy_for

_ANSWER_S = 30.0  # on top of what the site may wait
_MAX_BYTES = 200_000_000  # messages may have files
# A site that is starting, busy or being replaced.
_PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}


class RefusedConnectionError(Exception):
    """The site does not want this computer; the message says why."""


class SiteAwayError(Exception):
    """The site does not answer now; it may do so later."""


@dataclass(frozen=True, slots=True)
class Poll:
    """What the site has for this computer."""

    calls: Sequence[tuple[int, dict[str, Any]]]
    dropped: Sequence[int]
    waited: bool


class Site:
    """An agent's address on a site, called with a token."""

    def __init__(self, address: str, *, agent: str, token: str, host: str) -> None:
        self._agent_url = f"{address.rstrip('/')}/api/agents/{agent}"
        self._headers = {"authorization": f"Bearer {token}"}
        self._host = host
        self.computer = str(uuid4())
        chosen = read_url(address).host
        self._web = Web(secrets=[token], permitted=[chosen], proxy=proxy_for(address))

    async def __aenter__(self) -> Self:
        await self._web.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._web.__aexit__(*error)

    async def poll(self, *, free: int, holding: Sequence[int], wait_s: int) -> Poll:
        """Ask for messages, and say what this computer is working on.

        Raises:
            SiteAwayError: no answer.
            RefusedConnectionError: the site refuses this computer.
        """
        body = {
            "computer": self.computer,
            "host": self._host,
            "free": free,
            "holding": list(holding),
            "wait": wait_s,
        }
        answer = await self._ask("POST", "/calls/", body)
        if not answer.is_ok:
            raise RefusedConnectionError(_problem_of(answer))
        found = json.loads(answer.text)
        calls = [(call["id"], call["request"]) for call in found["calls"]]
        return Poll(calls, found["dropped"], found["waited"])

    async def answer(self, call: int, answer: dict[str, Any]) -> str:
        """Send an answer; return why it does not count, empty if it does.

        Raises:
            SiteAwayError: it is unknown whether the answer arrived.
        """
        sent = await self._ask(
            "POST", f"/calls/{call}/answer/", {"computer": self.computer, **answer}
        )
        if sent.status == HTTPStatus.NOT_FOUND:
            return "nothing waits for it any more"
        if not sent.is_ok:
            return _problem_of(sent)
        return "" if json.loads(sent.text)["accepted"] else "another computer answered before"

    async def leave(self) -> None:
        """Disconnect this computer.

        Raises:
            SiteAwayError: no answer.
        """
        await self._ask("DELETE", f"/computers/{self.computer}/", None)

    async def _ask(self, method: str, path: str, body: object) -> WebAnswer:
        try:
            async with asyncio.timeout(_ANSWER_S):
                answer = await self._web.ask(
                    method,
                    self._agent_url + path,
                    headers=self._headers,
                    body=body,
                    most_bytes=_MAX_BYTES,
                    hides=False,
                )
        except WebError as error:
            raise SiteAwayError(str(error)) from None
        except TimeoutError:
            raise SiteAwayError(f"It did not answer within {_ANSWER_S:g} s.") from None
        if answer.status in _PASSING or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise SiteAwayError(f"It answered with {_problem_of(answer)}")
        return answer


def _problem_of(answer: WebAnswer) -> str:
    """Return what the site says is wrong."""
    try:
        problem = json.loads(answer.text)
        return str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.problem
