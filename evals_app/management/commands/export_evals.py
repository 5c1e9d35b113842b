"""Export suites and everything they need."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from pydantic import ValidationError

from evals_app.checks import FOR_COMMANDS
from evals_app.library.exporting.file_export import FORMS, export_files
from evals_app.management import usage_error
from evals_app.management.problems import tell
from evals_app.management.whole_files import write_whole


class Command(BaseCommand):
    """Write files; native ones are read back by `import_evals` unchanged."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Write suites as native YAML, with the agents, test data, entity types and providers that "
        "they need; without a slug write all that is not archived. Other formats do not "
        "support all of that; losses are reported. Exit code: 0 written, 2 otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("suites", nargs="*", metavar="SLUG", help="Suites; none: everything.")
        parser.add_argument(
            "--dir", type=Path, required=True, help="Folder to write to; made if it is missing."
        )
        parser.add_argument(
            "--format", choices=FORMS, default="native", dest="form", help="native by default."
        )

    def handle(self, *args: object, **options: Any) -> None:
        try:
            export = export_files(options["suites"], form=options["form"])
        except LookupError as error:
            raise usage_error(str(error)) from error
        except ValidationError as error:
            places = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            raise usage_error(
                f"A row no longer validates ({error.title}). " + "; ".join(places)
            ) from error
        folder: Path = options["dir"]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in export.files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                is_new = write_whole(folder / name, content)
                shown = os.path.relpath(folder / name)
                self.stdout.write(shown if is_new else f"{shown} (unchanged)")
        except OSError as error:
            # The second name is the one that was asked for, where a file takes another's place.
            path = error.filename2 or error.filename or folder
            raise usage_error(f"{path} cannot be written: {error.strerror}.") from error
        tell(self, [*export.warnings, *export.losses])
