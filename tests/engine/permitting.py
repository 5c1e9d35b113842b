"""What tests permit for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from evals_app.engine.permits import permits, set_permits


@contextmanager
def permitting(**changes: Any) -> Iterator[None]:
    before = permits()
    set_permits(replace(before, **changes))
    try:
        yield
    finally:
        set_permits(before)
