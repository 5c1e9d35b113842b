"""What a check says about replies that its kind has as examples, and what each choice would say.

A field has them: `json_schema_extra={"reply_examples": [...]}`. Code that grades runs grades them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from evals_app.engine.basics.decimals import read_number
from evals_app.engine.record.grade import Grade
from evals_app.engine.specs.base_spec import mark_of
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.trying import try_check

_USUAL, _OTHER, _ANOTHER = "14", "204", "305"
_MAX_CHARS = 40  # of a number that is shown in a sentence


@dataclass(frozen=True, slots=True)
class GradedExamples:
    """The grade of each example, and by choice the grade of one reply."""

    examples: Mapping[str, Grade]
    reply: str
    choices: Mapping[str, Grade]


async def grade_examples(
    check: AssertionSpec, *, reply: str, turn: int | None, expected: str | None
) -> GradedExamples | None:
    """Grade the examples of a check with its number; None if its kind has none.

    The choices grade this reply, or else the last example with two numbers.
    """
    name, samples = _examples_of(check)
    if not name:
        return None
    check, number = _with_number(check, expected)
    texts = [fill_number(sample, number) for sample in samples]

    async def grade_of(one: AssertionSpec, text: str) -> Grade:
        return await try_check(one, reply=text, turn=turn, expected=expected)

    shown = reply if reply.strip() else texts[-1]
    choices = get_args(type(check.grader).model_fields[name].annotation)
    return GradedExamples(
        {text: await grade_of(check, text) for text in texts},
        shown,
        {choice: await grade_of(_with_option(check, name, choice), shown) for choice in choices},
    )


def fill_number(sample: str, number: str) -> str:
    """Return an example with this number; if it has two, the second one differs."""
    return sample.format(number=number, other=_ANOTHER if _OTHER in number else _OTHER)


def _examples_of(check: AssertionSpec) -> tuple[str, list[str]]:
    """Return the field that has examples, and these; blank if none has."""
    fields = type(check.grader).model_fields.items()
    found = ((name, mark_of(info, "reply_examples")) for name, info in fields)
    return next(((name, samples) for name, samples in found if samples), ("", []))


def _with_number(check: AssertionSpec, expected: str | None) -> tuple[AssertionSpec, str]:
    """Return a check that has a number, and the number as a person writes it."""
    written = getattr(check.grader, "value", None)
    text = (expected or "") if written is None else str(written)
    if written is None and read_number(text.strip()) is None:
        return _with_option(check, "value", int(_USUAL)), _USUAL
    return check, text.strip()[:_MAX_CHARS]


def _with_option(check: AssertionSpec, name: str, value: object) -> AssertionSpec:
    return check.model_copy(update={"grader": check.grader.model_copy(update={name: value})})
