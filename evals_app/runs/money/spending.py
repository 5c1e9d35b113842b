"""Read the ledger: what was spent in a month, by day, agent, model or person."""

from collections.abc import Collection, Iterator
from datetime import date, datetime
from typing import Any, get_args

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models import Max, Min, Q, Sum

from evals_app.models import Spending
from evals_app.reports.answers.spending import By, SpentAmount
from evals_app.runs.ground.ledger import today
from evals_app.runs.money.ceilings import in_month, next_month
from fixtures_app.ground.quoting import cut_middle

WAYS: tuple[By, ...] = get_args(By)
_COLUMNS: dict[By, str] = {
    "day": "day",
    "agent": "agent_slug",
    "model": "model",
    "person": "person",
}
_UNKNOWN = {"model": "Unknown", "person": "No person: a command, or a deleted user"}


def read_month(text: str) -> date:
    """Return the first day of a month, of this one for a blank text, or raise ValueError."""
    if not text:
        return today().replace(day=1)
    try:
        first = datetime.strptime(text, "%Y-%m").date()  # noqa: DTZ007 - a day has no time zone
        next_month(first)  # the last month of the calendar has none
    except ValueError:
        raise ValueError(f"{cut_middle(text)!r} is not a month. Write it as 2026-11.") from None
    return first


def month_text(first: date) -> str:
    """Return a month as it is written: 2026-11."""
    return first.isoformat()[:7]


def months() -> list[date]:
    """Return the months from the first in the ledger to this one, the newest first."""
    first = Spending.objects.aggregate(first=Min("day"))["first"] or today()
    known = [first.replace(day=1)]
    while (following := next_month(known[-1])) <= today():
        known.append(following)
    return known[::-1]


def spending(first: date, *, by: By, reader: User | None = None) -> list[SpentAmount]:
    """Return what was spent in the month from `first`: days in order, anything else by amount.

    Only those who may view users read what others spent; a reader of None reads all.
    """
    column = _COLUMNS[by]
    own = Q() if sees_all(reader) else Q(person=reader)
    sums = (
        Spending.objects.filter(in_month(first), own)
        .order_by()
        .values(column, "role")
        .annotate(spent=Sum("spent_usd"), unsettled=Sum("unsettled_usd"), called=Max("agent_name"))
    )
    rows: dict[object, SpentAmount] = {}
    for entry in sums:
        key = entry[column]
        row = rows.setdefault(key, SpentAmount("" if key is None else str(key), entry["called"]))
        side = entry["role"] or "unknown"
        setattr(row, f"{side}_usd", getattr(row, f"{side}_usd") + entry["spent"])
        row.unsettled_usd += entry["unsettled"]
    _name(rows, by=by)
    some = (row for row in rows.values() if row.spent_usd or row.unsettled_usd)
    if by == "day":
        return sorted(some, key=lambda row: row.key)
    return sorted(some, key=lambda row: (-row.spent_usd, row.name))


def sees_all(reader: User | None) -> bool:
    """Whether a reader reads what others spent."""
    return reader is None or reader.has_perm("auth.view_user")


def _name(rows: dict[Any, SpentAmount], *, by: By) -> None:
    people = _people(rows.keys() - {None}) if by == "person" else {}
    for key, row in rows.items():
        if by == "person" and key is not None:
            row.name = people.get(key, f"Person {key}")
        elif by != "agent":
            row.name = row.key or _UNKNOWN[by]


def _people(keys: Collection[int]) -> dict[int, str]:
    users = get_user_model().objects.filter(pk__in=keys)
    return dict(users.values_list("pk", "username"))


def each_day(first: date) -> Iterator[date]:
    """Return the days of a month that have begun."""
    end = min(next_month(first).toordinal(), today().toordinal() + 1)
    for number in range(first.toordinal(), end):
        yield date.fromordinal(number)
