"""What is removed is overwritten in the file, too, where the database can do that."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def overwriting() -> Iterator[None]:
    """Have SQLite fill what is deleted within it with zeros, and empty its journal afterwards.

    The journal is left as it is while others read, or within a transaction; SQLite empties it later.
    PostgreSQL's autovacuum makes room by itself.
    """
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete = ON")
        yield
        if not connection.in_atomic_block:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
