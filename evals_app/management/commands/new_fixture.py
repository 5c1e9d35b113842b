"""Begin a fixture as a file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from evals_app.checks import FOR_COMMANDS
from evals_app.management.starters import fixture_starter, write_starter
from fixtures_app.models import Fixture


class Command(BaseCommand):
    """Write a file to begin with."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Write a new file of test data, with some entities and an explanation of each part; it is "
        "imported as it is. Exit code: 0 written, 2 otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="For example orders.")
        parser.add_argument("--dir", type=Path, default=Path(), help="Folder to write to.")

    def handle(self, *args: object, **options: Any) -> None:
        text = fixture_starter(options["slug"])
        write_starter(self, text, model=Fixture, slug=options["slug"], folder=options["dir"])
