"""Log lines for an unavailable database."""

import logging

from django.db import InterfaceError, OperationalError


def is_away(error: BaseException | None) -> bool:
    """Whether the database was locked or did not answer, so that trying again may help."""
    is_its_own = isinstance(error, OperationalError | InterfaceError)
    # For SQLite a missing table is an operational error too.
    return is_its_own and not str(error).startswith("no such")


class OneLine(logging.Filter):
    """Shorten the error of an unavailable database to one line: a traceback does not help."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if is_away(error):
            reason = str(error).partition("\n")[0]
            record.msg, record.args = f"{record.getMessage()} ({reason})", ()
            record.exc_info, record.exc_text = None, None
        return True
