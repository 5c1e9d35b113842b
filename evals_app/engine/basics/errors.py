"""What can go wrong while a conversation runs, and what it means for the verdict.

EngineError
├── AgentError                  the agent crashed, timed out or sent an empty reply: failed, cause `agent`
├── ReplyMismatchError          an agent's replies do not match its description: errored, cause `case`
├── JudgeError                  the judge could not grade: ungraded, cause `judge`
├── CodeError                   the operator's code failed: a grade in error, or an AgentError
├── CallsMissingError           spans of the agent did not arrive: checks of its calls are not graded
├── ToolError                   a server of tools cannot be reached: errored, cause `tool`
├── WebError                    a server that an author named: an AgentError, or a tool's error
├── ConfigurationError          the run cannot work as written: refused before it starts
└── ProviderError               a model API: errored, cause `provider`
    ├── RateLimitedError        429: retried
    ├── UnavailableError        lost connection, broken stream, 408, 409, 5xx: retried
    ├── TimedOutError           no answer in time: retried
    ├── QuotaExhaustedError     paid quota used up: not retried
    ├── AuthFailedError         missing or wrong key: not retried
    └── BadRequestError         the API refuses the request or its reply cannot be read: not retried
        └── ReplyTooLongError   the reply is too long to be read: for the agent under test, an AgentError

A CannotError refuses what someone asks for, before anything runs.
"""

from typing import Any


class CannotError(Exception):
    """What someone asks for cannot be done: `problems` are sentences for people.

    `key` names the input that is wrong, `value` is what was found there.
    """

    def __init__(self, *problems: str, key: str = "", value: object = None) -> None:
        super().__init__(" ".join(problems))
        self.problems = list(problems)
        self.key = key
        self.value = value


class EngineError(Exception):
    """Base of everything the engine raises on purpose."""


class AgentError(EngineError):
    """The agent under test did not answer; the message is shown to people."""


class ReplyMismatchError(EngineError):
    """The agent answers in a way that its description does not allow; the message is shown to people."""


# The reason of a judged check without a judge.
NO_JUDGE = (
    "There is no judge model. Choose one in the suite, or set EVALS_JUDGE_MODEL for the site."
)


class JudgeError(EngineError):
    """A judge gave no usable verdict; the message is shown to people.

    `calls` are the JudgeCalls that were made: they were paid for, and they explain the error.
    `details` is JSON for the review page.
    """

    def __init__(self, message: str, *, calls: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.calls = calls
        self.details: dict[str, Any] = {}


class CodeError(EngineError):
    """The operator's code failed or took too long; the message is shown to people."""


class CallsMissingError(EngineError):
    """The agent's tool calls are unknown; the message says why."""


class ToolError(EngineError):
    """The agent's tools are not available; the message is shown to people."""


class ConfigurationError(EngineError):
    """The snapshot names something that this installation cannot provide."""


class WebError(EngineError):
    """A server did not answer as it should; the message is shown to people and contains no secret."""


class ProviderError(EngineError):
    """A model API did not serve a call.

    `retry_after_s` is what the API asked for in seconds, None if it gave none. `calls` are
    the JudgeCalls that were made before, if a judge was asked.
    """

    retryable = False

    def __init__(
        self, message: str, *, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.attempts: tuple[Any, ...] = ()  # the trial.Attempts that led here, the last included
        self.may_be_billed = False  # an attempt broke off, so its cost is unknown
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
    """The reply is longer than we read; the caller decides whose fault that is."""
