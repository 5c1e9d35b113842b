"""Texts with `{{variables}}`, as prompts and assertions have them.

Templates of promptfoo are Nunjucks. Variables with their paths and a few filters are filled in here;
raw blocks are taken as they are; whatever else a template calculates is not, and said.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evals_app.engine.template import written as with_backslashes

_RAW = re.compile(r"\{%-?\s*raw\s*-?%\}(.*?)(?:\{%-?\s*endraw\s*-?%\}|\Z)", re.DOTALL)
# None begins in another, so that a text is read once however many braces are never closed. Not
# possessive: with that Python 3.11.2 finds nothing.
_EXPRESSION = re.compile(_RAW.pattern + r"|\{\{((?:[^{}]|\{(?!\{)|\}(?!\}))*)\}\}", re.DOTALL)
_LOGIC = re.compile(r"\{%.*?(?:%\}|\Z)|\{#.*?(?:#\}|\Z)", re.DOTALL)
_NAME = r"[A-Za-z_]\w*"
_STEP = rf"\.(?:{_NAME}|\d+)|\[\d+\]|\['[^']*'\]|\[\"[^\"]*\"\]"
_PATH = re.compile(rf"({_NAME})((?:{_STEP})*)((?:\s*\|\s*{_NAME})*)")
_STEPS = re.compile(rf"\.({_NAME}|\d+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_ROUNDS = 5  # of variables that hold variables
_MOST_CHARS = 1_000_000  # that variables put into another
_SHOWN = 60

_FILTERS: dict[str, Callable[[Any], Any]] = {
    "dump": lambda value: json.dumps(value, ensure_ascii=False),
    "lower": lambda value: text_of(value).lower(),
    "safe": lambda value: value,
    "string": lambda value: text_of(value),  # noqa: PLW0108 - it stands below
    "trim": lambda value: text_of(value).strip(),
    "upper": lambda value: text_of(value).upper(),
}

Vars = Mapping[str, Any]


def text_of(value: Any) -> str:  # noqa: ANN401 - JSON
    """Write a value as it appears in a prompt."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # numbers have no kinds there
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Template:
    """A text in which variables are filled in."""

    text: str

    @property
    def problem(self) -> str | None:
        """Say what of it cannot be filled in; None if everything can."""
        found = _LOGIC.search(_RAW.sub("", self.text))
        wrong = found[0] if found else next(filter(_cannot, self.expressions()), None)
        if wrong is None:
            return None
        shown = " ".join(wrong.split())[:_SHOWN]
        return f"Only {{{{variables}}}} are filled in here, and this template calculates: {shown}"

    def expressions(self) -> Iterator[str]:
        """Give what stands in double braces."""
        found = map(_inside, _EXPRESSION.finditer(self.text))
        return (expression for expression in found if expression is not None)

    def fill(self, values: Vars) -> str:
        """Give the text as a part of others; a variable without a value is empty."""
        return self._replaced(lambda expression: text_of(value_of(expression, values)))

    def literal(self, values: Vars) -> str:
        """Give the whole text, raw blocks opened."""
        return opened(self.fill(values))

    def message(self, values: Vars) -> str:
        """Give the whole text as a message of ours: braces of raw blocks have a backslash."""
        return _with_backslashes(self.fill(values))

    def missing(self, values: Vars) -> list[str]:
        """Name the variables that have no value."""
        names = (_PATH.fullmatch(each) for each in self.expressions())
        return sorted({found[1] for found in names if found and found[1] not in values})

    def values(self, values: Vars) -> dict[str, str]:
        """Give what each expression in it stands for."""
        return {each: opened(text_of(value_of(each, values))) for each in self.expressions()}

    def with_parameters(self) -> str:
        """Give the text with parameters of a case in place of its variables."""
        return _with_backslashes(
            self._replaced(lambda expression: f"{{{{threadContext.params.{expression}}}}}")
        )

    def _replaced(self, give: Callable[[str], str]) -> str:
        def replacement(found: re.Match[str]) -> str:
            expression = _inside(found)
            return found[0] if expression is None else give(expression)

        return _EXPRESSION.sub(replacement, self.text)


def opened(text: str) -> str:
    """Give what raw blocks hold in their place."""
    return _RAW.sub(r"\1", text)


def _with_backslashes(text: str) -> str:
    return _RAW.sub(lambda raw: with_backslashes(raw[1]), text)


def _inside(found: re.Match[str]) -> str | None:
    """Give what stands in double braces; None for a raw block."""
    # With a dash the space before or after them would be left out.
    return None if found[2] is None else found[2].removeprefix("-").removesuffix("-").strip()


def _cannot(expression: str) -> bool:
    found = _PATH.fullmatch(expression)
    if found is None or found[1] in ("env", "_conversation"):
        return True
    return any(each not in _FILTERS for each in _filters(found[3]))


def _filters(written: str) -> list[str]:
    return [each.strip() for each in written.split("|") if each.strip()]


def value_of(expression: str, values: Vars) -> Any:  # noqa: ANN401 - JSON
    """Give what an expression stands for; None if there is nothing."""
    found = _PATH.fullmatch(expression)
    if found is None:
        return None
    value = values.get(found[1])
    for step in _STEPS.finditer(found[2]):
        key = next(filter(None, step.groups()), "")
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    for each in _filters(found[3]):
        value = _FILTERS[each](value)
    return value


def composed(values: Vars) -> dict[str, Any]:
    """Fill in variables that stand in the values of others, as long as the texts stay short."""
    filled = dict(values)
    for _ in range(_ROUNDS):
        before = dict(filled)
        for name, value in before.items():
            if isinstance(value, str) and "{{" in value and not Template(value).problem:
                parts = Template(value).values({**before, name: ""})
                if sum(map(len, parts.values())) * value.count("{{") < _MOST_CHARS:
                    filled[name] = Template(value).fill({**before, name: ""})
        if filled == before:
            break
    return filled
