"""The execution that this task works on, for log lines."""

from contextvars import ContextVar

RUN: ContextVar[int | None] = ContextVar("run", default=None)
EXECUTION: ContextVar[int | None] = ContextVar("execution", default=None)
