"""Make runs the baselines of their suites."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from evals_app.checks import FOR_COMMANDS
from evals_app.library.baselines import NotABaselineError, set_baseline, unset_baseline
from evals_app.management import usage_error
from evals_app.management.choosing import named_runs
from evals_app.management.numbers import RUN_NUMBER


class Command(BaseCommand):
    """Make runs the baselines of their suites, or no longer."""

    requires_system_checks = FOR_COMMANDS

    help = "Make a run the released version of its suite: later runs are compared with it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", type=RUN_NUMBER, metavar="RUN", help="Run numbers.")
        parser.add_argument(
            "--remove", action="store_true", help="No longer use them as released versions."
        )

    def handle(self, *args: object, **options: Any) -> None:
        for run in named_runs(options["runs"]):
            if options["remove"]:
                unset_baseline(run)
                self.stdout.write(f"Run {run.pk} is not the released version of {run.suite_slug}.")
                continue
            try:
                set_baseline(run)
            except NotABaselineError as error:
                raise usage_error(str(error)) from error
            self.stdout.write(f"Run {run.pk} is the released version of {run.suite_slug}.")
