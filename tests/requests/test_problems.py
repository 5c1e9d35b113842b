import pytest
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFilesSent,
)
from django.http import Http404
from rest_framework.exceptions import NotAuthenticated, Throttled, ValidationError
from rest_framework.response import Response

from evals_app.engine.basics.errors import CannotError
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.requests import problems
from evals_app.requests.problems import KEY_REUSED, RefusedError, error_at, problem_response
from evals_app.runs.starting.freeze import CannotStartError


def answer(exc: Exception) -> Response:
    response = problem_response(exc, {})
    assert response is not None
    return response


@pytest.mark.parametrize(
    ("exc", "status", "title"),
    [
        pytest.param(Http404(), 404, "Not Found", id="404"),
        pytest.param(PermissionDenied(), 403, "Forbidden", id="403"),
        pytest.param(NotAuthenticated(), 401, "Unauthorized", id="401"),
        pytest.param(SuspiciousOperation("bad"), 400, "Bad Request", id="suspicious"),
        pytest.param(RequestDataTooBig(), 413, "Request Entity Too Large", id="large"),
        pytest.param(TooManyFilesSent(), 413, "Request Entity Too Large", id="files"),
        pytest.param(CannotStartError("No key."), 422, "The run cannot start", id="run"),
        pytest.param(CannotError("No."), 422, "The request is not valid", id="asked"),
        pytest.param(
            RefusedError("Again?", status=409, kind=KEY_REUSED),
            409,
            "This Idempotency-Key was used for another request",
            id="key",
        ),
    ],
)
def test_every_refusal_has_one_shape(exc: Exception, status: int, title: str) -> None:
    response = answer(exc)

    assert response.status_code == response.data["status"] == status
    assert response.content_type == "application/problem+json"
    assert response.data.keys() == set(problems.ProblemJson.KEYS)
    assert response.data["title"] == title
    assert response.data["detail"]


def test_a_mistake_of_ours_is_not_hidden() -> None:
    assert problem_response(RuntimeError("broken"), {}) is None


def test_what_http_wants_in_headers_stays_there() -> None:
    assert answer(Throttled(wait=7)).headers["Retry-After"] == "7"


def test_nested_errors_become_paths_of_keys() -> None:
    response = answer(ValidationError({"a": {"b": ["First.", "Second."]}, "c": "Third."}))

    assert response.data["errors"] == [
        error_at("a.b", "First."),
        error_at("a.b", "Second."),
        error_at("c", "Third."),
    ]
    assert response.data["detail"] == "a.b: First. (2 more)"


def test_errors_of_files_keep_their_places_and_warnings_stay_out() -> None:
    warning = Problem("a.yaml", 9, 9, "", "", "Hm.", "warning")
    error = Problem("a.yaml", 3, 5, "cases[0]", "x", "Wrong.")

    response = answer(FormatError([warning, error]))

    assert response.data["errors"] == [
        {
            "keys": "cases[0]",
            "message": "Wrong.",
            "value": "x",
            "path": "a.yaml",
            "line": 3,
            "column": 5,
        }
    ]


def test_every_reason_against_a_run_is_shown() -> None:
    response = answer(CannotStartError("No key.", "No agent."))

    assert [error["message"] for error in response.data["errors"]] == ["No key.", "No agent."]


def test_a_refusal_says_where_and_what_it_found() -> None:
    response = answer(CannotError("Too many.", key="count", value=9))

    assert response.data["errors"] == [error_at("count", "Too many.", 9)]
    assert response.data["detail"] == "Too many."
