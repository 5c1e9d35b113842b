"""Export suites and everything they need as native YAML."""

import os
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from evals_app.library import export_files

USAGE = 2


class Command(BaseCommand):
    """Write files that `import_evals` reads back unchanged."""

    help = (
        "Write suites as native YAML, with the agents, fixtures, entity types and providers that "
        "they need; without a slug write everything. Exit code: 0 written, 2 otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("suites", nargs="*", metavar="SLUG", help="Suites; none: everything.")
        parser.add_argument(
            "--dir", type=Path, required=True, help="Folder to write to; made if it is missing."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = export_files(options["suites"])
        except LookupError as error:
            raise CommandError(str(error), returncode=USAGE) from error
        except ValidationError as error:
            places = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            message = f"A row no longer validates ({error.title}). " + "; ".join(places)
            raise CommandError(message, returncode=USAGE) from error
        folder: Path = options["dir"]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                is_new = write_whole(folder / name, content)
                shown = os.path.relpath(folder / name)
                self.stdout.write(shown if is_new else f"{shown} (unchanged)")
        except OSError as error:
            message = f"{error.filename or folder} cannot be written: {error.strerror}."
            raise CommandError(message, returncode=USAGE) from error


def write_whole(path: Path, content: bytes) -> bool:
    """Write a file whole or not at all; say whether its content is new."""
    if path.is_file() and path.read_bytes() == content:
        return False
    # In the same folder, so that taking its place is one step.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True
