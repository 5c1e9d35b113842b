"""Ask one question for all callers who ask at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Together(Generic[Q, A]):
    """Gathers questions while one is under way; `ask` answers many at once, in their order.

    The first caller asks for all; if `ask` raises, all of them get the error.
    """

    def __init__(self, ask: Callable[[Sequence[Q]], Awaitable[Sequence[A]]]) -> None:
        self._ask = ask
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._asking = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, question: Q) -> A:
        is_first = not self._waiting
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if is_first:
            # A task of its own: if the first one is cancelled, the others still get their answer.
            task = asyncio.create_task(self._ask_for_all())
            self._tasks.add(task)  # the loop itself would not keep it
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _ask_for_all(self) -> None:
        await asyncio.sleep(0)
        async with self._asking:
            asked, self._waiting = self._waiting, []
            try:
                answers = await self._ask([question for question, _ in asked])
            except BaseException as error:
                for _, waiting in asked:
                    if not waiting.done():
                        waiting.set_exception(error)
                if not isinstance(error, Exception):
                    raise
                return
        for (_, waiting), answer in zip(asked, answers, strict=True):
            if not waiting.done():
                waiting.set_result(answer)
