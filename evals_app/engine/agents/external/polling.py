"""Agents that answer later: the first answer names a job, which is requested until it is done."""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from urllib.parse import quote, urljoin

from evals_app.engine.agents.session import Exchange
from evals_app.engine.agents.tools.tool_calls import as_text
from evals_app.engine.basics.errors import AgentError
from evals_app.engine.llm.apis.retry import retry_after_s
from evals_app.engine.llm.call import MAX_REPLY_BYTES
from evals_app.engine.network.addresses import read_url
from evals_app.engine.network.web import Web, WebAnswer
from evals_app.engine.specs.outside_spec import JOB, PollSpec
from fixtures_app.ground.json_paths import NoSuchPlaceError, describe, find, parse_path
from fixtures_app.ground.quoting import cut_middle

_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


class AgentJob:
    """What an agent is doing for one message."""

    def __init__(
        self, poll: PollSpec, *, web: Web, agent_url: str, headers: Mapping[str, str]
    ) -> None:
        self._poll = poll
        self._web = web
        self._agent_url = agent_url
        self._headers = headers

    async def result(
        self, answer: WebAnswer, exchange: Exchange, *, sleep: Callable[[float], Awaitable[object]]
    ) -> WebAnswer:
        """Wait until the job is done, and return its reply; `answer` is the first one.

        Raises:
            AgentError: it has failed, cannot be found, or answers something else.
            WebError: no answer.
        """
        if self._is_final(answer, exchange):
            exchange.pending = ""
            return self._reply(answer)
        exchange.pending = exchange.pending or "its job is not done yet"
        url = self._address(answer)
        while True:
            asked_s = retry_after_s(answer.headers, now=time.time()) or 0.0
            await sleep(max(self._poll.interval_s, asked_s))
            answer = await self._web.ask(
                "GET", url, headers=self._headers, most_bytes=MAX_REPLY_BYTES
            )
            if answer.status in _BUSY:
                continue
            if not answer.is_ok:
                raise AgentError(f"The agent's job answered with {answer.problem}")
            if self._is_done(answer, exchange):
                exchange.pending = ""
                return self._reply(answer)

    def _is_final(self, answer: WebAnswer, exchange: Exchange) -> bool:
        """Return whether the first answer is already the reply."""
        if (state := self._state(answer)) is not None:
            return self._means_done(state, answer, exchange)
        return self._poll.url is None and answer.status != HTTPStatus.ACCEPTED

    def _is_done(self, answer: WebAnswer, exchange: Exchange) -> bool:
        if (state := self._state(answer)) is not None:
            return self._means_done(state, answer, exchange)
        if answer.status == HTTPStatus.ACCEPTED:
            return False
        if self._poll.state is not None:
            raise AgentError(
                f"The agent's job has no {self._poll.state}: {cut_middle(answer.text)}"
            )
        return True

    def _state(self, answer: WebAnswer) -> str | None:
        """Return the state that an answer reports; None if it reports none."""
        if self._poll.state is None:
            return None
        try:
            return as_text(find(_json_of(answer), parse_path(self._poll.state)))
        except NoSuchPlaceError:
            return None

    def _means_done(self, state: str, answer: WebAnswer, exchange: Exchange) -> bool:
        exchange.pending = f"its job is {cut_middle(state)!r}"
        if state.casefold() in map(str.casefold, self._poll.failed):
            raise AgentError(f"The agent's job is {cut_middle(state)!r}: {cut_middle(answer.text)}")
        return state.casefold() in map(str.casefold, self._poll.done)

    def _address(self, answer: WebAnswer) -> str:
        """Return the address to poll."""
        if self._poll.url is not None:
            return self._poll.url.replace(JOB, self._id(answer))
        location = answer.headers.get("location", "")
        if not location:
            raise AgentError(
                f"The agent answered with status {answer.status} and no Location header. Set"
                " poll.url to the address of its result."
            )
        url = urljoin(self._agent_url, location)
        try:
            there, here = read_url(url), read_url(self._agent_url)
        except ValueError as error:
            raise AgentError(self._web.hide(f"The agent's job is at {url}: {error}")) from None
        # Keys in the headers are meant for the agent's own host.
        if (there.scheme, there.authority) != (here.scheme, here.authority):
            raise AgentError(
                self._web.hide(
                    f"The agent's job is on another host: {cut_middle(url)}. If that is correct, set"
                    " poll.url to its address."
                )
            )
        return url

    def _id(self, answer: WebAnswer) -> str:
        if self._poll.job is None:
            return ""
        try:
            found = find(_json_of(answer), parse_path(self._poll.job))
        except NoSuchPlaceError as error:
            raise AgentError(f"The agent's first answer {error}") from None
        if not isinstance(found, str | int) or found == "":
            raise AgentError(
                f"The agent's first answer has {describe(found)} at {self._poll.job}; it should be"
                " the id of a job."
            )
        return quote(as_text(found), safe="")

    def _reply(self, answer: WebAnswer) -> WebAnswer:
        """Return the part of the last answer that is the reply."""
        if self._poll.result is None:
            return answer
        try:
            found = find(_json_of(answer), parse_path(self._poll.result))
        except NoSuchPlaceError as error:
            raise AgentError(f"The agent's last answer {error}") from None
        return WebAnswer(answer.status, json.dumps(found), "application/json")


def _json_of(answer: WebAnswer) -> object:
    try:
        return json.loads(answer.text)
    except (ValueError, RecursionError):
        return None
