"""Keep the garbage collector from looking through what is all in use."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector out of the way of a large import or export.

    It would walk millions of new objects again and again and find nothing: half of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def set_aside() -> Iterator[None]:
    """Let the garbage collector pass over everything there is by now, and collect what comes.

    Rows and what belongs to them name each other, so nothing else removes them.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
