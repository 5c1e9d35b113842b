"""Reads the JSON that an agent writes: no digit is lost, and size and depth are limited."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Self

from fixtures_app.ground.quoting import after_colon, in_quotes
from fixtures_app.ground.strict_json import fault_of, strict_decoder

MAX_JSON_BYTES = 1_000_000
MAX_JSON_LEVELS = 100

# Possessive repeats (*+) look at a text that does not match only once, not once for each length.
_FENCE = re.compile(r"[ \t]{0,3}(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?P<language>[^`\s]*+)[^`\n]*+")
# What opens or closes a level, and texts, whose brackets do not count.
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)

_BYTE_ORDER_MARK = "\ufeff"
_BEGINNING = re.compile(r"""\s*[\[{"']""")
_HAS_JSON = re.compile(r"[\[{]")
_REST_CHARS = 30


class NotJsonError(ValueError):
    """A text that cannot be read as JSON; the message continues `The reply`."""


class Number(Decimal):
    """A number that keeps its text: 1.50 stays 1.50."""

    text: str

    def __new__(cls, text: str) -> Self:
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:
            raise NotJsonError("has a number whose exponent has more than 18 digits.") from None
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


_DECODER = strict_decoder(parse_int=Number, parse_float=Number)


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A value that was read; `is_fenced` means that it was between ``` marks."""

    value: object
    is_fenced: bool = False


def read_reply(reply: str) -> JsonDocument:
    """Read a reply that is JSON, or that has one block of JSON between ``` marks.

    Raises:
        NotJsonError: it is not JSON, nested too deeply, or has a key twice.
    """
    reply = reply.removeprefix(_BYTE_ORDER_MARK)
    if "`" * 3 in reply or "~" * 3 in reply:
        blocks = _blocks(reply)
        if len(blocks) > 1:
            raise NotJsonError(f"has {len(blocks)} blocks of JSON, but one is expected.")
        if blocks:
            return JsonDocument(read_json(blocks[0]), is_fenced=True)
    return JsonDocument(read_json(reply))


def _blocks(reply: str) -> list[str]:
    """Return the text between fences: of blocks marked as JSON, or else of unmarked blocks."""
    blocks: dict[str, list[str]] = {}
    closing, language, lines = "", "", list[str]()
    for line in reply.splitlines(keepends=True):
        fence = _FENCE.fullmatch(line.rstrip())
        if not closing:
            if fence:
                closing, language, lines = fence["marks"], fence["language"].lower(), []
        elif fence and fence["marks"].startswith(closing) and not fence["language"]:
            blocks.setdefault(language, []).append("".join(lines))
            closing = ""
        else:
            lines.append(line)
    return blocks.get("json") or blocks.get("") or []


def read_json(text: str) -> object:
    """Read a text that is only JSON; numbers keep their digits.

    Raises:
        NotJsonError: it is not JSON, nested too deeply, or has a key twice.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():
        raise NotJsonError("is empty.")
    if _levels(text) > MAX_JSON_LEVELS:
        raise NotJsonError(f"is JSON nested more than {MAX_JSON_LEVELS} levels deep.")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        raise NotJsonError(_fault(text, exc)) from None
    except NotJsonError:
        raise
    except ValueError as exc:
        raise NotJsonError(f"is not valid JSON: {after_colon(str(exc))}") from None


def _levels(text: str) -> int:
    level = deepest = 0
    for match in _STRUCTURE.finditer(text):
        bracket = match[0][0]
        if bracket in "[{":
            level += 1
            deepest = max(deepest, level)
        elif bracket in "]}":
            level -= 1
    return deepest


def _fault(text: str, error: json.JSONDecodeError) -> str:
    """Return what is wrong where the JSON breaks off, or that the text is not JSON at all."""
    if not _BEGINNING.match(text):
        hint = ""
        if text.lstrip().startswith("```"):
            hint = " The code block is not closed."
        elif _HAS_JSON.search(text):
            hint = " Put the JSON in a ```json block, or leave out the text around it."
        return f"is text, {in_quotes(text.strip())}, where JSON was expected.{hint}"
    place = f"in line {error.lineno}, column {error.colno}"
    rest = text[error.pos : error.pos + _REST_CHARS].strip()
    where = f"{place}, before {in_quotes(rest)}" if rest else f"{place}, at its end"
    return f"is not valid JSON: {fault_of(error)} {where}.{_advice(text)}"


def _advice(text: str) -> str:
    """Return advice for the most common errors."""
    if re.match(r"[\[{]\s*'", text.strip()):
        return " JSON needs double quotes around texts and keys."
    if re.search(r",\s{0,100}[\]}]", text):
        return " JSON has no comma after the last item."
    return ""
