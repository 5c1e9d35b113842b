"""Compute something once for all callers."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Once(Generic[T]):
    """Keeps the last `most` answers by key; a caller waits for an answer that is being computed.

    A failure is not shared: waiting callers try again.
    """

    def __init__(self, *, most: int = 1000) -> None:
        self._most = most
        self._found: OrderedDict[str, T] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, key: str, find: Callable[[], Awaitable[T]]) -> T:
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            if key not in self._found:
                self._found[key] = await find()
            self._found.move_to_end(key)
            answer = self._found[key]
            while len(self._found) > self._most:
                self._found.popitem(last=False)
            return answer
