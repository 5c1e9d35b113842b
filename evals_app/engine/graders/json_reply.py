"""Graders of replies that are JSON."""

import math
from abc import abstractmethod
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticKnownError

from evals_app.engine.basics.decimals import covers_everything, is_within
from evals_app.engine.basics.matchers import (
    ABSENT,
    Matcher,
    matcher_warnings,
    matches,
    named_apart,
    other_reading,
    phrase,
)
from evals_app.engine.graders.kit.base import ABSOLUTE, RELATIVE, PlainGrader, too_long
from evals_app.engine.graders.kit.json_paths import JsonPathText
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from fixtures_app.ground.json_keywords import accepts_everything, unknown_keywords
from fixtures_app.ground.json_paths import NoSuchPlaceError, describe, find, parse_path, path_text
from fixtures_app.ground.json_text import MAX_JSON_BYTES, NotJsonError, Number, read_reply
from fixtures_app.ground.quoting import in_quotes, join_list, json_text
from fixtures_app.ground.schema_problems import schema_problems, schema_warnings
from fixtures_app.ground.schemas import MAX_MISMATCHES, UncheckableError, mismatches
from fixtures_app.ground.spec_errors import error_at
from fixtures_app.ground.strict_json import JsonObject

_SENTENCES = 5
_IS_THERE: JsonObject = {"present": True}
_IS_NOT_THERE: JsonObject = {"present": False}


class _JsonGrader(PlainGrader):
    """A grader of a reply that is JSON, or contains one block of it."""

    family: ClassVar[Literal["json"]] = "json"
    reads_text: ClassVar[bool] = True

    def grade(self, view: View) -> Grade:
        if refused := too_long(view.reply, MAX_JSON_BYTES):
            return refused
        try:
            document = read_reply(view.reply)
        except NotJsonError as exc:
            return Grade.miss(f"The reply {exc}")
        grade = self.grade_document(document.value)
        if not document.is_fenced:
            return grade
        reason = f"{grade.reason} The JSON is in a code block."
        return grade.but(reason=reason, details={**grade.details, "is_fenced": True})

    @abstractmethod
    def grade_document(self, document: object) -> Grade:
        """Grade the JSON of the reply."""


class JsonValid(_JsonGrader):
    """Pass when the reply is JSON.

    Score 1 or 0. Either the whole reply is JSON, or it contains exactly one code block of JSON, which
    the reason mentions. Up to 1 MB and 100 levels are read; no object may have a key twice.
    """

    label: ClassVar[str] = "Reply is valid JSON"
    in_words: ClassVar[str] = "The reply is data that a program can read."
    example: ClassVar[dict[str, object]] = {}

    def grade_document(self, document: object) -> Grade:
        return Grade.hit(f"The reply is JSON: {describe(document)}.")


def _usable(schema: JsonObject) -> JsonObject:
    if problems := schema_problems(schema):
        errors = [
            error_at("json_schema", problem.message, problem.loc, schema) for problem in problems
        ]
        raise ValidationError.from_exception_data("JSON Schema", errors)
    return schema


