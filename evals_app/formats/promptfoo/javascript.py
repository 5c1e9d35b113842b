"""Conditions in JavaScript that our checks can say: output.includes('x') && output.length < 200.

Nothing is run. What is not one of these forms is code, which the caller reports as lost.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from evals_app.engine.graders.compare import CompareValues
from evals_app.formats.reading.problems import Json
from fixtures_app.ground.json_paths import parse_path

_STRING = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.)*`"""
_NAME = r"[A-Za-z_$][\w$]*"
_VARIABLE = rf"context\.vars(?:\.{_NAME}|\[(?:{_STRING})\])"
_LITERAL = rf"(?:{_STRING}|{_VARIABLE}|-?\d+(?:\.\d+)?|true|false|null|undefined)"
# The reply, perhaps in other letters or without the space around it.
_REPLY = (
    r"(?:String\(output\)|output)(?P<changes>(?:\.(?:toLowerCase|toUpperCase|trim|toString)\(\))*)"
)
_PLACE = (
    r"(?:\(?JSON\.parse\(\s*output(?:\.trim\(\))?\s*\)\)?|output)"
    rf"(?P<place>(?:\??\.(?!(?:length|trim|to[A-Z]\w*)\b){_NAME}|\[\d+\]|\[(?:{_STRING})\])+)"
)
_COMPARED = r"(?P<sign>[=!]==?|[<>]=?)"

_FINDS = re.compile(
    rf"{_REPLY}\.(?P<how>includes|startsWith|endsWith)\(\s*(?P<text>{_LITERAL})\s*\)"
)
_IS = re.compile(rf"{_REPLY}\s*(?P<sign>[=!]==?)\s*(?P<text>{_LITERAL})")
_LENGTH = re.compile(rf"{_REPLY}\.length\s*{_COMPARED}\s*(?P<count>\d+)")
_WORDS = re.compile(
    rf"output(?P<trimmed>\.trim\(\))?\.split\(\s*(?P<at>' '|\" \"|/\\s\+/)\s*\)\.length\s*{_COMPARED}"
    r"\s*(?P<count>\d+)"
)
_REGEX = r"(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+"
_MATCHES = re.compile(
    rf"/(?P<one>{_REGEX})/(?P<flags>[a-z]*)\.test\(\s*output\s*\)"
    rf"|output\.match\(\s*/(?P<other>{_REGEX})/(?P<others>[a-z]*)\s*\)"
)
_AT = re.compile(rf"{_PLACE}\s*{_COMPARED}\s*(?P<value>{_LITERAL})")
# A value that only the check `compare` can say: a part of the reply, then what is done to it.
_SOURCE = re.compile(
    r"(?:(?P<json>\(?JSON\.parse\(\s*output(?:\.trim\(\))?\s*\)\)?)|String\(output\)|output)"
    rf"(?P<place>(?:\??\.(?!length\b){_NAME}(?![\w$(])|\[\d+\]|\[(?:{_STRING})\])*)"
)
_CHANGE = re.compile(
    r"\.(?:(?P<change>trim|toLowerCase|toUpperCase)\(\)|(?P<length>length)"
    rf"|split\(\s*(?P<at>{_STRING})\s*\)(?P<item>\[\d+\])?)"
)
_FUNCTIONS = {"trim": "trim", "toLowerCase": "lower", "toUpperCase": "upper"}
_HAS = re.compile(
    rf"(?P<left>.+?)\.(?P<how>includes|startsWith|endsWith)\(\s*(?P<text>{_LITERAL})\s*\)"
)
_TESTS = re.compile(rf"/(?P<one>{_REGEX})/(?P<flags>[a-z]*)\.test\(\s*(?P<left>.+?)\s*\)")
_SIDES = re.compile(rf"(?P<left>.+?)\s*{_COMPARED}\s*(?P<right>.+)")
_INDEX = re.compile(
    rf"(?P<left>.+?)\.indexOf\(\s*(?P<text>{_LITERAL})\s*\)\s*"
    r"(?:(?P<found>!==?\s*-1|>\s*-1|>=\s*0)|===?\s*-1|<\s*0)"
)
# True of every reply: one that is empty fails its turn anyway.
_IS_ANY = re.compile(
    r"output|output\s*!==?\s*(?:null|undefined)|typeof output\s*===?\s*(?:'string'|\"string\")"
)
_TEXT = re.compile(_STRING)
_PATTERN = re.compile(rf"/{_REGEX}/")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))")
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_MAX_CHARS, _MAX_DEPTH = 2_000, 50
_PIECE = 1_000  # the most that one repeat of a pattern counts
_BOUNDS = {">=": "minimum", "<=": "maximum"}
_OPPOSITE = {
    "===": "!==",
    "!==": "===",
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}


