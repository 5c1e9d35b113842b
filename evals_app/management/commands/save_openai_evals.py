"""Save everything that an account has in OpenAI Evals."""

import asyncio
import os
import sys
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.network.web import Web, proxy_for
from evals_app.management import usage_error
from evals_app.management.openai_evals.account import read_account
from evals_app.management.openai_evals.api import Api
from evals_app.management.openai_evals.folder import MANIFEST, open_folder
from evals_app.management.openai_evals.report import SaveReport
from evals_app.management.openai_evals.save import save_everything
from evals_app.management.openai_evals.work import Work
from evals_app.management.reading_options import add_env_file

_INCOMPLETE = 1


class Command(BaseCommand):
    """Save evals, runs, items, and what they name."""

    # It needs no database: someone may need it before anything is set up.
    requires_system_checks: list[str] = []

    help = (
        "Save everything that a project has in OpenAI Evals, which is shut down on 2026-11-30: evals, "
        "runs, items, files, prompts. OPENAI_API_KEY is the key. Started again with the same folder, it "
        "goes on. Exit code: 0 nothing is missing, 1 something is, 2 wrong usage or set-up."
    )

    def __init__(
        self,
        *args: Any,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._sleep = sleep

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "dir",
            type=Path,
            metavar="DIR",
            help="Folder to save to: a new one, or an earlier save.",
        )
        add_env_file(parser)

    def handle(self, *args: object, **options: Any) -> None:
        folder: Path = options["dir"]
        try:
            # Not async_to_sync: no database is used, and Ctrl-C has to end the waiting at once.
            with asyncio.Runner() as runner:
                report = runner.run(self._save(folder))
        except ConfigurationError as error:
            raise usage_error(str(error)) from error
        except OSError as error:
            path = error.filename2 or error.filename or folder
            raise usage_error(f"{path} cannot be written: {error.strerror}.") from error
        self._show(report, folder)
        if not report.is_whole:
            sys.exit(_INCOMPLETE)

    async def _save(self, root: Path) -> SaveReport:
        account = read_account(os.environ)
        with open_folder(root) as folder:
            proxy = proxy_for(account.base_url)
            async with Web(secrets=[account.key], proxy=proxy) as web:
                api = Api(account=account, web=web, tell=self._tell, sleep=self._sleep)
                work = Work(api=api, folder=folder, tell=self._tell)
                await save_everything(work)
        return work.report

    def _tell(self, line: str) -> None:
        self.stderr.write(line, str)  # what goes well is not red

    def _show(self, report: SaveReport, folder: Path) -> None:
        for note in report.notes():
            self._tell(f"note: {note}")
        for line in report.missing_lines():
            self.stderr.write(f"missing: {line}", self.style.ERROR)
        if report.missing:
            self._tell("Start the command again: it fetches only what is missing.")
        self.stdout.write(report.count_line())
        self.stdout.write(f"Saved in {folder}. {MANIFEST} lists all files with their digests.")
