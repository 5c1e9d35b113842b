"""Become another program, with the signals that programs expect: `launch.py PROGRAM ARGUMENTS`."""

import os
import resource
import signal
import sys


def main() -> None:
    """Become the program."""
    # A worker ignores both signals, and children inherit that; the program must be stoppable.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - no shell is wanted
    except OSError as exc:
        sys.exit(f"{sys.argv[1]} cannot be run: {exc.strerror}")


if __name__ == "__main__":
    main()
