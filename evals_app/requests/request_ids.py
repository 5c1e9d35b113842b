"""The id of the request that is being answered, which answers, problems and log lines repeat."""

from contextvars import ContextVar

# Empty outside of a request. Not cleared after it: its last log lines are written when all
# middleware has finished, and the next request of a thread begins with another id.
request_id: ContextVar[str] = ContextVar("request_id", default="")
