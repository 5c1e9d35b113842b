"""The grader that compares two values, each written as in a cell of a spreadsheet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from evals_app.engine.basics.decimals import DecimalSign
from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.graders.kit.base import Need, PlainGrader, too_long
from evals_app.engine.graders.kit.calls import called_instead, unreported_calls
from evals_app.engine.graders.kit.expressions import (
    MAX_CHARS,
    ExpressionError,
    ExpressionNode,
    Fixed,
    Place,
    parse_expression,
    places_in,
)
from evals_app.engine.graders.kit.values import (
    COMPARISONS,
    FUNCTIONS,
    SIGNS,
    from_json,
    kind_of,
    result_kind,
    value_text,
)
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from evals_app.engine.specs.inventory import CheckedName
from fixtures_app.ground.json_paths import NoSuchPlaceError, describe, find, path_text
from fixtures_app.ground.json_text import MAX_JSON_BYTES, NotJsonError, read_reply
from fixtures_app.ground.patterns import pattern_problem, pattern_warnings
from fixtures_app.ground.spec_errors import error_at

_PATTERNS = ("matches", "does not match")
_AGENTS = frozenset({"reply", "calls"})  # what the agent answers for
_UNCLEAR = (
    "It is unclear how decimals are written. Write number(..., 'comma') or number(..., 'point')."
)
_SUBJECTS = {"reply": "The reply", "expected": "The expected text", "message": "The message"}


class _UnknownValueError(Exception):
    """A value that cannot be known, and the part of the expression that needs it."""

    def __init__(self, message: str, *nodes: ExpressionNode) -> None:
        super().__init__(message)
        self.is_agents = any(map(_reads_agent, nodes))


def _reads_agent(node: ExpressionNode) -> bool:
    """Return whether a value depends on what the agent says or does."""
    return any(place.root in _AGENTS for place in places_in(node))


@dataclass(slots=True)
class _Reading:
    """The values of expressions in a view; `is_fenced`: the JSON of the reply is in a code block."""

    view: View
    decimal: DecimalSign = "auto"
    is_fenced: bool = False
    # JSON by the name of what has it, and what was calculated by its words.
    known: dict[str, Any] = field(default_factory=dict)

    def value(self, node: Any) -> Any:
        """Return the value of a node.

        Raises:
            _UnknownValueError: it has none.
        """
        if isinstance(node, Fixed):
            return node.value
        if isinstance(node, Place):
            return self._at(node)
        if node.written in self.known:
            return self.known[node.written]
        values = [self.value(arg) for arg in node.args]
        try:
            table = FUNCTIONS.get(node.name) or SIGNS[node.name]
            return self.known.setdefault(node.written, _apply(node.name, table, *values))
        except TypeError as exc:
            shown = _with_values(node.args, values)
            raise _UnknownValueError(f"{shown}. {exc}", node) from None
        except ValueError as exc:
            raise _UnknownValueError(f"{node.written} {exc}.", node) from None

    def _at(self, place: Place) -> Any:
        view, root = self.view, place.root
        turn = view.turn or (view.trial.turns[-1] if view.trial.turns else None)
        match root:
            case "decimal":
                return self.decimal
            case "today":
                if not view.trial.clock:
                    message = "today is unknown: the case has no frozen clock."
                    raise _UnknownValueError(message, place)
                return date.fromisoformat(view.trial.clock[:10])
            case "params":
                whole: Any = view.trial.context_params
            case "context":
                whole = list(view.context or ())
            case "calls":
                whole = self._calls(place)
            case "message":
                whole = turn.user if turn else ""
            case _:
                whole = view.reply if root == "reply" else view.expected_text
        if whole is None:
            raise _UnknownValueError("This turn has no expected text.", place)
        if isinstance(whole, str) and place.steps:
            whole = self._document(place, whole)
        found = self._follow(place, whole, place.steps, root)
        try:
            return from_json(found)
        except ValueError as exc:
            raise _UnknownValueError(f"{place.written} {exc}.", place) from None

    def _calls(self, place: Place) -> dict[str, list[object]]:
        tool = str(place.steps[0])
        calls = [
            {"args": call.args, "result": call.result, "error": call.error}
            for call in self.view.tool_calls
            if call.name == tool
        ]
        if not calls:
            message = f"{tool} was not called: {called_instead(tool, self.view)}"
            raise _UnknownValueError(message, place)
        return {tool: list(calls)}

    def _document(self, place: Place, text: str) -> object:
        if place.root not in self.known:
            try:
                document = read_reply(text)
            except NotJsonError as exc:
                raise _UnknownValueError(f"{_SUBJECTS[place.root]} {exc}", place) from None
            self.known[place.root] = document.value
            self.is_fenced |= place.root == "reply" and document.is_fenced
        return self.known[place.root]

    def _follow(self, place: Place, value: object, steps: tuple[Any, ...], name: str) -> Any:
        """Follow a path; [*] gives the list of what the rest of it finds in each item."""
        star = steps.index(None) if None in steps else len(steps)
        try:
            found = find(value, steps[:star])
        except NoSuchPlaceError as exc:
            raise _UnknownValueError(f"{_SUBJECTS.get(name, name)} {exc}", place) from None
        if star == len(steps):
            return found
        if star:
            path = path_text(steps[:star])
            name = f"{name}{path if path[0] == '[' else f'.{path}'}"
        if not isinstance(found, list):
            raise _UnknownValueError(f"{name} is {describe(found)}, not a list.", place)
        rest = steps[star + 1 :]
        inner = [self._follow(place, item, rest, f"{name}[{n}]") for n, item in enumerate(found)]
        return list(chain.from_iterable(inner)) if None in rest else inner


def _apply(name: str, table: Any, *values: object) -> object:
    """Return what a function, sign or comparison gives.

    Raises:
        TypeError: it does not take values of these kinds.
        ValueError: it has no value.
    """
    kinds = tuple(map(kind_of, values))
    try:
        result_kind(name, table, kinds)
    except ValueError as exc:
        raise TypeError(str(exc)) from None
    return table[kinds][1](*values)


def _with_values(nodes: tuple[ExpressionNode, ...], values: Sequence[object]) -> str:
    shown = [
        f"{node.written} is {value_text(value)}"
        for node, value in zip(nodes, values, strict=True)
        if not isinstance(node, Fixed) and node.written != value_text(value)
    ]
    return " and ".join(shown) or "Both sides are fixed"


def _problem(written: str) -> str | None:
    try:
        parse_expression(written)
    except ExpressionError as exc:
        return str(exc)
    return None


def _as_written(value: object) -> object:
    """Return a number of YAML, true, false or null as a text."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return f"{Decimal(repr(value)):f}"
    return value


