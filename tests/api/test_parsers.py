import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import APIException

from evals_app.api import parsers
from evals_app.api.parsers import JsonParser, YamlParser, yaml_of_json
from evals_app.formats.yaml_source import read_yaml

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@given(JSON)
def test_the_reader_of_yaml_reads_the_same_json(data: Any) -> None:
    found = read_yaml("x.yaml", yaml_of_json({"data": data})).data["data"]

    assert json.dumps(found) == json.dumps(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("no", id="a word of YAML"),
        pytest.param("12", id="digits"),
        pytest.param('say "1e5" \\ 1e5', id="a number in a text"),
        pytest.param("\\ud83d\\ude00", id="escapes that are none"),
        pytest.param("a\u2028b\x85c\x7f\ufeff", id="line breaks and what cannot be printed"),
        pytest.param("\U0001f600", id="beyond the basic plane"),
        pytest.param(1e-07, id="small float"),
        pytest.param(1e22, id="large float"),
        pytest.param(-1.5e-9, id="negative float"),
        pytest.param({"<<": {"a": 1}, "*x": "&y"}, id="signs of YAML"),
        pytest.param({"": ""}, id="empty"),
    ],
)
def test_what_differs_between_json_and_yaml_is_written_out(data: Any) -> None:
    assert json.dumps(read_yaml("x.yaml", yaml_of_json([data])).data) == json.dumps([data])


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        pytest.param(
            b'{"a": [1, 1.0, true, null, "x"]}', {"a": [1, 1.0, True, None, "x"]}, id="all"
        ),
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
        pytest.param(b'{"a": 1, "a": 2}', "'a' stands twice", id="key twice"),
        pytest.param(b'{"a": Infinity}', "no Infinity in JSON", id="infinity"),
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


@pytest.mark.parametrize("parser", [JsonParser(), YamlParser()])
def test_a_body_that_is_too_large_is_refused(
    parser: JsonParser | YamlParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsers, "MAX_BODY", 10)  # the true one would take seconds

    with pytest.raises(APIException) as caught:
        parser.parse(BytesIO(b'"' + b"x" * 9 + b'"'))

    assert caught.value.status_code == 413
