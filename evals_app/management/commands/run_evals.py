"""Run suites from the command line."""

import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console

from evals_app.checks import FOR_COMMANDS
from evals_app.documents import run_document, runs_document
from evals_app.engine.forecast import Forecast
from evals_app.management import usage_error
from evals_app.management.choosing import Choice, choose
from evals_app.management.console import console_on, print_result, print_total, run_link, watch
from evals_app.management.crew import Crew
from evals_app.management.numbers import seconds, whole
from evals_app.models import Run, Suite
from evals_app.models.money import PLACES
from evals_app.reports.forecasts import forecast_json, in_words
from evals_app.reports.run_json import SCHEMA_VERSION, verdict_of_all, written
from evals_app.runs.cancel import cancel_run
from evals_app.runs.cluster import CannotWorkError, Interrupted
from evals_app.runs.forecast import forecast, forecast_started
from evals_app.runs.freeze import CannotStartError
from evals_app.runs.rerun import Version, rerun
from evals_app.runs.resume import resume_run
from evals_app.runs.start import start_runs

FAILED, INCONCLUSIVE, INTERRUPTED = 1, 3, 130
MOST_USD = 1_000_000
MOST_RUNS = 2**63 - 1  # what a database can look for

# Options that only apply to a new run.
_OF_A_START = (
    *("case", "case_exact", "tag", "agent", "model"),
    *("trials", "concurrency", "timeout", "forecast"),
)


class Command(BaseCommand):
    """Run suites through the same queue and workers as everything else."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Run suites and wait for the result. Exit code: 0 passed, 1 failed, 2 wrong usage or "
        "configuration, 3 nothing failed, but something errored or did not run, 130 interrupted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add, flag = parser.add_argument, partial(parser.add_argument, action="store_true")
        add("suites", nargs="*", metavar="SUITE", help="Slugs. Default: all, or those of --agent.")
        group = parser.add_mutually_exclusive_group()
        cases = partial(group.add_argument, action="append", default=[])
        cases("--case", metavar="TEXT", help="Part of a case's name.")
        cases("--case-exact", metavar="NAME", help="A case's whole name.")
        add("--tag", action="append", default=[], help="A tag of case or suite.")
        add("--agent", default="", help="Slug of the agent to test instead.")
        add("--model", default="", help="provider/model to use instead.")
        add("--trials", type=whole(most=100), help="How often to run each case.")
        add("--concurrency", type=whole(most=1000), help="Parallel conversations.")
        add("--timeout", type=seconds, help="Stop runs after this many seconds.")
        add("--max-cost", type=usd, metavar="USD", help="Stop each run before it would cost more.")
        flag("--forecast", help="Print a forecast and start nothing.")
        group = parser.add_mutually_exclusive_group()
        started = partial(group.add_argument, type=whole(most=MOST_RUNS), metavar="RUN")
        started("--attach", nargs="+", help="Watch runs that are running.")
        started("--failed-of", help="Run its failed cases again in a new run, as they are now.")
        started("--resume", help="Resume a stopped run.")
        started("--cancel", nargs="+", help="Cancel runs and exit.")
        flag("--frozen", help="With --failed-of: cases, checks, agent and fixtures as in that run.")
        flag("--ci", help="No colour, JSON on stdout.")
        add("--output", type=Path, metavar="FILE", help="Write the JSON to a file.")
        flag("--no-progress", help="No progress bar.")
        add("--site", default="http://127.0.0.1:8000", help="Address used in printed links.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._handle(options)
        except CannotStartError as error:
            raise usage_error("\n".join(error.problems)) from error
        except CannotWorkError as error:
            raise usage_error(str(error)) from error

    def _handle(self, options: dict[str, Any]) -> None:
        is_ci = options["ci"]
        # With --ci stdout carries JSON alone; what people read goes to stderr.
        console = console_on(
            sys.stderr if is_ci else self.stdout, plain=is_ci or options["no_color"]
        )
        _refuse_what_does_not_fit(options)
        if options["cancel"]:
            _cancel(options["cancel"], console)
        elif options["forecast"]:
            choice = self._choose(options)
            forecasts = {suite: forecast(suite, **choice.how) for suite in choice.suites}
            named = [(suite.name, expected) for suite, expected in forecasts.items()]
            _print_forecasts(named, options, console)
            self._write(partial(_forecast_document, forecasts), options)
        else:
            runs = self._watch(options, console)
            one = len(runs) == 1
            document = partial(run_document, runs[0]) if one else partial(runs_document, runs)
            self._write(document, options)
            for run in runs:
                print_result(run, console=console, site=options["site"])
            if len(runs) > 1:
                print_total(runs, console=console)
            if code := _exit_code(runs):
                sys.exit(code)

    def _watch(self, options: dict[str, Any], console: Console) -> list[Run]:
        """Start runs, or come to those that were started, and wait until they end."""
        with Interrupted().listening() as stop, ExitStack() as stack:
            if options["attach"]:
                runs = _runs(options["attach"])
            elif options["resume"]:
                runs = _runs([options["resume"]])
                resume_run(runs[0], max_cost_usd=options["max_cost"])
            else:
                runs = self._start(options)
                named = [(run.suite_name, forecast_started(run)) for run in runs]
                _print_forecasts(named, options, console)
            crew = Crew(stack, runs)
            if any(run.is_open for run in runs):
                crew.ensure()
            runs = watch(
                runs,
                console=console,
                tick=crew.tick,
                stop=lambda: bool(stop),
                shows_progress=not (options["no_progress"] or options["ci"]),
            )
            if stop:
                self._interrupted(runs, stop, options["site"], has_own_workers=crew.is_own)
        return runs

    def _start(self, options: dict[str, Any]) -> list[Run]:
        if not options["failed_of"]:
            choice = self._choose(options)
            return start_runs(choice.suites, **choice.how, timeout_s=options["timeout"])
        (run,) = _runs([options["failed_of"]])
        version: Version = "frozen" if options["frozen"] else "current"
        return [rerun(run, only="failed", version=version, max_cost_usd=options["max_cost"])]

    def _choose(self, options: dict[str, Any]) -> Choice:
        """Return what to run, and name the suites that have nothing of it."""
        choice = choose(options)
        if choice.skipped:
            slugs = ", ".join(suite.slug for suite in choice.skipped)
            is_part = options["case"] or options["case_exact"] or options["tag"]
            why = "no case matches" if is_part else "without cases"
            self.stderr.write(f"Skipped, {why}: {slugs}")
        return choice

    def _write(self, document: Callable[[], Any], options: dict[str, Any]) -> None:
        """Write JSON where it is wanted, piece by piece, because it may be large."""
        if options["output"]:
            try:
                with options["output"].open("w", encoding="utf-8") as file:
                    file.writelines(written(document()))
                    file.write("\n")
            except OSError as error:
                raise usage_error(
                    f"{options['output']} cannot be written: {error.strerror}."
                ) from error
        if options["ci"]:
            for piece in written(document()):
                self.stdout.write(piece, ending="")
            self.stdout.write()

    def _interrupted(
        self, runs: list[Run], stop: Interrupted, site: str, *, has_own_workers: bool
    ) -> None:
        if stop.count > 1:
            signal.raise_signal(signal.SIGKILL)
        going_on = [run for run in runs if run.is_open]
        for run in going_on:
            self.stderr.write(f"Run {run.pk} continues: {run_link(run, site=site)}")
        if going_on:
            numbers = " ".join(str(run.pk) for run in going_on)
            self.stderr.write(f"To watch again: manage.py run_evals --attach {numbers}")
            self.stderr.write(f"To cancel: manage.py run_evals --cancel {numbers}")
        if going_on and has_own_workers:
            self.stderr.write(
                "The workers stop with this command. --attach or `manage.py worker` starts them again."
            )
        sys.exit(INTERRUPTED)


def usd(text: str) -> Decimal:
    """Read an amount of money above 0."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(0)
    if not value.is_finite() or not 0 < value <= MOST_USD or value != round(value, PLACES):
        raise ArgumentTypeError(f"{text!r} is not an amount above 0 in USD, for example 2.50")
    return value


