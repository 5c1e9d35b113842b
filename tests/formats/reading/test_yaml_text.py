import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.formats.reading.yaml_text import write_yaml

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    | st.sampled_from(" \t\n\r\x85\u2028\ufeff#:-'\"\\|>&*!%@`{}[],?~0123.eExonyf_")
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20
)


@given(st.dictionaries(TEXTS, JSON, min_size=1))
def test_what_is_written_is_read_back(data: object) -> None:
    written = write_yaml(data)

    assert read_yaml("x.yaml", written).data == data
    assert write_yaml(read_yaml("x.yaml", written).data) == written


@given(TEXTS)
def test_any_text_stays_text(text: str) -> None:
    document = read_yaml("x.yaml", write_yaml({"a": text}))

    assert document.data == {"a": text}
    assert document.surprises == ()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_stays_the_same_float(number: float) -> None:
    read_back = read_yaml("x.yaml", write_yaml({"a": number})).data["a"]

    assert math.copysign(1, read_back) == math.copysign(1, number)
    assert isinstance(read_back, float)


@pytest.mark.parametrize(
    ("number", "line"),
    [
        pytest.param(0.00005, "a: 0.00005", id="a small price"),
        pytest.param(0.000000001, "a: 0.000000001", id="the smallest price"),
        pytest.param(-0.25, "a: -0.25", id="below 0"),
        pytest.param(1e-10, "a: 1.0e-10", id="smaller than any price"),
        pytest.param(1e21, "a: 1.0e+21", id="large"),
    ],
)
def test_small_numbers_are_written_out(number: float, line: str) -> None:
    assert write_yaml({"a": number}).decode() == f"{line}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("plain words", "a: plain words", id="plain"),
        pytest.param("no", 'a: "no"', id="a word that is false"),
        pytest.param("12", 'a: "12"', id="number"),
        pytest.param("1e5", 'a: "1e5"', id="number in other versions"),
        pytest.param("2024-01-01", 'a: "2024-01-01"', id="date in other versions"),
        pytest.param("", 'a: ""', id="empty"),
        pytest.param("a\x07b", 'a: "a\\ab"', id="control character"),
        pytest.param("café, 東京", "a: café, 東京", id="other scripts"),
    ],
)
def test_texts_are_quoted_where_they_would_be_something_else(text: str, line: str) -> None:
    assert write_yaml({"a": text}).decode().splitlines() == [line]


def test_a_text_of_several_lines_is_a_block() -> None:
    assert write_yaml({"a": "one: 1\ntwo\n"}).decode() == "a: |\n  one: 1\n  two\n"


def test_a_long_text_stays_on_its_line() -> None:
    assert write_yaml({"a": "word " * 500 + "end"}).count(b"\n") == 1


def test_entries_of_a_list_stand_below_their_key_and_keep_their_order() -> None:
    written = write_yaml({"b": [{"y": 1, "x": 2}], "a": [[]]}).decode()

    assert written == "b:\n  - y: 1\n    x: 2\na:\n  - []\n"


def test_equal_values_are_written_out_each_time() -> None:
    shared = {"x": [1]}

    assert b"*" not in write_yaml({"a": shared, "b": shared})
