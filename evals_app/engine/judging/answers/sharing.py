"""Questions with a common beginning: one is asked first, so that the API caches it for the others.

A model API charges about a tenth for a beginning that it has just read, and more than
usual for the first reading. Questions asked at the same moment would all be first.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from evals_app.engine.llm.call import Complete, ModelCall, ModelReply, UserMessage

# About 4,000 tokens: some models do not cache less, so waiting would gain nothing.
MIN_BYTES = 16_000


class Sharing:
    """The questions of an execution that one model is asked about the same View, in the same form.

    `questions` counts them; each is added before the first is asked.
    """

    def __init__(self) -> None:
        self.questions = 0
        self._begun: dict[str, asyncio.Event] = {}

    async def complete(self, call: ModelCall, *, shared: int, complete: Complete) -> ModelReply:
        """Complete a call whose first message shares `shared` characters with other questions."""
        first, *rest = call.messages
        if not isinstance(first, UserMessage) or not self._is_worthwhile(first.text[:shared]):
            return await complete(call)
        name = hashlib.sha256(first.text[:shared].encode("utf-8", "surrogatepass")).hexdigest()
        marked = replace(first, shared=shared)
        async with self._after_the_first(name):
            return await complete(replace(call, messages=(marked, *rest), cache_key=name[:32]))

    def _is_worthwhile(self, beginning: str) -> bool:
        is_long = len(beginning.encode("utf-8", "surrogatepass")) >= MIN_BYTES
        return is_long and self.questions > 1

    @asynccontextmanager
    async def _after_the_first(self, name: str) -> AsyncIterator[None]:
        if (begun := self._begun.get(name)) is not None:
            await begun.wait()
            yield
            return
        begun = self._begun[name] = asyncio.Event()
        try:
            yield
        finally:
            begun.set()  # even if it failed, so that the others wait for at most one failing call
