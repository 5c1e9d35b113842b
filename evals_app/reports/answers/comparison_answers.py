"""Comparisons of runs as JSON: what REST answers and `compare_runs --json` prints."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

from pydantic import Field

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.engine.statistics.effort import EffortChange
from evals_app.reports.answers.compared_cases import ComparedCase, HeadCases, HeadVerdict, RunCases
from evals_app.reports.answers.comparison import ChangedCheck, finding, headline
from evals_app.reports.answers.run_answers import Answer, DifferenceJson, Json, Row, RunRow
from evals_app.reports.answers.run_json import (
    AT_LEAST,
    RUBRIC_ITEMS,
    RUN_COLUMNS,
    RUN_SUMMARY,
    run_json,
)

# A test compares them with the enumeration.
CaseChange = Literal[
    "worse",
    "check_worse",
    "flaky",
    "better",
    "check_better",
    "undecided",
    "changed",
    "new",
    "missing",
    "fewer",
    "more",
    "same",
]


class CaseCounts(Answer):
    """Cases by their verdict; the others are undecided."""

    total: int
    passed: int
    failed: int


class RubricItems(Answer):
    """Bullets of rubrics by their verdict."""

    met: int
    missed: int
    undecided: int


class ComparedRunJson(RunRow):
    """A run with the numbers that are compared."""

    cases: CaseCounts
    pass_rate: float | None = Field(description="Share of the decided cases that passed.")
    interval: list[float] | None = Field(description="95 % interval of the pass rate.")
    median_ms: float | None
    p95_ms: float | None
    rubric_items: RubricItems | None = Field(
        description="Null: it graded no rubric, or an older version did not count."
    )
    judge_agreement: float | None = Field(
        description="How often the judge agrees with people; null: not measured yet."
    )
    at_least: dict[str, float] = Field(
        description="The known part of sums that are not fully known."
    )


class ChangeCounts(Answer):
    """Cases by what happened to them."""

    worse: int = Field(
        description="Fails now; in the base all trials passed, or more than chance explains."
    )
    check_worse: int = Field(
        description="A check passed in all trials of the base and fails in all now; the verdict did not"
        " get worse."
    )
    flaky: int = Field(
        description="Another verdict, but its trials already disagreed in the base: it may be chance."
    )
    better: int = Field(description="The other way round: failed in the base, and does better.")
    check_better: int = Field(
        description="The same verdict; a check failed in all trials of the base and passes in all now."
    )
    undecided: int = Field(description="One of the verdicts is missing.")
    changed: int = Field(description="The content differs, so the results cannot be compared.")
    new: int = Field(description="Not in the base.")
    missing: int = Field(description="Only in the base.")
    fewer: int = Field(description="The same verdict, but fewer trials passed.")
    more: int = Field(description="The same verdict, but more trials passed.")
    same: int = Field(description="The same verdict and pass rate.")


class SuiteTest(Answer):
    """The test whether the suite as a whole changed: over the trials of each case in both runs."""

    cases: int = Field(description="Cases that can be compared.")
    differing: int = Field(description="Those whose pass rate differs.")
    fell: int = Field(description="Those whose pass rate is lower than in the base.")
    rose: int = Field(description="Those whose pass rate is higher than in the base.")
    mean: float | None = Field(description="Mean difference of the pass rates, head minus base.")
    p: float | None = Field(
        description="How often chance alone would give such a mean; null: nothing can be compared."
    )


class PartDifference(Answer):
    """What differs in one part of what the runs were started with."""

    part: str = Field(
        description="`agent`, `suite`, `fixtures`, `judge`, `similarity`, `prices` or `run`."
    )
    is_yardstick: bool = Field(
        description="Whether it changes how results are measured, so that numbers are not comparable."
    )
    values: list[DifferenceJson] = Field(
        description="The first 50; long values are shortened. None without the rights to view"
        " suites, agents, test data, entity types and providers."
    )
    more: int = Field(description="How many more there are.")


class FigureChangeJson(Answer):
    """A figure over the same cases of both runs, in ms or USD."""

    base: float
    head: float
    cases: int
    times: float = Field(description="How many times the base's the head's figure is.")
    interval: tuple[float, float] | None = Field(
        description="The 95 % interval of `times`; null: too few cases."
    )


class EffortJson(Answer):
    """How reply times and costs differ; null: unknown in one of the runs, or 0 in the base."""

    median_ms: FigureChangeJson | None
    p95_ms: FigureChangeJson | None
    cost_usd: FigureChangeJson | None = Field(description="The agent's, of a conversation.")


class ComparedHeadJson(Answer):
    """A run against the base."""

    run: int
    verdict: HeadVerdict = Field(description="Of the suite as a whole.")
    is_worse: bool = Field(
        description="Whether a case or one of its checks got worse, or the suite as a whole."
    )
    headline: str
    finding: str = Field(description="What the test found, in words.")
    counts: ChangeCounts
    test: SuiteTest
    effort: EffortJson
    by_verdict: bool = Field(
        description="Whether verdicts were compared instead of pass rates, because a run skipped"
        " trials of cases whose verdict was certain."
    )
    unknown_content: int = Field(
        description="Cases matched by name only: a run of an older version did not note their content."
    )
    differences: list[PartDifference] | None = Field(
        description="What differs in their settings; null: a run of another version cannot be read."
    )


class CaseInRun(Answer):
    """The result of a case in one run."""

    verdict: Verdict | None
    passed: int
    failed: int
    errored: int
    pass_rate: float | None
    score: float | None


class TurnedCheck(Answer):
    """A check that passed in every trial of the base and in none of a run, or the other way round."""

    run: int
    label: str
    turn: int | None = Field(description="null: the whole conversation.")
    is_worse: bool


class ComparedCaseRow(Answer):
    """A case in all runs. `results` is by run, the rest by head; null: the run lacks the case."""

    name: str
    old_name: str | None = Field(description="In the base, if the case was renamed since.")
    change: CaseChange = Field(description="The gravest of `changes`.")
    changes: list[CaseChange | None]
    checks: list[TurnedCheck] = Field(description="Checks that got worse or better, by head.")
    results: list[CaseInRun | None]
    score_differences: list[float | None] = Field(description="Head minus base.")
    pass_rate_differences: list[float | None] = Field(description="Head minus base.")


class ComparisonAnswer(Answer):
    """Runs compared with the first of them, the base. Cases come page by page, the gravest first."""

    runs: list[ComparedRunJson]
    heads: list[ComparedHeadJson]
    counts: ChangeCounts = Field(description="All cases by their gravest change.")
    count: int = Field(description="Cases that match the filters.")
    next: str | None = Field(description="Address of the next page of cases.")
    previous: str | None
    cases: list[ComparedCaseRow]


class Differences(Protocol):
    """What differs in one part; `values` have `keys`, `before` and `after`."""

    @property
    def part(self) -> Any: ...
    @property
    def values(self) -> Iterable[Any]: ...
    @property
    def more(self) -> int: ...


def compared_run_json(run: Row, cases: RunCases) -> Json:
    """Return a run of a comparison; `run` are its columns with the summary."""
    summary: Row = run[RUN_SUMMARY]
    return ComparedRunJson.of(
        run_json(run),
        cases=CaseCounts.of_object(cases),
        pass_rate=cases.pass_rate,
        interval=None if cases.interval is None else list(cases.interval),
        median_ms=summary.get("median_ms"),
        p95_ms=summary.get("p95_ms"),
        rubric_items=summary.get(RUBRIC_ITEMS),
        judge_agreement=None,
        at_least=summary.get(AT_LEAST, {}),
    )


COMPARED_COLUMNS = (*RUN_COLUMNS, RUN_SUMMARY)


def compared_head_json(
    run_id: int, head: HeadCases, differences: Iterable[Differences] | None
) -> Json:
    """Return a run against the base."""
    return ComparedHeadJson.of_object(
        head,
        run=run_id,
        headline=headline(head),
        finding=finding(head),
        counts=counts_json(head.counts),
        test=SuiteTest.of_object(head.test),
        effort=_effort_json(head.effort),
        differences=None if differences is None else list(map(part_json, differences)),
    )


def _effort_json(change: EffortChange) -> Json:
    """Return how reply times and costs differ."""
    figures = {name: getattr(change, name) for name in EffortJson.KEYS}
    return EffortJson.of(
        {
            name: None if figure is None else FigureChangeJson.of_object(figure)
            for name, figure in figures.items()
        }
    )


def counts_json(counts: Mapping[ChangeKind, int]) -> Json:
    """Return how many cases changed in each way."""
    return {change.value: counts.get(change, 0) for change in ChangeKind}


def part_json(differences: Differences) -> Json:
    """Return what differs in one part."""
    return PartDifference.of_object(
        differences,
        part=str(differences.part),
        is_yardstick=differences.part.is_yardstick,
        values=list(map(DifferenceJson.of_texts, differences.values)),
    )


def compared_case_json(case: ComparedCase, checks: Iterable[ChangedCheck]) -> Json:
    """Return a case in all runs, with the checks of it that changed."""
    return ComparedCaseRow.of_object(
        case,
        old_name=case.old_name or None,
        results=[outcome and CaseInRun.of_object(outcome) for outcome in case.outcomes],
        pass_rate_differences=case.rate_differences,
        checks=list(map(TurnedCheck.of_object, checks)),
    )
