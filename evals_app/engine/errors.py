"""What can go wrong while a conversation is held, and what it means for the verdict.

EngineError
├── AgentError                  the agent crashed, timed out or said nothing: failed, cause `agent`
├── JudgeError                  the judge could not grade: ungraded, cause `judge`
├── CodeError                   code of the operator's failed: a grade in error, or an AgentError
├── ToolError                   a server of tools cannot be reached: errored, cause `tool`
├── WebError                    a server that somebody named: an AgentError, or a tool's error
├── ConfigurationError          the run cannot work as written: refused before it starts
└── ProviderError               a model API: errored, cause `provider`
    ├── RateLimitedError        429: retried
    ├── UnavailableError        lost connection, broken stream, 408, 409, 5xx: retried
    ├── TimedOutError           no answer in time: retried
    ├── QuotaExhaustedError     paid quota used up: not retried
    ├── AuthFailedError         no key, a wrong key: not retried
    └── BadRequestError         the API refuses the request or its reply cannot be read: not retried
        └── ReplyTooLongError   the model said more than is read: an AgentError of the agent under test
"""

from typing import Any


class EngineError(Exception):
    """Base of everything the engine raises on purpose."""


class AgentError(EngineError):
    """The agent under test did not answer; the message is shown to people."""


# What a judged check says where nobody can judge.
NO_JUDGE = (
    "There is no model to judge with. Name one as the suite's judge model, or for the site in "
    "EVALS_JUDGE_MODEL."
)


class JudgeError(EngineError):
    """A judge gave no usable verdict; the message is shown to people.

    `calls` are the JudgeCalls that were made all the same: they were paid for, and they explain.
    `details` is JSON for the review page.
    """

    def __init__(self, message: str, *, calls: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.calls = calls
        self.details: dict[str, Any] = {}


class CodeError(EngineError):
    """Code of the operator's failed, or took too long; the message is shown to people."""


class ToolError(EngineError):
    """The tools that an agent was given are not there; the message is shown to people."""


class ConfigurationError(EngineError):
    """The snapshot names something that this installation cannot provide."""


class WebError(EngineError):
    """A server did not answer as it should; the message is for people, and holds no secret."""


class ProviderError(EngineError):
    """A model API did not serve a call.

    `retry_after_s` is what the API asked for in seconds, None where it said nothing. `calls` are
    the JudgeCalls that were made before, where a judge was asked.
    """

    retryable = False

    def __init__(
        self, message: str, *, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.attempts: tuple[Any, ...] = ()  # the trial.Attempts that led here, the last included
        self.calls: tuple[Any, ...] = ()


class RateLimitedError(ProviderError):
    """Too many requests (429)."""

    retryable = True


class UnavailableError(ProviderError):
    """The connection broke or the service is down (408, 409, 5xx, 529)."""

    retryable = True


class TimedOutError(ProviderError):
    """The service did not answer within the call's time."""

    retryable = True


class QuotaExhaustedError(ProviderError):
    """The account's quota is used up (402, or 429 with code `insufficient_quota`)."""


class AuthFailedError(ProviderError):
    """The key is missing or refused (401, 403)."""


class BadRequestError(ProviderError):
    """The service refuses the request (other 4xx), or its reply cannot be read."""


class ReplyTooLongError(BadRequestError):
    """The model said more than anybody reads; whose fault that is depends on who asked."""
