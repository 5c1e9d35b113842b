from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures_app.ground.cells import read_any, read_cell, read_lines, write_cell
from fixtures_app.ground.field_table import Field, Kind
from fixtures_app.ground.json_data import canonical

STATE = Field("state", Kind.CHOICE, choices=("Open", "closed"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # As editors send texts: no other newlines than \n.
    | st.text(st.characters(codec="utf-8", exclude_characters="\r\0")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(JSON)
def test_any_value_is_read_back_from_its_cell(value: Any) -> None:
    text = write_cell(Kind.OTHER, value)

    assert text
    assert canonical(read_any(text)) == canonical(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Kind.TEXT, "12"),
        (Kind.LONG_TEXT, " a\nb "),
        (Kind.NUMBER, 1.5),
        (Kind.NUMBER, 3),
        (Kind.NUMBER, 1.0),
        (Kind.WHOLE, -12),
        (Kind.YES_NO, True),
        (Kind.YES_NO, False),
        (Kind.DATE, "2026-05-01"),
        (Kind.TIME, "09:30"),
        (Kind.DATE_TIME, "2026-05-01T09:30:00Z"),
        (Kind.TEXTS, ["a", "b c"]),
    ],
)
def test_a_value_is_read_back_from_a_cell_of_its_kind(kind: Kind, value: Any) -> None:
    text = write_cell(kind, value)

    assert text is not None
    assert canonical(read_cell(Field("a", kind), text)) == canonical(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Kind.TEXT, 12),
        (Kind.TEXT, None),
        (Kind.NUMBER, "12"),
        (Kind.NUMBER, True),
        (Kind.WHOLE, 1.5),
        (Kind.YES_NO, "yes"),
        (Kind.TEXTS, "a"),
        (Kind.TEXTS, ["a\nb"]),
        (Kind.TEXTS, [""]),
        (Kind.TEXTS, [1]),
    ],
)
def test_a_value_of_another_kind_is_not_shown(kind: Kind, value: Any) -> None:
    assert write_cell(kind, value) is None


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        (Field("a", Kind.NUMBER), "many", "12.5"),
        (Field("a", Kind.NUMBER), "1,5", "1.5?"),
        (Field("a", Kind.NUMBER), "1e999", "number"),
        (Field("a", Kind.NUMBER), "9" * 5000, "digits"),
        (Field("a", Kind.WHOLE), "1.5", "whole"),
        (Field("a", Kind.YES_NO), "maybe", "yes or no"),
        (Field("a", Kind.DATE), "01.05.2026", "year-month-day"),
        (Field("a", Kind.DATE), "20260501", "year-month-day"),
        (Field("a", Kind.TIME), "9:30", "09:30"),
        (Field("a", Kind.DATE_TIME), "2026-05-01", "T09:30:00Z"),
        (STATE, "closd", "'closed'"),
        (Field("a", Kind.OTHER), "{", "JSON"),
        (Field("a", Kind.OTHER), '"a', "JSON"),
    ],
)
def test_a_cell_that_is_off_is_refused_with_what_is_expected(
    field: Field, text: str, word: str
) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read_cell(field, text)

    assert word in str(caught.value)


@pytest.mark.parametrize(("text", "value"), [("Yes", True), ("no", False)])
def test_yes_and_no_are_read_in_any_case(text: str, value: object) -> None:
    assert read_cell(Field("a", Kind.YES_NO), text) is value


def test_a_choice_is_read_in_any_case() -> None:
    assert read_cell(STATE, "open") == "Open"


def test_lines_are_read_as_fields() -> None:
    assert read_lines('total = 12\n\nname = Ann = B\ncode = "12"') == {
        "total": "12",
        "name": "Ann = B",
        "code": '"12"',
    }


@pytest.mark.parametrize("text", ["total", "= 1", "a = 1\na = 2"])
def test_lines_that_are_no_fields_are_refused_with_their_number(text: str) -> None:
    with pytest.raises(ValueError, match=r"^Line \d"):
        read_lines(text)
