"""Options of commands that read files; nothing here may need the settings."""

import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def variable(text: str) -> tuple[str, str]:
    """Read `NAME=VALUE`."""
    name, separator, value = text.partition("=")
    if not separator or not _NAME.fullmatch(name):
        # Not repeated: the value may be a key.
        raise ArgumentTypeError("expected NAME=VALUE, for example LANGUAGE=de")
    return name, value


def add_reading_options(parser: ArgumentParser) -> None:
    """Add how files are read, apart from the agent that answers for them."""
    add = parser.add_argument
    add("--format", metavar="NAME", dest="dialect", help="Default: detected for each file.")
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
        "--var",
        action="append",
        default=[],
        type=variable,
        metavar="NAME=VALUE",
        help="Replace ${NAME} in files with this value, before the environment. May be repeated.",
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


def environment_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return what fills in `${NAME}`: the caller of a command may see their environment."""
    return os.environ | dict(options["var"])
