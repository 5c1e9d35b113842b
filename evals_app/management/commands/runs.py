"""Work with existing runs from the command line."""

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.console import Console

from evals_app.checks import FOR_COMMANDS
from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.library.changes.edits import CANCELLED, RESUMED, note_edit
from evals_app.management import Options, usage_error
from evals_app.management.choosing import named_runs
from evals_app.management.following import (
    FollowingCommand,
    print_forecasts,
    refuse_unwritable_results,
)
from evals_app.management.numbers import RUN_NUMBER, usd, whole
from evals_app.management.reading_options import add_env_file
from evals_app.management.run_options import EXIT_CODES, add_case_options, add_result_options
from evals_app.models import Execution, Run
from evals_app.reports.answers.forecasts import regrade_forecast_json
from evals_app.reports.answers.run_json import SCHEMA_VERSION
from evals_app.reports.words.regrading import left_out_in_words
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.regrading.start_regrade import plan_regrade
from evals_app.runs.regrading.start_regrade import regrade as start_regrade
from evals_app.runs.starting.forecast import forecast_started
from evals_app.runs.starting.rerun import Version
from evals_app.runs.starting.rerun import rerun as start_rerun
from fixtures_app.ground.words import near

# Django itself accepts them only before the name of a subcommand.
_OF_ALL_COMMANDS = ("--traceback", "--no-color", "--force-color", "--skip-checks")


class Command(FollowingCommand):
    """Work with runs through the same queue and workers as everything else."""

    requires_system_checks = FOR_COMMANDS

    help = f"Watch, resume, cancel, grade again or re-run existing runs. {EXIT_CODES}"

    def add_arguments(self, parser: ArgumentParser) -> None:
        subcommands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
        for name, (_, summary) in SUBCOMMANDS.items():
            _add_options(name, subcommands.add_parser(name, help=summary, description=summary))

    def work(self, options: Options, console: Console) -> None:
        refuse_unwritable_results(options)
        work, _ = SUBCOMMANDS[options["subcommand"]]
        work(self, options, console)


def attach(command: FollowingCommand, options: Options, console: Console) -> None:
    """Watch runs until they end."""
    command.follow(lambda: named_runs(options["runs"]), options, console)


def resume(command: FollowingCommand, options: Options, console: Console) -> None:
    """Resume a run that was stopped, and watch it."""

    def begin() -> list[Run]:
        (run,) = named_runs(options["runs"])
        resume_run(run, max_cost_usd=options["max_cost"])
        note_edit(run, user=None, note=RESUMED)
        return [run]

    command.follow(begin, options, console)


def rerun(command: FollowingCommand, options: Options, console: Console) -> None:
    """Run the failed cases of a run again, and watch the new run."""

    def begin() -> list[Run]:
        (run,) = named_runs(options["runs"])
        version: Version = "frozen" if options["frozen"] else "current"
        new = start_rerun(run, only="failed", version=version, max_cost_usd=options["max_cost"])
        print_forecasts([(new.suite_name, forecast_started(new))], options, console)
        return [new]

    command.follow(begin, options, console)


def regrade(command: FollowingCommand, options: Options, console: Console) -> None:
    """Print a forecast of grading a run again, then do it unless only that was asked for."""
    if options["forecast"]:
        run, expected, left_out = _print_plan(options, console)
        command.write_json(partial(_forecast_document, run, expected, left_out), options)
        return

    def begin() -> list[Run]:
        run, *_ = _print_plan(options, console)
        return [start_regrade(run, **_regrade_choices(run, options))]

    command.follow(begin, options, console)


def cancel(_command: FollowingCommand, options: Options, console: Console) -> None:
    """Cancel runs."""
    for run in named_runs(options["runs"]):
        if did := cancel_run(run):
            note_edit(run, user=None, note=CANCELLED)
        run.refresh_from_db()
        text = f"Run {run.pk} had already ended: {run.get_verdict_display()}."
        if did and run.is_open:
            text = f"Run {run.pk} is being cancelled; its conversations stop within seconds."
        elif did or run.is_open:
            text = f"Run {run.pk} is cancelled."
        console.print(text, markup=False, highlight=False)


