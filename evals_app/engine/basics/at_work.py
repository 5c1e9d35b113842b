"""What this task works on, so that lines of the log can name it."""

from contextvars import ContextVar

RUN: ContextVar[int | None] = ContextVar("run", default=None)
EXECUTION: ContextVar[int | None] = ContextVar("execution", default=None)
