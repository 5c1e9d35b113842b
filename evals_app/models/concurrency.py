"""Long reads and writes beside others who write."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

_GAP_S = 0.12


def let_others_write() -> None:
    """Pause between two transactions: who waits for SQLite looks for a gap every 0.1 s."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(_GAP_S)


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all queries of a block see the same, and keep nobody from writing; inside a transaction they see what that sees."""
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
