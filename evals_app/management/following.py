"""Wait for runs that a command started or found, and report their results."""

import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

from rich.console import Console

from evals_app import COMMAND
from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.management import INTERRUPTED, Options, scratch, usage_error
from evals_app.management.console import (
    SHOWN_FAILURES,
    SHOWN_OF_MANY,
    RunsCommand,
    address_of_pages,
    has_several_columns,
    names_of,
    print_models,
    print_result,
    print_total,
    run_link,
    watch,
)
from evals_app.management.crew import Crew
from evals_app.management.reporting import (
    fold,
    no_commands,
    refuse_unwritable,
    tell_github,
    write_reports,
)
from evals_app.management.run_options import WantedReport
from evals_app.models import Run
from evals_app.reports.answers.forecasts import in_words
from evals_app.reports.answers.run_json import json_pieces, verdict_of_all
from evals_app.reports.renderers.results import NO_LINES, CaseLines
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.process.cluster import Interrupted
from evals_app.runs.reading.run_readers import run_document, runs_document

FAILED, INCONCLUSIVE = 1, 3

# Where results of a temporary database are written, unless someone names a file.
RESULTS = Path("evalwell-results")


class FollowingCommand(RunsCommand):
    """A command that waits for runs and reports them; `lines` has what it read of files."""

    lines: CaseLines = NO_LINES

    def follow(self, begin: Callable[[], list[Run]], options: Options, console: Console) -> None:
        """Start or find runs, wait until they end, report them, and exit with their verdict."""
        is_ci = options["ci"]
        runs = self._watch(begin, options, console)
        results = _results_folder(options)
        document = (
            partial(run_document, runs[0]) if len(runs) == 1 else partial(runs_document, runs)
        )
        site = None if scratch.is_temporary() else address_of_pages(options)
        # In a CI job, only our own output may be read as commands.
        with no_commands(self.stderr) if is_ci else nullcontext():
            self.write_json(document, options)
            shown = SHOWN_OF_MANY if has_several_columns(runs) else SHOWN_FAILURES
            for run, name in zip(runs, names_of(runs), strict=True):
                with fold(self.stderr, run) if is_ci else nullcontext():
                    print_result(run, console=console, site=site, name=name, shown=shown)
            if len(runs) > 1:
                print_total(runs, console=console)
                print_models(runs, console=console, site=site)
        write_reports(runs, options["report"], site=site, lines=self.lines)
        if is_ci:
            tell_github(runs, self.stderr, site=site, lines=self.lines)
        if results:
            self.stderr.write(f"Results are in {results}.")
        if code := _exit_code(runs):
            sys.exit(code)

    def write_json(self, document: Callable[[], object], options: Options) -> None:
        """Write JSON where it is wanted, piece by piece, because it may be large."""
        if options["output"]:
            try:
                with options["output"].open("w", encoding="utf-8") as file:
                    file.writelines(json_pieces(document()))
                    file.write("\n")
            except OSError as error:
                raise usage_error(
                    f"{options['output']} cannot be written: {error.strerror}."
                ) from error
        if options["ci"]:
            for piece in json_pieces(document()):
                self.stdout.write(piece, ending="")
            self.stdout.write()

    def _watch(
        self, begin: Callable[[], list[Run]], options: Mapping[str, object], console: Console
    ) -> list[Run]:
        with Interrupted().listening() as stop, ExitStack() as stack:
            runs = begin()
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

    def _interrupted(
        self,
        runs: list[Run],
        stop: Interrupted,
        options: Mapping[str, object],
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
            self.stderr.write(f"To watch again: {COMMAND} runs attach {numbers}")
            self.stderr.write(f"To cancel: {COMMAND} runs cancel {numbers}")
        if going_on and has_own_workers:
            self.stderr.write(
                f"The workers stop with this command. `{COMMAND} runs attach` or `{COMMAND} worker`"
                " starts them again."
            )
        sys.exit(INTERRUPTED)


def refuse_unwritable_results(options: Options) -> None:
    """Refuse files that could not be written when runs have ended.

    Raises:
        CommandError: a folder does not exist, or something else has the name of a file.
    """
    if options["output"]:
        refuse_unwritable("--output", options["output"])
    for report in options["report"]:
        refuse_unwritable("--report", report.path, is_folder=report.kind == "folder")


def print_forecasts(named: list[tuple[str, Forecast]], options: Options, console: Console) -> None:
    """Print what runs will probably take, of several with the name of their suite."""
    left = month_left(None)
    for name, expected in named:
        text = in_words(expected, max_cost_usd=options["max_cost"], month_left_usd=left)
        line = f"{name}: {text}" if len(named) > 1 else text
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _results_folder(options: Options) -> Path | None:
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
        WantedReport("html", RESULTS / "report.html"),
        WantedReport("junit", RESULTS / "junit.xml"),
    ]
    return RESULTS


def _exit_code(runs: list[Run]) -> int:
    codes = {"passed": 0, "measured": 0, "failed": FAILED, "inconclusive": INCONCLUSIVE}
    return codes[verdict_of_all([run.verdict for run in runs])]
