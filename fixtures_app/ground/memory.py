"""Keep the garbage collector from walking objects that are all in use."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collection() -> Iterator[None]:
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
