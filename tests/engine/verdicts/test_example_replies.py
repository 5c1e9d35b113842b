"""Examples of replies, graded by the check that they explain."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.example_replies import GradedExamples, grade_examples


def graded(*, reply: str = "", expected: str | None = None, **options: Any) -> GradedExamples:
    check = AssertionSpec.model_validate({"type": "numeric", **options})
    found = async_to_sync(grade_examples)(check, reply=reply, turn=1, expected=expected)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("extract", "verdicts"),
    [
        ("any", [True, True, False, True]),
        ("last", [True, True, False, True]),
        ("only", [True, True, False, False]),
        ("whole", [False, True, False, False]),
    ],
)
@pytest.mark.parametrize("value", [14, 204, 60.94, -5, "1,234", "35"])
def test_examples_have_the_number_of_the_check(
    extract: str, value: float | str, verdicts: list[bool]
) -> None:
    options: dict[str, Any] = {"accept_thousands_separators": True, "decimal": "point"}
    found = graded(value=value, extract=extract, **options)

    assert [grade.passed for grade in found.examples.values()] == verdicts
    assert f"It weighs {value} kg." in found.examples


@pytest.mark.parametrize(
    ("expected", "example"),
    [("7", "It weighs 7 kg."), ("Seven.", "It weighs 14 kg."), (None, "It weighs 14 kg.")],
)
def test_without_a_number_it_is_that_of_the_expected_answer_or_another(
    expected: str | None, example: str
) -> None:
    found = graded(extract="any", expected=expected)

    assert found.examples[example].passed


def test_tolerances_count() -> None:
    found = graded(value=200, extract="any", absolute_tolerance=4)

    assert found.examples["It weighs 204 kg."].passed


def test_each_choice_grades_the_reply_of_a_person() -> None:
    found = graded(value=6.90, reply="We refund 6.90 euros within 5 days.", extract="whole")

    assert {choice: grade.passed for choice, grade in found.choices.items()} == {
        "whole": False,
        "last": False,
        "only": False,
        "any": True,
    }


def test_without_a_reply_the_choices_grade_an_example() -> None:
    found = graded(value=14, extract="any")

    assert found.reply == "Parcel 204 weighs 14 kg."
    assert [*found.choices] == ["whole", "last", "only", "any"]
    assert [grade.passed for grade in found.choices.values()] == [False, True, False, True]


def test_other_kinds_have_no_examples() -> None:
    check = AssertionSpec.model_validate({"type": "contains", "value": "a"})

    assert async_to_sync(grade_examples)(check, reply="", turn=1, expected=None) is None
