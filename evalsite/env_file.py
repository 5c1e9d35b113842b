"""Reads files with environment variables, as Docker and others do."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from dotenv.parser import parse_stream


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a file with lines like `NAME=VALUE`; values are taken as they are.

    Raises:
        ImproperlyConfigured: it cannot be read; no message repeats a line, which may contain a key.
    """
    try:
        with path.open(encoding="utf-8") as file:
            lines = list(parse_stream(file))
    except OSError as error:
        raise ImproperlyConfigured(
            f"--env-file: {path} cannot be read: {error.strerror}."
        ) from error
    except UnicodeDecodeError as error:
        raise ImproperlyConfigured(f"--env-file: {path} is not UTF-8.") from error
    variables = {}
    for line in lines:
        if line.error or (line.key is not None and line.value is None):
            # The match includes empty lines before it.
            blank = len(line.original.string) - len(line.original.string.lstrip("\n"))
            raise ImproperlyConfigured(
                f"{path}:{line.original.line + blank}: expected NAME=VALUE, or # before a comment."
            )
        if line.key is not None and line.value is not None:
            variables[line.key] = line.value
    return variables
