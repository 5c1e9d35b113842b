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
from evals_app.management import UsageError
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
from evals_app.runs.rerun import rerun
from evals_app.runs.resume import resume_run
from evals_app.runs.start import start_runs

FAILED, INCONCLUSIVE, INTERRUPTED = 1, 3, 130
MOST_USD = 1_000_000
run_number = whole(most=2**63 - 1)  # what a database can look for

# Options that only apply to a new run.
_OF_A_START = [
    "case",
    "case_exact",
    "tag",
    "agent",
    "model",
    "trials",
    "concurrency",
    "timeout",
    "forecast",
]


class Command(BaseCommand):
    """Run suites through the same queue and workers as everything else."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Run suites and wait for the result. Exit code: 0 passed, 1 failed, 2 wrong usage or "
        "configuration, 3 nothing failed, but something errored or did not run, 130 interrupted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "suites",
            nargs="*",
            metavar="SUITE",
            help="Slugs. Default: all suites, or those of --agent.",
        )
        cases = parser.add_mutually_exclusive_group()
        cases.add_argument(
            "--case", action="append", default=[], metavar="TEXT", help="Part of a case's name."
        )
        cases.add_argument(
            "--case-exact", action="append", default=[], metavar="NAME", help="A case's whole name."
        )
        parser.add_argument("--tag", action="append", default=[], help="A tag of case or suite.")
        parser.add_argument("--agent", default="", help="Slug of the agent to test instead.")
        parser.add_argument("--model", default="", help="provider/model to use instead.")
        parser.add_argument("--trials", type=whole(most=100), help="How often to run each case.")
        parser.add_argument("--concurrency", type=whole(most=1000), help="Parallel conversations.")
        parser.add_argument("--timeout", type=seconds, help="Stop runs after this many seconds.")
        parser.add_argument(
            "--max-cost", type=usd, metavar="USD", help="Stop each run before it would cost more."
        )
        parser.add_argument(
            "--forecast", action="store_true", help="Print a forecast and start nothing."
        )
        started = parser.add_mutually_exclusive_group()
        started.add_argument(
            "--attach",
            type=run_number,
            nargs="+",
            metavar="RUN",
            help="Watch runs that are running.",
        )
        started.add_argument(
            "--failed-of",
            type=run_number,
            metavar="RUN",
            help="Run the failed cases of a run again in a new run, as they are now.",
        )
        started.add_argument(
            "--resume", type=run_number, metavar="RUN", help="Resume a stopped run."
        )
        started.add_argument(
            "--cancel",
            type=run_number,
            nargs="+",
            metavar="RUN",
            help="Cancel runs and exit.",
        )
        parser.add_argument(
            "--frozen",
            action="store_true",
            help="With --failed-of: with cases, checks, agent and fixtures as they were in that run.",
        )
        parser.add_argument("--ci", action="store_true", help="No colour, JSON on stdout.")
        parser.add_argument("--output", type=Path, metavar="FILE", help="Write the JSON to a file.")
        parser.add_argument("--no-progress", action="store_true", help="No progress bar.")
        parser.add_argument(
            "--site", default="http://127.0.0.1:8000", help="Address used in printed links."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        is_ci = options["ci"]
        # With --ci stdout carries JSON alone; what people read goes to stderr.
        console = console_on(
            sys.stderr if is_ci else self.stdout, plain=is_ci or options["no_color"]
        )
        _refuse_what_does_not_fit(options)
        if options["cancel"]:
            _cancel(options["cancel"], console)
        elif options["forecast"]:
            forecasts = _forecasts(self._choose(options), options, console)
            self._write(partial(_forecast_document, forecasts), options)
        else:
            try:
                runs = self._watch(options, console)
            except CannotWorkError as error:
                raise UsageError(str(error)) from error
            self._write(partial(_document, runs), options)
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
                runs = [_resumed(options["resume"], options["max_cost"])]
            elif options["failed_of"]:
                runs = [_failed_of(options)]
                _foretell(runs, options, console)
            else:
                runs = _start(self._choose(options), options["timeout"])
                _foretell(runs, options, console)
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
                message = f"{options['output']} cannot be written: {error.strerror}."
                raise UsageError(message) from error
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
        raise UsageError(f"--output: there is no folder {options['output'].parent}.")
    if options["output"] and options["output"].is_dir():
        raise UsageError(f"--output: {options['output']} is a folder; name a file.")
    if options["frozen"] and not options["failed_of"]:
        raise UsageError("--frozen needs --failed-of RUN.")
    for option in ("attach", "resume", "cancel", "failed_of"):
        if not options[option]:
            continue
        given = [f"--{name.replace('_', '-')}" for name in _OF_A_START if options[name]]
        given += ["suites"] if options["suites"] else []
        given += ["--max-cost"] if options["max_cost"] and option in {"attach", "cancel"} else []
        if given:
            raise UsageError(
                f"--{option.replace('_', '-')} works on an existing run and cannot be combined with"
                f" {', '.join(given)}."
            )


def _forecasts(
    choice: Choice, options: dict[str, Any], console: Console
) -> list[tuple[Suite, Forecast]]:
    """Return what each suite would take."""
    try:
        forecasts = [(suite, forecast(suite, **choice.how)) for suite in choice.suites]
    except CannotStartError as exc:
        raise UsageError("\n".join(exc.problems)) from exc
    for suite, each in forecasts:
        _say(each, suite.name if len(forecasts) > 1 else "", options, console)
    return forecasts


def _foretell(runs: list[Run], options: dict[str, Any], console: Console) -> None:
    """Return what runs will take that have just been started."""
    for run in runs:
        found = forecast_started(run)
        _say(found, run.suite_name if len(runs) > 1 else "", options, console)


def _say(found: Forecast, name: str, options: dict[str, Any], console: Console) -> None:
    text = in_words(found, max_cost_usd=options["max_cost"])
    console.print(
        f"{name}: {text}" if name else text, markup=False, highlight=False, soft_wrap=True
    )


def _start(choice: Choice, timeout_s: float | None) -> list[Run]:
    try:
        return start_runs(choice.suites, **choice.how, timeout_s=timeout_s)
    except CannotStartError as exc:
        raise UsageError("\n".join(exc.problems)) from exc


def _runs(numbers: list[int]) -> list[Run]:
    found = Run.objects.in_bulk(numbers)
    missing = [str(number) for number in numbers if number not in found]
    if missing:
        raise UsageError(f"There is no run {' and no run '.join(missing)}.")
    return list(found.values())


def _resumed(number: int, max_cost_usd: Decimal | None) -> Run:
    (run,) = _runs([number])
    try:
        resume_run(run, max_cost_usd=max_cost_usd)
    except CannotStartError as exc:
        raise UsageError("\n".join(exc.problems)) from exc
    return run


def _failed_of(options: dict[str, Any]) -> Run:
    (run,) = _runs([options["failed_of"]])
    try:
        return rerun(
            run,
            only="failed",
            version="frozen" if options["frozen"] else "current",
            max_cost_usd=options["max_cost"],
        )
    except CannotStartError as exc:
        raise UsageError("\n".join(exc.problems)) from exc


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


def _document(runs: list[Run]) -> dict[str, Any]:
    return run_document(runs[0]) if len(runs) == 1 else runs_document(runs)


def _forecast_document(found: list[tuple[Suite, Forecast]]) -> dict[str, Any]:
    rows = [{"suite": suite.slug} | forecast_json(each) for suite, each in found]
    whole = {"forecast": rows[0]} if len(rows) == 1 else {"forecasts": rows}
    return {"schema_version": SCHEMA_VERSION} | whole


def _exit_code(runs: list[Run]) -> int:
    codes = {"passed": 0, "failed": FAILED, "inconclusive": INCONCLUSIVE}
    return codes[verdict_of_all([run.verdict for run in runs])]
