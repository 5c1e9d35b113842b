"""What is wrong with a file, and where: the problems that every reader reports."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypedDict, Unpack

from fixtures_app.ground import quoting

# A mapping as files have it, or a part of a suite before it is a spec.
Json = dict[str, Any]
Loc = tuple[str | int, ...]
# A loss is something that an import leaves out, because it is not supported here; a guess is what a
# reader took something for, which a person can change.
Level = Literal["error", "warning", "loss", "guess"]

_SHOWN = 80  # characters
_FEW = 2  # places
_HIDDEN = "***"

# Words of a key under which someone may have put a secret instead of the name of its variable.
_SECRETIVE = {
    *("key", "apikey", "secret", "token", "password", "passwd", "credential", "credentials"),
    *("authorization", "auth", "headers"),
}
# Name and password in an address.
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_KEYS = re.compile(r"[\w-]+(?=[\"']?\s*[:=])")  # YAML, JSON and TOML
_INDEX = re.compile(r"\[\d+\]|(?<=[A-Z])\d+\Z")  # of a list, or the row of a cell
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Messages name options of commands, for which pages have fields, and REST has parameters.
_AGENT_OPTION = re.compile("(?:import_evals )?--agent(?: SLUG)?")
_COLUMN_OPTION = re.compile(r"--(map|ignore)-column ")
_COLUMN_ADVICE = re.compile(r" [^.]*: --map-column [^.]*\.")


@dataclass(frozen=True, slots=True)
class Problem:
    """One error or warning at one place in a file.

    `line` and `column` count from 1, 0 where the whole file is meant. `keys` is the path of keys,
    for example `cases[2].turns[0].user`; `value` what was found there, shortened.
    `checks` is how many checks are left out with a loss, as far as is known: 1 for tests that cannot
    even be counted.
    """

    path: str
    line: int
    column: int
    keys: str
    value: str
    message: str
    level: Level = "error"
    checks: int = 0

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        keys = f" {self.keys}:" if self.keys else ""
        value = f" (found {self.value})" if self.value else ""
        return f"{place}:{keys} {self.message}{value}"

    @property
    def message_in_rest(self) -> str:
        """The message, with the parameters of REST in place of the options of commands."""
        message = _AGENT_OPTION.sub("`agent`", self.message)
        return _COLUMN_OPTION.sub(r"\1_column=", message)

    def message_on_page(self, *, agent_field: str) -> str:
        """Return the message with the name of a field for the agent, in place of its option.

        What to do with options about columns is left out: a page asks about columns in its own way.
        """
        return _COLUMN_ADVICE.sub("", _AGENT_OPTION.sub(f"“{agent_field}”", self.message))

    @property
    def option(self) -> str:
        """The option of a command that changes what was guessed; empty if none does."""
        return ""


class ProblemDetails(TypedDict, total=False):
    """What a Problem may contain besides its place and message.

    `value` is looked up unless it is given; `at_key` points at the key in place of its value.
    """

    value: str | None
    at_key: bool
    level: Level
    checks: int


class MakeProblem(Protocol):
    """Makes a Problem for a place in a translated object, at the place where it was written."""

    def __call__(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem: ...


@dataclass(frozen=True, slots=True)
class NoAgent(Problem):
    """Nothing says which agent is tested: the person who imports the file may choose one."""


class FormatError(Exception):
    """Files that cannot be read; `problems` has all errors of all of them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = in_order(problems)
        super().__init__("\n".join(map(str, self.problems)))


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by their place."""
    return sorted(problems, key=lambda problem: (problem.path, problem.line, problem.column))


def count_alike(problems: Iterable[Problem]) -> list[Problem]:
    """Report what many places of a file lose in the same way once, with their number.

    Their last key is the same; lost checks add up. A few are reported each in its place.
    """
    same: dict[object, list[Problem]] = {}
    for problem in problems:
        is_single = problem.level in {"error", "warning"}
        key = _INDEX.sub("", problem.keys).rpartition(".")[2]
        alike = (problem.path, problem.level, problem.message, key)
        same.setdefault(problem if is_single else alike, []).append(problem)
    reported: list[Problem] = []
    for places in same.values():
        if len(places) <= _FEW:
            reported += places
            continue
        message = f"{places[0].message} This applies to {len(places):,} places."
        checks = sum(place.checks for place in places)
        reported.append(replace(places[0], message=message, checks=checks))
    return reported


def keys_text(loc: Loc) -> str:
    """Write a path of keys for people: cases[2].turns[0].user."""
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and all(char.isalnum() or char in "_-" for char in step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(shorten(step), ensure_ascii=False)}]"
    # Half of a surrogate pair could not be encoded.
    return text.encode(errors="backslashreplace").decode()


def holds(data: object, step: str | int) -> bool:
    """Whether a mapping has this key, or a list this position."""
    if isinstance(step, int):
        return isinstance(data, list) and 0 <= step < len(data)
    return isinstance(data, dict) and step in data


def value_at(data: Any, loc: Loc, *, otherwise: object = None) -> object:
    """Return what is in a place of some data."""
    for step in loc:
        if not holds(data, step):
            return otherwise
        data = data[step]
    return data


def is_secret(loc: Loc) -> bool:
    """Whether what is here may be a secret: no message repeats it."""
    return any(
        word.lower() in _SECRETIVE
        for step in loc
        if isinstance(step, str)
        for word in _WORDS.findall(step)
    )


def has_secret(line: str) -> bool:
    """Whether a line of a file may contain a secret: under one of its keys, or in an address."""
    return is_secret(tuple(_KEYS.findall(line))) or _CREDENTIALS.search(line) is not None


def value_text(value: object, loc: Loc = ()) -> str:
    """Write a value for an error message, shortened; empty for lists and mappings."""
    if isinstance(value, list | dict):
        return ""  # the place says enough
    # JSON is what YAML calls it: true, null, "text".
    text = json.dumps(value, ensure_ascii=False, default=str)
    return shorten(text, () if value is None else loc)


def shorten(text: str, loc: Loc = ()) -> str:
    """Leave out the middle of a long text, and all of one that may be a secret."""
    if is_secret(loc):
        return _HIDDEN
    return quoting.cut_middle(_CREDENTIALS.sub(_HIDDEN, text), _SHOWN)
