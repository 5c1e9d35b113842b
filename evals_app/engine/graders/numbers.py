"""The grader of numbers."""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from evals_app.engine.decimals import is_within, read_number
from evals_app.engine.graders.base import seen_in_reply
from evals_app.engine.graders.json_paths import PathGrader, ResponsePath
from evals_app.engine.graders.prose_numbers import FoundNumber, find_numbers
from evals_app.engine.quoting import listed, quoted, says, shortened
from evals_app.engine.trial import Grade, View

_NUMBER_CHARS = 40
_ROUNDING = 1e-6
_FOR_SHOW = Context(prec=12, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def _number_or_text(value: Any) -> Any:  # noqa: ANN401 - whatever was written
    # One message in place of one for each type that it is not.
    if value is None or (isinstance(value, int | float | str) and not isinstance(value, bool)):
        return value
    msg = "Write a number such as 60.94, or a text such as '1,234'."
    raise ValueError(msg)


class Numeric(PathGrader):
    """Pass when the reply gives the number, within a tolerance.

    Score 1 or 0. One of the two tolerances must hold; both include their limit. Numbers of any
    size compare exactly. With `extract: whole` the reply is a number and nothing else. The other
    choices read running text: signs, currency signs, 1,200 and 1.2e3 and 5k, and an amount in
    brackets such as (1,200) as negative; digits behind a letter (v2) and 1.2.3 are no numbers.
    """

    label: ClassVar[str] = "Reply gives a number"
    family: ClassVar[Literal["numbers"]] = "numbers"
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    example: ClassVar[dict[str, Any]] = {
        "value": 60.94,
        "relative_tolerance": 0.01,
        "extract": "last",
    }
    uses_expected: ClassVar[bool] = True

    value: Annotated[
        int | float | str | None,
        BeforeValidator(_number_or_text),
        Field(title="Expected number", description="Blank takes the turn's expected text."),
    ] = None
    absolute_tolerance: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            title="Allowed difference",
            description="Passes up to this difference, included.",
        ),
    ] = _ROUNDING
    relative_tolerance: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            title="Allowed relative difference",
            description="0.01 allows 1 % of the expected number.",
        ),
    ] = 0.0
    accept_percent: Annotated[
        bool, Field(title="Read percent", description="35% is 0.35, on both sides.")
    ] = False
    accept_thousands_separators: Annotated[
        bool,
        Field(
            title="Leave out thousands separators",
            description="1,234 is 1234; otherwise it is no number when the whole reply is read.",
        ),
    ] = False
    extract: Annotated[
        Literal["whole", "last", "only", "any"],
        Field(
            title="Where the number stands",
            description=(
                "whole: the reply is only the number. last: the last number in it. only: the only"
                " number in it. any: one of its numbers."
            ),
        ),
    ] = "whole"
    response_path: ResponsePath = None

    @model_validator(mode="after")
    def _value_is_a_number(self) -> Self:
        if self.value is not None and self._read_expected(self.value) is None:
            problem = PydanticCustomError("not_a_number", "{problem}", {"problem": self._refusal()})
            detail = InitErrorDetails(type=problem, loc=("value",), input=self.value)
            raise ValidationError.from_exception_data("Numeric", [detail])
        return self

    def _refusal(self) -> str:
        text = str(self.value)
        message = f"{quoted(text)} is not a number."
        if read_number(text, percent=True) is not None:
            return f"{message} Set accept_percent, or write it as a decimal."
        if read_number(text, percent=self.accept_percent, thousands=True) is not None:
            return f"{message} Set accept_thousands_separators, or leave the separators out."
        return f"{message} Write a number such as 60.94 or 1e6."

    def _read_expected(self, written: float | str) -> Decimal | None:
        if isinstance(written, int):
            return Decimal(written)
        # repr of a float is the shortest text that means it: 0.1 is one tenth.
        return self._read(repr(written) if isinstance(written, float) else written)

    def _read(self, text: str) -> Decimal | None:
        return read_number(
            text, percent=self.accept_percent, thousands=self.accept_thousands_separators
        )

    def grade_reply(self, reply: str, view: View) -> Grade:
        written = view.expected(None) if self.value is None else self.value
        expected = self._read_expected(written)
        if expected is None:
            problem = self.expected_problem(str(written))
            return Grade.miss(problem or "The expected text is not a number.")
        numbers, problem = self._numbers(reply)
        if problem:
            return Grade.miss(f"Expected the number {_short(expected)}, but {problem}")
        absolute = Decimal(repr(self.absolute_tolerance))
        relative = Decimal(repr(self.relative_tolerance))
        for number in numbers:
            if is_within(number.value, expected, absolute=absolute, relative=relative):
                reason = f"The reply gives {_shown(number)}; expected was {_short(expected)}."
                return Grade.hit(reason).but(evidence=seen_in_reply(view, number.text))
        allowed = self._allowed()
        if len(numbers) > 1:
            found = listed([_shown(number) for number in numbers])
            reason = f"None of the numbers in the reply ({found}) is {_short(expected)}{allowed}."
            return Grade.miss(reason)
        off = _FOR_SHOW.subtract(numbers[0].value, expected).copy_abs()
        reason = (
            f"The reply gives {_shown(numbers[0])}, expected was {_short(expected)}{allowed};"
            f" it is off by {_short(off)}."
        )
        return Grade.miss(reason).but(evidence=seen_in_reply(view, numbers[0].text))

    def _numbers(self, reply: str) -> tuple[list[FoundNumber], str]:
        """Give the numbers that may serve, or else the problem."""
        if self.extract == "whole":
            number = self._read(reply)
            if number is not None:
                return [FoundNumber(number, reply.strip())], ""
            return [], f"the reply is not just a number; {says(reply)}."
        found = list(find_numbers(reply, percent=self.accept_percent))
        if not found:
            return [], f"the reply holds no number; {says(reply)}."
        if self.extract == "only" and len(found) > 1:
            several = listed([_shown(number) for number in found])
            return [], f"the reply holds several numbers: {several}."
        if self.extract == "any":
            # Of equal ones the first: a reply may repeat a number a hundred thousand times.
            return list({each.value: each for each in reversed(found)}.values())[::-1], ""
        return found[-1:], ""

    def _allowed(self) -> str:
        """Name the tolerances that were chosen; the default one only forgives rounding."""
        allowed = []
        if self.relative_tolerance:
            allowed.append(f"±{self.relative_tolerance * 100:g} %")
        if self.absolute_tolerance > _ROUNDING:
            allowed.append(f"±{self.absolute_tolerance:g}")
        return f" ({' or '.join(allowed)})" if allowed else ""

    def expected_problem(self, expected: str) -> str | None:
        if self._read(expected) is not None:
            return None
        return f"The expected text {quoted(expected)} is not a number, so no reply can match it."

    def summary(self) -> str:
        expected = "the expected number"
        if self.value is not None:
            expected = shortened(str(self.value), _NUMBER_CHARS)
        return f"Reply{self.place} gives {expected}{self._allowed()}"


def _short(number: Decimal) -> str:
    return shortened(str(number), _NUMBER_CHARS)


def _shown(number: FoundNumber) -> str:
    return shortened(number.text, _NUMBER_CHARS)
