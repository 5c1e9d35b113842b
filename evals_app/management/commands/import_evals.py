"""Import suites, agents, fixtures and providers from files."""

import os
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evals_app.formats import (
    DIALECTS,
    EXPECTED,
    MAX_BYTES,
    FormatError,
    SourceFile,
    is_eval_file,
)
from evals_app.library import ImportReport, import_files

USAGE = 2
# Readers refuse more than this; one byte is read beyond it, to let them say so.
MOST_BYTES = MAX_BYTES + 1

_DONE = {"created": "Created", "updated": "Updated", "unchanged": "Unchanged"}
_WOULD = {"created": "Would create", "updated": "Would update", "unchanged": "Unchanged"}


class Command(BaseCommand):
    """Import files and folders, all or nothing."""

    help = (
        "Import suites, agents, fixtures and providers from YAML files, or from all such files in "
        "folders. With any error nothing is imported. Exit code: 0 imported, 2 otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="PATH", help="Files and folders.")
        parser.add_argument(
            "--format", choices=DIALECTS, dest="dialect", help="Otherwise it is found out."
        )
        parser.add_argument("--dry-run", action="store_true", help="Only tell what would happen.")

    def handle(self, *args: Any, **options: Any) -> None:
        files = read_paths(options["paths"])
        try:
            report = import_files(files, dry_run=options["dry_run"], dialect=options["dialect"])
        except FormatError as error:
            for problem in error.problems:
                style = self.style.WARNING if problem.level == "warning" else self.style.ERROR
                word = "warning: " if problem.level == "warning" else ""
                self.stderr.write(f"{word}{problem}", style)
            count = sum(problem.level == "error" for problem in error.problems)
            message = f"{_counted(count, 'error')}; nothing was imported."
            raise CommandError(message, returncode=USAGE) from error
        for warning in report.warnings:
            self.stderr.write(f"warning: {warning}", self.style.WARNING)
        self._tell(report, dry_run=options["dry_run"])

    def _tell(self, report: ImportReport, *, dry_run: bool) -> None:
        width = max((len(change.kind) for change in report.changes), default=0)
        for what, title in (_WOULD if dry_run else _DONE).items():
            changes = [change for change in report.changes if change.what == what]
            if not changes:
                continue
            self.stdout.write(f"{title} ({len(changes)})", self.style.MIGRATE_HEADING)
            for change in changes:
                self.stdout.write(f"  {change.kind:<{width}}  {change.slug}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def read_paths(paths: Sequence[str]) -> list[SourceFile]:
    """Read the named files, and the eval files of the named folders.

    Raises:
        CommandError: a path does not exist or cannot be read, or there is no eval file at all.
    """
    problems = [f"There is no file or folder {path}." for path in paths if not Path(path).exists()]
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        for file in _eval_files(path) if path.is_dir() else [path]:
            found.setdefault(file.resolve(), file)
    files = []
    for file in found.values():
        shown = os.path.relpath(file)
        try:
            with file.open("rb") as opened:
                files.append(SourceFile(Path(shown).as_posix(), opened.read(MOST_BYTES)))
        except FileNotFoundError:
            continue  # named, and reported above
        except OSError as error:
            problems.append(f"{shown} cannot be read: {error.strerror}.")
    if not files and not problems:
        problems.append(f"There is no eval file in {', '.join(paths)}. {EXPECTED}.")
    if problems:
        raise CommandError("\n".join(problems), returncode=USAGE)
    return files


def _eval_files(folder: Path) -> Iterator[Path]:
    """Walk a folder in a stable order, hidden folders and files left out."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if is_eval_file(name) and not name.startswith("."):
                yield Path(parent, name)
