"""Commands, and what they share."""

from django.core.management.base import CommandError

USAGE = 2


class UsageError(CommandError):
    """Wrong usage or configuration: the exit code is 2."""

    def __init__(self, message: str) -> None:
        super().__init__(message, returncode=USAGE)
