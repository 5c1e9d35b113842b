"""The API, called patiently: page by page, waiting as it asks, retrying temporary failures."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from evals_app.engine.llm.apis.retry import retry_after_s, sentence
from evals_app.engine.network.web import ArrivingAnswer, Web, WebAnswer, WebError
from evals_app.management.openai_evals.account import Account

T = TypeVar("T")
# Reads an answer while it arrives.
Read = Callable[[AsyncIterator[bytes]], Awaitable[T]]
Query = Sequence[tuple[str, str]]

PAGE = 100  # the most that the API gives at once
_SMALL_PAGE = 10  # where a large page fails
_TRIES = 5  # of failures of the server or the connection
_WAITS = 60  # when it limits the rate of calls
_MAX_PAUSE_S = 60.0  # of those that we choose ourselves
_MAX_WAIT_S = 3600.0  # of those that the API asks for
_REPORTED_S = 5.0  # pauses from here on are reported
_SILENCE_S = 120.0
_FAILED_IN_A_ROW = 3  # then a simple call shows whether anything still works
_MAX_BYTES = 2_000_000_000
_USED_UP = "insufficient_quota"
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT)


class FailedError(Exception):
    """One thing could not be read; others may be. `status` is None if no answer came."""

    def __init__(self, address: str, problem: str, *, status: int | None = None) -> None:
        super().__init__(problem)
        self.address = address
        self.status = status

    @property
    def is_gone(self) -> bool:
        return self.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)

    @property
    def may_pass(self) -> bool:
        return self.status is None or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


class StoppedError(Exception):
    """Nothing more can be read; the message says why."""


@dataclass(eq=False)
class _TroubleError(Exception):
    """A request that failed once. `status` is None if no whole answer came; `pause` is asked for."""

    problem: str
    status: int | None = None
    pause: float | None = None
    is_used_up: bool = False

    @property
    def is_limit(self) -> bool:
        return self.status == HTTPStatus.TOO_MANY_REQUESTS and not self.is_used_up

    @property
    def is_too_long(self) -> bool:
        return self.pause is not None and self.pause > _MAX_WAIT_S

    @property
    def may_pass(self) -> bool:
        return (
            self.status is None
            or self.status in _PASSING
            or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        )


@dataclass(frozen=True, slots=True)
class ApiPage:
    """A page of a list: as it was sent, and read."""

    text: str = field(repr=False)
    data: Any = field(repr=False)

    @property
    def entries(self) -> list[Any]:
        return list(self.data["data"])

    @property
    def has_more(self) -> bool:
        """Whether there is another page; as in the SDK, one that does not say so may have one."""
        more = self.data.get("has_more")
        return more if isinstance(more, bool) else bool(self.entries)

    @property
    def cursor(self) -> str:
        """Where the next page begins; empty: it does not say."""
        last = self.entries[-1] if self.entries else None
        own = last.get("id") if isinstance(last, dict) else None
        named = (self.data.get("last_id"), own)
        return next((item for item in named if isinstance(item, str) and item), "")


def read_page(text: str) -> ApiPage | None:
    """Read a page; None if it is not one."""
    data = read_json(text)
    is_page = isinstance(data, dict) and isinstance(data.get("data"), list)
    return ApiPage(text, data) if is_page else None


def read_json(text: str) -> object:
    """Read JSON; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@dataclass(kw_only=True, eq=False)
