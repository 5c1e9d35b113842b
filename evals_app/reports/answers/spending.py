"""What was spent in a month, as JSON and as lines of text."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pydantic import Field

from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.answers.run_answers import Answer, Json, in_json

By = Literal["day", "agent", "model", "person"]


@dataclass(slots=True)
class SpentAmount:
    """What was spent by one day, agent, model or person of a month, in USD.

    `key` is blank where that is unknown. `unsettled_usd` is the most that calls of dead workers may
    have cost in addition.
    """

    key: str
    name: str
    agent_usd: Decimal = Decimal(0)
    judge_usd: Decimal = Decimal(0)
    unknown_usd: Decimal = Decimal(0)
    unsettled_usd: Decimal = Decimal(0)

    @property
    def spent_usd(self) -> Decimal:
        return self.agent_usd + self.judge_usd + self.unknown_usd


def total_of(rows: list[SpentAmount]) -> SpentAmount:
    """Add up."""
    total = SpentAmount("", "Total")
    for row in rows:
        total.agent_usd += row.agent_usd
        total.judge_usd += row.judge_usd
        total.unknown_usd += row.unknown_usd
        total.unsettled_usd += row.unsettled_usd
    return total


class SpentParts(Answer):
    """USD by purpose."""

    agent: float = Field(description="Calls of agents, and what agents outside report.")
    judge: float = Field(description="Calls of judges and embeddings, for grades.")
    unknown: float = Field(description="From before the ledger began; the purpose is unknown.")


class SpentAnswer(Answer):
    """What was spent by one of them."""

    key: str | None = Field(
        description="The day, the agent's slug, the model, or the person's id; null: unknown."
    )
    name: str = Field(description="For people; the names of others need the right to view users.")
    spent_usd: float
    parts_usd: SpentParts
    unsettled_usd: float = Field(
        description="Highest possible cost of calls made by workers that crashed."
    )


class SpendingAnswer(Answer):
    """What was spent in a month (UTC)."""

    month: str
    by: By
    spent_usd: float
    unsettled_usd: float
    rows: list[SpentAnswer]


def spending_json(month: str, by: By, rows: list[SpentAmount]) -> Json:
    """Return spending as REST and the command answer it."""
    total = total_of(rows)
    return SpendingAnswer.of(
        month=month,
        by=by,
        spent_usd=in_json(total.spent_usd),
        unsettled_usd=in_json(total.unsettled_usd),
        rows=[
            SpentAnswer.of_object(
                row,
                key=row.key or None,
                parts_usd=SpentParts.of(
                    {"agent": row.agent_usd, "judge": row.judge_usd, "unknown": row.unknown_usd}
                ),
            )
            for row in rows
        ],
    )


def spending_lines(by: By, rows: list[SpentAmount]) -> Iterator[str]:
    """Write a table as wide as it needs to be, so that other programs can read it too."""
    cells = [[by.capitalize(), "Spent", "Agents", "Judges", "Unknown", "Perhaps more"]]
    for row in [*rows, total_of(rows)]:
        sides = (row.spent_usd, row.agent_usd, row.judge_usd, row.unknown_usd, row.unsettled_usd)
        cells.append([row.name, *map(usd_text, sides)])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *texts in cells:
        padded = map(str.rjust, texts, widths[1:])
        yield "  ".join([name.ljust(widths[0]), *padded]).rstrip()
