"""Answer for an agent of a site from this computer."""

import asyncio
import os
import shutil
import signal
import socket
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from evals_app.engine.network.addresses import read_url
from evals_app.management import usage_error
from evals_app.management.connecting.connection import Connection
from evals_app.management.connecting.local_agent import LocalAddress, LocalAgent, LocalProgram
from evals_app.management.connecting.site import RefusedConnectionError, Site
from evals_app.management.numbers import whole

MAX_PARALLEL = 100  # as many as the site gives to one computer
TOKEN = "EVALWELL_TOKEN"  # noqa: S105 - the name of the variable


class Command(BaseCommand):
    """Fetch an agent's messages from a site, ask a program here, and send its answers."""

    requires_system_checks = ()

    help = (
        "Answer for an agent of a site from this computer, which needs no address of its own: it"
        " fetches each message, runs PROGRAM with it, and sends what that writes. The agent's type on"
        f" the site is “A program on someone's computer”. {TOKEN} has a token with scope connect."
        " Stop it with Ctrl-C."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.usage = "evalwell connect AGENT [options] -- PROGRAM [ARGUMENT ...]"
        parser.add_argument("agent", metavar="AGENT", help="Slug of the agent on the site.")
        parser.add_argument("--site", metavar="URL", help="Default: EVALWELL_SITE.")
        parser.add_argument(
            "--url", help="Post each message to this address instead of running a program."
        )
        parser.add_argument(
            "--parallel",
            type=whole(most=MAX_PARALLEL),
            default=1,
            metavar="N",
            help="Messages at once, up to 100. Default: 1.",
        )

    def run_from_argv(self, argv: list[str]) -> None:
        """Keep what follows `--` for the program: its options are not ours."""
        cut = argv.index("--") if "--" in argv else len(argv)
        self.program = argv[cut + 1 :]
        super().run_from_argv(argv[:cut])

    program: Sequence[str] = ()

    def handle(self, *args: Any, **options: Any) -> None:
        agent = _local_agent(options.get("program") or self.program, options["url"])
        site = _site(options["site"] or settings.SITE, options["agent"])
        try:
            # Not async_to_sync: no database is used, and Ctrl-C has to end the waiting at once.
            with asyncio.Runner() as runner:
                runner.run(self._work(site, agent, options["parallel"], options["agent"]))
        except RefusedConnectionError as error:
            raise usage_error(f"The site refuses this computer: {error}") from None

    async def _work(self, site: Site, agent: LocalAgent, parallel: int, name: str) -> None:
        async with site, agent:
            work = asyncio.create_task(
                Connection(site, agent, parallel=parallel, tell=self._tell).work()
            )
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, work.cancel)
            self._tell(f"Answering for {name}. Ctrl-C stops it.")
            try:
                await work
            except asyncio.CancelledError:
                self._tell("Disconnected.")

    def _tell(self, text: str) -> None:
        self.stderr.write(text)
        self.stderr.flush()


def _local_agent(program: Sequence[str], url: str | None) -> LocalAgent:
    if bool(program) == bool(url):
        found = "both" if url else "neither"
        raise usage_error(
            f"Expected a program after -- or --url, found {found}. For example:"
            f" evalwell connect AGENT -- python my_agent.py"
        )
    if url:
        try:
            return LocalAddress(url)
        except ValueError as error:
            raise usage_error(f"--url {url}: {error}") from None
    if shutil.which(program[0]) is None:
        raise usage_error(f"There is no program {program[0]!r} here, or it may not be run.")
    return LocalProgram(program)


def _site(address: str, agent: str) -> Site:
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise usage_error(
            f"{TOKEN} is not set. Make a token with scope connect on the site (API tokens), and set"
            f" it: export {TOKEN}=ew_..."
        )
    try:
        read_url(address)
    except ValueError as error:
        raise usage_error(f"--site {address}: {error}") from None
    return Site(address, agent=agent, token=token, host=socket.gethostname() or "unnamed")
