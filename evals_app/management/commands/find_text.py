"""Find a text in everything that is stored."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from evals_app.checks import FOR_COMMANDS
from evals_app.management import usage_error
from evals_app.runs.forgetting.finding import find_text


class Command(BaseCommand):
    """Print the rows that contain a text."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Print everything that contains a text, for example the name of a customer: conversations, "
        "grades, cases, test data, what was deleted, histories. Exit code: 0 nothing, 1 something "
        "was found, 2 wrong usage."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("text", metavar="TEXT", help="Upper and lower case are alike.")

    def handle(self, *args: object, **options: Any) -> None:
        if not options["text"].strip():
            raise usage_error("Give the text to look for.")
        is_found = False
        for found in find_text(options["text"]):
            is_found = True
            self.stdout.write(str(found))
        if is_found:
            raise SystemExit(1)
        self.stdout.write("Nothing contains this text.")
