"""One question for everybody who asks at the same time."""

import asyncio
from collections.abc import Sequence

import pytest

from evals_app.engine.basics.together import Together

pytestmark = pytest.mark.anyio


async def test_those_who_ask_at_the_same_time_share_a_question() -> None:
    asked: list[list[int]] = []

    async def ask(questions: Sequence[int]) -> list[int]:
        asked.append(list(questions))
        await asyncio.sleep(0)
        return [10 * question for question in questions]

    together = Together(ask)
    answers = await asyncio.gather(*(together(number) for number in range(5)))

    assert answers == [0, 10, 20, 30, 40]
    assert asked == [[0, 1, 2, 3, 4]]


async def test_what_goes_wrong_reaches_all_who_asked_and_nobody_else() -> None:
    async def ask(questions: Sequence[int]) -> list[int]:
        if 1 in questions:
            raise LookupError("gone")
        return list(questions)

    together = Together(ask)
    failed = await asyncio.gather(together(0), together(1), return_exceptions=True)

    assert [type(error) for error in failed] == [LookupError, LookupError]
    assert await together(2) == 2


async def test_the_others_are_answered_although_the_first_gives_up() -> None:
    may_answer = asyncio.Event()

    async def ask(questions: Sequence[int]) -> list[int]:
        await may_answer.wait()
        return list(questions)

    together = Together(ask)
    first, second = (asyncio.create_task(together(number)) for number in (1, 2))
    await asyncio.sleep(0.01)
    first.cancel()
    may_answer.set()

    assert await second == 2
    with pytest.raises(asyncio.CancelledError):
        await first
