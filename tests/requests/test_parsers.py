from io import BytesIO
from typing import Any

import pytest
from rest_framework.exceptions import APIException

from evals_app.requests import parsers
from evals_app.requests.parsers import YAML_PARSERS, BytesParser, JsonParser


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b'{"a": [1, 1.0, true, null, "x"]}', {"a": [1, 1.0, True, None, "x"]}),
        pytest.param(b'\xef\xbb\xbf{"a": 1}', {"a": 1}, id="byte order mark"),
        pytest.param(b'"\\ud83d\\ude00"', "\U0001f600", id="a pair of surrogates"),
    ],
)
def test_json_is_read(raw: bytes, data: Any) -> None:
    assert JsonParser().parse(BytesIO(raw)) == data


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(b"", "not JSON", id="nothing"),
        pytest.param(b'{"a": 1, "a": 2}', "'a' appears twice", id="key twice"),
        pytest.param(b'{"a": Infinity}', "no Infinity", id="infinity"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="endless nesting"),
        pytest.param(b'{"a": "\xff"}', "not UTF-8", id="no text"),
        pytest.param(b'["\\u0000"]', "cannot be stored", id="null byte"),
        pytest.param(b'["\\ud800"]', "cannot be stored", id="half a pair"),
        pytest.param(b"[1e999]", "cannot be stored", id="a number that becomes infinite"),
        pytest.param(b"[%s]" % (b"9" * 5000), "not JSON", id="too many digits"),
        pytest.param(b"[" * 40 + b"]" * 40, "cannot be stored", id="deeper than anything written"),
    ],
)
def test_json_that_cannot_be_kept_is_refused(raw: bytes, expected: str) -> None:
    with pytest.raises(APIException, match=expected) as caught:
        JsonParser().parse(BytesIO(raw))

    assert caught.value.status_code == 400


@pytest.mark.parametrize("parser", [JsonParser(), YAML_PARSERS[0]()])
def test_a_body_that_is_too_large_is_refused(
    parser: BytesParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsers, "MAX_BODY", 10)  # the true one would take seconds

    with pytest.raises(APIException) as caught:
        parser.parse(BytesIO(b'"' + b"x" * 9 + b'"'))

    assert caught.value.status_code == 413