Expression = Annotated[str, BeforeValidator(_as_written), refuse_if(_problem)]


class CompareValues(PlainGrader):
    """Pass when one value, such as a sum, a date or a length, compares with another as chosen.

    Score 1 or 0. Each side is written as in a cell of a spreadsheet, without the `=`:

    * `reply` is the text of the reply, `reply.total`, `reply.items[0].price` and `reply['unit price']`
      are parts of a JSON reply (read as in `json_valid`), `reply.items[*].price` that part of each item
    * `expected` and `message` are the turn's expected text and the user's message, also with parts;
      `params.NAME` is a parameter of the case, `context[0]` a text of the turn's context, `today` the
      day of the case's clock, `calls['order.get'][0].args.id` an argument of the first call of a tool
      (`[-1]`: the last), and `.result` and `.error` what it returned
    * `60.94`, `"text"`, `2026-03-05`, `true`, `false`, `null` are fixed values
    * `sum`, `min`, `max` and `count` of a list, `length` of a text; `round(x, 2)`,
      `abs`; `lower`, `upper`, `trim`; `split(reply, ",")[0]`; `number(reply)` is the only number in a
      text, `date(reply)` the only date, written as 2026-03-05; `+ - * /`, and dates `+ 14 days`

    Numbers are exact: 0.1 + 0.2 = 0.3. `contains` searches a text as people see it, or a list. Patterns
    are those of `matches`. Nothing is guessed: a part that is missing, a sum of nothing, a text where a
    number is needed, and two values of different kinds fail, and the reason says what was found.
    If the case itself lacks a value, or 3,5 could be read in two ways, it is not graded.
    """

    label: ClassVar[str] = "Two values compared"
    in_words: ClassVar[str] = "The prices of the items add up to the total of the order."
    family: ClassVar[Literal["json"]] = "json"
    reads_text: ClassVar[bool] = True
    most_bytes: ClassVar[int | None] = MAX_JSON_BYTES
    example: ClassVar[dict[str, object]] = {
        "left": "sum(reply.items[*].price)",
        "comparison": "=",
        "right": "reply.total",
    }

    left: Annotated[
        Expression,
        Field(
            max_length=MAX_CHARS,
            title="Left side",
            description=(
                "A value, for example reply.total, sum(reply.items[*].price), number(reply),"
                " length(reply) or date(reply.start) + 14 days."
            ),
            json_schema_extra={"mono": True},
        ),
    ]
    comparison: Annotated[
        Literal[
            "=",
            "!=",
            "<",
            "<=",
            ">",
            ">=",
            "contains",
            "does not contain",
            "matches",
            "does not match",
        ],
        Field(
            title="Comparison",
            json_schema_extra={
                "words": {
                    "=": "= is equal to",
                    "!=": "≠ is not equal to",
                    "<": "< is less than, or before",
                    "<=": "≤ is at most",
                    ">": "> is more than, or after",
                    ">=": "≥ is at least",
                    "contains": "Contains",
                    "does not contain": "Does not contain",
                    "matches": "Matches the pattern",
                    "does not match": "Does not match the pattern",
                }
            },
        ),
    ] = "="
    right: Annotated[
        Expression,
        Field(
            max_length=MAX_CHARS,
            title="Right side",
            description=(
                "A value, for example 60.94, expected, params.language or calls['order.get'][0].args.id."
                ' Put a text in quotation marks: "shipped".'
            ),
            json_schema_extra={"mono": True},
        ),
    ]

    @model_validator(mode="after")
    def _compares_like_with_like(self) -> Self:
        left, right = self._sides
        try:
            result_kind(self.comparison, COMPARISONS[self.comparison], (left.kind, right.kind))
        except ValueError as exc:
            raise self._refusal("comparison", str(exc)) from None
        if self.comparison in _PATTERNS and self._fixed_text is None:
            raise self._refusal("right", "Write the pattern in quotation marks.")
        if self._fixed_text == "" and "contain" in self.comparison:
            raise self._refusal("right", "Every text contains an empty one.")
        if self.comparison in _PATTERNS and (problem := pattern_problem(self._fixed_text or "")):
            raise self._refusal("right", problem)
        return self

    @property
    def _fixed_text(self) -> str | None:
        """The right side, if it is a text in quotation marks."""
        right = self._sides[1]
        return right.value if isinstance(right, Fixed) and isinstance(right.value, str) else None

    def _refusal(self, key: str, problem: str) -> ValidationError:
        detail = error_at("not_comparable", problem, (key,), getattr(self, key))
        return ValidationError.from_exception_data("CompareValues", [detail])

    @property
    def _sides(self) -> tuple[ExpressionNode, ExpressionNode]:
        return parse_expression(self.left), parse_expression(self.right)

    @property
    def _roots(self) -> set[str]:
        return {place.root for side in self._sides for place in places_in(side)}

    def grade(self, view: View) -> Grade:
        if refused := too_long(view.reply, MAX_JSON_BYTES):
            return refused
        if "calls" in self._roots:
            if not view.reports_calls:
                return unreported_calls(view.turns)
            if self._needs_results(view):
                return unreported_calls(view.turns, "what its tools return")
        grade = self._grade_values(_Reading(view))
        if "decimal" not in self._roots:
            return grade
        # If the way decimals are written decides whether it passes, the result is unknown.
        by_point, by_comma = (
            self._grade_values(_Reading(view, decimal)).passed for decimal in ("point", "comma")
        )
        if (grade.passed and by_point) or not (grade.passed or by_point or by_comma):
            return grade
        return Grade.without_result(Cause.CASE, f"{grade.reason} {_UNCLEAR}")

    def _needs_results(self, view: View) -> bool:
        read = {
            place.steps[0]
            for side in self._sides
            for place in places_in(side)
            if place.root == "calls" and {"result", "error"} & set(place.steps)
        }
        unreported = (call for call in view.tool_calls if call.result is None and not call.error)
        return view.trial.is_outside and any(call.name in read for call in unreported)

    def _grade_values(self, reading: _Reading) -> Grade:
        sides = self._sides
        try:
            values = [reading.value(side) for side in sides]
        except _UnknownValueError as exc:
            return self._unknown(str(exc), is_agents=exc.is_agents)
        found = _with_values(sides, values)
        try:
            passes = _apply(self.comparison, COMPARISONS[self.comparison], *values)
        except (TypeError, ValueError) as exc:
            is_agents = any(map(_reads_agent, sides))
            return self._unknown(f"{found}. {exc}", is_agents=is_agents)
        fenced = " The JSON is in a code block." if reading.is_fenced else ""
        reason = f"{found}; expected {self.summary()}.{fenced}"
        grade = (Grade.hit if passes else Grade.miss)(reason)
        return grade.but(details={"is_fenced": True}) if reading.is_fenced else grade

    def _unknown(self, reason: str, *, is_agents: bool) -> Grade:
        reason = f"Expected {self.summary()}. {reason}"
        return Grade.miss(reason) if is_agents else Grade.without_result(Cause.CASE, reason)

    def needs(self) -> frozenset[Need]:
        both: tuple[Need, Need] = ("expected", "context")
        return frozenset(need for need in both if need in self._roots)

    def reads_more(self) -> bool:
        return bool(self._roots & {"calls", "params", "message", "today"})

    def mentions(self) -> Iterator[CheckedName]:
        for key, side in zip(("left", "right"), self._sides, strict=True):
            for place in places_in(side):
                if place.root == "calls" and isinstance(place.steps[0], str):
                    yield CheckedName("tool", place.steps[0], (key,))

    def cannot_fail(self) -> str | None:
        if any(map(_reads_agent, self._sides)) and self.left != self.right:
            return None
        return "This is the same whatever the agent answers. Compare a part of the reply or of its calls."

    def summary(self) -> str:
        return f"{self.left} {self.comparison} {self.right}".replace("\n", " ")

    def warnings(self) -> list[str]:
        return pattern_warnings(self._fixed_text or "") if self.comparison in _PATTERNS else []
