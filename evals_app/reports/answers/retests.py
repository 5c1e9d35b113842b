"""Retests in words for people, and as JSON for other tools."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal

from pydantic import Field

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.statistics.retest import (
    ENOUGH_TRIALS,
    LOOKS,
    Finding,
    Suspect,
    SuspectState,
    Trials,
)
from evals_app.reports.answers.run_answers import Answer, Json, Row, in_json
from evals_app.reports.words.figures import count_text

SETTLEMENT_COLUMNS = (
    *(
        "id",
        "base_id",
        "head_id",
        "head__suite_slug",
        "head__is_scripted",
        "head__is_simulated",
        "status",
        "why_stopped",
        "look",
    ),
    *("with_better", "stand_in", "compared", "few", "hopeless", "suspects"),
    *(finding.value for finding in Finding),
    *("max_cost_usd", "spent_usd", "created_at", "finished_at"),
)

WORDS = {
    Finding.REALLY_WORSE: "Really worse",
    Finding.REALLY_BETTER: "Really better",
    Finding.CANNOT_TELL: "Cannot tell yet",
    Finding.WAS_FLAKY: "Was flaky before",
}
TESTING = "Testing"


# JSON


class SettlementCounts(Answer):
    """Suspects by what was found; while it runs, those that are still tested are among the last two."""

    suspects: int
    really_worse: int
    really_better: int
    cannot_tell: int
    was_flaky: int


class SettlementRow(Answer):
    """A retest, as lists show it."""

    id: int
    suite: str = Field(description="Slug.")
    base: int = Field(description="The run to compare with.")
    head: int = Field(description="The run that may be worse.")
    status: Literal["running", "finished", "stopped", "cancelled"]
    why_stopped: str | None
    look: int = Field(description="The look that is running, or was the last: 1 to 3.")
    with_better: bool
    is_scripted: bool = Field(description="Whether the agent of the head is a script, not a model.")
    is_simulated: bool = Field(description="Whether a model plays the user in the head.")
    stand_in: str | None = Field(
        description="Why stored trials are used for the base; null: it runs again."
    )
    compared: int = Field(description="Cases that both runs have, with the same content.")
    few: int = Field(
        description="Of them, cases with fewer than 3 graded trials in one of the runs."
    )
    hopeless: int = Field(description="Left out because their stored trials are too few.")
    counts: SettlementCounts
    max_cost_usd: float | None = Field(description="Cost limit of all its runs together.")
    spent_usd: float
    created_at: datetime
    finished_at: datetime | None


class TrialCounts(Answer):
    """Graded trials."""

    passed: int
    failed: int


class BothVersions(Answer):
    """Graded trials of base and head."""

    base: TrialCounts
    head: TrialCounts


class SettledCase(Answer):
    """A suspect."""

    case: str
    suspected: Literal["worse", "better"]
    check: str | None = Field(
        description="The check that is tested, where the verdicts did not show it; null: the verdict."
    )
    finding: str | None = Field(
        description="really_worse, really_better, cannot_tell or was_flaky; null: still tested."
    )
    reason: str
    before: BothVersions = Field(description="The trials of the two runs.")
    tested: BothVersions = Field(
        description="The trials that were tested: fresh ones, or stored ones of the base."
    )


class SettlementDetails(SettlementRow):
    """A retest with its cases."""

    summary: str = Field(description="The result in words.")
    runs: list[int]
    cases: list[SettledCase]


class Dollars(Answer):
    """USD; null: a price is missing."""

    low: float | None
    high: float | None
    most: float | None = Field(description="If every suspect needs 20 trials of each version.")


class SettlementForecast(Answer):
    """What a retest would take."""

    suspects: int
    compared: int
    few: int
    hopeless: int
    stand_in: str | None
    most_conversations: int
    cost_usd: Dollars
    unpriced: list[str] = Field(description="Models without a price.")
    in_words: str


def settlement_json(row: Row) -> Json:
    """Return a retest as lists show it."""
    return SettlementRow.of(row, **_of_row(row))


def settlement_details_json(row: Row, suspects: Sequence[Suspect], runs: Sequence[int]) -> Json:
    """Return a retest with its cases."""
    is_running = row["status"] == "running"
    return SettlementDetails.of(
        row,
        **_of_row(row),
        summary=headline(row, suspects),
        runs=list(runs),
        cases=[_case_json(suspect, row, is_running=is_running) for suspect in by_finding(suspects)],
    )


def _of_row(row: Row) -> Json:
    return {
        "suite": row["head__suite_slug"],
        "base": row["base_id"],
        "head": row["head_id"],
        "is_scripted": row["head__is_scripted"],
        "is_simulated": row["head__is_simulated"],
        "why_stopped": row["why_stopped"] or None,
        "stand_in": row["stand_in"] or None,
        "counts": SettlementCounts.of(row),
        "spent_usd": in_json(row["spent_usd"]) or 0.0,
    }


def _case_json(suspect: Suspect, row: Row, *, is_running: bool) -> Json:
    is_open = is_running and suspect.state is SuspectState.OPEN
    return SettledCase.of(
        case=suspect.name,
        suspected=suspect.direction.value,
        check=suspect.check_label if suspect.check else None,
        finding=None if is_open else suspect.finding.value,
        reason=reason(suspect, base=row["base_id"], head=row["head_id"]),
        before=_both(suspect.base_before, suspect.head_before),
        tested=_both(suspect.base, suspect.head),
    )


def _both(base: Trials, head: Trials) -> Json:
    return BothVersions.of(base=TrialCounts.of_object(base), head=TrialCounts.of_object(head))


# Words


def by_finding(suspects: Sequence[Suspect]) -> list[Suspect]:
    """Return suspects in the order in which people read them."""
    order = list(Finding)
    return sorted(suspects, key=lambda suspect: order.index(suspect.finding))


def reason(suspect: Suspect, *, base: int, head: int) -> str:
    """Return on which trials a finding rests; `base` and `head` are numbers of runs."""
    if not suspect.base.total or not suspect.head.total:
        return "No trial of both versions has been graded yet."
    begin = f"“{suspect.check_label}” passed" if suspect.check else "Passed"
    return (
        f"{begin} {_of(suspect.base)} in the version of run {base} and {_of(suspect.head)} in that"
        f" of run {head}."
    )


def trials_of_both(suspect: Suspect) -> str:
    """Return what a retest found in a few words: `Retest: 9 of 10, now 0 of 10`."""
    before, after = (
        f"{trials.passed} of {trials.total}" for trials in (suspect.base, suspect.head)
    )
    return f"Retest: {before}, now {after}"


def _of(trials: Trials) -> str:
    return f"{trials.passed} of {count_text(trials.total, 'trial')}"


def headline(row: Row, suspects: Sequence[Suspect]) -> str:
    """Return how far a retest is, or its result, in short sentences."""
    if row["status"] == "running":
        still = sum(suspect.state is SuspectState.OPEN for suspect in suspects)
        trials = LOOKS[row["look"] - 1].trials
        return (
            f"Look {row['look']} of {len(LOOKS)}: {count_text(still, 'case')} {_is(still)} being tested,"
            f" up to {trials} times in {_of_each(1 if row['stand_in'] else 2)}."
        )
    worse, better = row["really_worse"], row["really_better"]
    sentences = []
    if worse or not better:
        which = count_text(worse, "case") if worse else "No case"
        or_better = " or better" if row["with_better"] and not worse else ""
        sentences.append(f"{which} {_is(worse or 1)} really worse{or_better}.")
    if better:
        sentences.append(f"{count_text(better, 'case')} {_is(better)} really better.")
    if flaky := row["was_flaky"]:
        sentences.append(
            f"{count_text(flaky, 'case')} {'was' if flaky == 1 else 'were'} flaky before."
        )
    if unsure := row["cannot_tell"]:
        sentences.append(f"{count_text(unsure, 'case')}: cannot tell yet.")
    return " ".join(sentences)


def warnings(row: Row) -> list[str]:
    """Return what a reader must know to judge a retest."""
    notes = []
    if row["stand_in"]:
        notes.append(
            f"{row['stand_in']} Its stored trials are used instead, so only large differences can be found."
        )
    if row["few"]:
        notes.append(
            f"{count_text(row['few'], 'case')} of {row['compared']:,} had fewer than {ENOUGH_TRIALS}"
            " trials in these runs. A case that got worse may have passed by luck and was then not"
            f" suspected. Run suites with {ENOUGH_TRIALS} trials or more to find such cases."
        )
    if row["hopeless"]:
        notes.append(
            f"{count_text(row['hopeless'], 'case')} left out: too few stored trials for any result."
        )
    return notes


def price_in_words(
    *,
    suspects: int,
    versions: int,
    most_conversations: int,
    likely_usd: tuple[Decimal, Decimal] | None,
    most_usd: Decimal | None,
    unpriced: Sequence[str],
    calls: int,
    is_outside: bool,
) -> str:
    """Return what a retest would run, and its price; `calls` are those of models."""
    text = (
        f"Runs {count_text(suspects, 'case')} 5 to 20 times in {_of_each(versions)}: at most"
        f" {count_text(most_conversations, 'conversation')}."
    )
    if unpriced:
        return f"{text} The cost is unknown: there is no price for {' and '.join(unpriced)}."
    outside = " The agent's own cost is unknown." if is_outside else ""
    if not calls:
        return f"{text}{outside or ' No model is called, so it is free.'}"
    if likely_usd is None:
        return f"{text} The cost is unknown."
    low, high = map(usd_text, likely_usd)
    likely = low if low == high else f"{low} to {high}"
    return f"{text} Probably {likely}, at most about {usd_text(most_usd)}.{outside}"


def _of_each(versions: int) -> str:
    return "each version" if versions > 1 else "the new version"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
