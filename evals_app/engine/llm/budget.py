"""The budget of a run, as one process sees it: reserve before a call, charge after it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, NamedTuple

from evals_app.engine.basics.together import Together
from evals_app.engine.record.usage import NO_USAGE, Usage

_RETRY_S = 1.0  # other processes release money without notice


class ModelUse(NamedTuple):
    """What money is spent on: a model, called by the agent or for its grades; empty is unknown."""

    role: Literal["agent", "judge", ""] = ""
    model: str = ""


UNKNOWN_USE = ModelUse()


class CallMetric(NamedTuple):
    """What is counted, for monitoring: calls by their status, or tokens by their kind."""

    what: Literal["calls", "tokens"]
    role: str
    model: str
    kind: str  # of calls the HTTP status or `none`, of tokens `prompt` or `response`


@dataclass(frozen=True, slots=True)
class BudgetAccount:
    """What this process has reserved and spent since it began, in USD, and its model calls.

    Totals, not differences: if a report is repeated because the first may be lost, it counts once.
    """

    reserved_usd: Decimal = Decimal(0)
    spent: Mapping[ModelUse, Decimal] = field(default_factory=dict)
    counts: Mapping[CallMetric, int] = field(default_factory=dict)

    @property
    def spent_usd(self) -> Decimal:
        return sum(self.spent.values(), Decimal(0))


# Takes the account and amounts to reserve; returns which of them are now reserved in addition.
ReserveAmounts = Callable[[BudgetAccount, Sequence[Decimal]], Awaitable[Sequence[bool]]]


class CallBudget:
    """Reserves the most that a call may cost, waits if that is refused, charges the actual cost.

    A refused call waits until others are charged. When the budget is spent, `reserve_amounts`
    notices, and all conversations end, including the waiting ones.
    """

    def __init__(self, reserve_amounts: ReserveAmounts, *, is_limited: bool) -> None:
        self.is_limited = is_limited
        self._reserve_amounts = reserve_amounts
        self._reserved = Decimal(0)
        self._spent: dict[ModelUse, Decimal] = {}
        self._counts: Counter[CallMetric] = Counter()
        self._reported = BudgetAccount()
        self._charged = asyncio.Event()
        self._asking = asyncio.Lock()
        self._ask: Together[Decimal, bool] = Together(self._reserve)

    @property
    def account(self) -> BudgetAccount:
        return BudgetAccount(self._reserved, dict(self._spent), dict(self._counts))

    async def reserve(self, bound: Decimal) -> None:
        """Reserve an amount, or wait until that is possible."""
        while not await self._try_to_reserve(bound):
            self._charged.clear()
            try:
                async with asyncio.timeout(_RETRY_S):
                    await self._charged.wait()
            except TimeoutError:
                continue

    async def _try_to_reserve(self, bound: Decimal) -> bool:
        answer = asyncio.ensure_future(self._ask(bound))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            with suppress(Exception):  # it may still be granted, to a cancelled call
                if await answer:
                    self.charge(bound, Decimal(0))
            raise

    def charge(self, bound: Decimal, spent: Decimal, use: ModelUse = UNKNOWN_USE) -> None:
        """Note the cost of a call for which `bound` was reserved."""
        self._reserved -= bound
        if spent:
            self._spent[use] = self._spent.get(use, Decimal(0)) + spent
        self._charged.set()

    def count(self, use: ModelUse, status: str, usage: Usage = NO_USAGE) -> None:
        """Note how an attempt of a call ended."""
        self._counts[CallMetric("calls", *use, status)] += 1
        tokens = {"prompt": usage.prompt_tokens, "response": usage.response_tokens}
        for kind, number in tokens.items():
            if number:
                self._counts[CallMetric("tokens", *use, kind)] += number

    async def report(self) -> None:
        """Report the account if it has changed."""
        if self.account != self._reported:
            await self._reserve([])

    async def _reserve(self, asked: Sequence[Decimal]) -> Sequence[bool]:
        # Otherwise an account could lack what another call has just reserved.
        async with self._asking:
            account = self.account
            granted = await self._reserve_amounts(account, asked)
            granted_usd = sum(
                (amount for amount, ok in zip(asked, granted, strict=True) if ok), Decimal(0)
            )
            self._reserved += granted_usd
            # Counts are not urgent: the next `report` includes them.
            counts = self._reported.counts if asked else account.counts
            self._reported = BudgetAccount(
                account.reserved_usd + granted_usd, account.spent, counts
            )
            return granted
