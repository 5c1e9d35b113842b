"""Rows of Parquet files."""

import sys
from datetime import date
from io import BytesIO
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from evals_app.formats.tables import parquet as reader
from tests.formats.tables.test_wanted import errors, read


def written(rows: list[dict[str, Any]]) -> bytes:
    file = BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


def test_rows_are_cases() -> None:
    day = date(2026, 5, 3)
    rows: list[dict[str, Any]] = [
        {
            "question": "Capital of France?",
            "answer": "Paris",
            "day": day,
            "png": b"1",
            "spans_of": None,
        },
        {"question": "When?", "answer": "2026-05-03", "spans_of": {"text": "x"}},
    ]

    imported = read("capitals.parquet", written(rows))

    (suite,) = imported.suites
    said = [(case.name, case.turns[0].expected) for case in suite.spec.cases]
    assert said == [("Capital of France?", "Paris"), ("When?", "2026-05-03")]
    assert sorted(loss.keys for loss in imported.losses) == ["[0].day", "[0].png", "[1].spans_of"]


def test_what_is_no_parquet_file_is_refused() -> None:
    (problem,) = errors("rows.parquet", b"PAR1 and no more")

    assert problem.path == "rows.parquet"


def test_a_file_with_too_many_cells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_CELLS", 1)

    (problem,) = errors("rows.parquet", written([{"question": "a", "answer": "b"}]))

    assert "cells" in problem.message


def test_without_pyarrow_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    (problem,) = errors("rows.parquet", b"")

    assert "pyarrow" in problem.message
