"""What a person sees in a cell: `12.50 %` where the file has 0.125 and a format.

Formats are those of spreadsheets: https://support.microsoft.com/office/number-format-codes. What the
computer of the reader decides (its own order of day and month, its decimal sign) is not in the
file: there days are written 2026-05-01, and numbers with a point.
"""

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal

_DIGITS = 15  # of a number that spreadsheets keep
_PERCENT = 100
# Formats that follow the settings of the computer.
_OF_THE_COMPUTER = ("mm-dd-yy", "m/d/yy h:mm", "[$-F800]", "[$-F400]", "[$-x-")

# Quoted and escaped letters, the sign of a currency, what only takes room, a colour or condition.
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]\-]*)[^\]]*\]|(?:_|\*)(?:.)|\[[^\]]*\]', re.DOTALL)
_CONDITION = re.compile(r"\[[<>=]")
_NUMBER = re.compile(r"[#0,?]+(?:\.[#0?]*)?|\.[#0?]+")
_MOMENT = re.compile(r"(?i)AM/PM|A/P|y+|m+|d+|h+|s+|\.0+")
_NAMES = {"mmmm": "%B", "mmm": "%b", "dddd": "%A", "ddd": "%a"}


def shown_text(value: object, number_format: str) -> str:
    """Return what a person sees of a value; nothing of an empty cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return _number(value, number_format)
    if isinstance(value, date | time):
        return _moment(value, number_format)
    if isinstance(value, timedelta):
        return _duration(value)
    return str(value)


def _number(value: float, number_format: str) -> str:
    sections = number_format.split(";")
    # The second section is for what is below zero, and has signs of its own.
    has_own = value < 0 and len(sections) > 1
    section = (
        sections[1] if has_own else sections[2] if value == 0 and sections[2:] else sections[0]
    )
    pieces = [text for text, is_code in _pieces(section) if is_code]
    codes = [code for piece in pieces for code in _NUMBER.findall(piece)]
    left = re.sub(r"[#0,?.%\s()+-]", "", "".join(pieces))
    is_odd = len(codes) != 1 or left or codes[0].endswith(",") or _CONDITION.search(number_format)
    if is_odd or not abs(value) < 10**_DIGITS:
        return _plain(value)  # General, fractions, powers of ten, thousands left out
    exact = Decimal(repr(abs(value) if has_own else value))
    digits = _digits(exact * _PERCENT if "%" in "".join(pieces) else exact, codes[0])
    sign = "-" if digits.startswith("-") else ""
    texts = [
        _NUMBER.sub(digits.removeprefix("-"), text, count=1) if is_code else text
        for text, is_code in _pieces(section)
    ]
    return sign + "".join(texts).strip()


def _pieces(section: str) -> list[tuple[str, bool]]:
    """Take a format apart: texts that are shown as they are, and codes."""
    pieces, end = [], 0
    for match in _LITERAL.finditer(section):
        pieces.append((section[end : match.start()], True))
        pieces.append((match[1] or match[2] or match[3] or "", False))
        end = match.end()
    return [*pieces, (section[end:], True)]


def _digits(number: Decimal, code: str) -> str:
    whole, point, behind = code.partition(".")
    rounded = number.quantize(Decimal(1).scaleb(-len(behind)), rounding=ROUND_HALF_UP)
    text = f"{abs(rounded):,f}" if "," in whole else f"{abs(rounded):f}"
    head, _, tail = text.partition(".")
    least = len(behind.rstrip("#?"))
    head = head.lstrip("0").rjust(whole.count("0"), "0")
    sign = "-" if rounded < 0 else ""
    return f"{sign}{head}{point}{tail[:least]}{tail[least:].rstrip('0')}"


def _plain(value: float) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**_DIGITS:
        return str(int(value))
    return str(value) if isinstance(value, int) else f"{value:.{_DIGITS}g}"


def _moment(value: date | time, number_format: str) -> str:
    code = number_format.split(";", maxsplit=1)[0]
    if code in ("General", "@") or code.startswith(_OF_THE_COMPUTER):
        return _iso(value)
    texts = []
    before = ""  # the code before: after hours, m is minutes
    pieces = _pieces(code)
    for n, (text, is_code) in enumerate(pieces):
        if not is_code:
            texts.append(text)
            continue
        end = 0
        for match in _MOMENT.finditer(text):
            after = _MOMENT.search(text, match.end()) or _next_code(pieces[n + 1 :])
            is_minutes = before.startswith("h") or (after is not None and after[0][0] in "sS")
            texts += [text[end : match.start()], _part(value, match[0].lower(), code, is_minutes)]
            before, end = match[0].lower(), match.end()
        texts.append(text[end:])
    return "".join(texts).strip() if before else _iso(value)


def _next_code(pieces: list[tuple[str, bool]]) -> re.Match[str] | None:
    codes = (_MOMENT.search(text) for text, is_code in pieces if is_code)
    return next(filter(None, codes), None)


def _part(value: date | time, code: str, whole: str, is_minutes: bool) -> str:  # noqa: FBT001
    at = value if isinstance(value, datetime | time) else time()
    on = value if isinstance(value, date) else date(1900, 1, 1)
    if code in ("am/pm", "a/p"):
        word = f"{at:%p}"
        return word if code == "am/pm" else word[0]
    if code[0] == "m" and is_minutes:
        return str(at.minute).rjust(len(code), "0")
    if code in _NAMES:
        return f"{on:{_NAMES[code]}}"
    if code[0] == "y":
        return f"{on.year:04}" if len(code) > len("yy") else f"{on.year % 100:02}"
    if code[0] == ".":
        return f".{at.microsecond:06}"[: len(code)]
    hour = (at.hour - 1) % 12 + 1 if re.search(r"(?i)AM/PM|A/P", whole) else at.hour
    number = {"m": on.month, "d": on.day, "h": hour, "s": at.second}[code[0]]
    return str(number).rjust(len(code), "0")


def _iso(value: date | time) -> str:
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()


def _duration(value: timedelta) -> str:
    minutes, seconds = divmod(round(abs(value).total_seconds()), 60)
    sign = "-" if value < timedelta() else ""
    return f"{sign}{minutes // 60}:{minutes % 60:02}:{seconds:02}"
