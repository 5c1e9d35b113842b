"""The id of the current request, which answers, problems and log lines repeat."""

from contextvars import ContextVar

# Empty outside of a request. It is not cleared afterwards: the last log lines are written after all
# middleware, and the next request of the thread sets another id.
request_id: ContextVar[str] = ContextVar("request_id", default="")
