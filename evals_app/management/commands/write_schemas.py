"""Write the JSON Schemas of eval files."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from evals_app.checks import FOR_COMMANDS
from evals_app.management import usage_error
from evals_app.management.schemas import FOLDER, write_schemas


class Command(BaseCommand):
    """Write what editors need to complete and check native files."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Write the JSON Schemas of suites, agents, test data and providers, with which editors "
        "complete and check YAML files. Exit code: 0 written, 2 otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dir",
            type=Path,
            default=Path(FOLDER),
            help=f"Folder to write to; created if it is missing. Default: {FOLDER}.",
        )

    def handle(self, *args: object, **options: Any) -> None:
        folder: Path = options["dir"]
        try:
            new = write_schemas(folder)
        except OSError as error:
            path = error.filename2 or error.filename or folder
            raise usage_error(f"{path} cannot be written: {error.strerror}.") from error
        for path in new:
            self.stdout.write(os.path.relpath(path))
        if not new:
            self.stdout.write(f"The schemas in {folder} are up to date.")
