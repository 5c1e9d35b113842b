import math

import pytest

from evals_app.engine.basics.errors import (
    AuthFailedError,
    BadRequestError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    TimedOutError,
    UnavailableError,
)
from evals_app.engine.llm.apis.retry import AttemptError, delay_s, retry_after_s, summary

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


def make_error(
    kind: type[ProviderError] = UnavailableError,
    what: str = "answered 529 (overloaded)",
    *,
    detail: str = "",
    status: int | None = None,
    retry_after: float | None = None,
    should_retry: bool | None = None,
) -> AttemptError:
    return AttemptError(
        kind,
        what,
        detail=detail,
        status=status,
        retry_after_s=retry_after,
        should_retry=should_retry,
    )


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({"retry-after": "12"}, 12.0, id="seconds"),
        pytest.param({"retry-after": "0.5"}, 0.5, id="part of a second"),
        pytest.param({"retry-after-ms": "1500"}, 1.5, id="milliseconds"),
        pytest.param({"retry-after-ms": "1500", "retry-after": "2"}, 1.5, id="milliseconds win"),
        pytest.param({"retry-after-ms": "soon", "retry-after": "2"}, 2.0, id="bad milliseconds"),
        pytest.param({"retry-after": "Fri, 15 Jan 2027 08:01:30 GMT"}, 90.0, id="date"),
        pytest.param({"retry-after": "Fri, 15 Jan 2027 07:59:00 GMT"}, None, id="date that passed"),
        pytest.param({"retry-after": "Fri, 99 Foo 2027"}, None, id="no date at all"),
        pytest.param({"retry-after": "1800000060000"}, 86_400.0, id="beyond all patience"),
        pytest.param({"retry-after": "Fri, 15 Jan 2999 08:00:00 GMT"}, 86_400.0, id="date beyond"),
        pytest.param({"retry-after-ms": "0", "retry-after": "2"}, 2.0, id="no milliseconds"),
        pytest.param({"retry-after": "0"}, None, id="zero"),
        pytest.param({"retry-after": "-3"}, None, id="negative"),
        pytest.param({"retry-after": "inf"}, None, id="infinite"),
        pytest.param({"retry-after": "nan"}, None, id="not a number"),
        pytest.param({"retry-after": "soon"}, None, id="a word"),
        pytest.param({"retry-after": ""}, None, id="empty"),
        pytest.param({}, None, id="absent"),
    ],
)
def test_what_the_api_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, now=NOW) == seconds


@pytest.mark.parametrize(
    ("error", "retry", "seconds"),
    [
        pytest.param(make_error(UnavailableError), 1, 2.0, id="first retry"),
        pytest.param(make_error(UnavailableError), 5, 32.0, id="last retry"),
        pytest.param(make_error(TimedOutError), 3, 8.0, id="no answer in time"),
        pytest.param(make_error(RateLimitedError), 1, 30.0, id="rate limit"),
        pytest.param(make_error(RateLimitedError), 5, 30.0, id="rate limit does not grow"),
        pytest.param(make_error(RateLimitedError, retry_after=7.0), 4, 7.0, id="limit's own word"),
        pytest.param(make_error(UnavailableError, retry_after=7.0), 4, 7.0, id="others' own"),
    ],
)
def test_the_wait_follows_the_kind_of_error(
    error: AttemptError, retry: int, seconds: float
) -> None:
    assert delay_s(error, retry=retry, jitter=0.0) == seconds
    assert math.isclose(delay_s(error, retry=retry, jitter=1.0), seconds * 1.1)


@pytest.mark.parametrize(
    ("kind", "should_retry", "expected"),
    [
        pytest.param(RateLimitedError, None, True, id="rate limit"),
        pytest.param(UnavailableError, None, True, id="unavailable"),
        pytest.param(TimedOutError, None, True, id="timeout"),
        pytest.param(QuotaExhaustedError, None, False, id="quota"),
        pytest.param(AuthFailedError, None, False, id="key"),
        pytest.param(BadRequestError, None, False, id="bad request"),
        pytest.param(BadRequestError, True, True, id="the API wants it retried"),
        pytest.param(UnavailableError, False, False, id="the API wants it left"),
        pytest.param(QuotaExhaustedError, True, False, id="quota stays used up"),
    ],
)
def test_only_some_errors_are_retried(
    kind: type[ProviderError],
    should_retry: bool | None,  # noqa: FBT001 - a column of the table
    expected: bool,  # noqa: FBT001
) -> None:
    assert make_error(kind, should_retry=should_retry).is_retryable is expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(make_error(RateLimitedError, status=429), True, id="429"),
        pytest.param(make_error(UnavailableError, status=529), True, id="529"),
        pytest.param(make_error(UnavailableError, status=500), False, id="500 is one call's"),
        pytest.param(make_error(TimedOutError), False, id="timeout"),
        pytest.param(make_error(QuotaExhaustedError, status=429), False, id="quota"),
        (make_error(RateLimitedError, status=429, should_retry=False), False),
    ],
)
def test_some_errors_hold_back_everybody(error: AttemptError, expected: bool) -> None:  # noqa: FBT001
    assert error.blocks_provider is expected


OVERLOADED = make_error(detail="Overloaded", status=529)
LOST = make_error(what="could not be reached", detail="no such host")
REFUSED = make_error(AuthFailedError, "answered 401 (key refused)", detail="invalid x-api-key.")


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        ([OVERLOADED] * 6, "Anthropic answered 529 (overloaded) 6 times in 63 s."),
        ([LOST] * 6, "Anthropic could not be reached 6 times in 63 s: no such host."),
        ([OVERLOADED], "Anthropic answered 529 (overloaded): Overloaded."),
        ([REFUSED], "Anthropic answered 401 (key refused): invalid x-api-key."),
        pytest.param(
            [OVERLOADED, REFUSED],
            "Anthropic failed 2 times in 63 s; the last time it answered 401 (key refused): "
            "invalid x-api-key.",
            id="different ones",
        ),
    ],
)
def test_a_sentence_says_what_happened(errors: list[AttemptError], text: str) -> None:
    assert summary("Anthropic", errors, seconds=62.9) == text
