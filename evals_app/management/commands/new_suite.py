"""Begin a suite as a file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from evals_app.checks import FOR_COMMANDS
from evals_app.management.starters import stored_slugs, suite_starter, write_starter
from evals_app.models import Agent, Suite
from fixtures_app.ground.words import near

_SOME_AGENT = "my-agent"


class Command(BaseCommand):
    """Write a file to begin with."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Write the file of a new suite, with two cases and an explanation of each part. It is "
        "imported as it is once its agent exists. Exit code: 0 written, 2 otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="For example refund-flow.")
        parser.add_argument(
            "--agent", metavar="SLUG", help="The agent to test; by default the only one there is."
        )
        parser.add_argument("--dir", type=Path, default=Path(), help="Folder to write to.")

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["slug"]
        agents = stored_slugs(Agent)
        agent = options["agent"] or (agents[0] if len(agents) == 1 else _SOME_AGENT)
        text = suite_starter(slug, agent=agent)
        write_starter(self, text, model=Suite, slug=slug, folder=options["dir"])
        if agent not in agents:
            message = f"There is no agent {agent!r} yet.{near(agent, agents)}"
            self.stderr.write(f"warning: {message}", self.style.WARNING)
