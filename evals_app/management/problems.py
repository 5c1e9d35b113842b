"""How commands report errors, warnings and losses."""

from collections.abc import Iterable

from django.core.management.base import BaseCommand

from evals_app.formats.problems import Problem


def tell(command: BaseCommand, problems: Iterable[Problem]) -> None:
    """Write errors and warnings, then under a heading what is lost; each with its place."""
    losses = []
    for problem in problems:
        if problem.level == "loss":
            losses.append(problem)
        elif problem.level == "warning":
            command.stderr.write(f"warning: {problem}", command.style.WARNING)
        else:
            command.stderr.write(str(problem), command.style.ERROR)
    if losses:
        command.stderr.write(f"Lost ({len(losses)})", command.style.MIGRATE_HEADING)
    for loss in losses:
        command.stderr.write(f"lost: {loss}", command.style.WARNING)
