"""What Python's JSON reader accepts and this one does not."""

import pytest

from fixtures_app.ground.strict_json import MAX_DIGITS, read_strictly, strict_decoder


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("[NaN]", "NaN", id="not-a-number"),
        pytest.param("-Infinity", "-Infinity", id="infinity"),
        pytest.param('[{"b": 1, "a": 1, "a": 1}]', "'a'", id="key-twice"),
        pytest.param("9" * (MAX_DIGITS + 1), "1,000 digits", id="long-number"),
        pytest.param("[1,]", "", id="not-json"),
    ],
)
def test_what_is_not_strict_json_is_refused(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word or "Expecting|Illegal"):
        read_strictly(text)


def test_strict_json_is_read() -> None:
    assert read_strictly(' {"a": [1, 1.5, null], "b": "NaN"} ') == {"a": [1, 1.5, None], "b": "NaN"}
    assert read_strictly("9" * MAX_DIGITS) == int("9" * MAX_DIGITS)


def test_numbers_are_read_as_asked() -> None:
    assert strict_decoder(parse_int=str).decode("[1]") == ["1"]
