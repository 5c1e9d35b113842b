r"""Variables in double braces: `{{threadContext.params.studentName}}` in prompts and settings.

A backslash before them, `\{{name}}`, keeps the braces as text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fixtures_app.ground.words import nearest

# A lone brace is plain text, also inside of double ones: {{find({"id": 1})}}.
_BRACES = re.compile(r"(\\?)\{\{(?!\{)((?:[^{}]|\{(?!\{)|\}(?!\}))*)\}\}")
# Part of a template even across lines; other braces across lines are data.
_CODE = re.compile(r"[#/^>&!~-]?\s*[A-Za-z_]\w*\s*(?:[.(|\[\s]|\Z)")
# Statements of the templates of other systems: {% if name %}.
_STATEMENT = re.compile(r"\{%[-+]?\s*[a-z][^\n%]{0,200}%\}")
PARAMS = "threadContext.params."
_DAY_CHARS = len("2026-05-01")
# The clock of the case, the moment or the day; also under the names that other systems use.
_MOMENT = ("datetime", "currentTime", "currentDateTime", "now")
_DAY = ("currentDate", "date", "today")
_ALWAYS = ("threadContext.channel", "agentName", *_MOMENT, *_DAY)
KNOWN_VARIABLES = (
    *("threadContext.channel", "threadContext.params.NAME", "agentName"),
    *("datetime", "currentTime", "currentDate"),
)


@dataclass(frozen=True, slots=True)
class ResolvedText:
    """A text with its variables filled in, and the parameters that the case does not set."""

    text: str
    missing: tuple[str, ...] = ()

    def warnings(self, where: str) -> tuple[str, ...]:
        """Warn about each missing parameter; `where` begins the sentence."""
        return tuple(
            f"{where} uses {{{{{name}}}}}, which this case does not set. It is left empty."
            for name in self.missing
        )


def unknown_variable(text: str) -> str | None:
    """Describe what is wrong with the first unknown variable; None if all are known."""
    for name in map(_variable, _BRACES.finditer(text)):
        if name is None or not _is_unknown(name):
            continue
        meant = nearest(name, KNOWN_VARIABLES)
        hint = f" Did you mean {{{{{meant}}}}}?" if meant else ""
        known = ", ".join(f"{{{{{variable}}}}}" for variable in KNOWN_VARIABLES)
        braces = "To write literal braces, use \\{{."
        return f"Unknown variable {{{{{name}}}}}.{hint} Known: {known}. {braces}"
    return None


def _is_unknown(name: str) -> bool:
    return name not in _ALWAYS and not (name.startswith(PARAMS) and len(name) > len(PARAMS))


def without_foreign(text: str) -> tuple[str, list[str]]:
    """Return a text in which variables of other systems are plain text, and their names.

    One that looks like a misspelt variable of our own stays, to be refused.
    """
    foreign: list[str] = []

    def keep_braces(braces: re.Match[str]) -> str:
        name = " ".join(braces[2].split())
        is_plain = _variable(braces) is None and (braces[1] or not _CODE.match(name))
        if is_plain or not _is_unknown(name) or nearest(name, KNOWN_VARIABLES, is_slip=True):
            return braces[0]
        foreign.append(name)
        return f"\\{braces[0]}"

    return _BRACES.sub(keep_braces, text), list(dict.fromkeys(foreign))


def resolve(
    text: str,
    *,
    agent_name: str,
    now: str,
    channel: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> ResolvedText:
    """Fill in the variables; those that the case does not set are left empty and named."""
    given = {"threadContext.channel": channel, "agentName": agent_name}
    given |= dict.fromkeys(_MOMENT, now) | dict.fromkeys(_DAY, now[:_DAY_CHARS])
    given |= {f"{PARAMS}{name}": value for name, value in (params or {}).items()}
    missing: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        name = _variable(match)
        if name is None or _is_unknown(name):
            return _plain(match)
        value = given.get(name)
        if value is None:
            missing.append(name)
            return ""
        # As it was written: a file has true, not True.
        return str(value).lower() if isinstance(value, bool) else str(value)

    return ResolvedText(_BRACES.sub(value_of, text), tuple(dict.fromkeys(missing)))


def texts_in(value: object) -> Iterator[str]:
    """Return every text inside lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def in_texts(value: object, change: Callable[[str], object]) -> object:
    """Return JSON with every text inside lists and mappings changed; keys stay."""
    if isinstance(value, list):
        return [in_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: in_texts(item, change) for key, item in value.items()}
    return change(value) if isinstance(value, str) else value


def variables_in(text: str) -> list[str]:
    """Return the names in double braces."""
    names = map(_variable, _BRACES.finditer(text))
    return [name for name in names if name is not None]


def fill_in(
    text: str, find: Callable[[str], object], *, as_text: Callable[[object], str]
) -> object:
    """Fill in variables; a text that is only one becomes its value, so numbers stay numbers."""
    whole = _BRACES.fullmatch(text)
    if whole is not None and (name := _variable(whole)) is not None:
        return find(name)

    def value_of(braces: re.Match[str]) -> str:
        name = _variable(braces)
        return _plain(braces) if name is None else as_text(find(name))

    return _BRACES.sub(value_of, text)


def placeholders(message: str) -> list[str]:
    """Return what is in double braces in a message to an agent: nothing is filled in there."""
    texts = (match[0] for match in _BRACES.finditer(message) if not match[1] and match[2].strip())
    return list(dict.fromkeys(texts))


def statements(text: str) -> list[str]:
    """Return what other systems would run in a text: {% if name %}. Nothing here does."""
    return list(dict.fromkeys(" ".join(match[0].split()) for match in _STATEMENT.finditer(text)))


def plain(message: str) -> str:
    """Return a message as it is sent: without the backslash before literal braces."""
    return _BRACES.sub(_plain, message)


def escape_braces(message: str) -> str:
    """Escape the braces of a message, so that all of them are literal."""
    return _BRACES.sub(lambda braces: f"\\{braces[0]}", message)


def _variable(braces: re.Match[str]) -> str | None:
    """Name the variable in double braces; None: they are plain text."""
    name = braces[2].strip()
    return None if braces[1] or "\n" in name else name


def _plain(braces: re.Match[str]) -> str:
    return braces[0].removeprefix("\\")