def _print_plan(options: Options, console: Console) -> tuple[Run, Forecast, dict[str, object]]:
    """Print a forecast of grading a run again, and return it with the cases left out."""
    (run,) = named_runs(options["runs"])
    with plan_regrade(run, **_regrade_choices(run, options)) as regrading:
        expected = forecast_regrade(regrading)
    left_out = regrading.to_json()["left_out"]
    print_forecasts([(run.suite_name, expected)], options, console)
    for line in left_out_in_words(left_out):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return run, expected, left_out


def _regrade_choices(run: Run, options: Options) -> dict[str, Any]:
    """Return what the options choose, as `plan_regrade` takes it.

    Raises:
        CommandError: no case has this name.
    """
    return {
        "suite": "as_it_was" if options["as_it_was"] else "current",
        "cases": options["case_exact"] or _cases_with(run, options["case"]),
        "trials": options["trials"] or 1,
        "judge": options["judge"] or "",
        "max_cost_usd": options["max_cost"],
    }


def _cases_with(run: Run, texts: Sequence[str]) -> list[str] | None:
    """Return the cases of a run that have one of these texts in their names; None: no text is given."""
    if not texts:
        return None
    ended = run.executions.filter(status=Execution.Status.FINISHED)
    names = list(ended.order_by().values_list("case", flat=True).distinct())
    folded = [text.casefold() for text in texts]
    chosen = [name for name in names if any(text in name.casefold() for text in folded)]
    if not chosen:
        quoted = " or ".join(map(repr, texts))
        hint = near(texts[0], names)
        raise usage_error(f"Run {run.pk} has no case with {quoted} in its name.{hint}")
    return chosen


def _forecast_document(run: Run, expected: Forecast, left_out: dict[str, Any]) -> dict[str, object]:
    answer = regrade_forecast_json(expected, left_out, month_left_usd=month_left(None))
    named = {"suite": run.suite_slug, "agent": run.agent_slug, "model": run.model or None}
    return {"schema_version": SCHEMA_VERSION, "forecast": named | answer}


SUBCOMMANDS = {
    "attach": (attach, "Watch runs that are running."),
    "resume": (resume, "Resume a stopped run."),
    "cancel": (cancel, "Cancel runs and exit."),
    "regrade": (regrade, "Grade the conversations of a run again; the agent is not asked."),
    "rerun": (rerun, "Run the failed cases of a run again in a new run, as they are now."),
}


def _add_options(name: str, parser: ArgumentParser) -> None:
    add = parser.add_argument
    several = "+" if name in {"attach", "cancel"} else 1
    add("runs", nargs=several, type=RUN_NUMBER, metavar="RUN", help="The number of a run.")
    if name == "rerun":
        add(
            "--frozen",
            action="store_true",
            help="With cases, checks, agent and test data as in that run.",
        )
    if name == "regrade":
        add_case_options(parser)
        add("--trials", type=whole(most=100), help="How often to grade each conversation.")
        add("--judge", metavar="MODEL", help="provider/model to judge instead.")
        add(
            "--as-it-was",
            action="store_true",
            help="With the checks as in that run, not as they are now.",
        )
    if name in {"resume", "regrade", "rerun"}:
        add("--max-cost", type=usd, metavar="USD", help="Stop the run before it would cost more.")
    if name == "cancel":
        parser.set_defaults(ci=False, output=None, report=[])
    else:
        add_result_options(parser, can_forecast=name == "regrade")
        add_env_file(parser)
    for option in _OF_ALL_COMMANDS:
        add(option, action="store_true", default=SUPPRESS, help=SUPPRESS)
