"""Run suites from the command line."""

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from rich.console import Console

from evals_app import COMMAND
from evals_app.checks import FOR_COMMANDS
from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.engine.llm.answer_cache import secret_in
from evals_app.management import INTERRUPTED, scratch, usage_error
from evals_app.management.choosing import Choice, choose, named_runs
from evals_app.management.console import (
    RunsCommand,
    address_of_pages,
    names_of,
    print_matrices,
    print_result,
    print_total,
    run_link,
    watch,
)
from evals_app.management.crew import Crew
from evals_app.management.problems import tell_report
from evals_app.management.regrading import TAKEN, regrade_choices
from evals_app.management.reporting import (
    folded,
    no_commands,
    refuse_unwritable,
    tell_github,
    write_reports,
)
from evals_app.management.run_options import HELP, Wanted, add_run_options, paths_of
from evals_app.models import Run, Suite
from evals_app.reports.answers.forecasts import forecast_json, in_words, regrade_forecast_json
from evals_app.reports.answers.run_json import SCHEMA_VERSION, verdict_of_all, written
from evals_app.reports.words.regrading import left_out_in_words
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.process.cluster import Interrupted
from evals_app.runs.reading.run_readers import run_document, runs_document
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.regrading.start_regrade import plan_regrade, regrade
from evals_app.runs.starting.forecast import forecast, forecast_started
from evals_app.runs.starting.rerun import Version, rerun
from evals_app.runs.starting.select import Variant
from evals_app.runs.starting.start_run import start_runs

FAILED, INCONCLUSIVE = 1, 3

# Where results of a temporary database are written, unless someone names a file.
RESULTS = Path("evalwell-results")

# Options that only apply to a new run.
_OF_A_START = (
    *("case", "case_exact", "tag", "agent", "model"),
    *("trials", "all_trials", "concurrency", "timeout", "forecast", "baseline"),
)

# Options that say how files are read.
_OF_FILES = (
    *("dialect", "ignore_column", "map_column", "accept_losses", "accept_no_checks"),
    *("var", "allow_env"),
)


