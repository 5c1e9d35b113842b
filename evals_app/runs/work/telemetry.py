"""Export executions as traces to the operator's collector, in the background."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.network.web import Web, WebError
from evals_app.engine.running.run_gateway import Outcome
from evals_app.reports.renderers.otlp import PATH, SpanSource, request_of, spans_of

log = logging.getLogger(__name__)

MAX_WAITING = 1_000  # executions; more are dropped
AT_ONCE = 20
SEND_S = 10.0
FLUSH_S = 5.0  # for the rest when a process has nothing more to do
_MAX_BYTES = 100_000  # of an answer


class Exporter:
    """Executions on their way to a collector; `add` never waits and never fails."""

    def __init__(
        self, endpoint: str, *, headers: Mapping[str, str], with_content: bool, web: Web
    ) -> None:
        self._url = endpoint.rstrip("/") + PATH
        self._headers = headers
        self._with_content = with_content
        self._web = web
        self._waiting: deque[tuple[Outcome, SpanSource, datetime]] = deque()
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.dropped = 0

    def add(self, outcomes: Sequence[Outcome], source: SpanSource) -> None:
        """Take executions that are recorded; those that were cancelled have no result."""
        now = timezone.now()
        for outcome in outcomes:
            if outcome.decision is None:
                continue
            if len(self._waiting) < MAX_WAITING:
                self._waiting.append((outcome, source, now))
            else:
                self.dropped += 1
        if self._waiting:
            self._idle.clear()
            self._news.set()

    async def work(self) -> None:
        """Send what waits, until this is cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                count = min(AT_ONCE, len(self._waiting))
                await self._send([self._waiting.popleft() for _ in range(count)])
            self._idle.set()

    async def flush(self) -> None:
        """Wait a moment for the remaining ones, and log how many were dropped."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                await self._idle.wait()
        self.dropped += len(self._waiting)
        if self.dropped:
            log.warning("Conversations that were not exported as traces: %d.", self.dropped)

    async def _send(self, batch: Sequence[tuple[Outcome, SpanSource, datetime]]) -> None:
        try:
            async with asyncio.timeout(SEND_S):
                body = await asyncio.to_thread(self._body, batch)
                answer = await self._web.ask(
                    "POST", self._url, headers=self._headers, body=body, most_bytes=_MAX_BYTES
                )
            problem = "" if answer.is_ok else f"It answered with {answer.problem}"
        except (WebError, ConfigurationError) as error:
            problem = str(error)
        except TimeoutError:
            problem = f"It did not answer within {SEND_S:g} s."
        except Exception:  # an export must never harm a run
            log.exception("Conversations could not be written as traces.")
            problem = "See above."
        if problem:
            if not self.dropped:  # once is enough
                log.warning("The trace collector did not accept conversations. %s", problem)
            self.dropped += len(batch)

    def _body(self, batch: Sequence[tuple[Outcome, SpanSource, datetime]]) -> object:
        spans = [
            span
            for outcome, source, ended_at in batch
            for span in spans_of(
                outcome, source, ended_at=ended_at, with_content=self._with_content
            )
        ]
        return request_of(spans)


@asynccontextmanager
async def exporting() -> AsyncIterator[Exporter | None]:
    """Export executions added inside the block; None if the operator names no collector."""
    endpoint = settings.OTLP_ENDPOINT
    if not endpoint:
        yield None
        return
    headers = settings.OTLP_HEADERS
    host = urlsplit(endpoint).netloc.rpartition("@")[2]
    async with Web(secrets=list(headers.values()), permitted=[host]) as web:
        exporter = Exporter(
            endpoint, headers=headers, with_content=settings.OTLP_WITH_CONTENT, web=web
        )
        working = asyncio.create_task(exporter.work())
        try:
            yield exporter
            await exporter.flush()
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working
