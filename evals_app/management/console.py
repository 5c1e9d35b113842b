"""What commands show while runs are running, and what they report at the end."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from evals_app import COMMAND
from evals_app.engine.basics.errors import CannotError
from evals_app.engine.llm.pricing import usd_text
from evals_app.management import Options, usage_error
from evals_app.models import Execution, Run
from evals_app.reports.answers.model_comparison import COLUMN_COLUMNS, TableRun, arrange
from evals_app.reports.answers.run_json import judge_noise_json, verdict_of_all
from evals_app.reports.renderers.results import WENT_WRONG
from evals_app.reports.words.coverage import marks_of
from evals_app.reports.words.figures import counts_of, score_text, token_sum
from evals_app.reports.words.gates import gate_texts, gate_word
from evals_app.reports.words.regrading import regraded_in_words, steadiness_rows
from evals_app.reports.words.shares import share_of_cases
from evals_app.runs.process.cluster import TICK_S

SHOWN_FAILURES = 20
SHOWN_OF_MANY = 3  # failures of a run beside runs with other agents and models
REFRESH_S = 0.5
COLOURS = {"passed": "green", "failed": "red", "inconclusive": "yellow", "measured": "cyan"}
_SUMMED = (
    *("total", "passed", "failed", "errored", "measured", "skipped"),
    *("cancelled", "not_run", "spent_usd"),
)


def console_on(out: Any, *, plain: bool) -> Console:
    """Return rich's console on a command's output; `plain` leaves out colour."""
    return Console(file=getattr(out, "_out", out), no_color=plain or None)


class RunsCommand(BaseCommand):
    """A command that starts or watches runs. With `--ci` stdout carries JSON alone."""

    def handle(self, *args: object, **options: Any) -> None:
        is_ci = options["ci"]
        console = console_on(
            sys.stderr if is_ci else self.stdout, plain=is_ci or options["no_color"]
        )
        try:
            self.work(options, console)
        except CannotError as error:
            raise usage_error("\n".join(error.problems)) from error

    def work(self, options: Options, console: Console) -> None:
        """Do what the options ask for; the console is for people."""
        raise NotImplementedError


def agrees() -> bool:
    """Ask on the terminal whether to start.

    Raises:
        CommandError: there is nothing to type on.
    """
    if not sys.stdin.isatty():
        raise usage_error("Add --yes to start without being asked.")
    return input("Start? [y/N] ").strip().lower() in {"y", "yes"}


def address_of_pages(options: Mapping[str, object]) -> str:
    """Return the address of the site that printed links begin with."""
    return str(options["site"] or settings.SITE).rstrip("/")


def watch(
    runs: Sequence[Run],
    *,
    console: Console,
    tick: Callable[[], None],
    stop: Callable[[], bool],
    shows_progress: bool = True,
) -> list[Run]:
    """Wait until all runs have ended or `stop()`; return them as they are then.

    The bars have no refresh thread: workers may still have to be forked from this process.
    """
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        console=console,
        auto_refresh=False,
    )
    numbers = [run.pk for run in runs]
    names = names_of(runs)
    bars = {
        run.pk: progress.add_task(name, total=run.total, state="")
        for run, name in zip(runs, names, strict=True)
    }
    done_before = {run.pk: run.ended_count for run in runs}  # of runs that we join late
    began_at, shown_at = time.monotonic(), 0.0
    with progress if shows_progress else nullcontext():
        while True:
            now = time.monotonic()
            if now - shown_at >= REFRESH_S or stop():
                shown_at = now
                by_number = Run.objects.in_bulk(numbers)
                current = [by_number[number] for number in numbers]
                for run in current:
                    # Workers look at deadlines too, but seldom.
                    if run.is_open and not run.stop_reason and run.deadline_at:
                        run.pass_deadline()
                    rate = rate_of(run.ended_count - done_before[run.pk], now - began_at)
                    state = ", ".join(filter(None, [counts_of(run), rate, cost_of(run)]))
                    progress.update(bars[run.pk], completed=run.ended_count, state=state)
                if shows_progress:
                    progress.refresh()
                if stop() or not any(run.is_open for run in current):
                    return current
            tick()
            time.sleep(TICK_S / 2)


def names_of(runs: Sequence[Run]) -> list[str]:
    """Return the name of each run's suite; of several runs of one suite, with number and agent."""
    times = Counter(run.suite_slug for run in runs)
    return [
        f"{run.suite_name}, run {run.pk} ({', '.join(filter(None, [run.agent_name, run.model]))})"
        if times[run.suite_slug] > 1
        else run.suite_name
        for run in runs
    ]


