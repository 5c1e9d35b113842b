"""Kill the remaining child processes when the process that started them is gone.

Standard input lists them: `+123` when group 123 began, `-123` when it has ended. The input ends
with the process that started them, even if that was killed.
"""

import os
import signal
import sys
from contextlib import suppress


def main() -> None:
    """Listen, then kill."""
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line.startswith("+"):
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
