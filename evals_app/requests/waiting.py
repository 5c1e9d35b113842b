"""Requests that wait for something to happen, without taking all threads of a process."""

from collections.abc import Callable
from threading import BoundedSemaphore
from time import monotonic, sleep

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from evals_app.requests.pagination import is_id
from evals_app.requests.problems import refused_at

MAX_S = 60
# A process of the web server has 16 threads; waiting ones cannot answer others.
MAX_WAITING = 4
PAUSE_S = 1.0

WAIT = OpenApiParameter(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": MAX_S},
    description="Seconds to wait for the end of the run or, with `If-None-Match`, for a change.",
)
PLACES = BoundedSemaphore(MAX_WAITING)


def seconds_to_wait(request: Request) -> int:
    """Read `wait=`; more than a request may wait is refused."""
    given = request.query_params.get("wait", "0")
    if not (is_id(given) and int(given) <= MAX_S):
        raise refused_at("wait", f"wait must be a whole number from 0 to {MAX_S}.")
    return int(given)


def wait_until(is_done: Callable[[], bool], *, seconds: float, pause_s: float = PAUSE_S) -> bool:
    """Poll until it happens; False at once if too many requests of this process already wait."""
    if not PLACES.acquire(blocking=False):
        return False
    try:
        end = monotonic() + seconds
        while not is_done() and (left := end - monotonic()) > 0:
            sleep(min(left, pause_s))
    finally:
        PLACES.release()
    return True
