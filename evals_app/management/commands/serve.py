"""The web server and a worker together."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evals_app.management.numbers import duration
from evals_app.management.web import WebServer, ensure_free
from evals_app.runs.process.cluster import CannotWorkError, Interrupted, LocalCluster


class Command(BaseCommand):
    """Serve the site and work on runs, until Ctrl-C."""

    help = "Serve the site and work on runs, until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", help="Address and port.")
        parser.add_argument("--grace", type=duration, default=20.0, help="See `worker`.")

    def handle(self, *args: Any, **options: Any) -> None:
        bind = options["bind"]
        ensure_free(bind)
        try:
            # The cluster is forked first: what it has loaded is then shared with the server, too.
            with (
                Interrupted().listening() as stop,
                LocalCluster(grace_s=options["grace"]) as cluster,
                WebServer(bind) as web,
            ):
                self.stdout.write(f"Evalwell is on http://{bind}/ - Ctrl-C stops it.")
                self.stdout.flush()
                web.serve(cluster, stop=stop)
        except CannotWorkError as error:
            raise CommandError(str(error), returncode=1) from error