def rate_of(count: int, seconds: float) -> str:
    """Return conversations per second, or per minute if that is less than one."""
    if not count or seconds <= 0:
        return ""
    a_second = count / seconds
    return f"{a_second:.1f} a second" if a_second >= 1 else f"{60 * a_second:.1f} a minute"


def cost_of(run: Run) -> str:
    """Return what a run has cost so far, and its ceiling; empty if nothing costs money."""
    if run.max_cost_usd is not None:
        return f"{usd_text(run.spent_usd)} of {usd_text(run.max_cost_usd)}"
    spent = usd_text(run.spent_usd) if run.spent_usd else ""
    has_results = run.passed + run.failed + run.errored + run.measured > 0
    costs = [run.judge_cost_usd, *([] if run.grades_again else [run.agent_cost_usd])]
    if not run.is_open and has_results and None in costs:
        # A price or a usage is missing: the known cost is not all.
        return f"at least {spent}" if spent else "cost unknown"
    return spent


def print_result(
    run: Run, *, console: Console, site: str | None, name: str = "", shown: int = SHOWN_FAILURES
) -> None:
    """Print a run's verdict, and its failures with reason and link; `name` instead of its suite's.

    At most `shown` failures are listed. `site` is None for a run that no one can open or resume,
    because its database is temporary.
    """
    write = partial(console.print, highlight=False, soft_wrap=True)
    colour = COLOURS.get(run.verdict, "yellow")
    score = "" if run.score is None else f", score {score_text(run.score, scale=run.score_scale)}"
    cost = f", {cost_of(run)}" if cost_of(run) else ""
    marks = marks_of(run)
    write(
        f"[bold {colour}]{run.get_verdict_display() or run.get_status_display()}[/] "
        f"{_plain(name or run.suite_name)}{marks}: {counts_of(run)}{score}{cost}"
    )
    if run.summary:
        bounds = run.summary.get("pass_rate_interval")
        write(f"  Cases passed: {share_of_cases(run.summary, bounds=bounds)}")
    if site is not None:
        write(f"  Run {run.pk}: {run_link(run, site=site)}")
    if not run.grades_again and run.agent_prompt_tokens is not None:
        used = token_sum(run.agent_prompt_tokens, run.agent_response_tokens)
        write(f"  Agent tokens: {used}")
    if run.judge:
        used = token_sum(run.judge_prompt_tokens, run.judge_response_tokens)
        write(f"  Judge tokens: {used}")
    if run.grades_again:
        write(f"  {_plain(regraded_in_words(run.covers, run.regrading))}")
    elif run.covers:
        write(f"  Not the whole suite: {_plain(run.covers)}.")
    if run.stand_in_note:
        write(f"  {_plain(run.stand_in_note)}")
    _print_why_it_stopped(run, write, site=site)
    for note in run.summary.get("notes", []):
        write(f"  {note}")
    for gate in run.summary.get("gates", []):
        if not gate["passed"] or gate.get("reason"):
            _, actual = gate_texts(gate, scale=run.score_scale)
            reason = f". {_plain(gate['reason'])}" if gate.get("reason") else ""
            state = gate_word(gate)
            write(f"  gate {gate['name']} {state}: limit {gate['limit']:g}, was {actual}{reason}")
    for check, *numbers, means in steadiness_rows(judge_noise_json(run.summary) or ()):
        conversations, gradings, flips = numbers
        write(
            f"  {_plain(check)}: flips {flips} ({conversations} conversations, {gradings} gradings)."
            f" {means}"
        )
    _print_failures(run, write, site=site, shown=shown)


def _print_failures(
    run: Run, write: Callable[[str], None], *, site: str | None, shown: int
) -> None:
    wrong = run.executions.filter(verdict__in=WENT_WRONG).order_by("position", "trial")
    for row in wrong[:shown]:
        write(f"  {row.verdict}: {_plain(str(row))}{_tokens_text(run, row)}: {_plain(row.reason)}")
        if site is not None:
            write(f"    {site}/admin/evals_app/execution/{row.pk}/change/")
    count = wrong.count()
    if count > shown:
        write(f"  ... and {count - shown} more")
    if count and site is not None:
        write(f"  To run the failed cases again: {COMMAND} runs rerun {run.pk}")


