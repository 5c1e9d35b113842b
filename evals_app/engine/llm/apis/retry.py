"""When a failed attempt is retried, after how long, and the final message."""

import email.utils
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from evals_app.engine.basics.errors import (
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    TimedOutError,
)
from evals_app.engine.llm.apis.wire import Complaint, pause_s

MAX_RETRIES = 5
MAX_TIMEOUTS = 3  # each one is slow
JITTER = 0.1  # up to a tenth more, so that callers do not retry in lockstep
_RATE_LIMIT_S = 30.0
NOT_THE_AGENT = "This says nothing about the agent."

# These block the whole provider for a while, not only the caller.
BLOCKING_STATUS = frozenset({429, 529})


@dataclass(eq=False, repr=False)
class AttemptError(Exception):
    """One attempt that failed, as an adapter reports it.

    `what` completes a sentence that begins with the provider's name: "answered 529 (overloaded)".
    `detail` is the API's own explanation, without keys; `complaint` is the whole explanation, which
    may contain some. `should_retry` is the API's explicit wish. `is_billable` means that an answer
    may have been written and billed although it never arrived; by default, if there is no status.
    """

    kind: type[ProviderError]
    what: str
    _: KW_ONLY
    detail: str = ""
    status: int | None = None
    retry_after_s: float | None = None
    should_retry: bool | None = None
    request_id: str | None = None
    is_billable: bool | None = None
    complaint: Complaint = field(default_factory=Complaint)

    def __post_init__(self) -> None:
        super().__init__(sentence(self.what, self.detail))
        if self.is_billable is None:
            self.is_billable = self.status is None

    @property
    def is_retryable(self) -> bool:
        # Waiting does not refill a quota, even if a proxy asks for a retry.
        if self.should_retry is None or issubclass(self.kind, QuotaExhaustedError):
            return self.kind.retryable
        return self.should_retry

    @property
    def blocks_provider(self) -> bool:
        return self.is_retryable and self.status in BLOCKING_STATUS

    def to_provider_error(self, message: str) -> ProviderError:
        return self.kind(message, status=self.status, retry_after_s=self.retry_after_s)


def most_attempts(error: AttemptError) -> int:
    """Return how often a call may fail in this way."""
    return MAX_TIMEOUTS if error.kind is TimedOutError else MAX_RETRIES + 1


class SettingRefusedError(Exception):
    """The model does not accept a setting that was sent; without it the call may succeed."""

    def __init__(self, setting: str) -> None:
        super().__init__(f"The model does not accept {setting}.")
        self.setting = setting


def delay_s(error: AttemptError, *, retry: int, jitter: float) -> float:
    """Return the seconds to wait before this retry (counted from 1); `jitter` is 0..1."""
    if error.retry_after_s is not None:
        delay = error.retry_after_s
    elif issubclass(error.kind, RateLimitedError):
        delay = _RATE_LIMIT_S
    else:
        delay = 2.0**retry
    return delay * (1 + JITTER * jitter)


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Read the requested pause; None if there is no usable one.

    `now` is the Unix time, needed if the header is a date. A moment in the past is ignored: it comes
    from a wrong clock, and would make us retry without any pause.
    """
    in_ms, pause = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    return pause_s(in_ms, per_second=1000) or pause_s(pause) or _until(pause, now=now)


def sentence(what: str, detail: str = "") -> str:
    """Join both, with exactly one full stop at the end."""
    return f"{f'{what}: {detail}' if detail else what}".rstrip(" .") + "."


def summary(name: str, errors: Sequence[AttemptError], *, seconds: float) -> str:
    """Describe in a sentence how often and how the provider `name` failed."""
    last = errors[-1]
    if len(errors) == 1:
        return sentence(f"{name} {last.what}", last.detail)
    took = f"{len(errors)} times in {seconds:.0f} s"
    if len({error.what for error in errors}) == 1:
        # A repeated status says enough; a lost connection needs its reason.
        is_telling = last.status is None or not last.is_retryable
        return sentence(f"{name} {last.what} {took}", last.detail if is_telling else "")
    return sentence(f"{name} failed {took}; the last time it {last.what}", last.detail)


def over_limit(name: str, because: str, patience_s: float) -> str:
    """State that a provider could not be called for too long; `because` is its answer."""
    how = "overloaded (529)" if "529" in because else "rate-limiting us (429)"
    return (
        f"The provider {name} was {how} for more than {patience_s:.0f} s, the longest that a"
        f" call waits. {NOT_THE_AGENT}"
    )


def _until(date: str, *, now: float) -> float | None:
    parsed = email.utils.parsedate_tz(date)
    if parsed is None:
        return None
    try:
        return pause_s(email.utils.mktime_tz(parsed) - now)
    except (ValueError, OverflowError):
        return None
