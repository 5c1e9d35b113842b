"""Texts with `{{variables}}`, as prompts and assertions have them.

Templates of promptfoo are Nunjucks. Variables with their paths and a few filters are filled in here;
whatever else a template calculates is not, and said.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# None begins in another, so that a text is read once however many braces are never closed.
_EXPRESSION = re.compile(r"\{\{((?:[^{}]|\{(?!\{)|\}(?!\}))*+)\}\}")
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
        found = _LOGIC.search(self.text)
        wrong = found[0] if found else next(filter(_cannot, self.expressions()), None)
        if wrong is None:
            return None
        shown = " ".join(wrong.split())[:_SHOWN]
        return f"Only {{{{variables}}}} are filled in here, and this template calculates: {shown}"

    def expressions(self) -> Iterator[str]:
        """Give what stands in double braces."""
        return map(_inside, _EXPRESSION.finditer(self.text))

    def fill(self, values: Vars) -> str:
        """Give the text; a variable without a value is empty."""
        return _EXPRESSION.sub(lambda found: text_of(value_of(_inside(found), values)), self.text)

    def missing(self, values: Vars) -> list[str]:
        """Name the variables that have no value."""
        names = (_PATH.fullmatch(each) for each in self.expressions())
        return sorted({found[1] for found in names if found and found[1] not in values})

    def values(self, values: Vars) -> dict[str, str]:
        """Give what each expression in it stands for."""
        return {each: text_of(value_of(each, values)) for each in self.expressions()}

    def with_parameters(self) -> str:
        """Give the text with parameters of a case in place of its variables."""
        return _EXPRESSION.sub(
            lambda found: f"{{{{threadContext.params.{_inside(found)}}}}}", self.text
        )


def _inside(braces: re.Match[str]) -> str:
    # With a dash the space before or after them would be left out.
    return braces[1].removeprefix("-").removesuffix("-").strip()


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
