"""Run a suite in this process, and return its results."""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from evals_app.code.agents import AgentLike, agent_of
from evals_app.code.environment import take_permits
from evals_app.code.freezing import CodeChoices, freeze_run
from evals_app.code.memory_gateway import InMemoryGateway, Purse
from evals_app.code.results import RunResults, results_of
from evals_app.code.suites import Suite, SuiteError
from evals_app.engine.preparing.case_choice import CaseChoice
from evals_app.engine.running.execution import execute
from evals_app.reports.answers.losses import checks_not_read

T = TypeVar("T")


def run(
    suite: Suite | str | Path,
    *,
    agent: AgentLike | None = None,
    model: str = "",
    judge: str = "",
    cases: Collection[str] = (),
    tags: Collection[str] = (),
    trials: int | None = None,
    max_cost_usd: Decimal | float | str | None = None,
    concurrency: int | None = None,
    cache: str | Path | None = None,
    accept_losses: bool = False,
) -> RunResults:
    """Run the conversations of a suite with an agent, grade them, and return what came out.

    Nothing is stored, and no site is needed. The verdicts are those of a run of the same suite on a
    site.

    Args:
        suite: A `Suite`, or the path of a file or folder with one.
        agent: A function (async or not) that gets the message and returns the reply; the path of an
            agent file, the slug of an agent beside the suite, or an AgentSpec. None: the suite's own.
        model: `provider/model` instead of the agent's own.
        judge: `provider/model` that judges, instead of the suite's; `agent`: the agent's own model.
        cases: Names of the only cases to run, as a whole.
        tags: Only cases with one of these tags, their own or of the suite, in any case.
        trials: How often each case runs, 1 to 100. None: as the suite says.
        max_cost_usd: No call of a model begins that could bring the costs of this run above this many
            US dollars. What does not run then is `not_run`, and the run cannot pass.
        concurrency: Conversations at the same time. None: as the suite says.
        cache: A folder that keeps answers of models: the same request is not sent again.
        accept_losses: Run a suite of another system although some of its checks could not be read.

    Raises:
        SuiteError: something in the suite is wrong, or something that it needs is missing.
    """
    read = suite if isinstance(suite, Suite) else Suite.load(suite)
    choices = CodeChoices(
        CaseChoice(names=_names(cases), tags=tuple(tags), trials=valid_trials(trials)),
        model=model,
        judge=judge,
        max_cost_usd=None if max_cost_usd is None else money(max_cost_usd, "max_cost_usd"),
        cache=None if cache is None else Path(cache),
    )
    _refuse_losses(read, accepts=accept_losses)
    work = run_in_purse(read, agent, choices, Purse(choices.max_cost_usd), concurrency=concurrency)
    return wait_for(work)


async def run_in_purse(
    suite: Suite,
    agent: AgentLike | None,
    choices: CodeChoices,
    purse: Purse,
    *,
    concurrency: int | None = None,
) -> RunResults:
    """Run a suite with the money of a purse, which other runs may share.

    Raises:
        SuiteError: something in the suite is wrong, or something that it needs is missing.
    """
    take_permits()
    frozen = await freeze_run(suite, agent_of(suite, agent), choices)
    gateway = InMemoryGateway(frozen, purse)
    slots = min(concurrency or frozen.plan.suite.concurrency, len(gateway.jobs))
    began_at = time.time()
    await execute(frozen.plan, gateway, slots=slots, heartbeat_s=lambda: 0.2)
    return results_of(suite, gateway, choices, began_at=began_at, slots=slots)


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, also where a loop already runs in this thread (notebooks)."""

    def finish() -> T:
        with asyncio.Runner() as runner:
            return runner.run(work)

    return _in_other_thread(finish) if _is_in_loop() else finish()


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_other_thread(finish: Callable[[], T]) -> T:
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(finish).result()


def _names(cases: Collection[str]) -> tuple[str, ...]:
    # A text is a collection of letters.
    return (cases,) if isinstance(cases, str) else tuple(cases)


def valid_trials(trials: int | None) -> int | None:
    """Return how often each case runs, unless a suite would refuse it.

    Raises:
        SuiteError: it is less than 1 or more than 100.
    """
    if trials is not None and not 1 <= trials <= 100:  # noqa: PLR2004 - as suites have
        raise SuiteError([f"trials is {trials}; expected 1 to 100."])
    return trials


def money(written: Decimal | float | str, name: str) -> Decimal:
    """Return an amount of US dollars.

    Raises:
        SuiteError: it is not more than 0; the message has the name of the option.
    """
    try:
        amount = Decimal(str(written))
    except ArithmeticError:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount <= 0:
        raise SuiteError([f"{name} is {written!r}; expected US dollars, more than 0."])
    return amount


def _refuse_losses(suite: Suite, *, accepts: bool) -> None:
    lost = suite.project.losses
    if lost.checks and not accepts:
        said = checks_not_read(lost.checks, lost.checks_read)
        how = "Express them in another way, or run the rest without them: accept_losses=True."
        raise SuiteError([f"{said}. {how}", *(str(part) for part in lost.parts if part.checks)])
