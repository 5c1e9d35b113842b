"""The table of agents and models as JSON: what REST answers and reports contain."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal
from uuid import UUID

from pydantic import Field

from evals_app.engine.record.trial import Verdict
from evals_app.engine.verdicts.run_summary import RunVerdict
from evals_app.reports.answers.compared_cases import HeadCases, HeadVerdict
from evals_app.reports.answers.comparison import finding
from evals_app.reports.answers.comparison_answers import SuiteTest
from evals_app.reports.answers.model_comparison import (
    CaseInTable,
    ColumnTotals,
    ModelColumn,
    ModelComparison,
    PassShare,
    SuiteCell,
    column_names,
)
from evals_app.reports.answers.run_answers import (
    Answer,
    CostParts,
    CountsJson,
    Interval,
    Json,
    Status,
    TokenCount,
    Tokens,
    in_json,
)
from evals_app.reports.words.effort import effort_in_short
from fixtures_app.ground.quoting import join_list


class PassShareJson(Answer):
    """How many passed of those that passed or failed."""

    passed: int
    graded: int = Field(description="How many passed or failed.")
    not_graded: int = Field(description="How many more have no result.")
    rate: float | None
    interval: Interval | None


class AgainstFirst(Answer):
    """The cases of a column against the same cases of the first column."""

    verdict: HeadVerdict
    finding: str = Field(description="What the test found, in words.")
    test: SuiteTest
    by_verdict: bool = Field(description="Whether verdicts were compared instead of pass rates.")


class ModelColumnJson(Answer):
    """An agent with a model, over its runs that have ended. null: unknown."""

    name: str
    agent: str | None = Field(description="Slug; null: each suite's own agent.")
    model: str | None = Field(description="null: none, or each agent's own.")
    is_scripted: bool
    is_simulated: bool = Field(description="Whether a model played the user in its runs.")
    runs: int
    open: int = Field(description="How many of them have not ended; these count in nothing below.")
    verdicts: dict[RunVerdict, int]
    trials: PassShareJson
    cases: PassShareJson
    score: float | None = Field(description="Mean of the scores of its cases.")
    scored: int = Field(description="How many cases that is of.")
    median_ms: float | None
    p95_ms: float | None
    replies: int = Field(description="How many replies these times are of; 0: unknown.")
    tokens: Tokens
    cost_usd: float | None
    cost_parts_usd: CostParts
    at_least: dict[str, float] = Field(
        description="The known part of sums that are not fully known."
    )
    against: AgainstFirst | None = Field(description="null: it is the first column.")


class SuiteCellJson(Answer):
    """The run of a suite in a column."""

    run: int
    status: Status
    verdict: RunVerdict | None
    counts: CountsJson
    trials: PassShareJson
    cases: PassShareJson | None = Field(description="null: it has not ended.")
    score: float | None


class SuiteInColumnsJson(Answer):
    """A suite in all columns; null: a column has no run of it."""

    suite: str = Field(description="Slug.")
    name: str
    has_same_cases: bool = Field(
        description="false: its cases were edited between the runs, so that they are not comparable."
    )
    runs: list[SuiteCellJson | None]


class MissCountJson(Answer):
    """How often a check or bullet was missed, of the trials in which that was decided."""

    missed: int
    decided: int


class MissedPointJson(Answer):
    """A check, or a bullet of a rubric, that was missed; null: a column did not decide it."""

    kind: Literal["check", "bullet"]
    label: str
    turn: int | None = Field(description="null: the whole conversation.")
    columns: list[MissCountJson | None]


class CaseCellJson(Answer):
    """A case in a column."""

    run: int
    verdict: Verdict | None
    trials: PassShareJson
    score: float | None


class CaseInColumnsJson(Answer):
    """A case in all columns; null: a column does not have it."""

    suite: str
    case: str
    columns: list[CaseCellJson | None]


class ModelComparisonAnswer(Answer):
    """Runs in one table: a row for each suite, a column for each agent with each model."""

    group: UUID | None = Field(description="Of the runs, if they were started together.")
    is_open: bool = Field(description="Whether a run has not ended.")
    conclusion: str = Field(
        description="Which column is better than the first one, in a sentence; empty for one column, and"
        " while a run is open."
    )
    columns: list[ModelColumnJson]
    suites: list[SuiteInColumnsJson]
    missed: list[MissedPointJson] | None = Field(
        description="Checks and bullets of rubrics that a column missed, the most missed first. null"
        " without the rights to view suites, agents, test data, entity types and providers."
    )
    more_missed: int = Field(description="How many more were missed.")
    judges: list[str]
    cases: list[CaseInColumnsJson] | None = Field(description="null: not asked for.")


def model_comparison_json(
    comparison: ModelComparison,
    *,
    group: UUID | None,
    cases: Mapping[str, Iterable[CaseInTable]] | None = None,
) -> Json:
    """Return the table; `cases` are those of suites, by slug."""
    columns = zip(
        column_names(comparison.columns), comparison.columns, comparison.totals, strict=True
    )
    return ModelComparisonAnswer.of(
        group=in_json(group),
        is_open=comparison.is_open,
        conclusion=conclusion(comparison),
        columns=[_column(*column) for column in columns],
        suites=[
            SuiteInColumnsJson.of_object(
                row, suite=row.slug, runs=[_cell(cell) for cell in row.cells]
            )
            for row in comparison.rows
        ],
        missed=[
            MissedPointJson.of_object(
                point,
                columns=[count and MissCountJson.of_object(count) for count in point.counts],
            )
            for point in comparison.missed
        ]
        if comparison.shows_missed
        else None,
        more_missed=comparison.more_missed,
        judges=list(comparison.judges),
        cases=None
        if cases is None
        else [_case(suite, row) for suite, rows in cases.items() for row in rows],
    )


def conclusion(comparison: ModelComparison) -> str:
    """Say in a sentence which column is better than the first one; empty if there is nothing to say."""
    first, *names = column_names(comparison.columns)
    found = [totals.against for totals in comparison.totals if totals.against is not None]
    if comparison.is_open or not found:
        return ""
    others: dict[HeadVerdict, list[str]] = {}
    for name, head in zip(names, found, strict=True):
        others.setdefault("no_clear_difference" if head.is_too_small else head.verdict, []).append(
            name
        )
    worse = others.get("worse", [])
    if better := others.get("better"):
        said = f"{_they_are(better)} clearly better than {first}."
    elif alike := others.get("no_clear_difference"):
        said = f"No clear difference between {first} and {join_list(alike)}."
        said += f" {_they_are(worse)} clearly worse." if worse else ""
    elif worse:
        said = f"Stay with {first}: {_they_are(worse)} clearly worse."
    else:
        return f"{first} has no case in common with {join_list(names)}."
    return f"{said} {effort_in_short(found[0].effort)}".rstrip() if len(found) == 1 else said


def _they_are(names: Sequence[str]) -> str:
    return f"{join_list(names)} {'is' if len(names) == 1 else 'are'}"


def _column(name: str, column: ModelColumn, totals: ColumnTotals) -> Json:
    sums = totals.sums
    tokens = {
        side: {kind: sums[f"{side}_{kind}_tokens"] for kind in TokenCount.KEYS}
        for side in Tokens.KEYS
    }
    agent, judge = (sums[f"{side}_cost_usd"] for side in ("agent", "judge"))
    total = None if agent is None or judge is None else agent + judge
    return ModelColumnJson.of_object(
        totals,
        name=name,
        agent=column.agent or None,
        model=column.model or None,
        is_scripted=column.is_scripted,
        is_simulated=column.is_simulated,
        verdicts=dict(totals.verdicts),
        trials=_share(totals.trials),
        cases=_share(totals.cases),
        tokens=tokens,
        cost_usd=in_json(total),
        cost_parts_usd={"agent": in_json(agent), "judge": in_json(judge)},
        against=totals.against and _against(totals.against),
    )


def _against(head: HeadCases) -> Json:
    return AgainstFirst.of_object(head, finding=finding(head), test=SuiteTest.of_object(head.test))


def _cell(cell: SuiteCell | None) -> Json | None:
    if cell is None:
        return None
    return SuiteCellJson.of_object(
        cell,
        verdict=cell.verdict or None,
        counts=CountsJson.of(cell.counts, total=cell.total),
        trials=_share(cell.trials),
        cases=cell.cases and _share(cell.cases),
    )


def _case(suite: str, row: CaseInTable) -> Json:
    cells = [
        cell
        and CaseCellJson.of_object(cell, verdict=cell.verdict or None, trials=_share(cell.trials))
        for cell in row.cells
    ]
    return CaseInColumnsJson.of(suite=suite, case=row.name, columns=cells)


def _share(share: PassShare) -> Json:
    return PassShareJson.of_object(share)
