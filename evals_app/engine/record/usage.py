"""What model calls used and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls; None means not reported, which is not 0."""

    input_uncached: int | None = None
    output: int | None = None
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0

    @property
    def prompt_tokens(self) -> int | None:
        """Everything that was sent, cached or not."""
        if self.input_uncached is None:
            return None
        return self.input_uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def response_tokens(self) -> int | None:
        """Everything that was written, reasoning included."""
        return self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_uncached=_known_sum(self.input_uncached, other.input_uncached),
            output=_known_sum(self.output, other.output),
            cache_read=self.cache_read + other.cache_read,
            cache_write_5m=self.cache_write_5m + other.cache_write_5m,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            reasoning=self.reasoning + other.reasoning,
        )


NO_USAGE = Usage(input_uncached=0, output=0)
UNKNOWN_USAGE = Usage()


def _known_sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Add up usage; one unknown makes the sum unknown, no call at all is 0."""
    return reduce(Usage.__add__, usages, NO_USAGE)


def total_cost(costs: Sequence[Decimal | None]) -> Decimal | None:
    """Add up USD; one unknown makes the sum unknown, no call at all is 0."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None
