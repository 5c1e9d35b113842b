"""Begin a project: an agent, a suite and how to run them."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from evals_app import COMMAND
from evals_app.checks import FOR_COMMANDS
from evals_app.management import usage_error

_TEMPLATES = Path(__file__).parent.parent / "new_project"
_WORKFLOW = "evals.yml"
_IGNORE = "gitignore"


class Command(BaseCommand):
    """Write the files of a project that runs at once."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Begin a project: write an agent, a suite with two cases, an agent in Python and a README to a"
        " folder. It runs at once, without a key. Exit code: 0 written, 2 otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "folder", nargs="?", type=Path, default=Path("evals"), help="By default, evals."
        )
        parser.add_argument(
            "--github",
            action="store_true",
            help="Also write .github/workflows/evals.yml, which runs the suite at each push.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        targets = {
            folder / template.name: template
            for template in sorted(_TEMPLATES.iterdir())
            if template.is_file() and template.name not in {_WORKFLOW, _IGNORE}
        }
        if options["github"]:
            targets[Path(".github", "workflows", _WORKFLOW)] = _TEMPLATES / _WORKFLOW
        if taken := [os.path.relpath(path) for path in targets if path.exists()]:
            raise usage_error(
                f"{', '.join(taken)}: {'this file exists' if len(taken) == 1 else 'these files exist'}"
                " already, so nothing was written. Choose another folder."
            )
        if not (ignore := Path(".gitignore")).exists():
            targets[ignore] = _TEMPLATES / _IGNORE
        for path, template in targets.items():
            self._write(path, template.read_text(encoding="utf-8"), folder=os.path.relpath(folder))
        self.stdout.write(f"Next: {COMMAND} run_evals {os.path.relpath(folder)}")

    def _write(self, path: Path, text: str, *, folder: str) -> None:
        shown = os.path.relpath(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text.replace("{folder}", folder))
        except OSError as error:
            raise usage_error(f"{shown} cannot be written: {error.strerror}.") from error
        self.stdout.write(f"{shown} is written.")