class Command(RunsCommand):
    """Run suites through the same queue and workers as everything else."""

    requires_system_checks = FOR_COMMANDS

    help = HELP

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_run_options(parser)

    def work(self, options: dict[str, Any], console: Console) -> None:
        is_ci = options["ci"]
        _refuse_what_does_not_fit(options)
        if options["cache"]:
            settings.ANSWER_CACHE = str(_cache(options["cache"]))
        site = None if scratch.is_temporary() else address_of_pages(options)
        if paths := paths_of(options["suites"]):
            options["suites"] = self._import(paths, options)
        if options["cancel"]:
            _cancel(options["cancel"], console)
        elif options["forecast"] and options["regrade"]:
            self._write(partial(_regrade_document, *_plan_regrade(options, console)), options)
        elif options["forecast"]:
            choice = self._choose(options)
            forecasts = [
                (suite, variant, forecast(suite, **choice.how, **variant.chosen()))
                for suite, variant in choice.each()
            ]
            named = [(f"{suite.name}{variant}", expected) for suite, variant, expected in forecasts]
            _print_forecasts(named, options, console)
            self._write(partial(_forecast_document, forecasts), options)
        else:
            runs = self._watch(options, console)
            results = _kept(options)
            one = len(runs) == 1
            document = partial(run_document, runs[0]) if one else partial(runs_document, runs)
            # In a job, only what is ours may be read as its commands.
            with no_commands(self.stderr) if is_ci else nullcontext():
                self._write(document, options)
                for run, name in zip(runs, names_of(runs), strict=True):
                    with folded(self.stderr, run) if is_ci else nullcontext():
                        print_result(run, console=console, site=site, name=name)
                if len(runs) > 1:
                    print_total(runs, console=console)
                    print_matrices(runs, console=console)
            write_reports(runs, options["report"], site=site)
            if is_ci:
                tell_github(runs, self.stderr, site=site)
            if results:
                self.stderr.write(f"Results are in {results}.")
            if code := _exit_code(runs):
                sys.exit(code)

    def _import(self, paths: list[str], options: dict[str, Any]) -> list[str]:
        """Import files, and return the slugs of their suites."""
        # They load PyYAML.
        from evals_app.management.eval_files import read_paths  # noqa: PLC0415
        from evals_app.management.importing import columns_of, import_paths  # noqa: PLC0415

        columns_of(options)
        read_paths(paths)  # what is wrong with the paths themselves ends it at once
        if scratch.is_temporary():
            call_command("migrate", verbosity=0)
        agent = options["agent"][0] if options["agent"] else None
        with no_commands(self.stderr) if options["ci"] else nullcontext():
            accepts_losses = options["accept_losses"]
            report = import_paths(self, paths, options, agent=agent, accepts_losses=accepts_losses)
            tell_report(self, report)
        suites = [change.slug for change in report.changes if change.kind == "suite"]
        if not suites:
            raise usage_error(f"There is no suite in {', '.join(paths)}.")
        if not scratch.is_temporary():
            changed = sum(change.what != "unchanged" for change in report.changes)
            self.stderr.write(f"Imported: {changed} of {len(report.changes)} objects have changed.")
        return suites

    def _watch(self, options: dict[str, Any], console: Console) -> list[Run]:
        """Start runs, or come to those that were started, and wait until they end."""
        with Interrupted().listening() as stop, ExitStack() as stack:
            if options["attach"]:
                runs = named_runs(options["attach"])
            elif options["resume"]:
                runs = named_runs([options["resume"]])
                resume_run(runs[0], max_cost_usd=options["max_cost"])
            elif options["regrade"]:
                run, *_ = _plan_regrade(options, console)
                runs = [regrade(run, **regrade_choices(run, options))]
            else:
                runs = self._start(options)
                named = list(zip(names_of(runs), map(forecast_started, runs), strict=True))
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
                self._interrupted(runs, stop, options, has_own_workers=crew.is_own)
        return runs

    def _start(self, options: dict[str, Any]) -> list[Run]:
        if not options["failed_of"]:
            choice = self._choose(options)
            runs = start_runs(
                choice.suites,
                variants=choice.variants,
                timeout_s=options["timeout"],
                **choice.how,
            )
            if options["baseline"] is not None:
                self._say_what_is_compared(runs)
            return runs
        (run,) = named_runs([options["failed_of"]])
        version: Version = "frozen" if options["frozen"] else "current"
        return [rerun(run, only="failed", version=version, max_cost_usd=options["max_cost"])]

    def _say_what_is_compared(self, runs: list[Run]) -> None:
        for slug, base in {run.suite_slug: run.baseline for run in runs}.items():
            if base is None:
                self.stderr.write(f"{slug}: nothing to compare with yet. No whole run has passed.")
            else:
                ended = f"{base.finished_at:%Y-%m-%d %H:%M} UTC"
                self.stderr.write(f"{slug} is compared with {base.in_short} ({ended}).")

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
        self,
        runs: list[Run],
        stop: Interrupted,
        options: dict[str, Any],
        *,
        has_own_workers: bool,
    ) -> None:
        if stop.count > 1:
            scratch.remove()
            signal.raise_signal(signal.SIGKILL)
        if scratch.is_temporary():
            self.stderr.write(
                "Interrupted; nothing was kept. Set EVALWELL_DATA_DIR or DATABASE_URL for runs that "
                "can be resumed."
            )
            sys.exit(INTERRUPTED)
        site = address_of_pages(options)
        going_on = [run for run in runs if run.is_open]
        for run in going_on:
            self.stderr.write(f"Run {run.pk} continues: {run_link(run, site=site)}")
        if going_on:
            numbers = " ".join(str(run.pk) for run in going_on)
            self.stderr.write(f"To watch again: {COMMAND} run_evals --attach {numbers}")
            self.stderr.write(f"To cancel: {COMMAND} run_evals --cancel {numbers}")
        if going_on and has_own_workers:
            self.stderr.write(
                f"The workers stop with this command. --attach or `{COMMAND} worker` starts them again."
            )
        sys.exit(INTERRUPTED)


