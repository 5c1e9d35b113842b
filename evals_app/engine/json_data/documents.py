"""JSON that an agent wrote: read without losing a digit, and bounded in size and depth."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, Self

from evals_app.engine.quoting import quoted

MAX_JSON_BYTES = 1_000_000
MAX_JSON_LEVELS = 100

Json = Any  # text, Number, bool, None, list or dict of these

# Possessive repeats (*+): what does not match after all is looked at once, not once for each length.
_FENCE = re.compile(r"[ \t]{0,3}(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?P<language>[^`\s]*+)[^`\n]*+")
# What opens or closes a level, and texts, in which brackets mean nothing.
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)

_BYTE_ORDER_MARK = "\ufeff"
_BEGINNING = re.compile(r"""\s*[\[{"']""")
_HAS_JSON = re.compile(r"[\[{]")
_REST_CHARS = 30
# What the library says begins with the key.
_FAULTS = {
    "Expecting value": "a value is missing",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name": "a key in double quotes is missing",
    "Illegal trailing comma": "there is a comma too many",
    "Unterminated string": "a text is not closed",
    "Invalid control character": "a line break or tab in a text must be written \\n or \\t",
    "Invalid \\": "a backslash in a text must be written \\\\",
    "Extra data": "the JSON has ended, and something follows",
}


class NotJsonError(ValueError):
    """A text that cannot be read as JSON; the message goes on after `The reply`."""


class Number(Decimal):
    """A number with the text that was written: 1.50 stays 1.50."""

    text: str

    def __new__(cls, text: str) -> Self:
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:
            msg = "has a number whose exponent has over 18 digits."
            raise NotJsonError(msg) from None
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Document:
    """A value that was read; `is_fenced` says that it stood between ``` marks."""

    value: Json
    is_fenced: bool = False


def read_reply(reply: str) -> Document:
    """Read a reply that is JSON, or that holds one block of it between ``` marks.

    Raises:
        NotJsonError: it is none, too large, nested too deeply, or names a key twice.
    """
    reply = reply.removeprefix(_BYTE_ORDER_MARK)
    if "`" * 3 in reply or "~" * 3 in reply:
        blocks = _blocks(reply)
        if len(blocks) > 1:
            msg = f"has {len(blocks)} blocks of JSON; one is expected."
            raise NotJsonError(msg)
        if blocks:
            return Document(read_json(blocks[0]), is_fenced=True)
    return Document(read_json(reply))


def _blocks(reply: str) -> list[str]:
    """Give what stands between fences: blocks marked as JSON, else those without a mark."""
    found: dict[str, list[str]] = {}
    closing, language, lines = "", "", list[str]()
    for line in reply.splitlines(keepends=True):
        fence = _FENCE.fullmatch(line.rstrip())
        if not closing:
            if fence:
                closing, language, lines = fence["marks"], fence["language"].lower(), []
        elif fence and fence["marks"].startswith(closing) and not fence["language"]:
            found.setdefault(language, []).append("".join(lines))
            closing = ""
        else:
            lines.append(line)
    return found.get("json") or found.get("") or []


def read_json(text: str) -> Json:
    """Read a text that is JSON and nothing else; numbers keep their digits.

    Raises:
        NotJsonError: it is none, nested too deeply, or names a key twice.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():
        msg = "is empty."
        raise NotJsonError(msg)
    if _levels(text) > MAX_JSON_LEVELS:
        msg = f"is JSON nested more than {MAX_JSON_LEVELS} levels deep."
        raise NotJsonError(msg)
    try:
        return json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique,
        )
    except json.JSONDecodeError as exc:
        raise NotJsonError(_fault(text, exc)) from None


def _levels(text: str) -> int:
    level = deepest = 0
    for match in _STRUCTURE.finditer(text):
        sign = match[0][0]
        if sign in "[{":
            level += 1
            deepest = max(deepest, level)
        elif sign in "]}":
            level -= 1
    return deepest


def _refuse_constant(name: str) -> NoReturn:
    msg = f"has {name}, which JSON does not have."
    raise NotJsonError(msg)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        msg = f"is JSON with the key {quoted(twice)} twice in one object; readers would disagree."
        raise NotJsonError(msg)
    return found


def _fault(text: str, error: json.JSONDecodeError) -> str:
    """Say what is wrong where the JSON breaks off, or that it is another text altogether."""
    if not _BEGINNING.match(text):
        hint = ""
        if text.lstrip().startswith("```"):
            hint = " The code block is not closed."
        elif _HAS_JSON.search(text):
            hint = " Put the JSON into a ```json block, or leave out the text around it."
        return f"is text, {quoted(text.strip())}, where JSON was expected.{hint}"
    found = next((words for start, words in _FAULTS.items() if error.msg.startswith(start)), "")
    place = f"in line {error.lineno}, column {error.colno}"
    rest = text[error.pos : error.pos + _REST_CHARS].strip()
    where = f"{place}, before {quoted(rest)}" if rest else f"{place}, at its end"
    return f"is not valid JSON: {found or 'something is wrong'} {where}.{_advice(text)}"


def _advice(text: str) -> str:
    """Say what most often is the matter."""
    if re.match(r"[\[{]\s*'", text.strip()):
        return " JSON puts texts and keys into double quotes."
    if re.search(r",\s{0,100}[\]}]", text):
        return " JSON has no comma after the last item."
    return ""
