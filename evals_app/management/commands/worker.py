"""Hold conversations: the worker command."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evals_app.runs.cluster import Interrupted, LocalCluster, look_after
from evals_app.runs.workers import somebody_works_here


class Command(BaseCommand):
    """Work on runs until told to stop."""

    help = "Work on runs until SIGTERM or Ctrl-C; --check tells whether a worker is alive here."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="Exit 0 if this machine has a live worker, else 1."
        )
        parser.add_argument(
            "--grace",
            type=float,
            default=20.0,
            help="Seconds that conversations may still take when told to stop (default 20).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["check"]:
            if not somebody_works_here():
                message = "No worker is alive on this machine."
                raise CommandError(message, returncode=1)
            self.stdout.write("A worker is alive.")
            return
        with Interrupted().listening() as stop, LocalCluster(grace_s=options["grace"]) as cluster:
            self.stdout.write("Worker is ready. Ctrl-C stops it.")
            self.stdout.flush()
            if not look_after(cluster, stop=stop):
                message = "The worker's processes died; start it again."
                raise CommandError(message, returncode=1)
        self.stdout.write("Worker stopped; what was unfinished waits for the next one.")
