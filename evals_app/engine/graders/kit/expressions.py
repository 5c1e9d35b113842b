"""The language of one value, as in a cell of a spreadsheet: `sum(reply.items[*].price) - 5`.

It is read when a check is saved, by recursive descent, and nothing of it ever runs as code.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from evals_app.engine.graders.kit.values import (
    ANY,
    DATE,
    FUNCTIONS,
    LIST,
    OBJECT,
    SIGNS,
    TEXT,
    kind_of,
    result_kind,
)
from fixtures_app.ground.quoting import in_quotes
from fixtures_app.ground.words import near

MAX_CHARS = 500
_MAX_DEPTH, _MAX_CALCULATIONS = 20, 40

# What a value can begin with, and the kind of its whole.
ROOTS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("reply", "expected", "message"), TEXT),
        **dict.fromkeys(("params", "calls"), OBJECT),
        "context": LIST,
        "today": DATE,
    }
)
_WORDS: Mapping[str, bool | None] = MappingProxyType({"true": True, "false": False, "null": None})
_STEP = r"""\.\w+|\[\*\]|\[-?[0-9]{1,9}\]|\[(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")\]"""
_STEPS = re.compile(_STEP)
_TOKEN = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?!\w)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?)(?![\w.])"
    r"""|(?P<text>"(?:[^"]|"")*"|'(?:[^']|'')*')"""
    rf"|(?P<name>[A-Za-z_]\w*)(?P<steps>(?:{_STEP})*)"
    r"|(?P<item>\[-?[0-9]{1,9}\])"
    r"|(?P<sign>[-+*/(),;])"
)


class ExpressionError(ValueError):
    """What is written cannot be read; the message says where, and what to write."""


@dataclass(frozen=True, slots=True)
class ExpressionNode:
    """A part of an expression as it is written; `kind` is that of its value, as far as known."""

    written: str
    kind: str


@dataclass(frozen=True, slots=True)
class Fixed(ExpressionNode):
    """A number, text, date, true, false or null."""

    value: object


@dataclass(frozen=True, slots=True)
class Place(ExpressionNode):
    """A place in what a check sees; a step of None is each item of a list."""

    root: str
    steps: tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class Call(ExpressionNode):
    """A function, a sign between two values, or [] for an item of a list."""

    name: str
    args: tuple[ExpressionNode, ...]


def places_in(node: ExpressionNode) -> Iterator[Place]:
    """Find what a value reads of the conversation and the case."""
    if isinstance(node, Place):
        yield node
    for part in node.args if isinstance(node, Call) else ():
        yield from places_in(part)


