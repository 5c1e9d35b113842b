"""Commands, and what they share.

`run_evals` may choose the database, so its options are read before the settings (`run_options`).
Files that are run without a chosen database get a data folder of their own (`scratch`), with a copy
of an empty migrated database. The commands read files through `importing`.
"""

from typing import Any, TypeAlias

from django.core.management.base import CommandError

Options: TypeAlias = dict[str, Any]  # of a command, by name, as argparse has read them

USAGE, INTERRUPTED = 2, 130  # exit codes


def usage_error(message: str) -> CommandError:
    """Return the error of wrong usage or configuration: the exit code is 2."""
    return CommandError(message, returncode=USAGE)
