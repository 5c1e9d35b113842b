"""Paths into JSON such as `$.order.items[0]['unit price']`, and descriptions of values."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from fixtures_app.ground.json_text import Number
from fixtures_app.ground.quoting import in_quotes, join_list
from fixtures_app.ground.words import nearest

MAX_PATH_CHARS = 500

Steps = tuple[str | int, ...]

_KEY = re.compile(r"\.([\w-]+)")
_INDEX = re.compile(r"\[(-?[0-9]{1,9})\]")
_QUOTED = re.compile(r"""\[(['"])((?:\\.|(?!\1)[^\\])*)\1\]""")
_ESCAPED = re.compile(r"\\(.)")


class NoSuchPlaceError(LookupError):
    """A path that leads nowhere; the message says where it ends and what is there."""


def parse_path(path: str) -> Steps:
    """Return the keys and positions of a path; none of them means the whole document.

    Raises:
        ValueError: it cannot be read; the message says where and what to write.
    """
    if len(path) > MAX_PATH_CHARS:
        raise ValueError(f"A path can have up to {MAX_PATH_CHARS} characters.")
    # A leading key may do without its dot.
    rest = path[1:] if path.startswith("$") else path if path[:1] in {".", "["} else f".{path}"
    steps: list[str | int] = []
    while rest:
        if step := _KEY.match(rest):
            steps.append(step[1])
        elif step := _INDEX.match(rest):
            steps.append(int(step[1]))
        elif step := _QUOTED.match(rest):
            steps.append(_ESCAPED.sub(r"\1", step[2]))
        else:
            done = f" after {path_text(steps)}" if steps else ""
            raise ValueError(f"The path cannot be read at {in_quotes(rest)}{done}. {_advice(rest)}")
        rest = rest[step.end() :]
    return tuple(steps)


def _advice(rest: str) -> str:
    if re.match(r"\.?\*|\.\.|\[[*?]|\[[0-9]*:", rest):
        return "A path leads to one value. It cannot have wildcards, slices or filters."
    if re.match(r"\[[^\]'\"]+\]", rest):
        return (
            "A position is a number, as in [0]. A key in brackets has quotes, as in ['unit price']."
        )
    if rest.startswith("["):
        return "Write a number or a key in quotes in brackets, and close them: [0], ['unit price']."
    if rest == "." or rest.startswith(".["):
        return "Write a key after the dot: order.items."
    if rest.startswith("."):
        return "Write a key with other characters than letters, digits, _ and - as ['unit price']."
    return "Write a dot before a key, or put the key in brackets: $.order['unit price']."


def path_text(steps: Sequence[str | int]) -> str:
    """Return the shortest form of a path: order.items[0]['unit price']."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[\w-]+", step):
            text += f".{step}"
        else:
            escaped = re.sub(r"(['\\])", r"\\\1", step)
            text += f"['{escaped}']"
    return text.removeprefix(".") or "$"


def find(document: object, steps: Steps) -> object:
    """Return the value that a path leads to; null is a value.

    Raises:
        NoSuchPlaceError: there is none.
    """
    value: Any = document
    for number, step in enumerate(steps):
        if not _has(value, step):
            wanted = path_text(steps[: number + 1])
            where = f"{path_text(steps[:number])} is" if number else "it is"
            raise NoSuchPlaceError(
                f"has no {wanted}: {where} {describe(value)}.{_hint(value, step)}"
            )
        value = value[step]
    return value


def _has(value: object, step: str | int) -> bool:
    if isinstance(step, str):
        return isinstance(value, dict) and step in value
    return isinstance(value, list) and -len(value) <= step < len(value)


def describe(value: object) -> str:
    """Describe a value: an object with the keys a, b; the text “x”."""
    if isinstance(value, dict):
        return (
            f"an object with the keys {join_list(value, in_quotes)}" if value else "an empty object"
        )
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, str):
        return f"the text {in_quotes(value)}" if value else "an empty text"
    if isinstance(value, Number):
        return f"the number {in_quotes(value.text)[1:-1]}"
    return "null" if value is None else str(value).lower()


def _hint(value: object, step: str | int) -> str:
    if isinstance(value, dict):
        if any(_looks_like(str(step), key) for key in value):
            return (
                " One of them looks the same, but its letters or accents are stored in another way:"
                " copy the key from the reply."
            )
        meant = nearest(str(step), value)
        return f" Did you mean {in_quotes(meant)}?" if meant else ""
    if isinstance(value, list) and isinstance(step, str) and value:
        return " Write [0] for the first item of a list, and [-1] for the last."
    return ""


def _looks_like(one: str, other: str) -> bool:
    return unicodedata.normalize("NFKC", one) == unicodedata.normalize("NFKC", other)


def scalar_text(value: object) -> str | None:
    """Return the text of a text, number, true or false; None for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, Number) else value if isinstance(value, str) else None