def _refuse_what_does_not_fit(options: dict[str, Any]) -> None:
    """Refuse options that would be passed over in silence, and a file that cannot be written."""
    if options["output"] and not options["output"].absolute().parent.is_dir():
        raise usage_error(f"--output: there is no folder {options['output'].parent}.")
    if options["output"] and options["output"].is_dir():
        raise usage_error(f"--output: {options['output']} is a folder; name a file.")
    if options["frozen"] and not options["failed_of"]:
        raise usage_error("--frozen needs --failed-of RUN.")
    for option in ("attach", "resume", "cancel", "failed_of"):
        if not options[option]:
            continue
        given = [f"--{name.replace('_', '-')}" for name in _OF_A_START if options[name]]
        given += ["suites"] if options["suites"] else []
        given += ["--max-cost"] if options["max_cost"] and option in {"attach", "cancel"} else []
        if given:
            raise usage_error(
                f"--{option.replace('_', '-')} works on an existing run and cannot be combined with"
                f" {', '.join(given)}."
            )


def _print_forecasts(
    named: list[tuple[str, Forecast]], options: dict[str, Any], console: Console
) -> None:
    """Print what runs will probably take, of several with the name of their suite."""
    for name, expected in named:
        text = in_words(expected, max_cost_usd=options["max_cost"])
        line = f"{name}: {text}" if len(named) > 1 else text
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _runs(numbers: list[int]) -> list[Run]:
    runs = Run.objects.in_bulk(numbers)
    if missing := [str(number) for number in numbers if number not in runs]:
        raise usage_error(f"There is no run {' and no run '.join(missing)}.")
    return list(runs.values())


def _cancel(numbers: list[int], console: Console) -> None:
    for run in _runs(numbers):
        did = cancel_run(run)
        run.refresh_from_db()
        text = f"Run {run.pk} had already ended: {run.get_verdict_display()}."
        if did and run.is_open:
            text = f"Run {run.pk} is being cancelled; its conversations stop within seconds."
        elif did or run.is_open:
            text = f"Run {run.pk} is cancelled."
        console.print(text, markup=False, highlight=False)


def _forecast_document(forecasts: dict[Suite, Forecast]) -> dict[str, Any]:
    rows = [
        {"suite": suite.slug} | forecast_json(expected) for suite, expected in forecasts.items()
    ]
    whole = {"forecast": rows[0]} if len(rows) == 1 else {"forecasts": rows}
    return {"schema_version": SCHEMA_VERSION} | whole


def _exit_code(runs: list[Run]) -> int:
    codes = {"passed": 0, "failed": FAILED, "inconclusive": INCONCLUSIVE}
    return codes[verdict_of_all([run.verdict for run in runs])]
