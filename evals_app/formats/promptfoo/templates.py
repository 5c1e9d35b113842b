"""Texts with `{{variables}}`, as prompts and assertions have them.

Templates of promptfoo are Nunjucks. Variables with their paths and a few filters are filled in here;
raw blocks are taken as they are; whatever else a template calculates is reported.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evals_app.engine.basics.template import escape_braces as with_backslashes

_RAW = re.compile(r"\{%-?\s*raw\s*-?%\}(.*?)(?:\{%-?\s*endraw\s*-?%\}|\Z)", re.DOTALL)
# None begins in another, so that a text is read once however many braces are never closed. Not
# possessive: with that Python 3.11.2 finds nothing.
_EXPRESSION = re.compile(_RAW.pattern + r"|\{\{((?:[^{}]|\{(?!\{)|\}(?!\}))*)\}\}", re.DOTALL)
_LOGIC = re.compile(r"\{%.*?(?:%\}|\Z)|\{#.*?(?:#\}|\Z)", re.DOTALL)
_NAME = r"[A-Za-z_]\w*"
_STEP = rf"\.(?:{_NAME}|\d+)|\[\d+\]|\['[^']*'\]|\[\"[^\"]*\"\]"
_PATH = re.compile(rf"({_NAME})((?:{_STEP})*)((?:\s*\|\s*{_NAME})*)")
_STEPS = re.compile(rf"\.({_NAME}|\d+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_ROUNDS = 5  # of variables that contain variables
_MAX_CHARS = 1_000_000  # that variables put into another
_SHOWN = 60

_FILTERS: dict[str, Callable[[object], object]] = {
    "dump": lambda value: json.dumps(value, ensure_ascii=False),
    "lower": lambda value: text_of(value).lower(),
    "safe": lambda value: value,
    "string": lambda value: text_of(value),  # noqa: PLW0108 - it is defined below
    "trim": lambda value: text_of(value).strip(),
    "upper": lambda value: text_of(value).upper(),
}

Vars = Mapping[str, object]


def text_of(value: object) -> str:
    """Write a value as it appears in a prompt."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # numbers have no kinds there
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class NunjucksTemplate:
    """A text in which variables are filled in."""

    text: str

    @property
    def problem(self) -> str | None:
        """What cannot be filled in; None if everything can."""
        match = _LOGIC.search(_RAW.sub("", self.text))
        wrong = match[0] if match else next(filter(_cannot, self.expressions()), None)
        if wrong is None:
            return None
        shown = " ".join(wrong.split())[:_SHOWN]
        return (
            "Only {{variables}} are filled in here, and this template has an expression: "
            f"{shown}"
        )

    def expressions(self) -> Iterator[str]:
        """Return what is in double braces."""
        expressions = map(_inside, _EXPRESSION.finditer(self.text))
        return (expression for expression in expressions if expression is not None)

    def fill(self, values: Vars) -> str:
        """Return the text as a part of others; a variable without a value is empty.

        What cannot be filled in stays.
        """
        return self._replace(lambda expression: text_of(value_of(expression, values)))

    def literal(self, values: Vars) -> str:
        """Return the whole text, raw blocks opened."""
        return open_raw_blocks(self.fill(values))

    def holding(self, values: Vars) -> dict[str, list[object] | Mapping[str, object]]:
        """Return the expressions that mean a list or a mapping, with what they mean."""
        meant = ((expression, value_of(expression, values)) for expression in self.expressions())
        return {name: value for name, value in meant if isinstance(value, list | Mapping)}

    def fill_as_text(self, values: Vars) -> str:
        """Return the whole text with lists in it as Nunjucks writes them: between commas."""
        return open_raw_blocks(
            self._replace(lambda expression: _join_list(value_of(expression, values)))
        )

    def message(self, values: Vars) -> str:
        """Return the whole text as a message of ours: braces of raw blocks have a backslash."""
        return _with_backslashes(self.fill(values))

    def missing(self, values: Vars) -> list[str]:
        """Name the variables that have no value."""
        matches = (_PATH.fullmatch(expression) for expression in self.expressions())
        return sorted({match[1] for match in matches if match and match[1] not in values})

    def values(self, values: Vars) -> dict[str, str]:
        """Return what each expression in it means."""
        return {
            expression: open_raw_blocks(text_of(value_of(expression, values)))
            for expression in self.expressions()
            if not _cannot(expression)
        }

    def with_parameters(self) -> str:
        """Return the text with parameters of a case in place of its variables."""
        return _with_backslashes(
            self._replace(lambda expression: f"{{{{threadContext.params.{expression}}}}}")
        )

    def _replace(self, give: Callable[[str], str]) -> str:
        def replacement(match: re.Match[str]) -> str:
            expression = _inside(match)
            if expression is None or _cannot(expression):
                return match[0]
            return give(expression)

        return _EXPRESSION.sub(replacement, self.text)


def _join_list(value: object) -> str:
    return ",".join(map(_join_list, value)) if isinstance(value, list) else text_of(value)


def open_raw_blocks(text: str) -> str:
    """Replace raw blocks by their content."""
    return _RAW.sub(r"\1", text)


def _with_backslashes(text: str) -> str:
    return _RAW.sub(lambda raw: with_backslashes(raw[1]), text)


def _inside(match: re.Match[str]) -> str | None:
    """Return what is in double braces; None for a raw block."""
    # With a dash the space before or after them would be left out.
    return None if match[2] is None else match[2].removeprefix("-").removesuffix("-").strip()


def _cannot(expression: str) -> bool:
    match = _PATH.fullmatch(expression)
    if match is None or match[1] in ("env", "_conversation"):
        return True
    return any(item not in _FILTERS for item in _filters(match[3]))


def _filters(written: str) -> list[str]:
    return [item.strip() for item in written.split("|") if item.strip()]


def value_of(expression: str, values: Vars) -> object:
    """Return what an expression means; None if there is nothing."""
    match = _PATH.fullmatch(expression)
    if match is None:
        return None
    value = values.get(match[1])
    for step in _STEPS.finditer(match[2]):
        key = next(filter(None, step.groups()), "")
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    for item in _filters(match[3]):
        value = _FILTERS[item](value)
    return value


def compose_variables(values: Vars) -> dict[str, Any]:
    """Fill in variables inside the values of others, as long as the texts stay short."""
    filled = dict(values)
    for _ in range(_ROUNDS):
        before = dict(filled)
        for name, value in before.items():
            if isinstance(value, str) and "{{" in value and not NunjucksTemplate(value).problem:
                parts = NunjucksTemplate(value).values({**before, name: ""})
                if sum(map(len, parts.values())) * value.count("{{") < _MAX_CHARS:
                    filled[name] = NunjucksTemplate(value).fill({**before, name: ""})
        if filled == before:
            break
    return filled