class JsonSchema(_JsonGrader):
    """Pass when the reply is JSON that matches a JSON Schema.

    Score 1 or 0. The draft is 2020-12. References stay inside the schema, patterns are RE2, and the
    formats date, date-time, email, ipv4, ipv6, regex, time and uuid are checked. Unknown keys
    such as `requird` are refused, except those that begin with `x-`, and so is a schema that any JSON
    matches. Without `required`, a reply may leave out every key. The JSON is read as in `json_valid`.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    label: ClassVar[str] = "Reply matches a JSON Schema"
    in_words: ClassVar[str] = "The reply is data with an order number and a list of items."
    example: ClassVar[dict[str, object]] = {
        "schema": {
            "type": "object",
            "required": ["answer"],
            "properties": {"answer": {"type": "number"}},
        }
    }

    # The key in files is `schema`; pydantic has a method of that name.
    json_schema: Annotated[
        dict[str, Any],
        AfterValidator(_usable),
        Field(
            alias="schema",
            title="JSON Schema",
            description="The schema that the reply must match (draft 2020-12).",
            json_schema_extra={"rows": 8, "mono": True},
        ),
    ]

    def grade_document(self, document: object) -> Grade:
        try:
            faults = mismatches(document, self.json_schema, whole="the reply")
        except UncheckableError as exc:
            reason = f"The reply could not be checked against the schema: {exc}."
            return Grade(None, None, reason, GradeStatus.ERROR, Cause.HARNESS)
        if not faults:
            return Grade.hit(f"The reply matches the schema: {describe(document)}.")
        more = len(faults) - _SENTENCES
        named = faults[:_SENTENCES]
        if more > 0:
            named.append(f"{more}{'' if len(faults) < MAX_MISMATCHES else ' or more'} others")
        listing = named[0] if len(named) == 1 else f"{', '.join(named[:-1])}, and {named[-1]}"
        return Grade.miss(f"The reply does not match the schema: {listing}.", mismatches=faults)

    def cannot_fail(self) -> str | None:
        if unknown := unknown_keywords(self.json_schema):
            named = join_list(
                [f"{in_quotes(path_text(place))} ({meant})" for place, meant in unknown]
            )
            return f"The schema has keys that are not part of JSON Schema: {named}."
        if not accepts_everything(self.json_schema):
            return None
        return (
            "Any JSON matches this schema. State what the reply must have in type, required and"
            " properties; or choose json_valid, if any JSON will do."
        )

    def warnings(self) -> list[str]:
        return schema_warnings(self.json_schema)


def _finite(bound: float | None) -> float | None:
    # allow_inf_nan of a union makes a float of an integer, and fails on one that is too large.
    if isinstance(bound, float) and not math.isfinite(bound):
        kind: Literal["finite_number"] = "finite_number"
        raise PydanticKnownError(kind)
    return bound


Bound = Annotated[int | float | None, AfterValidator(_finite)]


class JsonPath(_JsonGrader):
    """Pass when a part of a JSON reply is as expected.

    Score 1 or 0. The path leads to one value: `order.items[0].price`, `$['unit price']`. The value
    is compared like an argument of a tool call; without one the part must be there, even as null.
    Numbers compare exactly, or within a tolerance. The JSON is read as by `json_valid`.
    """

    label: ClassVar[str] = "Part of a JSON reply"
    in_words: ClassVar[str] = "In the data of the reply, the status of the order is “shipped”."
    example: ClassVar[dict[str, object]] = {"path": "order.status", "value": "shipped"}

    path: Annotated[
        JsonPathText,
        Field(
            title="Path",
            description="Where the value is, for example items[0].price or $['unit price'].",
            json_schema_extra={"mono": True},
        ),
    ]
    value: Annotated[
        Matcher,
        Field(
            title="Expected value",
            description=(
                "A value, or one of {fuzzy: x}, {regex: p}, {any_of: [...]}, {contains: x},"
                " {present: true|false}. Leave blank if any value will do."
            ),
        ),
    ] = _IS_THERE
    absolute_tolerance: Annotated[
        float | None,
        ABSOLUTE,
        Field(description="For numbers: the largest difference that still passes."),
    ] = None
    relative_tolerance: Annotated[float | None, RELATIVE] = None
    minimum: Annotated[
        Bound, Field(title="Minimum", description="The smallest number that passes.")
    ] = None
    maximum: Annotated[
        Bound, Field(title="Maximum", description="The largest number that passes.")
    ] = None

    @model_validator(mode="after")
    def _compares_numbers(self) -> Self:
        problems = []
        if self._has_tolerance and not _is_number(self.value):
            key = "relative_tolerance" if self.absolute_tolerance is None else "absolute_tolerance"
            message = "A tolerance needs a number as the expected value."
            problems.append(error_at("no_number", message, (key,), getattr(self, key)))
        if self.value == _IS_NOT_THERE and (self.minimum is not None or self.maximum is not None):
            message = "A value that must be absent cannot have limits."
            problems.append(error_at("no_value", message, ("value",), self.value))
        if self.minimum is not None and self.maximum is not None and self.maximum < self.minimum:
            message = f"maximum {self.maximum} is less than minimum {self.minimum}."
            problems.append(error_at("no_range", message, ("maximum",), self.maximum))
        if problems:
            raise ValidationError.from_exception_data("JsonPath", problems)
        return self

    @property
    def _has_tolerance(self) -> bool:
        return self.absolute_tolerance is not None or self.relative_tolerance is not None

    def grade_document(self, document: object) -> Grade:
        try:
            actual = find(document, parse_path(self.path))
        except NoSuchPlaceError as exc:
            if matches(self.value, ABSENT):
                return Grade.hit(f"The reply has no {self.path}, as expected.")
            return Grade.miss(f"Expected {self._expected_text}; the reply {exc}")
        shown = json_text(actual)
        if not self._fits(actual) and (unclear := other_reading(self.value, actual)):
            return Grade.without_result(Cause.CASE, f"{self.path} is {shown}: {unclear}.")
        if self._fits(actual):
            return Grade.hit(
                f"{self.path} is {shown}; expected {self._expected_text}.", found=shown
            )
        return Grade.miss(
            f"Expected {self._expected_text}; it is {named_apart(self.value, actual, shown)}.",
            found=shown,
        )

    def _fits(self, actual: object) -> bool:
        if self._has_tolerance:
            if not isinstance(actual, Number) or not self._is_close(actual):
                return False
        elif not matches(self.value, actual):
            return False
        if self.minimum is None and self.maximum is None:
            return True
        return (
            isinstance(actual, Number)
            and (self.minimum is None or actual >= _exact(self.minimum))
            and (self.maximum is None or actual <= _exact(self.maximum))
        )

    def _is_close(self, actual: Number) -> bool:
        return is_within(
            actual,
            _exact(self.value),
            absolute=_exact(self.absolute_tolerance or 0),
            relative=_exact(self.relative_tolerance or 0),
        )

    @property
    def _expected_text(self) -> str:
        wanted = phrase(self.path, self.value)
        tolerances = []
        if self.absolute_tolerance is not None:
            tolerances.append(f"±{self.absolute_tolerance:g}")
        if self.relative_tolerance is not None:
            tolerances.append(f"±{self.relative_tolerance * 100:g} %")
        if tolerances:
            wanted += f" ({' or '.join(tolerances)})"
        bounds = [f"at least {self.minimum}"] if self.minimum is not None else []
        bounds += [f"at most {self.maximum}"] if self.maximum is not None else []
        if not bounds:
            return wanted
        return f"{self.path if self.value == _IS_THERE else wanted} {' and '.join(bounds)}"

    def summary(self) -> str:
        return f"In the JSON reply {self._expected_text}"

    def cannot_fail(self) -> str | None:
        if not covers_everything(self.absolute_tolerance or 0, self.relative_tolerance or 0):
            return None
        return "With this tolerance every number passes. Set a smaller one."

    def warnings(self) -> list[str]:
        return matcher_warnings({"value": self.value})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _exact(number: float) -> Decimal:
    # repr of a float is the shortest text that means it: 0.1 is one tenth.
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
