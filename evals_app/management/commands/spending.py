"""Print what was spent in a month."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from evals_app.checks import FOR_COMMANDS
from evals_app.management import usage_error
from evals_app.reports.answers.run_json import SCHEMA_VERSION
from evals_app.reports.answers.spending import spending_json, spending_lines
from evals_app.runs.money.spending import WAYS, month_text, read_month, spending


class Command(BaseCommand):
    """Print what was spent in a month."""

    requires_system_checks = FOR_COMMANDS

    help = "Print what runs spent in a month (UTC). Exit code: 0, also if nothing was spent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--month", default="", metavar="YYYY-MM", help="By default this month.")
        parser.add_argument("--by", choices=WAYS, default="day", help="By default by day.")
        parser.add_argument("--json", action="store_true", help="JSON on stdout.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            first = read_month(options["month"])
        except ValueError as error:
            raise usage_error(str(error)) from error
        by = options["by"]
        rows = spending(first, by=by)
        month = month_text(first)
        if options["json"]:
            document = {"schema_version": SCHEMA_VERSION} | spending_json(month, by, rows)
            self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))
        elif rows:
            self.stdout.write("\n".join(spending_lines(by, rows)))
        else:
            self.stderr.write(f"Nothing was spent in {month}.")
