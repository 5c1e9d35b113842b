import math
from typing import Any

import pytest

from evals_app.engine.llm.apis.wire import (
    MiscountedError,
    count,
    parse_json,
    read_complaint,
    well_formed,
)


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        pytest.param(
            {"error": {"message": "Odd.", "type": "t", "code": "c", "param": "p"}},
            ("Odd.", "t", "c", "p"),
            id="OpenAI",
        ),
        ({"message": "Odd.", "type": "t", "code": None, "param": None}, ("Odd.", "t", "", "")),
        ({"type": "error", "error": {"type": "t", "message": "Odd."}}, ("Odd.", "t", "", "")),
        pytest.param(
            {"error": {"message": "Odd.", "details": {"error_code": "c"}, "code": "x"}},
            ("Odd.", "", "c", ""),
            id="a code in the details",
        ),
        pytest.param(
            [{"error": {"code": 400, "message": "Odd.", "status": "INVALID_ARGUMENT"}}],
            ("Odd.", "", "400", ""),
            id="Google",
        ),
        pytest.param({"error": "Odd."}, ("Odd.", "", "", ""), id="Ollama"),
        pytest.param({"detail": "Odd."}, ("Odd.", "", "", ""), id="FastAPI"),
        pytest.param({"detail": [{"msg": "odd"}]}, ('[{"msg": "odd"}]', "", "", ""), id="FastAPI"),
        pytest.param("Blocked.", ("Blocked.", "", "", ""), id="only words"),
        pytest.param([], ("", "", "", ""), id="empty list"),
        pytest.param(None, ("", "", "", ""), id="nothing"),
        pytest.param({}, ("", "", "", ""), id="empty object"),
        pytest.param(5, ("", "", "", ""), id="a number"),
    ],
)
def test_a_complaint_is_found_wherever_it_stands(body: Any, parts: tuple[str, ...]) -> None:
    complaint = read_complaint(body)

    assert (complaint.message, complaint.type, complaint.code, complaint.param) == parts


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param({"code": 429}, 429, id="a number"),
        pytest.param({"code": "503"}, 503, id="a number as text"),
        pytest.param({"code": "rate_limit_exceeded"}, 429, id="a code"),
        pytest.param({"type": "overloaded_error"}, 529, id="a type"),
        pytest.param({"code": "odd", "type": "invalid_request_error"}, 400, id="the type if not"),
        pytest.param({"code": 7}, 500, id="no status"),
        pytest.param({"code": "context_length_exceeded"}, 400, id="a mistake without a type"),
        pytest.param({"code": "server_error"}, 500, id="anything else"),
        pytest.param({}, 500, id="nothing"),
    ],
)
def test_a_status_is_known_from_the_words(error: dict[str, Any], status: int) -> None:
    assert read_complaint({"error": error}).status == status


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("half \ud83d", "half \ufffd", id="half a pair"),
        pytest.param("\ud83d\ude00", "\U0001f600", id="both halves"),
        pytest.param({"a": ["\udc00"]}, {"a": ["\ufffd"]}, id="deep inside"),
        pytest.param([math.nan, "\ud83d"], [None, "\ufffd"], id="no number"),
        pytest.param({"a": -math.inf}, {"a": None}, id="no finite number"),
        pytest.param({"a": [1, None, "ä"]}, {"a": [1, None, "ä"]}, id="nothing to mend"),
    ],
)
def test_what_nothing_can_carry_is_replaced(value: Any, expected: Any) -> None:
    assert well_formed(value) == expected


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        pytest.param('{"a": 1.5}', {"a": 1.5}, id="JSON"),
        pytest.param('"\\ud83d"', "\ufffd", id="half a pair"),
        pytest.param('{"a": NaN}', None, id="no number"),
        pytest.param('{"a": 1e999}', None, id="no finite number"),
        pytest.param("[" * 100_000, None, id="nested without end"),
        pytest.param("[" * 101 + "]" * 101, None, id="too deep to be kept"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_what_a_model_wrote_is_json_or_nothing(raw: str, value: Any) -> None:
    assert parse_json(raw) == value


@pytest.mark.parametrize(
    ("given", "counted"), [(3, 3), (0, 0), (2_147_483_647, 2_147_483_647), (None, None)]
)
def test_a_count_is_a_number_that_is_not_negative(given: object, counted: int | None) -> None:
    assert count({"tokens": given}, "tokens") == counted


@pytest.mark.parametrize("given", [-1, True, "3", 3.0, 10**30])
def test_what_cannot_be_a_count_is_not_taken_for_nothing(given: object) -> None:
    with pytest.raises(MiscountedError, match="tokens is not a whole number"):
        count({"tokens": given}, "tokens")


@pytest.mark.parametrize(
    ("details", "seconds"),
    [
        pytest.param([{"retryDelay": "21.5s"}], 21.5, id="seconds"),
        pytest.param(["x", {"@type": "x"}, {"retryDelay": "2s"}], 2, id="among others"),
        pytest.param([{"retryDelay": "0s"}], None, id="none"),
        pytest.param([{"retryDelay": "-1s"}], None, id="negative"),
        pytest.param([{"retryDelay": "nans"}], None, id="no number"),
        pytest.param([{"retryDelay": 5}], None, id="no text"),
        pytest.param({"retryDelay": "5s"}, None, id="no list"),
    ],
)
def test_the_pause_in_a_body_is_read(details: Any, seconds: float | None) -> None:
    assert read_complaint({"error": {"details": details}}).retry_after_s == seconds


@pytest.mark.parametrize(
    ("error", "about"),
    [
        pytest.param({"message": "temperature", "param": "seed"}, "seed", id="parameter"),
        pytest.param({"message": "no logprobs", "param": "include"}, "no logprobs", id="a list"),
        pytest.param({"message": "temperature"}, "temperature", id="only words"),
    ],
)
def test_a_complaint_says_what_it_is_about(error: dict[str, Any], about: str) -> None:
    assert read_complaint(error).about == about
