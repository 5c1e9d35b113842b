from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures_app.ground.cells import read_any, read_cell, read_lines, write_cell
from fixtures_app.ground.field_table import Field, FieldKind
from fixtures_app.ground.json_data import canonical

STATE = Field("state", FieldKind.CHOICE, choices=("Open", "closed"))
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
    text = write_cell(FieldKind.OTHER, value)

    assert text
    assert canonical(read_any(text)) == canonical(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (FieldKind.TEXT, "12"),
        (FieldKind.LONG_TEXT, " a\nb "),
        (FieldKind.NUMBER, 1.5),
        (FieldKind.NUMBER, 3),
        (FieldKind.NUMBER, 1.0),
        (FieldKind.WHOLE, -12),
        (FieldKind.YES_NO, True),
        (FieldKind.YES_NO, False),
        (FieldKind.DATE, "2026-05-01"),
        (FieldKind.TIME, "09:30"),
        (FieldKind.DATE_TIME, "2026-05-01T09:30:00Z"),
        (FieldKind.TEXTS, ["a", "b c"]),
    ],
)
def test_a_value_is_read_back_from_a_cell_of_its_kind(kind: FieldKind, value: Any) -> None:
    text = write_cell(kind, value)

    assert text is not None
    assert canonical(read_cell(Field("a", kind), text)) == canonical(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (FieldKind.TEXT, 12),
        (FieldKind.TEXT, None),
        (FieldKind.NUMBER, "12"),
        (FieldKind.NUMBER, True),
        (FieldKind.WHOLE, 1.5),
        (FieldKind.YES_NO, "yes"),
        (FieldKind.TEXTS, "a"),
        (FieldKind.TEXTS, ["a\nb"]),
        (FieldKind.TEXTS, [""]),
        (FieldKind.TEXTS, [1]),
    ],
)
def test_a_value_of_another_kind_is_not_shown(kind: FieldKind, value: Any) -> None:
    assert write_cell(kind, value) is None


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        (Field("a", FieldKind.NUMBER), "many", "12.5"),
        (Field("a", FieldKind.NUMBER), "1,5", "1.5?"),
        (Field("a", FieldKind.NUMBER), "1e999", "number"),
        (Field("a", FieldKind.NUMBER), "9" * 5000, "digits"),
        (Field("a", FieldKind.WHOLE), "1.5", "whole"),
        (Field("a", FieldKind.YES_NO), "maybe", "yes or no"),
        (Field("a", FieldKind.DATE), "2.12.2026", "mean 2026-12-02?"),
        (Field("a", FieldKind.DATE), "13/12/2026", "mean 2026-12-13?"),
        (Field("a", FieldKind.DATE), "12/13/2026", "mean 2026-12-13?"),
        (Field("a", FieldKind.DATE), "02/12/2026", "2026-05-01."),
        (Field("a", FieldKind.DATE), "31.02.2026", "2026-05-01."),
        (Field("a", FieldKind.DATE), "20260501", "year-month-day"),
        (Field("a", FieldKind.TIME), "9:30", "09:30"),
        (Field("a", FieldKind.DATE_TIME), "2026-05-01", "T09:30:00Z"),
        (STATE, "closd", "'closed'"),
        (Field("a", FieldKind.OTHER), "{", "JSON"),
        (Field("a", FieldKind.OTHER), '"a', "JSON"),
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
    assert read_cell(Field("a", FieldKind.YES_NO), text) is value


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
