"""When something repeats: every hour, every day, on weekdays, or at the times of a cron expression."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, pairwise, takewhile
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from pydantic import Field, ValidationInfo, field_validator

from evals_app.engine.basics.permits import must_match, refuse_if
from evals_app.engine.specs.base_spec import Spec
from fixtures_app.ground.words import near

Frequency = Literal["hourly", "daily", "weekdays", "cron"]
CLOSEST = timedelta(minutes=5)  # between two moments
_COMPARED = 100  # this many moments show the shortest interval
_FIELDS = "minute hour day-of-month month day-of-week"
_YEAR = timedelta(days=366)
_START = datetime(2024, 1, 1, tzinfo=UTC)


@cache
def time_zones() -> tuple[str, ...]:
    """Return the names of time zones, as in Europe/Zurich."""
    places = (name for name in available_timezones() if "/" in name)
    return ("UTC", *sorted(name for name in places if not name.startswith(("Etc/", "SystemV/"))))


def _zone_problem(name: str) -> str | None:
    if name in time_zones():
        return None
    return (
        f"{name!r} is not a time zone. Write one such as Europe/Zurich.{near(name, time_zones())}"
    )


def _cron_problem(line: str) -> str | None:
    """Explain why a cron expression cannot be used; it may be empty."""
    fields = line.split()
    if not fields:
        return None
    if len(fields) != len(_FIELDS.split()):
        return (
            f"{line!r} has {len(fields)} fields. Write five: {_FIELDS}, for example 0 3 * * 1-5 for"
            " 03:00 from Monday to Friday."
        )
    try:
        moments = CronSim(line, _START)
    except CronSimError as error:
        field = str(error).removeprefix("Bad ")
        written = dict(zip(_FIELDS.split(), fields, strict=True)).get(field, line)
        return f"{written!r} is not a valid {field}. The five fields are: {_FIELDS}."
    first = next(moments, None)
    if first is None:
        return f"{line!r} never occurs."
    year = takewhile(lambda moment: moment < first + _YEAR, moments)
    if any(
        later - earlier < CLOSEST for earlier, later in pairwise([first, *islice(year, _COMPARED)])
    ):
        minutes = CLOSEST.seconds // 60
        return f"{line!r} occurs more often than every {minutes} minutes."
    return None


class Rhythm(Spec):
    """How often something is due, and at what time of the day in which time zone."""

    frequency: Frequency = Field(
        "daily", title="How often", description="cron: at the times of the cron expression."
    )
    at: Annotated[
        str, must_match(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", "Write the time like this: 03:00.")
    ] = Field(
        "03:00",
        title="Time",
        description="For every hour, only the minutes count.",
    )
    cron: Annotated[str, refuse_if(_cron_problem)] = Field(
        "",
        max_length=100,
        validate_default=True,
        title="Cron expression",
        description=f"Five fields: {_FIELDS}. For example 0 3 * * 1-5.",
    )
    time_zone: Annotated[str, refuse_if(_zone_problem)] = Field(
        "UTC", max_length=100, title="Time zone", description="For example Europe/Zurich."
    )

    @field_validator("cron")
    @classmethod
    def _only_where_it_counts(cls, cron: str, info: ValidationInfo) -> str:
        frequency = info.data.get("frequency")  # None: it is not valid itself
        if frequency == "cron" and not cron.strip():
            raise ValueError(f"Enter a cron expression with five fields: {_FIELDS}.")
        if cron.strip() and frequency not in {"cron", None}:
            raise ValueError("This applies only to the frequency cron. Choose that, or clear this.")
        return cron.strip()

    @property
    def line(self) -> str:
        """The same as a cron expression."""
        hour, minute = (int(part) for part in self.at.split(":"))
        lines = {
            "hourly": f"{minute} * * * *",
            "daily": f"{minute} {hour} * * *",
            "weekdays": f"{minute} {hour} * * 1-5",
        }
        return lines.get(self.frequency, self.cron)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @property
    def in_words(self) -> str:
        """How often and when: "every day at 03:00"."""
        if self.frequency == "cron":
            words = CronSim(self.cron, _START).explain()
            return words[:1].lower() + words[1:]
        if self.frequency == "hourly":
            return f"every hour at {self.at[-3:]}"
        return f"{'every day' if self.frequency == 'daily' else 'Monday to Friday'} at {self.at}"

    def moments(self, *, after: datetime) -> Iterator[datetime]:
        """Yield the moments after one, in UTC.

        A time that the change to summer time skips comes right after the gap; one that comes twice
        in autumn counts once.
        """
        for moment in CronSim(self.line, after.astimezone(self.zone)):
            yield moment.astimezone(UTC)

    def next(self, *, after: datetime) -> datetime | None:
        """Return the first moment after one."""
        return next(self.moments(after=after), None)
