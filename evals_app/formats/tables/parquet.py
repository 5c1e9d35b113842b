"""Read the rows of a Parquet file, as data sets are published."""

from datetime import date, datetime, time
from io import BytesIO

from evals_app.formats.reading.parsed_file import ParsedFile, json_document
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.formats.tables.table import MAX_CELLS, TOO_MANY_CELLS

_MISSING = "Reading Parquet files needs pyarrow: pip install pyarrow, or save the rows as .jsonl."


def read_parquet(path: str, content: bytes) -> ParsedFile:
    """Read a Parquet file as a list of records, which has no lines.

    Raises:
        FormatError: it cannot be read, has too many values, or pyarrow is missing.
    """
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415 - an extra
    except ImportError:
        raise FormatError([Problem(path, 0, 0, "", "", _MISSING)]) from None
    try:
        file = parquet.ParquetFile(BytesIO(content))
        if file.metadata.num_rows * file.metadata.num_columns > MAX_CELLS:
            raise FormatError([Problem(path, 0, 0, "", "", TOO_MANY_CELLS)])
        rows = file.read().to_pylist()
    except (ArrowException, OSError, ValueError) as error:
        message = f"This is not a Parquet file that can be read: {str(error).partition(chr(10))[0]}"
        raise FormatError([Problem(path, 0, 0, "", "", message)]) from error
    return json_document(path, [_as_json(row) for row in rows])


def _as_json(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    return value if isinstance(value, str | int | float | bool | None) else str(value)
