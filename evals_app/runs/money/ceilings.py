"""Monthly ceilings: what the site, or the runs of a person, may spend in a month (UTC).

A spender first locks the run, then the applicable ceilings in key order. So the remainder is exact,
however many processes spend.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum
from django.db.models.expressions import Combinable

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.models import Lease, MonthlyCeiling, Run, Spending
from evals_app.runs.ground.ledger import ZERO, today


@dataclass(slots=True, eq=False)
class MonthlyLimit:
    """A ceiling and what counts towards it; `spent_usd` includes what may have been spent."""

    ceiling: Run.Ceiling
    max_usd: Decimal
    spent_usd: Decimal
    reserved_usd: Decimal

    @property
    def left_usd(self) -> Decimal:
        return max(ZERO, self.max_usd - self.spent_usd - self.reserved_usd)

    @property
    def is_passed(self) -> bool:
        """Whether more was spent than it allows: agents outside report costs afterwards."""
        return self.spent_usd > self.max_usd

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left, whatever the calls in progress cost."""
        return self.spent_usd >= self.max_usd

    def fits(self, amount: Decimal) -> bool:
        return self.spent_usd + self.reserved_usd + amount <= self.max_usd

    @property
    def in_words(self) -> str:
        """The owner of the ceiling, and its numbers."""
        reserved = usd_text(self.reserved_usd)
        in_progress = f" Calls in progress may cost up to {reserved}." if self.reserved_usd else ""
        return (
            f"{self.ceiling.label} is {usd_text(self.max_usd)}, and {usd_text(self.spent_usd)} of it"
            f" is spent this month.{in_progress}"
        )

    @property
    def why_refused(self) -> str:
        """Why nothing that costs money starts, with the numbers and the remedy."""
        return (
            f"{self.in_words} Start it next month, or ask your administrator for a higher ceiling."
        )


def ceilings_for(person: int | None) -> QuerySet[MonthlyCeiling]:
    """Return the ceilings that apply to the runs of a person; None: of no one in particular."""
    is_theirs = (
        Q(person__isnull=True) if person is None else Q(person__isnull=True) | Q(person=person)
    )
    return MonthlyCeiling.objects.filter(is_theirs).order_by("pk")


def lock_ceilings(run: Run) -> list[MonthlyCeiling]:
    """Lock the ceilings that apply to a run; the caller has locked the run."""
    return list(ceilings_for(run.created_by_id).select_for_update())


def limits_of(
    ceilings: Sequence[MonthlyCeiling], *, but: Lease | None = None, reserved_usd: Decimal = ZERO
) -> Iterator[MonthlyLimit]:
    """Return ceilings with what counts towards them now.

    `reserved_usd` replaces what the lease `but` had reserved so far.
    """
    if not ceilings:
        return
    leases = Lease.objects.exclude(pk=but.pk) if but else Lease.objects.all()
    spent = Spending.objects.filter(in_month(today()))
    people = {ceiling.person_id for ceiling in ceilings}
    if None not in people:
        spent, leases = spent.filter(person__in=people), leases.filter(run__created_by__in=people)
    # Read reservations first: in between, a lease may end and turn its reservation into spending.
    reserved_by = _by_person(leases, "run__created_by", Sum("reserved_usd"))
    spent_by = _by_person(spent, "person", Sum("spent_usd") + Sum("unsettled_usd"))
    for ceiling in ceilings:
        yield MonthlyLimit(
            Run.Ceiling.SITE if ceiling.person_id is None else Run.Ceiling.PERSON,
            ceiling.max_usd,
            _of(ceiling, spent_by),
            _of(ceiling, reserved_by) + reserved_usd,
        )


def _by_person(
    rows: QuerySet[Lease] | QuerySet[Spending], column: str, amount: Combinable
) -> dict[int | None, Decimal]:
    return dict(rows.order_by().values_list(column).annotate(amount=amount))


def _of(ceiling: MonthlyCeiling, amounts: Mapping[int | None, Decimal]) -> Decimal:
    if ceiling.person_id is None:
        return sum(amounts.values(), ZERO)
    return amounts.get(ceiling.person_id, ZERO)


def in_month(day: date) -> Q:
    """Choose the spending of the month of a day."""
    first = day.replace(day=1)
    return Q(day__gte=first, day__lt=next_month(first))


def next_month(first: date) -> date:
    """Return the first day of the month after one that begins on `first`."""
    return date(first.year + first.month // 12, first.month % 12 + 1, 1)


def tightest_limit(person: int | None) -> MonthlyLimit | None:
    """Return the monthly ceiling with the least left for a person; None if none applies."""
    limits = limits_of(list(ceilings_for(person)))
    return min(limits, key=lambda limit: (limit.left_usd, not limit.is_used_up), default=None)


def month_left(person: int | None) -> Decimal | None:
    """Return what a person may still spend this month; None if there is no monthly ceiling."""
    month = tightest_limit(person)
    return month.left_usd if month else None


def is_paid(providers: Sequence[ProviderSpec]) -> bool:
    """Whether calls of a run cost money; its providers have the prices of its models alone."""
    prices = (price for provider in providers for price in provider.prices)
    return any(price.input_usd or price.output_usd for price in prices)
