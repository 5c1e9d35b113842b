"""What a workbook shows about its columns."""

import io
from typing import Any

import pytest
from openpyxl import load_workbook

from evals_app.formats.tables.columns import COLUMNS, ComparedColumn
from evals_app.formats.tables.guide import ABOUT, guides_of
from evals_app.formats.tables.workbook import read_xlsx
from evals_app.formats.tables.workbook_writing import write_workbook


def opened(rows: list[list[str]]) -> Any:
    content = write_workbook([("Cases", rows)], guides={"Cases": guides_of(rows)})
    return load_workbook(io.BytesIO(content))["Cases"]


def values_of(rows: list[list[str]]) -> dict[str, list[str]]:
    """Return the values of drop-downs, by the cells that have them."""
    validations = opened(rows).data_validations.dataValidation
    return {str(item.sqref): item.formula1.strip('"').split(",") for item in validations}


def test_each_column_has_a_sentence() -> None:
    assert ABOUT.keys() == {column.header for column in COLUMNS}


def test_headers_have_notes_and_columns_of_people_have_none() -> None:
    sheet = opened([["Question", "param:level", "# owner"], ["hi", "1", "Ana"]])

    assert sheet["A1"].comment.text == ABOUT["user"]
    assert sheet["B1"].comment is not None
    assert sheet["C1"].comment is None
    assert sheet["A2"].comment is None


@pytest.mark.parametrize("header", ["enabled", "inherit", "streaming"])
def test_columns_of_yes_or_no_offer_both(header: str) -> None:
    assert values_of([["user", header], ["hi", ""]]) == {"B2:B200000": ["TRUE", "FALSE"]}


def test_ways_to_check_are_offered_and_each_is_one() -> None:
    (values,) = values_of([["Check", "user"], ["", "hi"]]).values()

    assert values[:3] == ["none", "contains", "whole words"]
    assert all(ComparedColumn("check").read(value) for value in values[1:])
    assert len(",".join(values)) <= 255


def test_tools_that_the_table_names_are_offered_in_all_its_rows() -> None:
    rows = [["user", "tool called"], ["a", "shop.refund\nshop.find"], ["b", "shop.find"]]

    assert values_of(rows) == {"B2:B200000": ["shop.find", "shop.refund"]}


def test_tools_of_the_agent_are_offered_too() -> None:
    rows = [["user", "tool not called"], ["a", "b"]]

    assert [guide.values for guide in guides_of(rows, tools={"c", "a"}) if guide] == [
        (),
        ("a", "b", "c"),
    ]


def test_values_that_no_drop_down_takes_are_left_out() -> None:
    rows = [["user", "tool called"], ["a", "a,b"], ["b", "\x1b"], ["c", "x" * 300], ["d", 'a"b']]

    assert values_of(rows) == {"B2:B200000": ['a""b']}


def test_a_workbook_with_notes_reads_as_it_was_written() -> None:
    rows = [["user", "check"], ["hi", "none"]]
    content = write_workbook([("Cases", rows)], guides={"Cases": guides_of(rows)})

    assert read_xlsx("a.xlsx", content).data == {"Cases": rows}
    assert content == write_workbook([("Cases", rows)], guides={"Cases": guides_of(rows)})