@lru_cache(maxsize=1_000)
def parse_expression(text: str) -> ExpressionNode:
    """Read an expression.

    Raises:
        ExpressionError: it is none.
    """
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._depth = self._calculations = 0
        self._tokens = list(self._cut())

    def _cut(self) -> Iterator[re.Match[str]]:
        at = 0
        while rest := self._text[at:].lstrip():
            at = len(self._text) - len(rest)
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise self._error(_advice(rest[0]), at)
            yield match
            at = match.end()

    def _error(self, problem: str, at: int) -> ExpressionError:
        rest = self._text[at : at + 30]
        place = f"Character {at + 1}, {in_quotes(rest)}" if rest else "At the end"
        return ExpressionError(f"{place}: {problem}")

    @property
    def _token(self) -> re.Match[str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    @property
    def _begin(self) -> int:
        return self._token.start() if self._token else len(self._text)

    def _take(self, *signs: str) -> str:
        """Take the next token if it is one of these."""
        if self._token is None or self._token[0].lower() not in signs:
            return ""
        self._at += 1
        return self._tokens[self._at - 1][0]

    def parse(self) -> ExpressionNode:
        node = self._sum()
        if self._token:
            raise self._error("Expected + - * / or the end.", self._begin)
        return node

    def _sum(self) -> ExpressionNode:
        begin, node = self._begin, self._product()
        while sign := self._take("+", "-"):
            node = self._call(sign, (node, self._product()), begin)
        return node

    def _product(self) -> ExpressionNode:
        begin, node = self._begin, self._item()
        while sign := self._take("*", "/"):
            node = self._call(sign, (node, self._item()), begin)
        return node

    def _item(self) -> ExpressionNode:
        """Read a value, perhaps one item of a list, or a number of days."""
        begin, node = self._begin, self._value()
        while self._token and (item := self._token["item"]):
            self._at += 1
            index = Fraction(item[1:-1])
            node = self._call("[]", (node, Fixed(item, kind_of(index), index)), begin)
        return self._call("days", (node,), begin) if self._take("day", "days") else node

    def _value(self) -> ExpressionNode:
        token, begin = self._token, self._begin
        if token is None:
            raise self._error("A value is missing, such as reply.total or 60.94.", begin)
        self._at += 1
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"Up to {_MAX_DEPTH} levels are possible.", begin)
        node: ExpressionNode
        if token["name"]:
            node = self._read_name(token["name"], token["steps"], begin)
        elif token[0] == "(":
            node = self._sum()
            self._close()
        elif token[0] == "-":
            zero = Fraction(0)
            node = self._call("-", (Fixed("0", kind_of(zero), zero), self._item()), begin)
        else:
            node = self._read_fixed(token)
        self._depth -= 1
        return node

    def _close(self) -> None:
        if not self._take(")"):
            raise self._error("Expected a closing bracket.", self._begin)

    def _read_fixed(self, token: re.Match[str]) -> ExpressionNode:
        value: object
        if token["text"]:
            quote = token[0][0]
            value = token[0][1:-1].replace(quote * 2, quote)
        elif token["number"]:
            value = Fraction(token[0])
        else:
            try:
                value = date.fromisoformat(token[0])
            except ValueError:
                raise self._error("Expected a value.", token.start()) from None
        return Fixed(token[0], kind_of(value), value)

    def _read_name(self, name: str, steps: str, begin: int) -> ExpressionNode:
        known = name.lower()
        if not steps and known in _WORDS:
            return Fixed(name, kind_of(_WORDS[known]), _WORDS[known])
        if known in FUNCTIONS and not steps and self._take("("):
            args = [self._sum()]
            while self._take(",", ";"):
                args.append(self._sum())
            self._close()
            if known == "number" and len(args) == 1:
                args.append(Place("auto", TEXT, "decimal", ()))
            return self._call(known, tuple(args), begin)
        if known not in ROOTS:
            kinds = FUNCTIONS if self._take("(") else ROOTS
            meant = near(name, kinds)
            advice = f'Known: {", ".join(kinds)}. Put a text in quotation marks: "{name}".'
            raise self._error(f"Unknown name {in_quotes(name)}.{meant} {advice}", begin)
        read = tuple(map(_step, _STEPS.findall(steps)))
        if known == "today" and read:
            raise self._error("today is a date and has no parts.", begin)
        if ROOTS[known] == OBJECT and not (read and isinstance(read[0], str)):
            example = "params.language" if known == "params" else "calls['order.get'][0].args.id"
            raise self._error(f"Write which part you mean, for example {example}.", begin)
        kind = LIST if None in read else ANY if read else ROOTS[known]
        return Place(self._text_from(begin), kind, known, read)

    def _call(self, name: str, args: tuple[ExpressionNode, ...], begin: int) -> ExpressionNode:
        self._calculations += 1
        if self._calculations > _MAX_CALCULATIONS:
            raise self._error(f"Up to {_MAX_CALCULATIONS} calculations are possible.", begin)
        if name == "split" and any(isinstance(arg, Fixed) and not arg.value for arg in args):
            raise self._error("split needs texts that are not empty.", begin)
        table = FUNCTIONS[name] if name in FUNCTIONS else SIGNS[name]
        try:
            kind = result_kind(name, table, tuple(arg.kind for arg in args))
        except ValueError as exc:
            raise self._error(str(exc), begin) from None
        return Call(self._text_from(begin), kind, name, args)

    def _text_from(self, begin: int) -> str:
        return self._text[begin : self._tokens[self._at - 1].end()]


def _step(written: str) -> str | int | None:
    if written[0] == ".":
        return written[1:]
    inner = written[1:-1]
    if inner == "*":
        return None
    return re.sub(r"\\(.)", r"\1", inner[1:-1]) if inner[0] in "'\"" else int(inner)


def _advice(sign: str) -> str:
    if sign in "\"'":
        return "This text is not closed. Write a quotation mark at its end."
    if sign in "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb":
        return 'Write straight quotation marks around a text: "shipped".'
    if sign in "=<>!":
        return "Leave this sign out. Choose the comparison between the two sides."
    if sign == "[":
        return "Write a position such as [0], a key in quotes, or [*] for each item."
    if sign.isdecimal():
        return "Write a number as 1234.5, a date as 2026-03-05, and a text in quotation marks."
    return "This sign means nothing here."
