"""The options of `run_evals`, which are read before the settings: they may choose the database.

So nothing here may need the settings.
"""

import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from evals_app.management import usage_error
from evals_app.management.numbers import RUN_NUMBER, seconds, usd, whole
from evals_app.management.old_options import add_old_options
from evals_app.management.reading_options import add_env_file, add_reading_options
from evals_app.reports.words.kinds import COMPARISON_KINDS, KIND_NAMES, ComparisonKind
from fixtures_app.ground.words import near

if TYPE_CHECKING:
    from evals_app.runs.reading.baselines import Baseline

_REPORTS = (*KIND_NAMES, "comparison")
EXIT_CODES = (
    "Exit code: 0 passed, 1 failed, 2 wrong usage or configuration, 3 nothing failed, but something "
    "errored or did not run, 130 interrupted."
)
HELP = f"Run suites and wait for the result. {EXIT_CODES}"


@dataclass(frozen=True, slots=True)
class WantedReport:
    """A report that someone asks for, and where it is to be written."""

    kind: str  # ours, `comparison`, or that of a plug-in
    path: Path

    @property
    def comparison_kind(self) -> ComparisonKind | None:
        """What a file of the table of agents and models is, by its end; None: nothing that is known."""
        end = self.path.suffix.removeprefix(".").lower()
        return next((kind for kind in COMPARISON_KINDS if kind == end), None)


def parse_report(text: str) -> WantedReport:
    """Read `KIND=PATH`."""
    name, separator, path = text.partition("=")
    if name not in _REPORTS:
        _require_plugin(name)
    if not separator or not path:
        raise ArgumentTypeError(f"{text!r} does not name a file; write {name}=PATH")
    report = WantedReport(name, Path(path))
    if name == "comparison" and report.comparison_kind is None:
        ends = ", ".join(f".{kind}" for kind in COMPARISON_KINDS)
        raise ArgumentTypeError(
            f"{path!r} must end with one of {ends}, which says what it becomes."
        )
    return report


def _require_plugin(name: str) -> None:
    """Refuse a kind of report that is not ours, and that no plug-in offers."""
    from evals_app.reports.words.report_plugins import report_plugins  # noqa: PLC0415 - loads them

    found = report_plugins()
    known = (*_REPORTS, *found.plugins)
    if name not in known:
        unknown = (
            f"{name!r} is not a kind of report.{near(name, known)} There are: {', '.join(known)}."
        )
        raise ArgumentTypeError(found.problems.get(name, unknown))


def baseline(text: str) -> "Baseline | Path":
    """Read what to compare with."""
    if text in {"latest", "pinned"}:
        return cast("Baseline", text)
    return run_or_file(text, others="latest, pinned")


def run_or_file(text: str, *, others: str) -> int | Path:
    """Read the number of a run, or a file, which is read later; `others` are more words."""
    if _is_path(text):
        return Path(text)
    try:
        return RUN_NUMBER(text)
    except ArgumentTypeError:
        problem = f"{text!r} is not the number of a run, a file, {others.replace(', ', ' or ')}"
        raise ArgumentTypeError(problem) from None


def read_baseline(
    chosen: "Baseline | Path | None", *, suites: Sequence[str] = ()
) -> "Baseline | None":
    """Return a baseline as `start_run` takes it, with the content of its file.

    Raises:
        CommandError: the file cannot be read, has no results, or none of the suites with these slugs.
    """
    if not isinstance(chosen, Path):
        return chosen
    from evals_app.formats.snapshots.results_file import (  # noqa: PLC0415 - it loads pydantic
        CannotReadResultsError,
        read_results,
    )

    try:
        file = read_results(chosen.name, chosen.read_bytes())
    except OSError as error:
        raise usage_error(f"--baseline: {chosen} cannot be read: {error.strerror}.") from error
    except CannotReadResultsError as error:
        raise usage_error(f"--baseline: {error}") from error
    if suites and not set(suites) & set(file.suites):
        known = ", ".join(file.suites)
        raise usage_error(f"--baseline: {file.name} has none of these suites. It has: {known}.")
    return file


