import re
from pathlib import Path

import pytest

from evals_app.formats.foreign.words import plain
from evals_app.formats.tables.columns import COLUMNS, AnyColumn, ComparedColumn, column_of

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "spreadsheets.md").read_text()


def table_of_columns() -> dict[str, list[str]]:
    """Read the table of all columns: the other names of each, by its header."""
    names = {}
    for line in PAGE[PAGE.index("## All columns") :].splitlines():
        if line.startswith("| `"):
            headers, others, _ = re.split(r"\s*\|\s*", line.strip("| "))
            for header in re.findall("`([^`]+)`", headers):
                names[header] = [other for other in others.split(", ") if other]
    return names


def test_every_column_is_documented() -> None:
    assert set(table_of_columns()) == {"param:NAME", *(column.header for column in COLUMNS)}


@pytest.mark.parametrize(
    "column",
    [item for item in COLUMNS if item.header not in {"slug", "agent"}],
    ids=lambda item: item.header,
)
def test_every_other_name_of_a_column_is_documented_and_means_it(column: AnyColumn) -> None:
    others = table_of_columns()[column.header]

    assert sorted(map(plain, others)) == sorted(column.others)
    assert [column_of(other) for other in others] == [column] * len(others)


def test_every_way_to_compare_is_documented() -> None:
    with pytest.raises(ValueError, match="Known: ") as caught:
        ComparedColumn("check").read("by magic")

    known = str(caught.value).rpartition("Known: ")[2].rstrip(".").split(", ")
    cells = re.findall("`([^`\n]+)`", PAGE[: PAGE.index("## All columns")])
    documented = {re.sub(r" [\d.]+$", "", cell) for cell in cells}

    # Shorter names for `exact match` and `same meaning`, for those who try them.
    assert set(known) - documented == {"exact", "equals", "meaning"}
