"""Compare runs from the command line."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db.models import BigIntegerField

from evals_app.checks import FOR_COMMANDS
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.management import usage_error
from evals_app.management.comparison import print_comparison
from evals_app.management.console import address_of_pages, console_on
from evals_app.management.numbers import whole
from evals_app.reports.answers.run_json import SCHEMA_VERSION
from evals_app.runs.reading.compared_runs import (
    CannotCompareError,
    Comparison,
    compare_runs,
    comparison_json,
)

WORSE, INCONCLUSIVE = 1, 3


class Command(BaseCommand):
    """Compare runs that have ended."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Compare runs that have ended with the first of them. Exit code: 0 not worse, 1 a case, "
        "a check or the suite as a whole got worse, 2 wrong usage, 3 no case can be compared."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add, number = parser.add_argument, whole(most=BigIntegerField.MAX_BIGINT)
        add("base", type=number, metavar="BASE", help="Number of the run to compare with.")
        add("heads", type=number, nargs="+", metavar="RUN", help="Numbers of other runs.")
        add("--change", choices=[*ChangeKind], help="Print only cases with this change.")
        add("--case", default="", metavar="TEXT", help="Print only cases with this in their name.")
        add("--json", action="store_true", help="JSON on stdout.")
        add(
            "--site",
            metavar="URL",
            help="Address used in the printed link. Default: EVALWELL_SITE.",
        )

    def handle(self, *args: object, **options: Any) -> None:
        try:
            comparison = compare_runs([options["base"], *options["heads"]])
        except CannotCompareError as error:
            raise usage_error(str(error)) from error
        is_narrowed = options["change"] or options["case"]
        change = ChangeKind(options["change"]) if options["change"] else None
        cases = comparison.cases.filter_by(change=change, text=options["case"])
        if options["json"]:
            answer = comparison_json(comparison, cases, count=len(cases), next=None, previous=None)
            document = {"schema_version": SCHEMA_VERSION, "comparison": answer}
            self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))
        else:
            print_comparison(
                comparison,
                console=console_on(self.stdout, plain=options["no_color"]),
                site=address_of_pages(options),
                cases=cases if is_narrowed else None,
            )
        if code := exit_code(comparison):
            sys.exit(code)


def exit_code(comparison: Comparison) -> int:
    """Return 1 if something got worse, 3 if one of the runs cannot be compared, else 0."""
    if comparison.is_worse:
        return WORSE
    verdicts = {head.cases.verdict for head in comparison.heads}
    return INCONCLUSIVE if "not_comparable" in verdicts else 0
