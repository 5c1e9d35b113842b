"""What a drainer may take of its machine: memory, and time without a sign of life."""

import asyncio
import faulthandler
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

_TICK_S = 1.0
_STDERR = 2  # what replaces sys.stderr, as in tests, may have no file below it


@contextmanager
def limited_memory(megabytes: int) -> Iterator[None]:
    """Bound what this process may allocate; beyond it a grader gets a MemoryError, which is a result."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = megabytes * 1024 * 1024
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@asynccontextmanager
async def standing_still_kills(*, after_s: float) -> AsyncIterator[None]:
    """End this process, with a traceback, when its event loop is blocked for so long.

    The clock is C's own: it strikes even while code that never lets go of the interpreter runs.
    """

    async def show_life() -> None:
        while True:
            faulthandler.dump_traceback_later(after_s, exit=True, file=_STDERR)
            await asyncio.sleep(min(_TICK_S, after_s / 4))

    alive = asyncio.create_task(show_life())
    try:
        yield
    finally:
        alive.cancel()
        with suppress(asyncio.CancelledError):
            await alive
        faulthandler.cancel_dump_traceback_later()
