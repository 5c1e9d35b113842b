"""When messages were written, as exports of help desks say it."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_NUMBERS = re.compile(
    r"(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})"
    r"(?:,?[ T]+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp]\.?[Mm]\.?)?)?"
)
# What follows a time; of zones those that e-mails do not name.
_HALF = re.compile(r"\s*([ap])\.?m\.?$", re.IGNORECASE)
_ZONES = {"UTC": "+00:00", "GMT": "+00:00", "CET": "+01:00", "CEST": "+02:00", "Uhr": ""}
_ZONE = re.compile(rf"\s*\b({'|'.join(_ZONES)})$")
_YEAR_FIRST = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})")
_SPACE_BEFORE_OFFSET = re.compile(r"\s+(?=[+-]\d{2}:?\d{2}$)")
_SERIAL = re.compile(r"\d{5}(?:\.\d+)?")  # days, as spreadsheets count them
_FIRST_DAY = datetime(1899, 12, 30, tzinfo=UTC)
_SERIALS = range(36_526, 73_051)  # of this century
_SHORT_HOUR = re.compile(r"(?<=[ T])(?=\d:\d{2})")
_EPOCH_S = range(10**8, 10**11)
_EPOCH_MS = range(10**11, 10**14)
_NOON = 12
_DAY_S = 24 * 60 * 60
_CENTURY = 100


class TimeReader:
    """Reads the times of one file, in UTC where they name no zone.

    Whether `3/4/2026` is the third of April or the fourth of March is decided by the other dates of
    the file; `is_guess` says that none of them could.
    """

    def __init__(self, examples: Iterable[object] = ()) -> None:
        found = [match for text in examples if (match := _NUMBERS.fullmatch(str(text).strip()))]
        firsts, seconds = [int(each[1]) for each in found], [int(each[2]) for each in found]
        dotted = any("." in each[0] for each in found)
        says_half = any(each[7] for each in found)
        self.is_guess = bool(found) and not dotted and max(firsts + seconds) <= _NOON
        self.is_month_first = any(n > _NOON for n in seconds) or (self.is_guess and says_half)

    def read(self, written: object) -> datetime | None:
        """Return a time; None if there is none, or it cannot be read."""
        if isinstance(written, int | float) and not isinstance(written, bool):
            return _of_epoch(int(written))
        text = str(written or "").strip()
        if _SERIAL.fullmatch(text) and int(float(text)) in _SERIALS:
            return _FIRST_DAY + timedelta(seconds=round(float(text) * _DAY_S))
        if text.isdecimal():
            return _of_epoch(int(text))
        return self._of_words(text)

    def _of_words(self, text: str) -> datetime | None:
        try:
            return self._of_numbers(text)
        except ValueError:
            pass
        half = _HALF.search(text)
        text = _plain(text[: half.start()] if half else text)
        for parse in (datetime.fromisoformat, self._of_numbers, parsedate_to_datetime):
            try:
                found = parse(text)
                if half:
                    found = found.replace(hour=_hour(found.hour, half[1]))
            except (ValueError, TypeError, IndexError, OverflowError):
                continue
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        return None

    def _of_numbers(self, text: str) -> datetime:
        match = _NUMBERS.fullmatch(text)
        if match is None:
            raise ValueError(text)
        first, second, year = (int(match[n]) for n in (1, 2, 3))
        day, month = (second, first) if self.is_month_first else (first, second)
        hour = int(match[4] or 0)
        if half := match[7]:
            hour = _hour(hour, half)
        year += 2000 if year < _CENTURY else 0
        return datetime(year, month, day, hour, int(match[5] or 0), int(match[6] or 0), tzinfo=UTC)


def _hour(written: int, half: str) -> int:
    if written > _NOON:
        raise ValueError(written)
    return written % _NOON + (_NOON if half.lower().startswith("p") else 0)


def _plain(text: str) -> str:
    """Return a time as parsers take it: the zone as an offset, the year apart by hyphens."""
    text = _ZONE.sub(lambda zone: _ZONES[zone[1]], text.strip())
    text = _YEAR_FIRST.sub(lambda day: f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}", text)
    return _SHORT_HOUR.sub("0", _SPACE_BEFORE_OFFSET.sub("", text))


def _of_epoch(number: int) -> datetime | None:
    if number in _EPOCH_MS:
        return datetime.fromtimestamp(number / 1000, tz=UTC)
    return datetime.fromtimestamp(number, tz=UTC) if number in _EPOCH_S else None