def _tokens_text(run: Run, row: Execution) -> str:
    """Return the tokens of an agent, if they are known, and of judges that were asked."""
    parts = []
    if not run.grades_again and row.agent_prompt_tokens is not None:
        parts.append(
            f"agent tokens: {token_sum(row.agent_prompt_tokens, row.agent_response_tokens)}"
        )
    if run.judge and row.judge_prompt_tokens != 0:
        parts.append(
            f"judge tokens: {token_sum(row.judge_prompt_tokens, row.judge_response_tokens)}"
        )
    return f" ({', '.join(parts)})" if parts else ""


def _print_why_it_stopped(run: Run, write: Callable[[str], None], *, site: str | None) -> None:
    """Print why a run stopped before its end; with a site, also how to resume it."""
    if run.cancelled + run.not_run == 0:
        return
    resume = f"{COMMAND} runs resume {run.pk}"
    to_go_on = "" if site is None else f" To go on: {resume}"
    if run.reached_ceiling in {Run.Ceiling.PERSON, Run.Ceiling.SITE}:
        write(f"  {Run.Ceiling(run.reached_ceiling).label} was reached.{to_go_on}")
    if run.is_at_own_ceiling and run.max_cost_usd is not None:
        write(f"  It stopped before it would cost more than {usd_text(run.max_cost_usd)}.")
        if site is not None:
            write(
                f"  To go on, raise the limit on its page, {run_link(run, site=site)}, or here:\n    "
                f"{resume} --max-cost {(2 * run.max_cost_usd).normalize():f}"
            )
    if run.stop_reason == Run.StopReason.DEADLINE:
        write(f"  It ran out of time (--timeout).{to_go_on}")


def print_total(runs: Sequence[Run], *, console: Console) -> None:
    """Print the total of several runs; agents and models are never added up with each other."""
    verdict = verdict_of_all([run.verdict for run in runs])
    verdicts = Counter(run.verdict for run in runs)
    suites = ", ".join(
        f"{verdicts[verdict]} {verdict}" for verdict in Run.Verdict.values if verdicts[verdict]
    )
    total = _together(runs)
    counts = "" if has_several_columns(runs) else f", {counts_of(total)}"
    cost = f", {cost_of(total)}" if cost_of(total) else ""
    console.print(
        f"[bold {COLOURS[verdict]}]{verdict.capitalize()}[/] in total: {len(runs)} runs ({suites})"
        f"{counts}{cost}",
        highlight=False,
        soft_wrap=True,
    )


def has_several_columns(runs: Sequence[Run]) -> bool:
    """Whether runs are of several agents or models that are compared, or only some are simulated."""
    rows = ({name: getattr(run, name) for name in COLUMN_COLUMNS} for run in runs)
    columns, _ = arrange(TableRun(row, {}) for row in rows)
    return len({(column.agent, column.model, column.is_simulated) for column in columns}) > 1


def print_models(runs: Sequence[Run], *, console: Console, site: str | None) -> None:
    """Print several runs in one table: a row for each suite, a column for each agent and model."""
    # Only for several runs: it takes a while to load.
    from evals_app.management.comparison import print_model_comparison  # noqa: PLC0415
    from evals_app.runs.reading.model_comparison import (  # noqa: PLC0415
        NoTableError,
        model_comparison,
        table_runs,
    )

    try:
        comparison = model_comparison(table_runs([run.pk for run in runs]))
    except NoTableError as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return
    print_model_comparison(comparison, console=console)
    if site is not None and (group := runs[0].group):
        address = f"{site}/admin/evals_app/run/models/?group={group}"
        console.print(address, highlight=False, soft_wrap=True)


def _together(runs: Sequence[Run]) -> Run:
    """Return ended runs merged into one, which is never stored."""
    sums = {name: sum(getattr(run, name) for run in runs) for name in _SUMMED}
    costs = {
        name: None if any(getattr(run, name) is None for run in runs) else Decimal(0)
        for name in ("agent_cost_usd", "judge_cost_usd")
    }
    return Run(status=Run.Status.FINISHED, **sums, **costs)


def run_link(run: Run, *, site: str) -> str:
    """Return the address of a run's page."""
    return f"{site}/admin/evals_app/run/{run.pk}/change/"


def _plain(text: str) -> str:
    # Square brackets are markup to rich; a reply may contain any.
    return text.replace("[", r"\[")