class NotSayableError(Exception):
    """No check is equivalent."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern of what the reply has, or must not have."""

    text: str
    case_sensitive: bool
    negated: bool

    def check(self) -> Json:
        kind = "not_matches" if self.negated else "matches"
        return {"type": kind, "value": self.text, "case_sensitive": self.case_sensitive}


def comparison(left: str, sign: str, right: str) -> Json:
    """Return the check that compares two values.

    Raises:
        NotSayableError: it cannot, or whatever a reply says is the same.
    """
    check = {"left": left, "comparison": sign, "right": right}
    try:
        if CompareValues.model_validate(check).cannot_fail():
            raise NotSayableError
    except ValidationError:
        raise NotSayableError from None
    return {"type": "compare", **check}


def quote_text(text: str) -> str:
    """Write a text as a side of a comparison."""
    return "'" + text.replace("'", "''") + "'"


def compare_part(check: Json, source: str) -> Json:
    """Return a check of the text of the reply as one of a part of it.

    Raises:
        NotSayableError: it cannot be said.
    """
    text, is_pattern = str(check["value"]), "matches" in str(check["type"])
    if not check["case_sensitive"]:
        source = source if is_pattern else f"lower({source})"
        text = f"(?i){text}" if is_pattern else text.lower()
    sign = str(check["type"]).replace("not_matches", "does not match")
    return comparison(source, sign.replace("not_contains", "does not contain"), quote_text(text))


