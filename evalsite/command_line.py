"""The command line: `manage.py` in the project folder, `evalwell` where the package is installed.

Errors in the set-up are reported in one line on stderr with exit code 2, never 1: for CI, 1 would
mean that an agent has failed. `--traceback` shows where it comes from.
"""

import atexit
import difflib
import gc
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand, CommandError, SystemCheckError
from django.db import InterfaceError, OperationalError, ProgrammingError

from evals_app.management import INTERRUPTED
from evals_app.management.scratch import has_own_data, temporary_data
from evalsite.command_help import overview, version

WRONG_SETUP = 2
# They read and write no site.
WITHOUT_SITE = frozenset(("", "help", "version", "init", "write_schemas", "connect"))
HELP = frozenset(("--help", "-h", "--version"))
READ_NO_FURTHER = 141  # what shells show for a process that SIGPIPE ended
DATABASE_FAULTS = (InterfaceError, OperationalError, ProgrammingError)


class Utility(ManagementUtility):
    """Django's own, with an overview of our commands. Those of Django are listed below `django`."""

    def __init__(self, argv: Sequence[str]) -> None:
        program, *rest = argv
        self._is_django = rest[:1] == ["django"]
        super().__init__([program, *(rest[1:] if self._is_django else rest)])
        if self._is_django:
            self.prog_name += " django"

    def execute(self) -> None:
        if self.argv[1:] in (["version"], ["--version"]) and not self._is_django:
            sys.stdout.write(f"{version()}\n")
            return
        super().execute()

    def main_help_text(self, commands_only: bool = False) -> str:  # noqa: FBT001, FBT002 - Django's signature
        if commands_only or self._is_django:
            return str(super().main_help_text(commands_only))
        return overview(self.prog_name)

    def fetch_command(self, subcommand: str) -> Any:
        _ = (
            settings.INSTALLED_APPS
        )  # otherwise an error in the settings would be reported as one of the command
        known = get_commands()
        if subcommand not in known:
            near = difflib.get_close_matches(subcommand, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            refuse(
                f"Unknown command: {subcommand!r}.{hint} `{self.prog_name} help` lists all commands."
            )
        command = super().fetch_command(subcommand)
        gc.freeze()
        gc.enable()
        return command


def main() -> None:
    """Hand the command line to Django, with this site's settings."""
    # Modules are not garbage, and memory ends with the process: collecting while commands are
    # loaded, and again at the end, would take a third of a short command's time.
    gc.disable()
    atexit.register(gc.freeze)
    os.umask(0o077)  # database, exports, caches: only this user may read what we write
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    with ExitStack() as stack:
        try:
            prepare(sys.argv[1:], stack)
            Utility(sys.argv).execute()
            sys.stdout.flush()
        except BrokenPipeError:
            # `| head` reads no further: end quietly, as other commands do.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(READ_NO_FURTHER)
        except SystemExit as ended:
            if isinstance(ended.__context__, SystemCheckError):
                sys.exit(WRONG_SETUP)
            raise
        except KeyboardInterrupt:
            sys.stderr.write("Interrupted.\n")
            sys.exit(INTERRUPTED)
        except (ImproperlyConfigured, CommandError, *DATABASE_FAULTS) as error:
            if "--traceback" in sys.argv:
                raise
            problem = " ".join(str(error).split())
            if isinstance(error, DATABASE_FAULTS):
                problem = (
                    f"The database cannot be used ({problem}). Is it running? A new one, or one of an"
                    " older version, needs: evalwell migrate"
                )
            refuse(problem)


def prepare(arguments: Sequence[str], stack: ExitStack) -> None:
    """Set the environment that settings read.

    Raises:
        CommandError: a file with variables cannot be read, or the arguments contradict each other.
    """
    command, *rest = arguments or [""]
    files = ArgumentParser(prog=command, add_help=False, allow_abbrev=False)
    files.add_argument("--env-file", action="append", default=[], type=Path)
    for path in files.parse_known_args(rest)[0].env_file:
        from evalsite.env_file import read_env_file  # noqa: PLC0415 - rarely needed

        for name, value in read_env_file(path).items():
            os.environ.setdefault(name, value)
    # Without a site, nothing is written where the command was started.
    needs_none = command in WITHOUT_SITE or HELP.intersection(arguments)
    if (needs_none or (command == "run_evals" and _runs_files(rest))) and not has_own_data():
        stack.enter_context(temporary_data())


def _runs_files(arguments: Sequence[str]) -> bool:
    from evals_app.management import run_options  # noqa: PLC0415 - for this command alone

    described = BaseCommand()
    described.help = run_options.HELP
    parser = described.create_parser(sys.argv[0], "run_evals")
    parser.called_from_command_line = True  # otherwise an error would raise an exception
    run_options.add_run_options(parser)
    return bool(run_options.paths_of(parser.parse_args(arguments).suites))


def refuse(problem: str) -> None:
    """Report what is wrong with the set-up, and exit."""
    sys.stderr.write(f"{problem}\n")
    sys.exit(WRONG_SETUP)


if __name__ == "__main__":
    main()
