"""What tools and data sets call the parts of a case."""

import json
import re
from collections.abc import Sequence
from typing import Any

from evals_app.formats.reading.problems import Loc

_LOOKED_AT = 10  # rows
_SEPARATORS = re.compile(r"[\W_]+")
# expectedOutput, as JavaScript programs write it.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

NAME = ("case", "case name", "name", "test", "test case", "title", "id")
USER = (
    *("user", "question", "input", "inputs", "prompt", "message", "user message", "query"),
    *("request", "user input", "user says", "user query", "user prompt"),
)
EXPECTED = (
    *("expected", "answer", "expected answer", "expected output", "expected response"),
    *("expected result", "expected completion", "ground truth", "correct answer", "reference"),
    *("reference answer", "reference output", "ideal", "ideal answer", "gold", "gold answer"),
    *("golden answer", "target", "output", "outputs", "completion"),
)
# Words of a key under which someone may have written what is checked.
_CHECKS = re.compile(r"\b(?:expect|must|should|forb|assert|criteri|rubric|evaluators?\b|checks?\b)")
# Under these a data set has a list of chat messages.
MESSAGES = ("messages", "conversation", "conversations", "chat", "dialogue", "dialog")


def plain(word: str) -> str:
    """Normalize the case and punctuation of a word: `maxTime_(ms)` is max time ms."""
    return _SEPARATORS.sub(" ", _HUMP.sub(" ", word)).strip().casefold()


def sounds_like_check(word: str) -> bool:
    """Whether a key that is not known may say what is checked: expected_tool, must_include."""
    return _CHECKS.search(plain(word)) is not None


def text_of(value: object) -> str:
    """Write a value of a data set as text."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def rows_place(data: object) -> Loc | None:
    """Return the place of the rows of a data set: the data itself, or its one list of such rows."""
    if isinstance(data, list):
        return () if _ask_something(data) else None
    if not isinstance(data, dict):
        return None
    places = [
        key for key, value in data.items() if isinstance(value, list) and _ask_something(value)
    ]
    return (places[0],) if len(places) == 1 else None


def _ask_something(rows: Sequence[object]) -> bool:
    """Whether one of the first rows has a column of messages."""
    words = {*USER, *MESSAGES}
    records = (row for row in map(record_in, rows[:_LOOKED_AT]) if isinstance(row, dict))
    return any(plain(key) in words for row in records for key in row)


def record_in(row: Any) -> object:
    """Return the record that a row is; items of OpenAI Evals are wrapped: `{"item": {...}}`."""
    is_wrapped = isinstance(row, dict) and isinstance(row.get("item"), dict)
    return row["item"] if is_wrapped else row