class Api:
    """What an account can read; `tell` reports long pauses."""

    account: Account
    web: Web
    tell: Callable[[str], None]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    # What the first answers said of whose they are.
    organization: str = ""
    project: str = ""
    _failed: int = 0

    def address(self, *parts: str, query: Query = ()) -> str:
        path = "/".join(quote(part, safe="") for part in parts)
        return f"{self.account.base_url}/{path}" + (f"?{urlencode(query)}" if query else "")

    async def read(self, *parts: str, query: Query = ()) -> tuple[str, dict[str, Any]]:
        """Read one object: its text, and what that says.

        Raises:
            FailedError: it could not be had.
            StoppedError: nothing can be had any more.
        """

        async def whole(arriving: AsyncIterator[bytes]) -> tuple[str, dict[str, Any]]:
            raw = b"".join([part async for part in arriving])
            text = self.web.hide(raw.decode("utf-8-sig", "replace"))
            data = read_json(text)
            if not isinstance(data, dict):
                raise _TroubleError("The answer is not a JSON object.")
            return text, data

        return await self._insist(self.address(*parts, query=query), whole)

    async def pages(
        self, *parts: str, query: Query = (), after: str = ""
    ) -> AsyncIterator[ApiPage]:
        """Read a list page by page, the oldest first.

        Raises:
            FailedError: a page could not be had, or does not say where the next one begins.
            StoppedError: nothing can be had any more.
        """
        cursors = {after}
        while True:
            page = await self._page(parts, [*query, *([("after", after)] if after else [])])
            yield page
            if not page.has_more:
                return
            after = page.cursor
            if not after or after in cursors:
                why = (
                    "repeats one that it gave before"
                    if after
                    else "does not say where the next one begins"
                )
                address = self.address(*parts, query=query)
                raise FailedError(address, f"There are more pages, but the last one {why}.")
            cursors.add(after)

    async def _page(self, parts: Sequence[str], query: Query) -> ApiPage:
        try:
            return await self._page_of(PAGE, parts, query)
        except FailedError as error:
            if not error.may_pass:
                raise
            return await self._page_of(_SMALL_PAGE, parts, query)

    async def _page_of(self, size: int, parts: Sequence[str], query: Query) -> ApiPage:
        asked = [("limit", str(size)), ("order", "asc"), *query]
        text, _ = await self.read(*parts, query=asked)
        page = read_page(text)
        if page is None:
            raise FailedError(self.address(*parts, query=asked), "The answer is not a list.")
        return page

    async def download(self, *parts: str, begin: Callable[[], Callable[[bytes], object]]) -> None:
        """Read a file, however large; each try begins again and writes with what `begin` returns.

        Raises:
            FailedError: it could not be had.
            StoppedError: nothing can be had any more.
        """

        async def each(arriving: AsyncIterator[bytes]) -> None:
            write = begin()
            async for part in arriving:
                write(part)

        await self._insist(self.address(*parts), each)

    async def _insist(self, url: str, read: Read[T]) -> T:
        """Ask until there is an answer, or no hope of one."""
        spoilt = waited = 0
        while True:
            try:
                result = await self._ask(url, read)
            except _TroubleError as trouble:
                waited += trouble.is_limit
                spoilt += not trouble.is_limit
                may_pass = trouble.is_limit or trouble.may_pass
                is_over = trouble.is_too_long or spoilt >= _TRIES or waited >= _WAITS
                if is_over or not may_pass:
                    raise await self._given_up(url, trouble) from None
                own = min(2.0 ** (spoilt + waited - 1), _MAX_PAUSE_S)
                await self._wait(trouble.pause or own, trouble.problem)
            else:
                self._failed = 0
                return result

    async def _given_up(self, url: str, trouble: _TroubleError) -> FailedError | StoppedError:
        """Return the error of a request; where nothing can be asked any more, of all."""
        if trouble.status == HTTPStatus.UNAUTHORIZED:
            return StoppedError(f"The key is refused. {trouble.problem}")
        if trouble.is_too_long:
            return StoppedError(f"The API asks to wait {trouble.pause:,.0f} s. {trouble.problem}")
        self._failed = self._failed + 1 if trouble.may_pass or trouble.is_limit else 0
        if self._failed >= _FAILED_IN_A_ROW and not await self._answers():
            return StoppedError(f"The API has stopped answering. {trouble.problem}")
        return FailedError(url, trouble.problem, status=trouble.status)

    async def _answers(self) -> bool:
        """Whether the simplest question is answered."""

        async def nothing(arriving: AsyncIterator[bytes]) -> None:
            async for _ in arriving:
                pass

        try:
            await self._ask(self.address("evals", query=[("limit", "1")]), nothing)
        except _TroubleError:
            return False
        self._failed = 0
        return True

    async def _ask(self, url: str, read: Read[T]) -> T:
        """Ask once.

        Raises:
            _TroubleError: there is no answer, or it is not the one that was asked for.
        """
        loop = asyncio.get_running_loop()

        async def parts(arriving: ArrivingAnswer) -> AsyncIterator[bytes]:
            async for part in arriving.parts():
                silence.reschedule(loop.time() + _SILENCE_S)
                yield part

        headers = {**self.account.headers, "accept": "*/*"}
        try:
            async with (
                asyncio.timeout(_SILENCE_S) as silence,
                self.web.sending("GET", url, headers=headers, most_bytes=_MAX_BYTES) as arriving,
            ):
                if not arriving.is_ok:
                    raise _refusal(await arriving.whole())
                self._learn(arriving)
                return await read(parts(arriving))
        except TimeoutError:
            raise _TroubleError(f"It sent nothing for {_SILENCE_S:.0f} s.") from None
        except WebError as error:
            raise _TroubleError(str(error)) from None

    def _learn(self, arriving: ArrivingAnswer) -> None:
        self.organization = self.organization or arriving.headers.get("openai-organization", "")
        self.project = self.project or arriving.headers.get("openai-project", "")

    async def _wait(self, pause: float, problem: str) -> None:
        if pause >= _REPORTED_S:
            self.tell(f"Waiting {pause:.0f} s: {problem}")
        await self.sleep(pause)


def _refusal(answer: WebAnswer) -> _TroubleError:
    """Return the error of an answer that is not what was asked for, in the words of the API."""
    body = read_json(answer.text)
    error = body.get("error") if isinstance(body, dict) else None
    said = error.get("message") if isinstance(error, dict) else None
    problem = f"status {answer.status}: {said}" if isinstance(said, str) else answer.problem
    return _TroubleError(
        sentence(problem),
        answer.status,
        retry_after_s(answer.headers, now=time.time()),
        is_used_up=isinstance(error, dict) and error.get("code") == _USED_UP,
    )