def paths_of(suites: Sequence[str]) -> list[str]:
    """Return the arguments if they are files and folders; empty if they are slugs of suites.

    Raises:
        CommandError: some are paths, and some are slugs.
    """
    paths = [argument for argument in suites if _is_path(argument)]
    if slugs := [argument for argument in suites if argument not in paths] if paths else []:
        raise usage_error(
            f"{paths[0]} is a path and {slugs[0]} is the slug of a suite; name either files and "
            "folders, or suites in the database."
        )
    return paths


def _is_path(argument: str) -> bool:
    """Whether an argument exists as a file or folder, or cannot be the slug of a suite."""
    return "." in argument or "/" in argument or os.path.exists(argument)  # noqa: PTH110 - a text


def add_run_options(parser: ArgumentParser) -> None:
    """Add everything that `run_evals` understands."""
    add, flag = parser.add_argument, partial(parser.add_argument, action="store_true")
    add(
        "suites",
        nargs="*",
        metavar="SUITE|PATH",
        help="Slugs of suites, or files and folders with suites. Default: all suites, or those of "
        "--agent.",
    )
    add_case_options(parser)
    add("--tag", action="append", default=[], help="A tag of a case or suite, in any case.")
    several = partial(add, action="append", default=[])
    several(
        *("-a", "--agent"),
        metavar="SLUG",
        help="Agent to test instead, also for files that name none; several: a run with each.",
    )
    several("-m", "--model", help="provider/model to use instead; several: a run with each.")
    add("--trials", type=whole(most=100), help="How often to run each case.")
    flag("--all-trials", help="Skip no trials, even if the suite skips those not needed.")
    add("--concurrency", type=whole(most=1000), help="Parallel conversations.")
    add("--timeout", type=seconds, help="Stop runs after this many seconds.")
    add("--max-cost", type=usd, metavar="USD", help="Stop each run before it would cost more.")
    add(
        "--baseline",
        type=baseline,
        metavar="RUN|FILE|latest|pinned",
        help="Compare with a run, the results in a file (from --output), the last full run that passed, or"
        " the suite's released version: no case may get worse.",
    )
    add_result_options(parser, can_forecast=True)
    add(
        "--cache",
        type=Path,
        metavar="DIR",
        help="With files in a temporary database: keep answers of models in this folder, and do not "
        "send the same request again.",
    )
    flag(
        "--accept-losses",
        help="With files: run what could be read even if checks in them could not.",
    )
    add_reading_options(parser)
    add_env_file(parser)
    add_old_options(parser)


def add_case_options(parser: ArgumentParser) -> None:
    """Add what chooses cases by their names."""
    group = parser.add_mutually_exclusive_group()
    add = partial(group.add_argument, action="append", default=[])
    add("--case", metavar="TEXT", help="Part of a case's name.")
    add("--case-exact", metavar="NAME", help="A case's whole name.")


def add_result_options(parser: ArgumentParser, *, can_forecast: bool) -> None:
    """Add where results go."""
    add, flag = parser.add_argument, partial(parser.add_argument, action="store_true")
    group = parser.add_mutually_exclusive_group()
    if can_forecast:
        group.add_argument(
            "--forecast", action="store_true", help="Print a forecast and start nothing."
        )
    reports = partial(group.add_argument, action="append", default=[], type=parse_report)
    kinds = ", ".join(_REPORTS)
    reports(
        "--report",
        metavar="KIND=PATH",
        help=f"Write a report, repeatable: {kinds}. A comparison, the table of agents and models, is"
        " what its file ends with: .html, .md, .xlsx or .json.",
    )
    flag("--ci", help="No colour, JSON on stdout.")
    add("--output", type=Path, metavar="FILE", help="Write the JSON to a file.")
    flag("--no-progress", help="No progress bar.")
    add("--site", metavar="URL", help="Address used in printed links. Default: EVALWELL_SITE.")
