"""The budget: reserved before a call, charged after it, never exceeded."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal

import pytest

from evals_app.engine.llm.budget import UNKNOWN_USE, BudgetAccount, CallBudget, ModelUse

pytestmark = pytest.mark.anyio

AGENT, JUDGE = ModelUse("agent", "openai/small"), ModelUse("judge", "openai/small")


class Ceiling:
    """A ceiling of 10 for one process."""

    def __init__(self) -> None:
        self.accounts: list[BudgetAccount] = []

    async def __call__(self, account: BudgetAccount, amounts: Sequence[Decimal]) -> Sequence[bool]:
        self.accounts.append(account)
        await asyncio.sleep(0)
        left = 10 - account.reserved_usd - account.spent_usd
        granted = []
        for amount in amounts:
            granted.append(amount <= left)
            left -= amount if amount <= left else 0
        return granted


async def test_what_is_set_aside_and_spent_is_shown_as_totals() -> None:
    ceiling = Ceiling()
    budget = CallBudget(ceiling, is_limited=True)

    await budget.reserve(Decimal(4))
    await budget.reserve(Decimal(3))
    budget.charge(Decimal(4), Decimal(1), AGENT)
    await budget.report()
    await budget.report()  # nothing new: nobody is asked

    assert ceiling.accounts == [
        BudgetAccount(),
        BudgetAccount(Decimal(4)),
        BudgetAccount(Decimal(3), {AGENT: Decimal(1)}),
    ]


async def test_the_account_has_what_each_model_cost_in_each_role() -> None:
    budget = CallBudget(Ceiling(), is_limited=False)

    for use, cost in ((AGENT, 3), (JUDGE, 2), (AGENT, 1), (JUDGE, 0)):
        budget.charge(Decimal(0), Decimal(cost), use)

    assert budget.account.spent == {AGENT: Decimal(4), JUDGE: Decimal(2)}
    assert budget.account.spent_usd == 6


async def test_a_refused_call_waits_until_another_is_settled() -> None:
    budget = CallBudget(Ceiling(), is_limited=True)
    await budget.reserve(Decimal(8))

    waiting = asyncio.create_task(budget.reserve(Decimal(5)))
    await asyncio.sleep(0.01)
    was_waiting = not waiting.done()
    budget.charge(Decimal(8), Decimal(2))
    await waiting

    assert was_waiting
    assert budget.account == BudgetAccount(Decimal(5), {UNKNOWN_USE: Decimal(2)})


async def test_what_is_granted_to_a_call_that_has_gone_is_given_back() -> None:
    budget = CallBudget(Ceiling(), is_limited=True)

    waiting = asyncio.create_task(budget.reserve(Decimal(5)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    for _ in range(10):
        await asyncio.sleep(0)

    assert budget.account == BudgetAccount()


async def test_many_calls_at_once_never_exceed_the_ceiling() -> None:
    budget = CallBudget(Ceiling(), is_limited=True)
    most = Decimal(0)

    async def call(cost: Decimal) -> None:
        nonlocal most
        await budget.reserve(cost * 3)
        most = max(most, budget.account.reserved_usd + budget.account.spent_usd)
        await asyncio.sleep(0)
        budget.charge(cost * 3, cost)

    async with asyncio.timeout(20):
        await asyncio.gather(*(call(Decimal("0.1")) for _ in range(90)))

    assert most <= 10
    assert budget.account == BudgetAccount(Decimal(0), {UNKNOWN_USE: Decimal("9.0")})
