r"""Variables in double braces: `{{threadContext.params.studentName}}` in prompts and settings.

A backslash before them, `\{{name}}`, stands for the braces themselves.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_BRACES = re.compile(r"(\\?)\{\{([^{}]*)\}\}")  # a lone brace is plain text
_PARAMS = "threadContext.params."
_DAY_CHARS = len("2026-05-01")
# The clock of the case, whole or its day; by the names that other systems give them, too.
_MOMENT = ("datetime", "currentTime", "currentDateTime", "now")
_DAY = ("currentDate", "date", "today")
_ALWAYS = ("threadContext.channel", "agentName", *_MOMENT, *_DAY)
KNOWN_VARIABLES = (
    *("threadContext.channel", "threadContext.params.NAME", "agentName"),
    *("datetime", "currentTime", "currentDate"),
)
# How alike a name must be to be taken for a misspelt one rather than another system's.
_MISSPELT = 0.85


@dataclass(frozen=True, slots=True)
class Resolved:
    """A text with its variables filled in, and the parameters that the case does not set."""

    text: str
    missing: tuple[str, ...] = ()

    def warnings(self, where: str) -> tuple[str, ...]:
        """Say for each missing parameter what became of it; `where` begins the sentence."""
        return tuple(
            f"{where} uses {{{{{name}}}}}, which this case does not set: it is empty."
            for name in self.missing
        )


def unknown_variable(text: str) -> str | None:
    """Say what is wrong with the first unknown variable; None if all are known."""
    for name in filter(_is_unknown, _variables(text)):
        near = difflib.get_close_matches(name, KNOWN_VARIABLES, n=1)
        hint = f" Did you mean {{{{{near[0]}}}}}?" if near else ""
        known = ", ".join(f"{{{{{each}}}}}" for each in KNOWN_VARIABLES)
        braces = "For the braces themselves write \\{{."
        return f"Unknown variable {{{{{name}}}}}.{hint} Known: {known}. {braces}"
    return None


def _is_unknown(name: str) -> bool:
    return name not in _ALWAYS and not (name.startswith(_PARAMS) and len(name) > len(_PARAMS))


def without_foreign(text: str) -> tuple[str, list[str]]:
    """Return a text in which variables of other systems are plain, and their names.

    One that looks like a misspelt variable of ours stays, to be refused.
    """
    foreign: list[str] = []

    def kept(braces: re.Match[str]) -> str:
        name = _variable(braces)
        if name is None or not _is_unknown(name) or _is_misspelt(name):
            return braces[0]
        foreign.append(name)
        return f"\\{braces[0]}"

    return _BRACES.sub(kept, text), list(dict.fromkeys(foreign))


def _is_misspelt(name: str) -> bool:
    known = (*KNOWN_VARIABLES, *(each.lower() for each in KNOWN_VARIABLES))
    return bool(difflib.get_close_matches(name, known, n=1, cutoff=_MISSPELT))


def resolve(
    text: str,
    *,
    agent_name: str,
    now: str,
    channel: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Resolved:
    """Fill in the variables; what the case does not set resolves empty and is named."""
    given = {"threadContext.channel": channel, "agentName": agent_name}
    given |= dict.fromkeys(_MOMENT, now) | dict.fromkeys(_DAY, now[:_DAY_CHARS])
    given |= {f"{_PARAMS}{name}": value for name, value in (params or {}).items()}
    missing: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        name = _variable(match)
        if name is None:
            return _plain(match)
        value = given.get(name)
        if value is None:
            missing.append(name)
            return ""
        # As it was written: a file says true, not True.
        return str(value).lower() if isinstance(value, bool) else str(value)

    return Resolved(_BRACES.sub(value_of, text), tuple(dict.fromkeys(missing)))


def placeholders(message: str) -> list[str]:
    """Give what a message to an agent has in double braces: nothing is filled in there."""
    found = (each[0] for each in _BRACES.finditer(message) if not each[1] and each[2].strip())
    return list(dict.fromkeys(found))


def plain(message: str) -> str:
    """Give a message as it is sent: braces that a backslash keeps, without the backslash."""
    return _BRACES.sub(_plain, message)


def written(message: str) -> str:
    """Give a message as an author writes it who means all braces in it."""
    return _BRACES.sub(lambda braces: f"\\{braces[0]}", message)


def _variables(text: str) -> Iterator[str]:
    return (name for each in _BRACES.finditer(text) if (name := _variable(each)) is not None)


def _variable(braces: re.Match[str]) -> str | None:
    """Name the variable in double braces; None: they are plain text."""
    name = braces[2].strip()
    return None if braces[1] or "\n" in name else name


def _plain(braces: re.Match[str]) -> str:
    return braces[0].removeprefix("\\")
