"""Kill what is left of other processes when the one that started them is gone.

Told over standard input: `+123` when group 123 began, `-123` when it has ended. Whoever tells is
gone when the input ends, even if it was killed and could do nothing about it any more.
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
