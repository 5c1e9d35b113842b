"""Options of commands that read files; nothing here may need the settings."""

import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_THE_SITE = ("EVALWELL_", "EVALS_", "DATABASE_", "DJANGO_", "PG")


def variable(text: str) -> tuple[str, str]:
    """Read `NAME=VALUE`."""
    name, separator, value = text.partition("=")
    if not separator or not _NAME.fullmatch(name):
        # Not repeated: the value may be a key.
        raise ArgumentTypeError("expected NAME=VALUE, for example LANGUAGE=de")
    return name, value


def permitted_variable(text: str) -> str:
    """Read the name of an environment variable that files may contain."""
    if not _NAME.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is not the name of an environment variable")
    if text.startswith(_OF_THE_SITE):
        raise ArgumentTypeError(
            f"{text} belongs to Evalwell or to its database, so files never get it. Use --var "
            "NAME=VALUE for a value that is not a secret"
        )
    return text


def add_reading_options(parser: ArgumentParser, *, saves: bool = True) -> None:
    """Add how files are read, apart from the agent that answers for them."""
    add = parser.add_argument
    if saves:
        add(
            "--accept-no-checks",
            action="store_true",
            help="Import suites in which no case checks anything, too.",
        )
    add(
        "--format" if saves else "--dialect",
        metavar="NAME",
        dest="dialect",
        help="Default: detected for each file.",
    )
    add(
        "--as-one-suite",
        action="store_true",
        help="Read all evals that test one agent as the cases of one suite.",
    )
    _add_options_of_tables(parser)
    _add_variables(parser)


def _add_options_of_tables(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--ignore-column",
        action="append",
        default=[],
        metavar="NAME",
        help="Ignore this column of spreadsheets. May be repeated.",
    )
    add(
        "--map-column",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="Read this column of spreadsheets as a known one, such as Frage=question. May be "
        "repeated.",
    )
    add(
        "--check",
        action="append",
        default=[],
        metavar="[KIND=]WAY",
        help="Compare expected answers of spreadsheets in this way, such as contains; those of one "
        "kind, such as sentence=contains. May be repeated.",
    )
    add("--header-row", type=int, metavar="N", help="The row of a spreadsheet with its headers.")


def _add_variables(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--var",
        action="append",
        default=[],
        type=variable,
        metavar="NAME=VALUE",
        help="Replace ${NAME} in files with this value. May be repeated.",
    )
    add(
        "--allow-env",
        action="append",
        default=[],
        type=permitted_variable,
        metavar="NAME",
        help="Replace ${NAME} in files with the environment variable of this name. May be repeated.",
    )


def add_env_file(parser: ArgumentParser) -> None:
    """Add the option that names files with variables, which are read before the settings."""
    parser.add_argument(
        "--env-file",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="Read environment variables from this file; those already set keep their values. May be "
        "repeated.",
    )


def variables_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return what fills in `${NAME}`: only what the caller of a command names.

    Everyone who sees an agent can read what its file takes from the environment.
    """
    allowed = {name: os.environ[name] for name in options["allow_env"] if name in os.environ}
    return allowed | dict(options["var"])
