"""Texts with variables: `{{item.question}}` is data of the item, `{{sample.output_text}}` the reply."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from evals_app.formats.foreign.words import text_of

_BRACES = re.compile(r"\{\{(?!\{)((?:[^{}]|\{(?!\{)|\}(?!\}))*)\}\}")
_STEP = r"\.\s*([\w-]+)|\[\s*(\d+)\s*\]|\[\s*'([^']*)'\s*\]|\[\s*\"([^\"]*)\"\s*\]"
_STEPS = re.compile(_STEP)
_PATH = re.compile(rf"(item|sample)((?:{_STEP})*)")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable as it is written, and where its value is."""

    written: str
    space: str  # item or sample
    path: tuple[str, ...]


class Template:
    """A text in which variables are filled in."""

    def __init__(self, text: str) -> None:
        self.pieces: list[str | Variable] = []
        self.unknown: list[str] = []  # what is in double braces and is not a variable
        end = 0
        for match in _BRACES.finditer(text):
            variable = _variable(match[1].strip())
            if variable is None:
                self.unknown.append(match[0])
                continue
            self.pieces += [text[end : match.start()], variable]
            end = match.end()
        self.pieces.append(text[end:])

    @property
    def variables(self) -> list[Variable]:
        return [piece for piece in self.pieces if isinstance(piece, Variable)]

    @property
    def asks_reply(self) -> bool:
        return any(variable.space == "sample" for variable in self.variables)

    @property
    def alone(self) -> Variable | None:
        """The variable that makes up the whole text; None if there is more or less."""
        rest = [piece for piece in self.pieces if isinstance(piece, str) and piece.strip()]
        return self.variables[0] if len(self.variables) == 1 and not rest else None

    def missing(self, item: object) -> list[str]:
        """Name the variables that this item does not have."""
        own = (variable for variable in self.variables if variable.space == "item")
        return [entry.written for entry in own if value_at(item, entry.path) is None]

    def fill(self, item: object, reply: Callable[[Variable], str]) -> str:
        """Return the text for an item; `reply` says what means parts of the reply."""
        return "".join(
            piece
            if isinstance(piece, str)
            else reply(piece)
            if piece.space == "sample"
            else text_of(value_at(item, piece.path))
            for piece in self.pieces
        )


def path_of(written: str) -> tuple[str, ...] | None:
    """Return the path in an item that `item.messages` means; None: it means none."""
    variable = _variable(written.strip().removeprefix("{{").removesuffix("}}").strip())
    return variable.path if variable and variable.space == "item" else None


def value_at(data: object, path: tuple[str, ...]) -> object:
    """Return what is at a path; None if nothing is."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and step.isdecimal() and int(step) < len(data):
            data = data[int(step)]
        else:
            return None
    return data


def _variable(written: str) -> Variable | None:
    match = _PATH.fullmatch(written)
    if match is None:
        return None
    steps = (next(filter(None, step.groups()), "") for step in _STEPS.finditer(match[2]))
    return Variable(written, match[1], tuple(steps))
