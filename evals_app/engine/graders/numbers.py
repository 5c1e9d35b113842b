"""The grader of numbers."""

import re
from collections.abc import Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

from evals_app.engine.basics.decimals import (
    DecimalSign,
    covers_everything,
    is_code,
    is_within,
    read_amount,
    read_number,
)
from evals_app.engine.basics.folding import in_plain_digits
from evals_app.engine.basics.permits import is_frozen
from evals_app.engine.graders.kit.base import ABSOLUTE, MAX_TEXT_BYTES, RELATIVE, seen_in_reply
from evals_app.engine.graders.kit.json_paths import PathGrader, ResponsePath, place_of
from evals_app.engine.graders.kit.prose_numbers import FoundNumber, find_numbers
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from fixtures_app.ground.quoting import cut_middle, in_quotes, join_list, says
from fixtures_app.ground.spec_errors import error_at
from fixtures_app.ground.strict_json import Json

_NUMBER_CHARS = 40
_ROUNDING = 1e-6
_UNCERTAIN = "It is unclear how decimals are written. Set decimal to comma or point."
_SEPARATED = re.compile(r"[0-9][.,][0-9]")
_MANY_TIMES = 10
_FOR_SHOW = Context(prec=12, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def _number_or_text(value: object) -> Json:
    # One message instead of one per type of the union.
    if value is None or (isinstance(value, int | float | str) and not isinstance(value, bool)):
        return value
    raise ValueError("Write a number such as 60.94, or a text such as '1,234'.")


class Numeric(PathGrader):
    """Pass when the reply gives the number, within a tolerance.

    Score 1 or 0. The number must be within one of the two tolerances; a difference equal to the
    tolerance passes. Numbers of any size are compared exactly. With `extract: whole`, the reply must
    be a number and nothing else. With `only`, a number that is repeated is one number. All choices but
    `whole` read running text: signs and the word minus,
    currency symbols, 1.2e3, 5k and 5 million, and amounts of money in brackets, such as ($1,200), as
    negative. Digits after a letter (v2), 1.2.3 and codes such as 007 or 01234 are not numbers. The
    expected number is read in the same way as the reply; it may have other words around it unless
    `extract` is `whole`. Digits of all scripts count.

    Thousands separators are read between groups of three digits: 1,234.56, 1.234,56, 1'234, 1 234 and
    1,00,000 have only one meaning. Other numbers depend on `decimal`:

    * `point`: 1,234 is over a thousand, 1.234 slightly over one, and 3,5 is two numbers
    * `comma`: 1.234 is over a thousand, 1,234 slightly over one, and 3,5 is three and a half
    * `auto`: as with `point`. If the meaning decides whether the reply passes, as with 3,5, it is not
      graded; 1,234 and 1.234 pass as with `point`, but never fail if they would pass with `comma`

    If a number is not graded for this reason, the cause is the case, not the agent.
    """

    label: ClassVar[str] = "Reply gives a number"
    in_words: ClassVar[str] = "The reply gives the price as 60.94, give or take a cent."
    family: ClassVar[Literal["numbers"]] = "numbers"
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    example: ClassVar[dict[str, object]] = {
        "value": 60.94,
        "relative_tolerance": 0.01,
        "extract": "last",
    }
    # Replies of agents are sentences, which often have other numbers.
    begins: ClassVar[Mapping[str, object]] = MappingProxyType({"extract": "any"})
    uses_expected: ClassVar[bool] = True
    most_bytes: ClassVar[int | None] = MAX_TEXT_BYTES

    value: Annotated[
        int | float | str | None,
        BeforeValidator(_number_or_text),
        Field(title="Expected number", description="Leave blank to take the turn's expected text."),
    ] = None
    absolute_tolerance: Annotated[
        float, ABSOLUTE, Field(description="The largest difference that still passes.")
    ] = _ROUNDING
    relative_tolerance: Annotated[float, RELATIVE] = 0.0
    accept_percent: Annotated[
        bool,
        Field(
            title="Accept percentages",
            description="35% equals 0.35, in the reply and in the expected number.",
            json_schema_extra={"advanced": True},
        ),
    ] = False
    accept_thousands_separators: Annotated[
        bool,
        Field(
            title="Accept thousands separators",
            description=(
                "Reads 1,234 as 1234 also if the whole reply is a number. In running text, they are"
                " always read."
            ),
            json_schema_extra={"advanced": True},
        ),
    ] = False
    extract: Annotated[
        Literal["whole", "last", "only", "any"],
        Field(
            title="Which number",
            json_schema_extra={
                "words": {
                    "whole": "The reply is nothing but the number",
                    "last": "The last number in the reply",
                    "only": "The only number in the reply",
                    "any": "Any number in the reply",
                },
                "reply_examples": [
                    "It weighs {number} kg.",
                    "{number}",
                    "It weighs {other} kg.",
                    "Parcel {other} weighs {number} kg.",
                ],
            },
        ),
    ] = "whole"
    decimal: Annotated[
        DecimalSign,
        Field(
            title="Decimal separator",
            json_schema_extra={
                "advanced": True,
                "words": {
                    "auto": "Either, where it is clear which one is meant",
                    "point": "A point, as in 1,234.5",
                    "comma": "A comma, as in 1.234,5",
                },
            },
        ),
    ] = "auto"
    response_path: ResponsePath = None

    @model_validator(mode="after")
    def _value_is_a_number(self, info: ValidationInfo) -> Self:
        if self.value is not None and not is_frozen(info):
            number = self._expected_number(self.value, self.decimal)
            if isinstance(number, str):
                detail = error_at("not_a_number", number, ("value",), self.value)
                raise ValidationError.from_exception_data("Numeric", [detail])
        return self

    def _expected_number(self, written: float | str, decimal: DecimalSign) -> Decimal | str:
        """Return the number that is written, or report why it cannot be used."""
        if isinstance(written, int):
            return Decimal(written)
        if isinstance(written, float):
            # repr of a float is the shortest text that means it: 0.1 is one tenth.
            exact = read_number(repr(written))
            return self._refusal(str(written)) if exact is None else exact
        numbers = self._all(written, decimal)
        if len(numbers) > 1:
            several = join_list([_number_text(number) for number in numbers])
            return (
                f"{in_quotes(written)} has several numbers ({several}). Keep only the one you mean."
            )
        if not numbers:
            return self._refusal(written)
        (number,) = numbers
        return number.value if number.is_certain else self._uncertainty(number.text)

    def _refusal(self, text: str) -> str:
        message = f"{in_quotes(text)} is not a number."
        if is_code(text):
            return f"{message} With leading zeros it is a code: use contains or exact_match."
        if read_number(text, percent=True) is not None:
            return f"{message} Set accept_percent, or write it as a decimal number."
        if read_amount(text, decimal=self.decimal, percent=self.accept_percent):
            return f"{message} Set accept_thousands_separators, or remove the separators."
        return f"{message} Write a number such as 60.94 or 1e6."

    def _all(self, text: str, decimal: DecimalSign) -> list[FoundNumber]:
        """Return every number in a text; with `whole`, the text itself or nothing."""
        text = in_plain_digits(text)
        if self.extract != "whole":
            return list(find_numbers(text, percent=self.accept_percent, decimal=decimal))
        amount = read_amount(
            text,
            decimal=decimal,
            percent=self.accept_percent,
            thousands=self.accept_thousands_separators,
        )
        return [FoundNumber(amount[0], text.strip(), amount[1])] if amount else []

    def grade_reply(self, reply: str, view: View) -> Grade:
        written = view.expected_value(None) if self.value is None else self.value
        expected = self._expected_number(written, self.decimal)
        if isinstance(expected, str):
            return Grade.without_result(Cause.CASE, self.expected_problem(str(written)) or expected)
        grade = self._compare(reply, expected, view, self.decimal)
        if self.decimal != "auto" or not _SEPARATED.search(in_plain_digits(f"{reply}\n{written}")):
            return grade
        # If the way decimals are written decides whether it passes, the result is unknown.
        by_point, by_comma = (
            self._passes(reply, written, view, decimal) for decimal in ("point", "comma")
        )
        if grade.passed and by_point:
            return grade
        if not (grade.passed or by_point or by_comma):
            return grade
        unclear = self._uncertainty(reply) or self._uncertainty(str(written))
        return Grade.without_result(Cause.CASE, unclear or _UNCERTAIN)

    def _passes(
        self, reply: str, written: float | str, view: View, decimal: DecimalSign
    ) -> bool | None:
        expected = self._expected_number(written, decimal)
        if isinstance(expected, str):
            return False
        return self._compare(reply, expected, view, decimal).passed

    def _uncertainty(self, text: str) -> str:
        """Name a number that can be read in two ways, and both readings; empty if none can."""
        unclear = [
            (number, others)
            for number in self._all(text, "comma")
            if (others := self._all(number.text, "point"))[:1] != [number]
        ]
        if not unclear:
            return ""
        shown, others = unclear[-1 if self.extract == "last" else 0]
        by_point = " and ".join(_short(other.value) for other in others) or "not one number"
        return (
            f"{in_quotes(shown.text)} can be read in two ways: {_short(shown.value)} with a decimal comma,"
            f" {by_point} with a decimal point. Set decimal to comma or point."
        )

    def _compare(self, reply: str, expected: Decimal, view: View, decimal: DecimalSign) -> Grade:
        numbers, problem = self._numbers(reply, decimal)
        if problem:
            return Grade.miss(f"Expected the number {_short(expected)}, but {problem}")
        absolute = Decimal(repr(self.absolute_tolerance))
        relative = Decimal(repr(self.relative_tolerance))
        for number in numbers:
            if is_within(number.value, expected, absolute=absolute, relative=relative):
                reason = f"The reply gives {_number_text(number)}; expected {_short(expected)}."
                return Grade.hit(reason).but(evidence=seen_in_reply(view, number.text))
        allowed = self._tolerance_text()
        if len(numbers) > 1:
            several = join_list([_number_text(number) for number in numbers])
            reason = f"None of the numbers in the reply ({several}) is {_short(expected)}{allowed}."
            return Grade.miss(reason)
        off = _FOR_SHOW.subtract(numbers[0].value, expected).copy_abs()
        reason = (
            f"The reply gives {_number_text(numbers[0])}; expected {_short(expected)}{allowed}."
            f" It is off by {_short(off)}."
        )
        return Grade.miss(reason).but(evidence=seen_in_reply(view, numbers[0].text))

    def _numbers(self, reply: str, decimal: DecimalSign) -> tuple[list[FoundNumber], str]:
        """Return the numbers to compare, or else the problem."""
        numbers = self._all(reply, decimal)
        if self.extract == "whole":
            advice = self._separator_advice(reply)
            problem = f"the reply is not just a number; {says(reply)}.{advice}"
            return numbers, "" if numbers else problem
        if not numbers:
            return [], f"the reply has no number; {says(reply)}."
        if self.extract == "last":
            return numbers[-1:], ""
        # Duplicates are dropped: a reply may repeat a number a hundred thousand times.
        numbers = list({number.value: number for number in reversed(numbers)}.values())[::-1]
        if self.extract == "only" and len(numbers) > 1:
            several = join_list([_number_text(number) for number in numbers])
            return [], f"the reply has several numbers: {several}."
        return numbers, ""

    def _separator_advice(self, reply: str) -> str:
        """Advise on a reply that is a number except for its separators."""
        text = in_plain_digits(reply)
        if not read_amount(text, decimal=self.decimal, percent=self.accept_percent):
            return ""
        return " Set accept_thousands_separators if it may have separators."

    def _tolerance_text(self) -> str:
        """Name the tolerances that were chosen; the default one only forgives rounding."""
        allowed = []
        if self.relative_tolerance:
            allowed.append(f"±{_plain(self.relative_tolerance * 100)} %")
        if self.absolute_tolerance > _ROUNDING:
            allowed.append(f"±{_plain(self.absolute_tolerance)}")
        return f" ({' or '.join(allowed)})" if allowed else ""

    def expected_problem(self, expected: str) -> str | None:
        number = self._expected_number(expected, self.decimal)
        return (
            f"The expected text must be one number. {number}" if isinstance(number, str) else None
        )

    def cannot_fail(self) -> str | None:
        if not covers_everything(self.absolute_tolerance, self.relative_tolerance):
            return None
        return (
            f"With this tolerance{self._tolerance_text()} every number passes. Set a smaller one."
        )

    def warnings(self) -> list[str]:
        share = self.relative_tolerance
        if share >= 1:
            message = (
                f"A relative tolerance of {share:g} allows {share * 100:g} % of the expected number."
                f" For {share:g} %, write {share / 100:g}."
            )
            return [message]
        expected = None if self.value is None else self._expected_number(self.value, self.decimal)
        if not isinstance(expected, Decimal) or not expected or self.cannot_fail():
            return []
        if Decimal(repr(self.absolute_tolerance)) < _MANY_TIMES * abs(expected):
            return []
        message = (
            f"The allowed difference of {self.absolute_tolerance:g} is many times {_short(expected)},"
            " so nearly every number passes."
        )
        return [message]

    def summary(self) -> str:
        expected = "the expected number"
        if self.value is not None:
            expected = cut_middle(str(self.value), _NUMBER_CHARS)
        return f"Reply{place_of(self)} gives {expected}{self._tolerance_text()}"


def _plain(tolerance: float) -> str:
    """Write a tolerance without an exponent."""
    return cut_middle(f"{Decimal(f'{tolerance:.6g}').normalize():,f}", _NUMBER_CHARS)


def _short(number: Decimal) -> str:
    return cut_middle(str(number), _NUMBER_CHARS)


def _number_text(number: FoundNumber) -> str:
    return cut_middle(number.text, _NUMBER_CHARS)
