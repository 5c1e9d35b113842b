"""The formats of JSON Schema that are checked, whatever packages are installed."""

import re
from datetime import date, time

from jsonschema import FormatChecker

from fixtures_app.ground.patterns import pattern_problem

FORMATS = FormatChecker(["date", "ipv4", "ipv6", "uuid"])
_EMAIL = re.compile(r'(?:"[^"]+"|[^\s@"]+)@[^\s@]+')
_TIME = re.compile(
    r"([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})", re.IGNORECASE
)


@FORMATS.checks("regex")
def _is_regex(value: object) -> bool:
    return not isinstance(value, str) or not value or pattern_problem(value) is None


@FORMATS.checks("email")
def _is_email(value: object) -> bool:
    # The library accepts any text with an @.
    return not isinstance(value, str) or _EMAIL.fullmatch(value) is not None


@FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True  # a format is about text only
    day, mark, clock = value[:10], value[10:11], value[11:]
    # Python also reads days without hyphens, and weeks.
    is_day = "-" == day[4:5] == day[7:8] and bool(date.fromisoformat(day))
    return is_day and mark in "Tt" and _is_time(clock)


@FORMATS.checks("time", raises=ValueError)
def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    # Source: RFC 3339, section 5.6. Without fractions, because Python reads at most six digits.
    parts = _TIME.fullmatch(value)
    return parts is not None and bool(time.fromisoformat(parts[1] + parts[3].upper()))