def checks_of(
    code: str, values: Mapping[str, object], *, inverse: bool, source: str = "reply"
) -> list[Json]:
    """Return the checks that say what a condition says; `source` is what it calls output.

    Raises:
        NotSayableError: none do.
    """
    if len(code) > _MAX_CHARS:
        raise NotSayableError
    condition = code.strip().removeprefix("return ").strip().removesuffix(";").strip()
    checks = _Reader(values, source).read(condition, negated=inverse)
    if not checks:
        raise NotSayableError
    return checks


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads conditions; `values` are the variables of the test."""

    values: Mapping[str, Any]
    source: str

    def read(self, written: str, *, negated: bool, depth: int = 0) -> list[Json]:
        if depth > _MAX_DEPTH:
            raise NotSayableError
        read = partial(self.read, depth=depth + 1)
        condition = _without_brackets(written.strip())
        either, both = (_split(condition, sign) for sign in ("||", "&&"))
        if len(either) > 1 and not negated:
            return [self._any_of(either)]
        parts = either if len(either) > 1 else both
        if len(parts) > 1:
            if parts is both and negated:
                raise NotSayableError  # one of several conditions must be false, no matter which
            return [check for part in parts for check in read(part, negated=negated)]
        if condition.startswith("!") and not condition.startswith("!="):
            return read(condition[1:], negated=not negated)
        if match := _INDEX.fullmatch(condition):
            is_not = negated is bool(match["found"])
            return read(f"{match['left']}.includes({match['text']})", negated=is_not)
        if self.source != "reply":
            return [self._comparison(condition, negated=negated)]
        if _IS_ANY.fullmatch(condition) and not negated:
            return []
        try:
            return [self._atom(condition, negated=negated)]
        except NotSayableError:
            if _FINDS.fullmatch(condition) or _IS.fullmatch(condition):
                raise
            return [self._comparison(condition, negated=negated)]

    def _any_of(self, parts: Sequence[str]) -> Json:
        """Return one pattern that matches any of several texts."""
        read = (
            self._condition_pattern(_without_brackets(part.strip()), negated=False)
            for part in parts
        )
        patterns = [pattern for pattern in read if pattern and not pattern.negated]
        cases = {pattern.case_sensitive for pattern in patterns}
        if len(patterns) < len(parts) or len(cases) > 1:
            raise NotSayableError
        joined = "|".join(pattern.text for pattern in patterns)
        return _Pattern(joined, cases.pop(), negated=False).check()

    def _atom(self, condition: str, *, negated: bool) -> Json:
        if match := _AT.fullmatch(condition):
            return self._at(match, negated=negated)
        if match := _FINDS.fullmatch(condition):
            text, is_exact = self._text(match)
            if match["how"] == "includes":
                kind = "not_contains" if negated else "contains"
                return {"type": kind, "value": text, "case_sensitive": is_exact}
        elif match := _IS.fullmatch(condition):
            is_not = negated is (match["sign"][0] == "=")
            if not match["changes"] and not is_not:
                return {"type": "exact_match", "value": self._text(match)[0]}
        pattern = self._condition_pattern(condition, negated=negated)
        if pattern is None:
            raise NotSayableError
        return pattern.check()

    def _condition_pattern(self, condition: str, *, negated: bool) -> _Pattern | None:
        """Translate a condition on the text of the reply into a pattern."""
        if match := _FINDS.fullmatch(condition):
            text, is_exact = self._text(match)
            begin = r"\A" if match["how"] == "startsWith" else ""
            end = r"\z" if match["how"] == "endsWith" else ""
            if ".trim()" in match["changes"]:
                begin, end = begin and r"\A\s*", end and r"\s*\z"
            return _Pattern(f"{begin}{re.escape(text)}{end}", is_exact, negated)
        if match := _IS.fullmatch(condition):
            text, is_exact = self._text(match)
            space = r"\s*" if ".trim()" in match["changes"] else ""
            is_not = negated is (match["sign"][0] == "=")
            return _Pattern(rf"\A{space}{re.escape(text)}{space}\z", is_exact, is_not)
        if match := _LENGTH.fullmatch(condition):
            characters = partial(_characters, is_trimmed=".trim()" in match["changes"])
            return _count_pattern(match, characters, negated=negated)
        if match := _WORDS.fullmatch(condition):
            return _count_pattern(match, partial(_words, match), negated=negated)
        if match := _MATCHES.fullmatch(condition):
            pattern, flags = match["one"] or match["other"], match["flags"] or match["others"] or ""
            return _regex(pattern, flags, negated=negated)
        return None

    def _comparison(self, condition: str, *, negated: bool) -> Json:
        """Return a comparison of two values. What may be missing is never unequal to something."""
        if match := _TESTS.fullmatch(condition):
            pattern = _regex(match["one"], match["flags"], negated=negated)
        elif match := _HAS.fullmatch(condition):
            text = self._literal(match["text"])
            if not isinstance(text, str) or not text:
                raise NotSayableError
            if match["how"] == "includes":
                sign = "does not contain" if negated else "contains"
                left = self._value(match["left"], must_exist=negated)
                return comparison(left, sign, quote_text(text))
            at_start = match["how"] == "startsWith"
            ends = rf"\A{re.escape(text)}" if at_start else rf"{re.escape(text)}\z"
            pattern = _Pattern(ends, case_sensitive=True, negated=negated)
        elif match := _SIDES.fullmatch(condition):
            sign = re.sub("==+", "=", _OPPOSITE[match["sign"]] if negated else match["sign"])
            is_open = negated or sign == "!="
            left, right = (
                self._value(match[side], must_exist=is_open) for side in ("left", "right")
            )
            return comparison(left, sign, right)
        else:
            raise NotSayableError
        return compare_part(pattern.check(), self._value(match["left"], must_exist=negated))

    def _value(self, written: str, *, must_exist: bool) -> str:
        """Return a value in the words of `compare`; with `must_exist`, none that may be missing."""
        if re.fullmatch(_LITERAL, written) and written != "undefined":
            value = self._literal(written)
            return quote_text(value) if isinstance(value, str) else json.dumps(value)
        match = _SOURCE.match(written)
        if match is None:
            raise NotSayableError
        place = match["place"].replace("?.", ".")
        value = self.source + place if place or not match["json"] else f"{self.source}[*]"
        if ((place or match["json"]) and must_exist) or (match["json"] and self.source != "reply"):
            raise NotSayableError
        rest = written[match.end() :]
        while rest:
            match = _CHANGE.match(rest)
            if match is None or (match["item"] and must_exist):
                raise NotSayableError
            if match["at"]:
                value = f"split({value}, {quote_text(_unquote(match['at']))}){match['item'] or ''}"
            else:
                value = f"{_FUNCTIONS.get(match['change'], 'length')}({value})"
            rest = rest[match.end() :]
        return value

    def _at(self, match: re.Match[str], *, negated: bool) -> Json:
        """Return the check that a place of a JSON reply has a value."""
        place = re.sub(r"\?\.", ".", match["place"]).removeprefix(".")
        try:
            parse_path(place)
        except ValueError:
            raise NotSayableError from None
        sign = _OPPOSITE[match["sign"]] if negated else match["sign"]
        value = self._literal(match["value"])
        if match["value"] == "undefined":
            if sign[0] in "<>":
                raise NotSayableError
            return {"type": "json_path", "path": place, "value": {"present": sign[0] == "!"}}
        if sign in ("===", "=="):
            if isinstance(value, dict):
                raise NotSayableError
            return {"type": "json_path", "path": place, "value": value}
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if sign not in (">=", "<=") or not is_number or negated:
            raise NotSayableError
        return {"type": "json_path", "path": place, _BOUNDS[sign]: value}

    def _text(self, match: re.Match[str]) -> tuple[str, bool]:
        """Return a text, and whether upper and lower case matter."""
        text = self._literal(match["text"])
        if not isinstance(text, str) or not text:
            raise NotSayableError
        changes = match["changes"]
        for change, changed in ((".toLowerCase()", str.lower), (".toUpperCase()", str.upper)):
            if change in changes:
                if changed(text) != text:
                    raise NotSayableError  # it is never true
                return text, False
        return text, True

    def _literal(self, written: str) -> object:
        if written[0] in "'\"`":
            return _unquote(written)
        if written.startswith("context.vars"):
            name = written.removeprefix("context.vars").lstrip(".")
            name = _unquote(name[1:-1]) if name.startswith("[") else name
            return self.values.get(name)
        try:
            return None if written == "undefined" else json.loads(written)
        except ValueError:
            raise NotSayableError from None  # 007


def _count_pattern(
    match: re.Match[str], pattern: Callable[[int, int | None], str], *, negated: bool
) -> _Pattern:
    """Return a pattern for at least or at most a number of occurrences."""
    count, sign = int(match["count"]), match["sign"]
    bounds: dict[str, tuple[int, int | None]] = {
        "<": (0, count - 1),
        "<=": (0, count),
        ">": (count + 1, None),
        ">=": (count, None),
    }
    least, most = bounds.get(sign, (count, count))
    if most is not None and most < 0:
        raise NotSayableError
    return _Pattern(pattern(least, most), case_sensitive=True, negated=negated is (sign[0] != "!"))


def _characters(least: int, most: int | None, *, is_trimmed: bool) -> str:
    if is_trimmed:
        if (least, most) != (1, None):
            raise NotSayableError
        return r"\S"
    if most is None:
        return rf"\A{_repeat_pattern('(?s:.)', least, least)}"
    return rf"\A{_repeat_pattern('(?s:.)', least, most)}\z"


def _words(match: re.Match[str], least: int, most: int | None) -> str:
    """Count pieces as split does: at each space, or at each run of space."""
    at_runs = match["at"].startswith("/")
    if at_runs != bool(match["trimmed"]):
        raise NotSayableError  # space around the reply would count, or count otherwise
    piece, gap, around = (r"\S+", r"\s+", r"\s*") if at_runs else ("[^ ]*", " ", "")
    if most == 0:
        raise NotSayableError  # split never gives nothing
    further = _repeat_pattern(
        f"(?:{gap}{piece})", max(least - 1, 0), None if most is None else most - 1
    )
    return rf"\A{around}{piece}{further}{around}\z"


def _repeat_pattern(pattern: str, least: int, most: int | None) -> str:
    """Repeat a pattern in pieces that are each short enough."""
    pieces = [f"{pattern}{{{count}}}" for count in _pieces(least)]
    if most is None:
        return "".join([*pieces, f"{pattern}*"])
    return "".join([*pieces, *(f"{pattern}{{0,{count}}}" for count in _pieces(most - least))])


def _pieces(count: int) -> Iterator[int]:
    yield from [_PIECE] * (count // _PIECE)
    if rest := count % _PIECE:
        yield rest


def _regex(pattern: str, flags: str, *, negated: bool) -> _Pattern:
    inline = "".join(flag for flag in "ms" if flag in flags)
    if set(flags) - set("gimsu"):
        raise NotSayableError
    plain = pattern.replace(r"\/", "/")
    return _Pattern(f"(?{inline}){plain}" if inline else plain, "i" not in flags, negated)


def _unquote(written: str) -> str:
    def character(match: re.Match[str]) -> str:
        if code := match[1] or match[2]:
            return chr(int(code, 16))
        return _SIGNS.get(match[3], "" if match[3] == "\n" else match[3])

    text = _ESCAPED.sub(character, written[1:-1])
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")  # pairs become one
    except UnicodeDecodeError:
        raise NotSayableError from None


def _without_brackets(condition: str) -> str:
    """Leave out brackets around the whole condition."""
    while condition.startswith("(") and _closing(condition) == len(condition) - 1:
        condition = condition[1:-1].strip()
    return condition


def _closing(condition: str) -> int:
    """Return where the first bracket is closed; -1: nowhere."""
    depth = 0
    for at, sign in _signs(condition):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0:
            return at
    return -1


def _split(condition: str, operator: str) -> list[str]:
    """Divide a condition where an operator is outside of brackets, texts and patterns."""
    parts, depth, begin = [], 0, 0
    for at, sign in _signs(condition):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if depth == 0 and at >= begin and condition.startswith(operator, at):
            parts.append(condition[begin:at])
            begin = at + len(operator)
    return [*parts, condition[begin:]]


def _signs(condition: str) -> Iterator[tuple[int, str]]:
    """Return the signs of a condition that are in no text and no pattern, with their places."""
    at, before = 0, "("
    while at < len(condition):
        match = _TEXT.match(condition, at)
        if match is None and before in "(,=!&|":
            match = _PATTERN.match(condition, at)
        if match:
            at, before = match.end(), "'"
            continue
        yield at, condition[at]
        before = condition[at] if not condition[at].isspace() else before
        at += 1
