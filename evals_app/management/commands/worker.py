"""Run conversations: the worker command."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evals_app.checks import FOR_COMMANDS
from evals_app.management.numbers import duration
from evals_app.runs.ground.workers import has_worker_here
from evals_app.runs.process.cluster import CannotWorkError, Interrupted, LocalCluster, look_after


class Command(BaseCommand):
    """Work on runs until asked to stop."""

    requires_system_checks = FOR_COMMANDS

    help = "Work on runs until SIGTERM or Ctrl-C; --check reports whether a worker is alive on this machine."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help="Exit 0 if this machine has a live worker, 1 if not, 2 if that is unknown.",
        )
        parser.add_argument(
            "--grace",
            type=duration,
            default=20.0,
            help="Seconds that running conversations get to finish after a stop signal (default 20).",
        )

    def handle(self, *args: object, **options: Any) -> None:
        if not options["check"]:
            try:
                self._work(grace_s=options["grace"])
            except CannotWorkError as error:
                raise CommandError(str(error), returncode=1) from error
        elif has_worker_here():
            self.stdout.write("A worker is alive.")
        else:
            raise CommandError("No worker is alive on this machine.", returncode=1)

    def _work(self, *, grace_s: float) -> None:
        with Interrupted().listening() as stop, LocalCluster(grace_s=grace_s) as cluster:
            self.stdout.write("Worker is ready. Ctrl-C stops it.")
            self.stdout.flush()
            look_after(cluster, stop=stop)
        self.stdout.write("Worker stopped. Unfinished work waits for the next worker.")