def _cache(folder: Path) -> Path:
    """Return a folder for answers of models, made if it is missing.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        secret_in(folder)
    except OSError as error:
        raise usage_error(f"--cache: {folder} cannot be written: {error.strerror}.") from error
    return folder.absolute()


def _kept(options: dict[str, Any]) -> Path | None:
    """Have the results of a temporary database written to a folder if no other file is named.

    Raises:
        CommandError: the folder cannot be made.
    """
    if not scratch.is_temporary() or options["output"] or options["report"]:
        return None
    try:
        RESULTS.mkdir(exist_ok=True)
    except OSError as error:
        raise usage_error(f"{RESULTS} cannot be made: {error.strerror}.") from error
    options["output"] = RESULTS / "results.json"
    options["report"] = [
        Wanted("html", RESULTS / "report.html"),
        Wanted("junit", RESULTS / "junit.xml"),
    ]
    return RESULTS


def _refuse_what_does_not_fit(options: dict[str, Any]) -> None:
    """Refuse options that would be passed over in silence, and a file that cannot be written."""
    paths = paths_of(options["suites"])
    if options["output"]:
        refuse_unwritable("--output", options["output"])
    for report in options["report"]:
        refuse_unwritable("--report", report.path, is_folder=report.kind == "folder")
    for option in _OF_FILES:
        if options[option] and not paths:
            raise usage_error(
                f"--{option.replace('_', '-').replace('dialect', 'format')} is about files to read; "
                "name files or folders to run."
            )
    if options["cache"] and not scratch.is_temporary():
        raise usage_error(
            "--cache needs files in a temporary database: name files, and set neither DATABASE_URL nor "
            "EVALWELL_DATA_DIR."
        )
    if options["baseline"] is not None and scratch.is_temporary():
        raise usage_error(
            "--baseline compares with a stored run, but the files are run in a temporary database; "
            "set DATABASE_URL or EVALWELL_DATA_DIR to keep one."
        )
    if options["report"] and (options["forecast"] or options["cancel"]):
        raise usage_error("--report needs runs that end; --forecast and --cancel have none.")
    if options["frozen"] and not options["failed_of"]:
        raise usage_error("--frozen needs --failed-of RUN.")
    if (options["as_it_was"] or options["judge"]) and not options["regrade"]:
        raise usage_error("--as-it-was and --judge need --regrade RUN.")
    for option in ("attach", "resume", "cancel", "failed_of", "regrade"):
        if not options[option]:
            continue
        taken = TAKEN if option == "regrade" else ()
        given = [
            f"--{name.replace('_', '-')}"
            for name in _OF_A_START
            if options[name] and name not in taken
        ]
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
    left = month_left(None)
    for name, expected in named:
        text = in_words(expected, max_cost_usd=options["max_cost"], month_left_usd=left)
        line = f"{name}: {text}" if len(named) > 1 else text
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _plan_regrade(
    options: dict[str, Any], console: Console
) -> tuple[Run, Forecast, dict[str, Any]]:
    """Print what grading a run again would probably take, and return it with what is left out."""
    (run,) = named_runs([options["regrade"]])
    with plan_regrade(run, **regrade_choices(run, options)) as regrading:
        expected = forecast_regrade(regrading)
    left_out = regrading.stored()["left_out"]
    _print_forecasts([(run.suite_name, expected)], options, console)
    for line in left_out_in_words(left_out):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return run, expected, left_out


def _regrade_document(run: Run, expected: Forecast, left_out: dict[str, Any]) -> dict[str, Any]:
    answer = regrade_forecast_json(expected, left_out, month_left_usd=month_left(None))
    named = {"suite": run.suite_slug, "agent": run.agent_slug, "model": run.model or None}
    return {"schema_version": SCHEMA_VERSION, "forecast": named | answer}


def _cancel(numbers: list[int], console: Console) -> None:
    for run in named_runs(numbers):
        did = cancel_run(run)
        run.refresh_from_db()
        text = f"Run {run.pk} had already ended: {run.get_verdict_display()}."
        if did and run.is_open:
            text = f"Run {run.pk} is being cancelled; its conversations stop within seconds."
        elif did or run.is_open:
            text = f"Run {run.pk} is cancelled."
        console.print(text, markup=False, highlight=False)


def _forecast_document(forecasts: Sequence[tuple[Suite, Variant, Forecast]]) -> dict[str, Any]:
    rows = [
        {
            "suite": suite.slug,
            "agent": (variant.agent or suite.agent).slug,
            "model": variant.model or None,
            **forecast_json(expected, month_left_usd=month_left(None)),
        }
        for suite, variant, expected in forecasts
    ]
    whole = {"forecast": rows[0]} if len(rows) == 1 else {"forecasts": rows}
    return {"schema_version": SCHEMA_VERSION} | whole


def _exit_code(runs: list[Run]) -> int:
    codes = {"passed": 0, "measured": 0, "failed": FAILED, "inconclusive": INCONCLUSIVE}
    return codes[verdict_of_all([run.verdict for run in runs])]
