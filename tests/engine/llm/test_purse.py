"""Money: set aside before a call, settled after it, never more than there is."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal

import pytest

from evals_app.engine.llm.purse import UNKNOWN, Account, Purse, Use

pytestmark = pytest.mark.anyio

AGENT, JUDGE = Use("agent", "openai/small"), Use("judge", "openai/small")


class Bank:
    """A ceiling of 10 for one process."""

    def __init__(self) -> None:
        self.accounts: list[Account] = []

    async def __call__(self, account: Account, amounts: Sequence[Decimal]) -> Sequence[bool]:
        self.accounts.append(account)
        await asyncio.sleep(0)
        left = 10 - account.reserved_usd - account.spent_usd
        granted = []
        for amount in amounts:
            granted.append(amount <= left)
            left -= amount if amount <= left else 0
        return granted


async def test_what_is_set_aside_and_spent_is_shown_as_totals() -> None:
    bank = Bank()
    purse = Purse(bank, is_limited=True)

    await purse.reserve(Decimal(4))
    await purse.reserve(Decimal(3))
    purse.settle(Decimal(4), Decimal(1), AGENT)
    await purse.tell()
    await purse.tell()  # nothing new: nobody is asked

    assert bank.accounts == [
        Account(),
        Account(Decimal(4)),
        Account(Decimal(3), {AGENT: Decimal(1)}),
    ]


async def test_the_account_has_what_each_model_cost_in_each_role() -> None:
    purse = Purse(Bank(), is_limited=False)

    for use, cost in ((AGENT, 3), (JUDGE, 2), (AGENT, 1), (JUDGE, 0)):
        purse.settle(Decimal(0), Decimal(cost), use)

    assert purse.account.spent == {AGENT: Decimal(4), JUDGE: Decimal(2)}
    assert purse.account.spent_usd == 6


async def test_a_refused_call_waits_until_another_is_settled() -> None:
    purse = Purse(Bank(), is_limited=True)
    await purse.reserve(Decimal(8))

    waiting = asyncio.create_task(purse.reserve(Decimal(5)))
    await asyncio.sleep(0.01)
    was_waiting = not waiting.done()
    purse.settle(Decimal(8), Decimal(2))
    await waiting

    assert was_waiting
    assert purse.account == Account(Decimal(5), {UNKNOWN: Decimal(2)})


async def test_what_is_granted_to_a_call_that_has_gone_is_given_back() -> None:
    purse = Purse(Bank(), is_limited=True)

    waiting = asyncio.create_task(purse.reserve(Decimal(5)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    for _ in range(10):
        await asyncio.sleep(0)

    assert purse.account == Account()


async def test_many_calls_at_once_never_exceed_the_ceiling() -> None:
    purse = Purse(Bank(), is_limited=True)
    most = Decimal(0)

    async def call(cost: Decimal) -> None:
        nonlocal most
        await purse.reserve(cost * 3)
        most = max(most, purse.account.reserved_usd + purse.account.spent_usd)
        await asyncio.sleep(0)
        purse.settle(cost * 3, cost)

    async with asyncio.timeout(20):
        await asyncio.gather(*(call(Decimal("0.1")) for _ in range(90)))

    assert most <= 10
    assert purse.account == Account(Decimal(0), {UNKNOWN: Decimal("9.0")})
