"""The money of a run, as one process sees it: reserve before a call, settle after it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal

from evals_app.engine.together import Together

_RETRY_S = 1.0  # other processes settle too, and tell nobody


@dataclass(frozen=True, slots=True)
class Account:
    """What this process holds and has spent since it began, in USD.

    Totals, not differences: told twice, because nobody knows whether the first time arrived, they
    count once.
    """

    reserved_usd: Decimal = Decimal(0)
    spent_usd: Decimal = Decimal(0)


# Told the account, answers which of the amounts are reserved from now on, beside it.
Bank = Callable[[Account, Sequence[Decimal]], Awaitable[Sequence[bool]]]


class Purse:
    """Reserves the most that a call may cost, waits where that is refused, settles what it did cost.

    A refused call waits until others have settled. That the budget is spent is for the caller's
    `bank` to find and to say: then conversations are ended, the waiting ones with them.
    """

    def __init__(self, bank: Bank, *, is_limited: bool) -> None:
        self.is_limited = is_limited
        self._bank = bank
        self._reserved = self._spent = Decimal(0)
        self._told = Account()
        self._settled = asyncio.Event()
        self._asking = asyncio.Lock()
        self._ask: Together[Decimal, bool] = Together(self._reserve)

    @property
    def account(self) -> Account:
        return Account(self._reserved, self._spent)

    async def reserve(self, bound: Decimal) -> None:
        """Set an amount aside, or wait until that is possible."""
        while not await self._asked(bound):
            self._settled.clear()
            try:
                async with asyncio.timeout(_RETRY_S):
                    await self._settled.wait()
            except TimeoutError:
                continue

    async def _asked(self, bound: Decimal) -> bool:
        answer = asyncio.ensure_future(self._ask(bound))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            with suppress(Exception):  # it may be granted all the same, to nobody
                if await answer:
                    self.settle(bound, Decimal(0))
            raise

    def settle(self, bound: Decimal, spent: Decimal) -> None:
        """Say what a call cost for which `bound` was reserved."""
        self._reserved -= bound
        self._spent += spent
        self._settled.set()

    async def tell(self) -> None:
        """Bring the bank up to date if anything has changed."""
        if self.account != self._told:
            await self._reserve([])

    async def _reserve(self, asked: Sequence[Decimal]) -> Sequence[bool]:
        async with self._asking:  # or one would tell an account without what another has just won
            account = self.account
            granted = await self._bank(account, asked)
            won = sum((amount for amount, ok in zip(asked, granted, strict=True) if ok), Decimal(0))
            self._reserved += won
            self._told = Account(account.reserved_usd + won, account.spent_usd)
            return granted
