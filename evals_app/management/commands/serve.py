"""The web server and a worker together."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evals_app.management.web import WebServer
from evals_app.runs.cluster import Interrupted, LocalCluster, look_after


class Command(BaseCommand):
    """Serve the site and work on runs, until Ctrl-C."""

    help = "Serve the site and work on runs, until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", help="Address and port.")
        parser.add_argument("--grace", type=float, default=20.0, help="See `worker`.")

    def handle(self, *args: Any, **options: Any) -> None:
        # The cluster is forked first: it must not inherit the server's sockets and threads.
        with (
            Interrupted().listening() as stop,
            LocalCluster(grace_s=options["grace"]) as cluster,
            WebServer(options["bind"]) as web,
        ):
            self.stdout.write(f"Touchstone is on http://{options['bind']}/ - Ctrl-C stops it.")
            self.stdout.flush()
            if not look_after(cluster, stop=stop, is_over=lambda: not web.is_alive):
                message = "The worker's processes died; start again."
                raise CommandError(message, returncode=1)
            if not stop:
                message = f"The web server ended. Is {options['bind']} already in use?"
                raise CommandError(message, returncode=1)
