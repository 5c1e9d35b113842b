"""Read in several queries what is stored at one moment, without keeping anybody from writing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all queries see the same; inside a transaction they see what that sees."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        sqlite: Any = connection
        mode = sqlite.transaction_mode
        # Ours begin by locking everybody else out; this one never does, and must not write.
        sqlite.transaction_mode = "DEFERRED"
        try:
            with transaction.atomic():
                yield
        finally:
            sqlite.transaction_mode = mode
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
