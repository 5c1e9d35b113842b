"""Ask judges about answers that ought to fail, in a try that is priced like any other.

Its suite and its agent exist only while it is frozen.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal

from django.db import transaction
from rich.console import Console

from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.verdicts.judged_probes import JudgingPlan
from evals_app.library.saving import save_agent, save_suite
from evals_app.management.console import watch
from evals_app.management.crew import Crew
from evals_app.models import Agent, GradeResult, Run, Suite
from evals_app.runs.process.cluster import Interrupted
from evals_app.runs.starting.forecast import forecast
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import start_run


def stored_agent(slug: str) -> AgentSpec | None:
    """Return an agent of this site, for a suite in a file that comes without its agent."""
    agent = Agent.objects.filter(slug=slug).first()
    return agent.to_spec() if agent else None


def price_judging(plan: JudgingPlan) -> Forecast:
    """Forecast what the judges would cost.

    Raises:
        CannotStartError: something is missing, for example a judge.
    """
    with _for_a_moment(plan) as suite:
        return forecast(suite)


def start_judging(plan: JudgingPlan, *, max_cost_usd: Decimal | None = None) -> Run:
    """Start the run; it stops before it would cost more.

    Raises:
        CannotStartError: something is missing, for example a judge.
    """
    with _for_a_moment(plan) as suite:
        run = start_run(suite, is_tryout=True, max_cost_usd=max_cost_usd)
    run.refresh_from_db(fields=["suite"])
    return run


def judge(
    plans: Iterable[JudgingPlan],
    *,
    console: Console,
    max_cost_usd: Decimal | None,
    shows_progress: bool,
) -> list[Run]:
    """Run all plans, and wait until they have ended."""
    with Interrupted().listening() as stop, ExitStack() as stack:
        runs = [start_judging(plan, max_cost_usd=max_cost_usd) for plan in plans]
        crew = Crew(stack, runs)
        crew.ensure()
        return watch(
            runs,
            console=console,
            tick=crew.tick,
            stop=lambda: bool(stop),
            shows_progress=shows_progress,
        )


def judged_in(run: Run) -> dict[str, bool | None]:
    """Return by case whether its check passed; None: it could not be graded."""
    grades = GradeResult.objects.filter(execution__run=run, family="judged")
    return dict(grades.values_list("execution__case", "passed"))


@contextmanager
def _for_a_moment(plan: JudgingPlan) -> Iterator[Suite]:
    with transaction.atomic():
        slug = plan.suite.slug
        if any(rows.objects.filter(slug=slug).exists() for rows in (Suite, Agent)):
            raise CannotStartError(f"There is a suite or an agent {slug!r} already. Rename it.")
        save_agent(plan.agent)
        save_suite(plan.suite)
        suite = Suite.objects.select_related("agent").get(slug=slug)
        yield suite
        suite.delete()
        Agent.objects.filter(slug=slug).delete()
