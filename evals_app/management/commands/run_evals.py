"""Run suites from the command line."""

from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from rich.console import Console

from evals_app.checks import FOR_COMMANDS
from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.engine.llm.answer_cache import secret_in
from evals_app.management import Options, scratch, usage_error
from evals_app.management.choosing import SuiteChoice, choose
from evals_app.management.console import names_of
from evals_app.management.empty_database import make_empty_database
from evals_app.management.following import (
    FollowingCommand,
    print_forecasts,
    refuse_unwritable_results,
)
from evals_app.management.old_options import subcommand_instead
from evals_app.management.problems import tell_report
from evals_app.management.reporting import no_commands
from evals_app.management.run_options import HELP, add_run_options, paths_of
from evals_app.models import Run, Suite
from evals_app.reports.answers.forecasts import forecast_json
from evals_app.reports.answers.run_json import SCHEMA_VERSION
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.starting.forecast import forecast, forecast_started
from evals_app.runs.starting.select import Variant
from evals_app.runs.starting.start_run import start_runs

# Options that say how files are read.
_OF_FILES = (
    "as_one_suite",
    *("dialect", "ignore_column", "map_column", "accept_losses", "accept_no_checks"),
    *("var", "allow_env"),
)


class Command(FollowingCommand):
    """Run suites through the same queue and workers as everything else."""

    requires_system_checks = FOR_COMMANDS

    help = HELP

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_run_options(parser)

    def work(self, options: Options, console: Console) -> None:
        refuse_unwritable_results(options)
        if subcommand := subcommand_instead(options, self.stderr):
            from evals_app.management.commands.runs import SUBCOMMANDS  # noqa: PLC0415 - seldom

            work, _ = SUBCOMMANDS[subcommand]
            work(self, options, console)
            return
        _refuse_what_does_not_fit(options)
        if options["cache"]:
            settings.ANSWER_CACHE = str(_cache(options["cache"]))
        if paths := paths_of(options["suites"]):
            options["suites"] = self._import(paths, options)
        if options["forecast"]:
            self._forecast(options, console)
        else:
            self.follow(partial(self._start, options, console), options, console)

    def _forecast(self, options: Options, console: Console) -> None:
        """Print what runs would probably take."""
        choice = self._choose(options)
        forecasts = [
            (suite, variant, forecast(suite, **choice.how, **variant.to_arguments()))
            for suite, variant in choice.each()
        ]
        named = [(f"{suite.name}{variant}", expected) for suite, variant, expected in forecasts]
        print_forecasts(named, options, console)
        self.write_json(partial(_forecast_document, forecasts), options)

    def _import(self, paths: list[str], options: Options) -> list[str]:
        """Import files, and return the slugs of their suites."""
        # They load PyYAML.
        from evals_app.management.eval_files import read_paths  # noqa: PLC0415
        from evals_app.management.importing import import_paths, table_choices_of  # noqa: PLC0415

        table_choices_of(options)
        read_paths(paths)  # what is wrong with the paths themselves ends it at once
        if scratch.is_temporary():
            make_empty_database()
        agent = options["agent"][0] if options["agent"] else None
        with no_commands(self.stderr) if options["ci"] else nullcontext():
            accepts_losses = options["accept_losses"]
            report = import_paths(self, paths, options, agent=agent, accepts_losses=accepts_losses)
            tell_report(self, report)
        self.lines = {
            change.slug: change.case_lines for change in report.changes if change.kind == "suite"
        }
        suites = [*self.lines]
        if not suites:
            raise usage_error(f"There is no suite in {', '.join(paths)}.")
        if not scratch.is_temporary():
            changed = sum(change.what != "unchanged" for change in report.changes)
            self.stderr.write(f"Imported: {changed} of {len(report.changes)} objects have changed.")
        return suites

    def _start(self, options: Options, console: Console) -> list[Run]:
        choice = self._choose(options)
        runs = start_runs(
            choice.suites, variants=choice.variants, timeout_s=options["timeout"], **choice.how
        )
        if options["baseline"] is not None:
            self._say_what_is_compared(runs, options["baseline"])
        named = list(zip(names_of(runs), map(forecast_started, runs), strict=True))
        print_forecasts(named, options, console)
        return runs

    def _say_what_is_compared(self, runs: list[Run], baseline: object) -> None:
        file = baseline if isinstance(baseline, Path) else None
        for slug, base in {run.suite_slug: run.baseline for run in runs}.items():
            if base is None:
                why = f"{file.name} does not have it." if file else "No full run has passed."
                self.stderr.write(f"{slug}: nothing to compare with yet. {why}")
            else:
                ended = f"{base.finished_at:%Y-%m-%d %H:%M} UTC" if base.finished_at else "no time"
                self.stderr.write(f"{slug} is compared with {base.in_short} ({ended}).")

    def _choose(self, options: Options) -> SuiteChoice:
        """Return what to run, and print the suites without any chosen case."""
        choice = choose(options)
        if choice.skipped:
            slugs = ", ".join(suite.slug for suite in choice.skipped)
            is_part = options["case"] or options["case_exact"] or options["tag"]
            why = "no case matches" if is_part else "without cases"
            self.stderr.write(f"Skipped, {why}: {slugs}")
        return choice


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


def _refuse_what_does_not_fit(options: Options) -> None:
    """Refuse options that would be silently ignored."""
    paths = paths_of(options["suites"])
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
    is_stored = options["baseline"] is not None and not isinstance(options["baseline"], Path)
    if is_stored and scratch.is_temporary():
        raise usage_error(
            "The files are run in a temporary database, which has no earlier runs. Name a file with "
            "results: --baseline FILE. Or set DATABASE_URL or EVALWELL_DATA_DIR to keep a database."
        )


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
