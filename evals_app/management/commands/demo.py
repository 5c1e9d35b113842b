"""The demo: load the examples, run them offline, show the results, serve."""

import json
import os
import secrets
import sys
from argparse import ArgumentParser
from collections import Counter
from contextlib import nullcontext
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from evals_app import COMMAND
from evals_app.checks import FOR_COMMANDS
from evals_app.engine.basics.errors import CannotError
from evals_app.engine.record.trial import Verdict
from evals_app.library.importing.examples import import_examples
from evals_app.library.importing.file_import import EditedError
from evals_app.library.importing.rights import Rights
from evals_app.management import Options
from evals_app.management.console import console_on, print_result, run_link, watch
from evals_app.management.web import WebServer, ensure_free
from evals_app.models import Run, Suite
from evals_app.runs.ground.events import be_quiet
from evals_app.runs.process.cluster import Interrupted, LocalCluster
from evals_app.runs.starting.start_run import start_run

BIND = "127.0.0.1:8000"
ON_PURPOSE = {"fails-on-purpose": Verdict.FAILED, "errors-on-purpose": Verdict.ERRORED}


class Command(BaseCommand):
    """Load the examples and run them offline."""

    requires_system_checks = FOR_COMMANDS

    help = "Load the examples, run them offline through real workers, then serve until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--no-serve", action="store_true", help="Stop after the summary.")
        parser.add_argument("--bind", default=BIND, help="Address and port of the web server.")

    def handle(self, *args: object, **options: Any) -> None:
        if not options["no_serve"]:
            ensure_free(options["bind"])
        console = console_on(self.stdout, plain=options["no_color"])
        site = f"http://{options['bind']}"
        suites = self._prepare(console)
        try:
            surprises = self._run(suites, console, site, options)
        except CannotError as error:
            raise CommandError(str(error), returncode=1) from error
        if surprises:
            sys.exit(1)

    def _run(self, suites: list[Suite], console: Console, site: str, options: Options) -> list[str]:
        """Run all suites, then serve until stopped; return executions that failed their tags."""
        # Offline, whatever keys are set; a model that the site names for embeddings would be
        # called.
        environ = os.environ if settings.EVALS_EMBEDDING_MODEL else {}
        be_quiet()
        with Interrupted().listening() as stop, LocalCluster(grace_s=5.0, kinds=()) as cluster:
            serving = nullcontext() if options["no_serve"] else WebServer(options["bind"])
            with serving as web:
                runs = [start_run(suite, environ=environ) for suite in suites]
                runs = watch(runs, console=console, tick=cluster.tick, stop=lambda: bool(stop))
                surprises = self._report(runs, console, site)
                if web is not None and not stop:
                    console.print(f"\nEvalwell is on {site}/ - Ctrl-C stops it.", style="bold")
                    web.serve(cluster, stop=stop)
        return surprises

    def _prepare(self, console: Console) -> list[Suite]:
        """Make sure that an administrator and the examples exist; return their suites."""
        call_command("migrate", verbosity=0)
        users = get_user_model().objects
        if not users.filter(is_superuser=True).exists():
            password = secrets.token_urlsafe(12)
            users.create_superuser("admin", password=password)
            console.print("[bold]Sign in as admin with the password[/]", password, highlight=False)
            console.print(f"It is shown only once; `{COMMAND} changepassword admin` sets another.")
        try:
            report = import_examples(Rights(user=users.filter(is_superuser=True).first()))
        except EditedError as error:
            report = import_examples(dry_run=True)
            console.print(f"{error} All examples are left unchanged.", highlight=False)
        else:
            changed = [change for change in report.changes if change.what != "unchanged"]
            console.print(f"Examples: {len(changed)} of {len(report.changes)} objects written.")
        slugs = [change.slug for change in report.changes if change.kind == "suite"]
        return list(Suite.objects.select_related("agent").filter(slug__in=slugs).order_by("slug"))

    def _report(self, runs: list[Run], console: Console, site: str) -> list[str]:
        """Print the results; return the executions that did not end as their tags declare."""
        console.print()
        surprises = []
        table = Table("Suite", "Passed", "Failed", "Errored", "As declared", box=None)
        for run in runs:
            declared = _declared_verdicts(run)
            wrong = _surprises(run, declared)
            surprises += wrong
            ends = Counter(declared.values())
            seen = {
                Verdict.PASSED: run.passed,
                Verdict.FAILED: run.failed,
                Verdict.ERRORED: run.errored,
            }
            counts = [f"{count} of {ends[verdict]}" for verdict, count in seen.items()]
            table.add_row(run.suite_name, *counts, "no" if wrong else "yes")
            print_result(run, console=console, site=site)
        console.print("\n[bold]Results compared with what the examples declare[/]")
        console.print(table)
        for text in surprises:
            console.print(text, markup=False, soft_wrap=True)
        if runs:
            console.print(f"Look at one: {run_link(runs[0], site=site)}", highlight=False)
        return surprises


def _declared_verdicts(run: Run) -> dict[tuple[str, int], Verdict]:
    """Return how each execution of a run should end, by the tags of its case."""
    ends = {
        position: next(
            (verdict for tag, verdict in ON_PURPOSE.items() if tag in json.loads(content)["tags"]),
            Verdict.PASSED,
        )
        for position, content in run.snapshot.cases.values_list("position", "content")
    }
    rows = run.executions.values_list("case", "position", "trial")
    return {(case, trial): ends[position] for case, position, trial in rows}


def _surprises(run: Run, declared: dict[tuple[str, int], Verdict]) -> list[str]:
    rows = run.executions.values_list("case", "trial", "verdict", "reason").order_by("position")
    return [
        f"{run.suite_slug}: {case!r} should have {declared[case, trial].value}, "
        f"but it {verdict or 'did not run'}. {reason}"
        for case, trial, verdict, reason in rows
        if verdict != declared[case, trial].value
    ]
