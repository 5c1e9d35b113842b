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


class NotJsonError(ValueError):
    """A text that cannot be read as JSON; the message goes on after `The reply`."""


class Number(Decimal):
    """A number with the text that was written: 1.50 stays 1.50."""

    text: str

    def __new__(cls, text: str) -> Self:
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:
            msg = "holds a number whose exponent has over 18 digits."
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
    if "`" * 3 in reply or "~" * 3 in reply:
        blocks = _blocks(reply)
        if len(blocks) > 1:
            msg = f"holds {len(blocks)} blocks of JSON; one is expected."
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
        place = f"line {exc.lineno}, column {exc.colno}"
        msg = f"is not JSON ({exc.msg}, {place}).{_advice(text)}"
        raise NotJsonError(msg) from None


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
    msg = f"holds {name}, which JSON does not have."
    raise NotJsonError(msg)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        msg = f"is JSON with the key {quoted(twice)} twice in one object; readers would disagree."
        raise NotJsonError(msg)
    return found


def _advice(text: str) -> str:
    """Say what most often is the matter."""
    start = text.strip()[0]
    if start not in '[{"' and re.search(r"[\[{]", text):
        return " Nothing may stand around the JSON, unless it stands in a ```json block."
    if re.match(r"[\[{]\s*'", text.strip()):
        return " JSON puts texts and keys into double quotes."
    if re.search(r",\s{0,100}[\]}]", text):
        return " JSON has no comma after the last item."
    return ""
