"""A ceiling under fire: many processes pay for randomly priced calls out of one budget.

    DATABASE_URL=... python -m benchmarks.budget --workers 8 --calls 500 --rounds 100
    DATABASE_URL=... python -m benchmarks.budget --monthly 4   # of four runs, out of one month's

Each process is a worker with a lease of its own. It reserves the most that a call may cost,
waits where that is refused, and settles what the call did cost: between nothing and all of it. After
every settlement the rows are read: spent, reserved and unsettled together must never exceed the
ceiling, of the run or of the month. Exit code 1 if they ever do, or if a round stops although a call
would have fitted. With `--monthly` the database must be one that nothing else uses.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import asyncio
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Sequence
from decimal import Decimal

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from asgiref.sync import async_to_sync, sync_to_async
from django.core.management import call_command
from django.db import connections

from evals_app.engine.llm.budget import BudgetAccount, CallBudget
from evals_app.models import Lease, MonthlyCeiling, Run, Snapshot, Spending
from evals_app.runs.money.budget import settle_and_reserve
from evals_app.runs.money.ceilings import limits_of
from evals_app.runs.work.lease import HeldLease, open_lease

CEILING = Decimal("20.00")
BOUND = Decimal("0.30")  # a call costs half of half of it on average: about half of 500 fit
AT_ONCE = 8


def make_run(*, ceiling: Decimal | None) -> Run:
    """Write a run, with a ceiling or without, and so much to do that every worker gets a lease."""
    snapshot, _ = Snapshot.objects.get_or_create(
        sha256="0" * 64, defaults={"schema_version": 1, "content": "{}"}
    )
    return Run.objects.create(
        snapshot=snapshot,
        suite_slug="budget",
        suite_name="Budget",
        agent_slug="budget",
        agent_name="Budget",
        concurrency=1000,
        total=1000,
        not_run=1000,
        max_cost_usd=ceiling,
    )


def make_runs(*, monthly: int) -> list[Run]:
    """Write a run with a ceiling of its own, or several runs with one of the month."""
    if not monthly:
        return [make_run(ceiling=CEILING)]
    Spending.objects.all().delete()
    MonthlyCeiling.objects.update_or_create(person=None, defaults={"max_usd": CEILING})
    return [make_run(ceiling=None) for _ in range(monthly)]


class Payer:
    """One worker: pays for its share of the calls until all are paid or the budget is spent."""

    def __init__(self, lease: HeldLease, *, seed: int) -> None:
        self.lease = lease
        self.random = random.Random(seed)
        self.most = Decimal(0)
        self.paid = 0
        self.is_over = False

    async def pay(self, calls: int) -> None:
        """Make the calls, a few at a time."""
        budget = CallBudget(self.reserve_amounts, is_limited=True)
        places = asyncio.Semaphore(AT_ONCE)
        tasks = [asyncio.create_task(self.call(budget, places)) for _ in range(calls)]
        over = asyncio.create_task(self.watch())
        paying = asyncio.create_task(self.wait_for(tasks))
        await asyncio.wait({paying, over}, return_when=asyncio.FIRST_COMPLETED)
        for task in [*tasks, over]:
            task.cancel()
        await asyncio.gather(paying, over, *tasks, return_exceptions=True)
        await budget.report()

    async def wait_for(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        await asyncio.gather(*tasks, return_exceptions=True)

    async def call(self, budget: CallBudget, places: asyncio.Semaphore) -> None:
        bound = (BOUND * self.random.randint(1, 100) / 100).quantize(Decimal("0.000001"))
        actual = (bound * self.random.randint(0, 100) / 100).quantize(Decimal("0.000000001"))
        async with places:
            await budget.reserve(bound)
            try:
                await asyncio.sleep(self.random.random() / 200)
            finally:
                budget.charge(bound, actual)
            self.paid += 1

    async def watch(self) -> None:
        while not self.is_over:
            await asyncio.sleep(0.02)
            self.is_over = await sync_to_async(self.look)()

    async def reserve_amounts(
        self, account: BudgetAccount, amounts: Sequence[Decimal]
    ) -> Sequence[bool]:
        granted = await sync_to_async(settle_and_reserve)(self.lease.token, account, amounts)
        await sync_to_async(self.look)()
        return [False] * len(amounts) if granted is None else granted

    def look(self) -> bool:
        run = Run.objects.get(pk=self.lease.run_id)
        committed = run.spent_usd + run.reserved_usd + run.unsettled_usd
        for limit in limits_of(list(MonthlyCeiling.objects.all())):
            # What is reserved is read by another query, so it may belong to another moment.
            committed = max(committed, limit.spent_usd)
        self.most = max(self.most, committed)
        return bool(run.stop_reason)


def drain(
    run_id: int, calls: int, seed: int, results: "multiprocessing.Queue[tuple[int, Decimal]]"
) -> None:
    """Pay in this process."""
    connections.close_all()
    lease = open_lease(run_id)
    if lease is None:
        results.put((0, Decimal(0)))
        return
    payer = Payer(lease, seed=seed)
    async_to_sync(payer.pay)(calls)
    lease.release()
    results.put((payer.paid, payer.most))


def one_round(number: int, *, workers: int, calls: int, monthly: int) -> tuple[bool, str]:
    """Run one round in processes of its own; say whether it kept the ceiling, and how it went."""
    runs = make_runs(monthly=monthly)
    connections.close_all()
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    share = calls // workers
    processes = [
        fork.Process(
            target=drain, args=(runs[worker % len(runs)].pk, share, 1000 * number + worker, results)
        )
        for worker in range(workers)
    ]
    for process in processes:
        process.start()
    paid, most = zip(*(results.get() for _ in processes), strict=True)
    for process in processes:
        process.join()
    runs = list(Run.objects.filter(pk__in=[run.pk for run in runs]))
    spent = sum(run.spent_usd for run in runs)
    is_kept = (
        max(most) <= CEILING and spent <= CEILING and not any(run.reserved_usd for run in runs)
    )
    # What stopped did not fit: it was at most BOUND.
    stopped = [run for run in runs if run.stop_reason]
    is_used = not stopped or spent > CEILING - BOUND
    booked = sum(entry.spent_usd for entry in Spending.objects.filter(run__in=runs))
    leases = Lease.objects.filter(run__in=runs).count()
    return is_kept and is_used and booked == spent and not leases, (
        f"round {number}: {sum(paid)} calls, spent {spent:.6f}, booked {booked:.6f},"
        f" at most committed {max(most):.6f}, {len(stopped)} of {len(runs)} runs stopped"
    )


def main() -> None:
    """Run all rounds and print what was seen."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--monthly", type=int, default=0, metavar="RUNS")
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    began, kept = time.monotonic(), 0
    for number in range(1, options.rounds + 1):
        is_kept, words = one_round(
            number, workers=options.workers, calls=options.calls, monthly=options.monthly
        )
        kept += is_kept
        if number == 1 or not is_kept or number % 10 == 0:
            print(words, flush=True)
    took = time.monotonic() - began
    print(
        f"{kept} of {options.rounds} rounds kept the ceiling of {CEILING} USD; {took:.0f} s in all."
    )
    sys.exit(kept != options.rounds)


if __name__ == "__main__":
    main()
