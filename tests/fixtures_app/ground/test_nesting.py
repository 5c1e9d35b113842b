"""JSON that is nested too deeply."""

import json
from typing import Any

import pytest

from fixtures_app.ground.nesting import is_too_deep


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        pytest.param("text", False, id="a text"),
        pytest.param([[]] * 1_000, False, id="broad"),
        pytest.param(json.loads("[" * 100 + "]" * 100), False, id="just deep enough"),
        pytest.param(json.loads("[" * 101 + "]" * 101), True, id="lists"),
        pytest.param(json.loads('{"a":' * 101 + "1" + "}" * 101), True, id="objects"),
    ],
)
def test_more_than_a_hundred_levels_are_too_many(value: Any, *, is_refused: bool) -> None:
    assert is_too_deep(value) is is_refused
