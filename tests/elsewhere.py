"""Work in another thread, for browser tests: Playwright's event loop occupies theirs."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

T = TypeVar("T")


def elsewhere(work: Callable[[], T]) -> T:
    """Call `work` in a thread of its own, where a task may run; give what it gives or raises."""

    def work_and_hang_up() -> T:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(work_and_hang_up).result()
