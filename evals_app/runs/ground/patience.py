"""Survive a database or a queue that is briefly unavailable."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection

log = logging.getLogger(__name__)

# InternalError: the server ended a transaction that was idle for too long.
AWAY: tuple[type[Exception], ...] = (OperationalError, InterfaceError, InternalError)
PAUSE_S = 0.5

P = ParamSpec("P")
T = TypeVar("T")


def queue_faults(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the exceptions of an unavailable queue, and `others`.

    Redis takes a fifth of a second to import. A module that was not imported raises nothing.
    """
    redis = sys.modules.get("redis")
    return (*others, OSError) if redis is None else (*others, OSError, redis.RedisError)


@contextmanager
def others_go_on(message: str, *args: object) -> Iterator[None]:
    """Log what goes wrong with one thing: it must not end the worker, and with it all others."""
    try:
        yield
    except AWAY:
        raise
    except Exception:
        log.exception(message, *args)


def patiently(operation: Callable[P, T], *, until: Callable[[], float], lost: T) -> Callable[P, T]:
    """Wrap an idempotent operation: it is retried while the database is unavailable, up to `until`.

    `until()` is a moment of the monotonic clock; after it the answer is `lost`.
    """

    @wraps(operation)
    def repeat(*args: P.args, **kwargs: P.kwargs) -> T:
        is_away = False
        while True:
            try:
                return operation(*args, **kwargs)
            except AWAY as error:
                # Inside a transaction of the caller we cannot reconnect.
                if connection.in_atomic_block:
                    raise
                if not is_away:
                    log.warning("The database did not answer (%s); trying until it does.", error)
                is_away = True
                connection.close()
                if time.monotonic() + PAUSE_S >= until():
                    return lost
                time.sleep(PAUSE_S)

    return repeat
