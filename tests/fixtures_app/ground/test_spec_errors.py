"""Errors of pydantic in plain words, and raised again together with others."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from fixtures_app.ground.spec_errors import error_at, message_of, messages_of, taken_apart


def _refuse(value: str) -> str:
    msg = f"No {value} here."
    raise ValueError(msg)


class Model(BaseModel):
    number: Annotated[int, Field(ge=1, strict=True)] = 1
    text: Annotated[str, Field(min_length=1, max_length=3)] = "a"
    items: Annotated[list[int], Field(min_length=1, max_length=2)] = [1]
    own: Annotated[str, AfterValidator(_refuse)] = ""


def error_of(**written: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate(written)
    return caught.value


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"number": 0}, "value must be greater"),
        ({"text": ""}, "empty"),
        ({"text": "abcd"}, "3 characters"),
        ({"items": []}, "one entry"),
        ({"items": [1, 2, 3]}, "At most 2"),
        ({"own": "{x}"}, "No {x} here."),
    ],
)
def test_a_refusal_is_a_sentence(written: dict[str, Any], words: str) -> None:
    (message,) = messages_of(error_of(**written))

    assert words in message
    assert message.endswith(".")


def test_errors_are_raised_again_together() -> None:
    parts = taken_apart(error_of(number=0, items=[1, 2, 3], own="x"))
    again = ValidationError.from_exception_data("M", [*parts, error_at("k", "{a}?", ("b", 1), 5)])

    twice = ValidationError.from_exception_data("M", taken_apart(again))

    assert messages_of(twice) == messages_of(again)
    last = twice.errors()[-1]
    assert (last["type"], last["loc"], last["input"]) == ("k", ("b", 1), 5)
    assert message_of(last) == "{a}?"
