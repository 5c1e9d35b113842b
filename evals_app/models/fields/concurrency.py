"""Long reads and writes that do not block other writers."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

_GAP_S = 0.12


def let_others_write() -> None:
    """Pause between two transactions: waiting writers try SQLite every 0.1 s."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(_GAP_S)


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all queries of a block see the same state without blocking writers."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        sqlite: Any = connection
        mode = sqlite.transaction_mode
        # Our transactions begin with a write lock; this one never locks, and must not write.
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
