from typing import Any

import pytest

from fixtures_app.ground.written_data import data_in


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('["a", "b"]', ["a", "b"]),
        (' ["a",\n "b"] ', ["a", "b"]),
        ('{"a": [1]}', {"a": [1]}),
        ("['it\\'s', \"b\"]", ["it's", "b"]),
        ("{'a': None}", {"a": None}),
        ("[True, 1.5]", [True, 1.5]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("('b', 'a')", ["b", "a"]),
        ("('a',)", ["a"]),
        ("{'b', 'a'}", ["b", "a"]),
        ("[]", []),
        ("{}", {}),
    ],
)
def test_lists_and_mappings_are_found_as_programs_write_them(text: str, data: Any) -> None:
    assert data_in(text) == data


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "a", '"a"', "42", "null", "(1, 2)", "[a, b]", "[0-9]", "[^x]", "[...]", "[1j]"),
        *("('a')", "()", "('a', 1)", "{1, 2}"),
        *("{name}", "[x](y)", "['a', nan]", "{1: 2}", "[__import__('os')]", "[1] and [2]"),
        pytest.param("[" * 5000 + "]" * 5000, id="deep"),
        pytest.param(f"[{'1,' * 60_000}1]", id="long"),
    ],
)
def test_other_texts_are_texts(text: str) -> None:
    assert data_in(text) is None
