"""When messages were written, as exports of help desks say it."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_NUMBERS = re.compile(
    r"(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})"
    r"(?:,?[ T]+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp]\.?[Mm]\.?)?)?"
)
_EPOCH_S = range(10**8, 10**11)
_EPOCH_MS = range(10**11, 10**14)
_NOON = 12
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
        self._month_first = any(n > _NOON for n in seconds) or (self.is_guess and says_half)

    def read(self, written: object) -> datetime | None:
        """Return a time; None if there is none, or it cannot be read."""
        if isinstance(written, int | float) and not isinstance(written, bool):
            return _of_epoch(int(written))
        text = str(written or "").strip()
        if text.isdecimal():
            return _of_epoch(int(text))
        for parse in (datetime.fromisoformat, self._of_numbers, parsedate_to_datetime):
            try:
                found = parse(text)
            except (ValueError, TypeError, IndexError, OverflowError):
                continue
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        return None

    def _of_numbers(self, text: str) -> datetime:
        match = _NUMBERS.fullmatch(text)
        if match is None:
            raise ValueError(text)
        first, second, year = (int(match[n]) for n in (1, 2, 3))
        day, month = (second, first) if self._month_first else (first, second)
        hour = int(match[4] or 0)
        if half := match[7]:
            hour = hour % _NOON + (_NOON if half.lower().startswith("p") else 0)
        year += 2000 if year < _CENTURY else 0
        return datetime(year, month, day, hour, int(match[5] or 0), int(match[6] or 0), tzinfo=UTC)


def _of_epoch(number: int) -> datetime | None:
    if number in _EPOCH_MS:
        return datetime.fromtimestamp(number / 1000, tz=UTC)
    return datetime.fromtimestamp(number, tz=UTC) if number in _EPOCH_S else None
