import json
from typing import Any

import pytest
from hypothesis import assume, given, settings

from evals_app.formats.reading.json_source import read_json
from evals_app.formats.reading.parsed_file import faults
from evals_app.formats.reading.problems import FormatError, Loc
from tests.formats.anywhere import JSON

TEXT = """{
  "a": [1, "two]", {"b": null}],
  "c \\" d" : {"a": 1e-09},
\t"e": "\\ud83d\\ude00"
}"""


@pytest.mark.parametrize(
    ("loc", "place"),
    [
        ((), (1, 1)),
        (("a",), (2, 8)),
        (("a", 1), (2, 12)),
        (("a", 2, "b"), (2, 26)),
        (('c " d', "a"), (3, 20)),
        (("e",), (4, 7)),
        (("e", "not there"), (4, 7)),
        (("nor this",), (1, 1)),
    ],
)
def test_every_value_has_its_place(loc: Loc, place: tuple[int, int]) -> None:
    assert read_json("x.json", TEXT.encode()).place(loc) == place


def test_values_are_those_of_json() -> None:
    data = read_json("x.json", TEXT.encode()).data

    assert (data['c " d']["a"], data["e"]) == (1e-9, "\U0001f600")


def test_several_values_are_a_list() -> None:
    assert read_json("x.json", b'{"a": 1}\n{"a": 2}\n').data == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("", (1, 1), id="empty"),
        pytest.param('{"a": 1,\n "a": 2}', (1, 1), id="a key twice"),
        pytest.param('{"a": 1,\n "b": }', (2, 7), id="no value"),
        pytest.param('{"a": NaN}', (1, 1), id="no number"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(FormatError) as caught:
        read_json("x.json", text.encode())

    assert (caught.value.problems[0].line, caught.value.problems[0].column) == place


@settings(max_examples=30)
@given(data=JSON)
def test_places_are_found_in_any_json(data: Any) -> None:
    assume(not list(faults(data)))
    text = json.dumps(data, indent=1)
    document = read_json("x.json", text.encode())
    lines = text.split("\n")

    def look(value: Any, loc: Loc) -> None:
        line, column = document.place(loc)
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert json.JSONDecoder().raw_decode(rest)[0] == value
        if isinstance(value, dict | list):
            for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
                look(inner, (*loc, step))

    look(document.data, ())
