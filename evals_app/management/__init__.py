"""Commands, and what they share."""

from django.core.management.base import CommandError

USAGE, INTERRUPTED = 2, 130  # exit codes


def usage_error(message: str) -> CommandError:
    """Return the error of wrong usage or configuration: the exit code is 2."""
    return CommandError(message, returncode=USAGE)
