"""Variables in double braces: `{{threadContext.params.studentName}}` in prompts and settings."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# A variable is anything between double braces on one line; a lone brace is plain text.
_VARIABLE = re.compile(r"\{\{\s*([^{}\n]*?)\s*\}\}")
_PARAMS = "threadContext.params."
KNOWN_VARIABLES = ("threadContext.channel", "threadContext.params.NAME", "agentName", "datetime")


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
    for name in _VARIABLE.findall(text):
        if name in KNOWN_VARIABLES[:1] + KNOWN_VARIABLES[2:]:
            continue
        if name.startswith(_PARAMS) and len(name) > len(_PARAMS):
            continue
        near = difflib.get_close_matches(name, KNOWN_VARIABLES, n=1)
        hint = f" Did you mean {{{{{near[0]}}}}}?" if near else ""
        known = ", ".join(f"{{{{{each}}}}}" for each in KNOWN_VARIABLES)
        return f"Unknown variable {{{{{name}}}}}.{hint} Known: {known}."
    return None


def resolve(
    text: str,
    *,
    agent_name: str,
    now: str,
    channel: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Resolved:
    """Fill in the variables; what the case does not set resolves empty and is named."""
    given = {"threadContext.channel": channel, "agentName": agent_name, "datetime": now}
    given |= {f"{_PARAMS}{name}": value for name, value in (params or {}).items()}
    missing: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        value = given.get(match[1])
        if value is None:
            missing.append(match[1])
            return ""
        # As it was written: a file says true, not True.
        return str(value).lower() if isinstance(value, bool) else str(value)

    return Resolved(_VARIABLE.sub(value_of, text), tuple(dict.fromkeys(missing)))
