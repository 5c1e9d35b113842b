"""JSON that an agent wrote: no digit is lost, and nothing makes the reader fail or hang."""

import contextlib
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures_app.ground.json_text import (
    MAX_JSON_LEVELS,
    JsonDocument,
    NotJsonError,
    Number,
    read_json,
    read_reply,
)

FENCED = '```json\n{"a": 1}\n```'


@pytest.mark.parametrize(
    ("written", "text"),
    [
        pytest.param("1.50", "1.50", id="zeros at the end"),
        pytest.param("1E5", "1E5", id="exponent"),
        pytest.param("-0", "-0", id="negative zero"),
        pytest.param("0.1000000000000000055", "0.1000000000000000055", id="more than a float has"),
        pytest.param("9" * 5_000, "9" * 5_000, id="more than Python writes"),
    ],
)
def test_a_number_keeps_its_text(written: str, text: str) -> None:
    number = read_json(written)

    assert (str(number), repr(number)) == (text, text)
    assert number == Decimal(text)


@pytest.mark.parametrize(
    ("reply", "value", "is_fenced"),
    [
        pytest.param('{"a": null}', {"a": None}, False, id="object"),
        pytest.param(' \n[true, "x"]\n', [True, "x"], False, id="space around"),
        pytest.param('"half \\ud800"', "half \ud800", False, id="half of a character"),
        pytest.param(FENCED, {"a": 1}, True, id="fenced"),
        pytest.param(f"Here it is:\n\n{FENCED}\nBye.", {"a": 1}, True, id="prose around the fence"),
        pytest.param("```\n[1]\n```", [1], True, id="fence without a mark"),
        pytest.param("~~~JSON\n[1]\n~~~", [1], True, id="tildes"),
        pytest.param("````json\n[1]\n````", [1], True, id="four marks"),
        pytest.param(f"```python\nx = 1\n```\n{FENCED}", {"a": 1}, True, id="beside other code"),
        pytest.param(f"```\nnote\n```\n{FENCED}", {"a": 1}, True, id="the marked one counts"),
        pytest.param("```json\r\n[1]\r\n```\r\n", [1], True, id="line ends of Windows"),
        pytest.param('{"a": "```json"}', {"a": "```json"}, False, id="marks inside a text"),
    ],
)
def test_a_reply_is_read_as_it_stands_or_from_one_fenced_block(
    *, reply: str, value: Any, is_fenced: bool
) -> None:
    assert read_reply(reply) == JsonDocument(value, is_fenced)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("  \n", "is empty", id="spaces"),
        pytest.param("It is 5.", "is text, “It is 5.”", id="prose"),
        pytest.param('Sure: {"a": 1}', "```json block", id="prose before"),
        pytest.param('{"a": 1} Done.', "before “Done.”", id="prose behind"),
        pytest.param("5 euros", "is text", id="prose that begins with a number"),
        pytest.param('{"a" 1}', "colon", id="no colon"),
        pytest.param('{"a": "x}', "not closed", id="an open text"),
        pytest.param('["\\d"]', "backslash", id="a backslash"),
        pytest.param("{'a': 1}", "double quotes", id="single quotes"),
        pytest.param('{"a": 1,}', "no comma after the last", id="comma at the end"),
        pytest.param('{"a": NaN}', "NaN", id="no number"),
        pytest.param("-Infinity", "-Infinity", id="infinite"),
        pytest.param('{"a": "x\ny"}', "line break", id="line break in a text"),
        pytest.param('{"a": 1, "a": 2}', "the key 'a' appears twice", id="key twice"),
        pytest.param("[" * 101 + "]" * 101, "more than 100 levels", id="too deep"),
        pytest.param("[" * 900_000, "more than 100 levels", id="a bomb"),
        pytest.param('{"a":' * 150_000, "more than 100 levels", id="a bomb of objects"),
        pytest.param(f"{FENCED}\n{FENCED}", "2 blocks", id="two blocks"),
        pytest.param("1e9999999999999999999", "18 digits", id="exponent"),
        pytest.param("```json\nnope\n```", "is text", id="fenced prose"),
        pytest.param("```json\n[1]", "not closed", id="fence left open"),
        pytest.param('{"a": 1', "closing bracket", id="left open"),
    ],
)
def test_what_is_no_json_says_why(reply: str, says: str) -> None:
    with pytest.raises(NotJsonError) as refused:
        read_reply(reply)

    assert says in str(refused.value)
    assert "Expecting" not in str(refused.value)


@pytest.mark.parametrize(
    "reply", ["\ufeff[1]", "\ufeff```json\n[1]\n```", "```json\n\ufeff[1]\n```"]
)
def test_a_byte_order_mark_is_passed_over(reply: str) -> None:
    assert read_reply(reply).value == read_json("[1]")


def test_as_many_levels_as_promised_are_read() -> None:
    value = read_json("[" * MAX_JSON_LEVELS + "]" * MAX_JSON_LEVELS)

    assert value == read_json("[" * MAX_JSON_LEVELS + "]" * MAX_JSON_LEVELS)


def test_brackets_inside_texts_are_no_levels() -> None:
    assert read_json('["' + "[" * 500 + '\\"[{"]') == ["[" * 500 + '"[{']


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('"' + '\\"' * 400_000, id="a text that never ends"),
        pytest.param('{"a":' + " " * 900_000, id="spaces"),
        pytest.param("," + " " * 300_000 + ",", id="commas and spaces"),
        pytest.param("```\n" * 200_000, id="fences"),
        pytest.param("```" + "a" * 900_000 + "`", id="a fence that is none"),
        pytest.param("~" * 900_000 + "`", id="tildes that are no fence"),
        pytest.param("[" + ", " * 400_000, id="commas"),
        pytest.param("'" * 900_000, id="quotes"),
        pytest.param("9" * 900_000, id="digits"),
        pytest.param("[{'" * 300_000, id="brackets and quotes"),
    ],
)
def test_nothing_takes_long(text: str) -> None:
    started = time.process_time()
    with contextlib.suppress(NotJsonError):
        read_reply(text)

    assert time.process_time() - started < 20  # of the processor; alone, less than one


@given(st.text(alphabet=st.sampled_from('{}[]",:`~\\ \n0e-.Naujson'), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(NotJsonError):
        read_reply(text)


def test_numbers_are_equal_by_value() -> None:
    assert Number("1.50") == Number("1.5") == Decimal("1.5")
