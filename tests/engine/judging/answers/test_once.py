import asyncio
from functools import partial

import pytest

from evals_app.engine.judging.answers.once import Once

pytestmark = pytest.mark.anyio


class Finder:
    """Counts its calls, and fails a given number of times."""

    def __init__(self, *, failures: int = 0) -> None:
        self.asked: list[str] = []
        self._failures = failures

    async def find(self, key: str) -> str:
        self.asked.append(key)
        await asyncio.sleep(0)
        if self._failures:
            self._failures -= 1
            raise ValueError(key)
        return key.upper()


async def test_who_asks_at_the_same_time_shares_one_answer() -> None:
    finder, once = Finder(), Once[str](most=10)

    answers = await asyncio.gather(
        *(once(key, partial(finder.find, key)) for key in ["a", "b", "a", "a"])
    )

    assert answers == ["A", "B", "A", "A"]
    assert sorted(finder.asked) == ["a", "b"]


async def test_a_failure_is_not_kept() -> None:
    finder, once = Finder(failures=1), Once[str](most=10)

    first, second = await asyncio.gather(
        *(once("a", lambda: finder.find("a")) for _ in range(2)), return_exceptions=True
    )

    assert isinstance(first, ValueError)
    assert second == "A"
    assert finder.asked == ["a", "a"]


async def test_who_waits_for_somebody_that_is_cancelled_finds_it_out_alone() -> None:
    finder, once = Finder(), Once[str](most=10)
    first = asyncio.create_task(once("a", lambda: finder.find("a")))
    second = asyncio.create_task(once("a", lambda: finder.find("a")))
    await asyncio.sleep(0)
    first.cancel()

    assert await second == "A"


async def test_the_answers_that_were_longest_not_asked_for_are_forgotten() -> None:
    finder, once = Finder(), Once[str](most=2)

    for key in ["a", "b", "a", "c", "a", "b"]:
        await once(key, partial(finder.find, key))

    assert finder.asked == ["a", "b", "c", "b"]
