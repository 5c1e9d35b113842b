"""How commands report errors, warnings and losses."""

from collections.abc import Iterable

from django.core.management.base import BaseCommand

from evals_app.formats.reading.problems import Problem
from evals_app.library.changes.import_report import ImportReport
from evals_app.reports.answers.losses import checks_not_read


def tell(command: BaseCommand, problems: Iterable[Problem], *, checks_read: int = 0) -> None:
    """Write errors, warnings and guesses, then under a heading what is lost; each with its place.

    `checks_read` is how many checks there are besides the lost ones.
    """
    losses = []
    for problem in problems:
        if problem.level == "loss":
            losses.append(problem)
        elif problem.level in {"warning", "guess"}:
            remedy = f" Change it with {problem.option}." if problem.option else ""
            command.stderr.write(f"{problem.level}: {problem}{remedy}", command.style.WARNING)
        else:
            command.stderr.write(str(problem), command.style.ERROR)
    if losses:
        lost = sum(loss.checks for loss in losses)
        checks = f": {checks_not_read(lost, checks_read)}" if lost else ""
        command.stderr.write(f"Lost ({len(losses)}){checks}", command.style.MIGRATE_HEADING)
    for loss in losses:
        what = "lost check" if loss.checks else "lost"
        command.stderr.write(f"{what}: {loss}", command.style.WARNING)


def tell_report(command: BaseCommand, report: ImportReport) -> None:
    """Write the guesses, warnings and losses of an import."""
    problems = [*report.guesses, *report.warnings, *report.losses]
    tell(command, problems, checks_read=report.checks_read)
