"""Import files and folders, for every command that reads some."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from evals_app.formats.foreign.attached import FindFile
from evals_app.formats.foreign.shapes import TableChoices
from evals_app.formats.reader_plugins import all_dialects
from evals_app.formats.reading.problems import FormatError
from evals_app.formats.reading.sibling_files import SiblingFiles
from evals_app.formats.tables.chosen import UnknownColumn, read_choices
from evals_app.library.changes.import_report import ImportReport
from evals_app.library.importing.file_import import EditedError, NoChecksError, import_files
from evals_app.library.importing.rights import EVERYTHING, Rights
from evals_app.management import Options, usage_error
from evals_app.management.eval_files import read_paths
from evals_app.management.problems import tell, tell_report
from evals_app.management.reading_options import variables_of
from evals_app.reports.answers.losses import checks_not_read
from fixtures_app.ground.words import near

_UNKNOWN_COLUMN = (
    " For unknown columns, use --ignore-column NAME to leave one out, or --map-column NAME=COLUMN to "
    "choose what it is."
)


_LOST = "Express them in another way, or run the rest without them: --accept-losses."


class LostChecksError(Exception):
    """Checks in files are not supported here."""

    def __init__(self, report: ImportReport) -> None:
        super().__init__(checks_not_read(report.checks_lost, report.checks_read))
        self.report = report


def _require_all_checks(report: ImportReport) -> None:
    if report.checks_lost:
        raise LostChecksError(report)


def _approve_losses(_: ImportReport) -> None:
    pass


def table_choices_of(options: Options) -> TableChoices:
    """Return what the options choose for tables.

    Raises:
        CommandError: a choice cannot be read, or the format is unknown.
    """
    dialect = options["dialect"]
    if dialect is not None and dialect not in (known := all_dialects()):
        raise usage_error(
            f"--format: {dialect!r} is unknown.{near(dialect, known)} There are: "
            f"{', '.join(known)}."
        )
    try:
        return read_choices(
            *(options["ignore_column"], options["map_column"], options["check"]),
            header_row=options["header_row"],
        )
    except ValueError as error:
        raise usage_error(str(error)) from error


def import_paths(
    command: BaseCommand,
    paths: Sequence[str],
    options: Options,
    *,
    agent: str | None,
    over: Callable[[FindFile], FindFile] = lambda find: find,
    dry_run: bool = False,
    prune: Sequence[str] = (),
    replace: bool = False,
    accepts_losses: bool = True,
    rights: Rights = EVERYTHING,
) -> ImportReport:
    """Import once, as the reading options say; `over` sees what is looked for beside the files.

    Raises:
        CommandError: nothing was imported; what is wrong with the files is on stderr.
    """
    tables = table_choices_of(options)
    files = read_paths(paths)
    beside = SiblingFiles.of(map(Path, [*paths, *(file.path for file in files)]))
    with _refusals_in_words(command):
        return import_files(
            files,
            dry_run=dry_run,
            dialect=options["dialect"],
            find=over(beside.find),
            find_paths=beside.find_paths,
            agent=agent,
            tables=tables,
            as_one_suite=options["as_one_suite"],
            environment=variables_of(options),
            root=Path.cwd().as_posix(),
            prune=prune,
            replace=replace,
            accept_no_checks=options["accept_no_checks"],
            approve=_approve_losses if accepts_losses else _require_all_checks,
            rights=rights,
        )


@contextmanager
def _refusals_in_words(command: BaseCommand) -> Iterator[None]:
    try:
        yield
    except LostChecksError as error:
        tell_report(command, error.report)
        raise usage_error(f"{error}, so nothing was imported and nothing ran. {_LOST}") from error
    except EditedError as error:
        raise refusal_of(error) from error
    except NoChecksError as error:
        tell_report(command, error.report)
        raise refusal_of(error) from error
    except FormatError as error:
        # Losses are only certain once there are no errors.
        tell(command, [problem for problem in error.problems if problem.level != "loss"])
        count = sum(problem.level == "error" for problem in error.problems)
        errors = "1 error" if count == 1 else f"{count} errors"
        is_unknown = any(isinstance(problem, UnknownColumn) for problem in error.problems)
        hint = _UNKNOWN_COLUMN if is_unknown else ""
        raise usage_error(f"{errors}; nothing was imported.{hint}") from error


def refusal_of(error: EditedError | NoChecksError) -> CommandError:
    """Return the error of an import that would replace edits, or write suites without checks."""
    if isinstance(error, NoChecksError):
        return usage_error(
            f"{error}\nNothing was imported. Add checks, or import without any: --accept-no-checks."
        )
    return usage_error(
        f"{error}\nNothing was imported. See what would be lost with import_evals --dry-run; keep it "
        "with export_evals, or replace it with import_evals --replace."
    )
