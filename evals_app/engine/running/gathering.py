"""Wait for the spans of a conversation: agents send them in batches, some time after the reply."""

import asyncio
from collections.abc import Sequence

from evals_app.engine.basics.together import Together
from evals_app.engine.record.trial import Trial
from evals_app.engine.running.run_gateway import RunGateway
from evals_app.engine.running.spans import ReceivedSpans, is_complete, with_spans

LOOK_EVERY_S = 0.5


class Gatherer:
    """Adds spans to trials; everything that waits at the same moment shares one query."""

    def __init__(self, gateway: RunGateway, *, look_every_s: float = LOOK_EVERY_S) -> None:
        self._gateway = gateway
        self._look_every_s = look_every_s
        self._look: Together[tuple[str, int], ReceivedSpans | None] = Together(self._look_at)

    async def _look_at(self, known: Sequence[tuple[str, int]]) -> list[ReceivedSpans | None]:
        news = await self._gateway.read_spans(dict(known))
        return [news.get(trace_id) for trace_id, _ in known]

    async def gather(self, trial: Trial, *, wait_s: float) -> Trial:
        """Return the trial with its spans, once all have arrived or the time is over."""
        clock = asyncio.get_running_loop().time
        until = clock() + wait_s
        received = ReceivedSpans()
        while True:
            is_last = clock() >= until
            known = len(received.spans) + received.refused
            received = await self._look((trial.trace_id or "", known)) or received
            if is_last or is_complete(trial, received):
                return with_spans(trial, received, waited_s=wait_s)
            await asyncio.sleep(min(self._look_every_s, max(0.0, until - clock())))
