"""May we ship? The answer in words: the same on pages, in commands, over REST and in messages."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Any, NamedTuple

from pydantic import Field

from evals_app.engine.verdicts.release_check import (
    ReasonKind,
    ReleaseAnswer,
    ReleaseCheck,
    ReleaseReason,
)
from evals_app.reports.answers.agreement import standing_in_words
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.reports.words.coverage import marks_of
from evals_app.reports.words.figures import count_text
from evals_app.reports.words.gates import gate_texts

ANSWERS: Mapping[ReleaseAnswer, str] = {"yes": "Yes", "no": "No", "not_yet": "Not yet"}
_NAMED = 3  # cases that a detail names


class ReasonWords(NamedTuple):
    """A reason as a sentence, and the facts behind it; `detail` may be empty."""

    sentence: str
    detail: str = ""


# `_values` says what the names in braces are.
_WORDS: Mapping[ReasonKind, ReasonWords] = {
    ReasonKind.REALLY_WORSE: ReasonWords(
        "{cases} {be} really worse{better}.", "A retest found it: {names}."
    ),
    ReasonKind.COLLAPSED: ReasonWords(
        "{cases} collapsed: {both}.", "{names}. Too large a fall to be chance."
    ),
    ReasonKind.CASES_FAILED: ReasonWords("{cases} failed, and all must pass.", "{names}."),
    ReasonKind.NONE_PASSED: ReasonWords("{none_passed}."),
    ReasonKind.NEVER_RUN: ReasonWords("The suite has not been run as a whole."),
    ReasonKind.RUNNING: ReasonWords("The run has not ended."),
    ReasonKind.NO_RESULTS: ReasonWords("The run has no results of its cases."),
    ReasonKind.CUT_SHORT: ReasonWords(
        "Only {count} of {total} ran.", "The run was stopped before its end."
    ),
    ReasonKind.PART_OF_SUITE: ReasonWords(
        "Only {count} of {total} ran.", "The run was started with some cases."
    ),
    ReasonKind.OTHER_AGENT: ReasonWords(
        "The run tested another agent or model than the one to ship."
    ),
    ReasonKind.NOT_RUN: ReasonWords(
        "{count} of {total} {have} not run.", "They were added, renamed or enabled after the run."
    ),
    ReasonKind.CHECKS_LOST: ReasonWords(
        "{count} of {of_checks} could not be read when the suite was imported.",
        "The answer says nothing about {them}.",
    ),
    ReasonKind.JUDGE_NOT_TRUSTED: ReasonWords(
        "The judge cannot be trusted with this.", "“{criterion}”: {standing}"
    ),
    ReasonKind.NOT_GRADED: ReasonWords(
        "{count} of {total} {was} not graded.", "{They} could change the answer."
    ),
    ReasonKind.WORSE: ReasonWords(
        "{cases} got worse{better}.", "{names}: {both}. Running them again makes it certain."
    ),
    ReasonKind.CHECK_WORSE: ReasonWords(
        "{cases} {have} a check that passed in all trials and fails in all now.",
        "{names}. The verdict does not show it.",
    ),
    ReasonKind.ONLY_MEASURED: ReasonWords("No case can pass or fail: all checks only measure."),
    ReasonKind.NONE_REALLY_WORSE: ReasonWords(
        "None of the cases that seemed worse is really worse.",
        "A retest of {names} found no difference.",
    ),
    ReasonKind.NONE_WORSE: ReasonWords("{not_worse}."),
    ReasonKind.RELEASED: ReasonWords("This is the released version{but_failed}."),
    ReasonKind.FIRST_RUN: ReasonWords(
        "{count} of {total} passed.", "Nothing to compare with yet: there is no released version."
    ),
    ReasonKind.NONE_COMPARED: ReasonWords(
        "{count} of {total} passed.", "None of them can be compared with the released version."
    ),
    ReasonKind.AGENT_EDITED: ReasonWords(
        "The agent was edited after this run.", "Run the suite again to test what it is now."
    ),
    ReasonKind.ACCEPTED: ReasonWords("{known_failures}, accepted until {until}.", "{accepted}"),
    ReasonKind.LESS_OFTEN: ReasonWords(
        "{cases} passed less often: {both}.", "{names}. The verdict is the same."
    ),
    ReasonKind.UNSTEADY: ReasonWords(
        "{cases} {was} unsteady before, so it may be chance: {both}.", "{names}."
    ),
    ReasonKind.FAIL_AS_BEFORE: ReasonWords("{cases} failed before, too.", "{names}."),
    ReasonKind.NEW: ReasonWords("{cases} {be} new and {was} not compared.", "{names}."),
    ReasonKind.REMOVED: ReasonWords(
        "{cases} {was} removed since the released version.", "{names}.{had_failed}"
    ),
    ReasonKind.EDITED: ReasonWords("{cases} {was} edited and not compared.", "{names}."),
    ReasonKind.RENAMED: ReasonWords("{cases} {was} renamed.", "{renamed}."),
}


def answer_word(check: ReleaseCheck) -> str:
    """Return the answer in a word, and whether it is about a script or simulated users."""
    return f"{ANSWERS[check.answer]}{marks_of(check)}"


def answer_text(check: ReleaseCheck, *, scale: str) -> str:
    """Return the answer in one line, such as “Not yet: 4 cases got worse, 3 better.”."""
    return f"{answer_word(check)}: {reason_words(check.reasons[0], check, scale=scale).sentence}"


def reason_words(reason: ReleaseReason, check: ReleaseCheck, *, scale: str) -> ReasonWords:
    """Return a reason, or a note, in words; scores of gates are on this scale."""
    if reason.gate is not None:
        rule, actual = gate_texts(asdict(reason.gate), scale=scale)
        return ReasonWords(f"{rule}; it was {actual}.", reason.gate.reason)
    values = _values(reason, check)
    return ReasonWords(*(text.format_map(values) for text in _WORDS[reason.kind]))


def _values(reason: ReleaseReason, check: ReleaseCheck) -> dict[str, str]:
    """Return what the templates name."""
    is_one = reason.count == 1
    had_failed = sum(pair.base is not None and pair.base.failed > 0 for pair in reason.cases)
    return {
        "cases": count_text(reason.count, "case"),
        "count": f"{reason.count:,}",
        "total": count_text(reason.total, "case"),
        "of_checks": count_text(reason.total, "check"),
        "be": "is" if is_one else "are",
        "was": "was" if is_one else "were",
        "them": "it" if is_one else "them",
        "They": "It" if is_one else "They",
        "have": "has" if is_one else "have",
        "better": f", {check.better:,} better" if check.better else "",
        "names": _names(reason),
        "criterion": reason.judge.criterion if reason.judge else "",
        "standing": _standing(reason),
        "none_passed": "The only case did not pass"
        if reason.total == 1
        else f"None of the {reason.total:,} cases passed",
        "but_failed": f"; {reason.count:,} of {count_text(reason.total, 'case')} failed in it"
        if reason.count
        else "",
        "both": _trials_of_both(reason),
        "renamed": _renames(reason),
        "not_worse": _not_worse(reason, check),
        "known_failures": count_text(reason.count, "known failure"),
        "until": _until(reason),
        "accepted": _acceptances(reason),
        "had_failed": f" {had_failed:,} had failed, which does not count as better."
        if had_failed
        else "",
    }


def _standing(reason: ReleaseReason) -> str:
    judge = reason.judge
    return " ".join(standing_in_words(judge.agreement, least=judge.least)) if judge else ""


def _not_worse(reason: ReleaseReason, check: ReleaseCheck) -> str:
    """Count the compared cases, none of which got worse: the others, if failures were accepted."""
    has_others = any(other.kind is ReasonKind.ACCEPTED for other in check.reasons)
    if reason.count == 1:
        return f"The {'other' if has_others else 'one'} compared case did not get worse"
    return f"None of the {'other ' if has_others else ''}{reason.count:,} compared cases got worse"


def _names(reason: ReleaseReason) -> str:
    """Name the first cases: `“Refund”, “Order” and 4 more`."""
    shown = reason.cases[:_NAMED]
    names = ", ".join(f"“{pair.name}”" for pair in shown)
    more = reason.count - len(shown)
    return f"{names} and {more:,} more" if more else names


def _until(reason: ReleaseReason) -> str:
    """Return when failures are no longer accepted: the first day of several."""
    days = [acceptance.until for acceptance in reason.accepted if acceptance.until]
    if not days:
        return "it passes again" if reason.count == 1 else "they pass again"
    return f"{min(days):%Y-%m-%d}"


def _acceptances(reason: ReleaseReason) -> str:
    """Say who accepted the first cases, and why: `“Refund”: “Fixed in May.” (ana)`."""
    shown = list(zip(reason.cases, reason.accepted, strict=False))[:_NAMED]
    parts = [f"“{pair.name}”: “{known.reason}” ({known.by})" for pair, known in shown]
    more = reason.count - len(shown)
    return "; ".join([*parts, *([f"and {more:,} more"] if more else [])]) + "."


def _trials_of_both(reason: ReleaseReason) -> str:
    """Return how often the first case passed in both runs: `19 of 20, now 0 of 20`."""
    base, head = reason.cases[0] if reason.cases else (None, None)
    if base is None or head is None:
        return "not known"
    before = f"{base.passed:,} of {base.graded_count:,}"
    first = "" if reason.count == 1 else "the first passed "
    return f"{first}{before}, now {head.passed:,} of {head.graded_count:,}"


def _renames(reason: ReleaseReason) -> str:
    pairs = reason.cases[:_NAMED]
    return ", ".join(f"“{pair.base.name}” is now “{pair.name}”" for pair in pairs if pair.base)


class ReleaseReasonJson(Answer):
    """A reason for the answer, or something that is said beside it."""

    kind: ReasonKind
    sentence: str
    detail: str
    cases: list[str] = Field(description="The first of them.")
    count: int = Field(description="How many cases, checks or answers it is about.")
    total: int | None = Field(description="Of how many; null where that says nothing.")


class ShipDecisionJson(Answer):
    """What a person decided about a run."""

    shipped: bool
    reason: str
    by: str = Field(description="The name of the person.")
    created_at: datetime
    run: int = Field(description="Its number; the run may have been deleted since.")
    answered: str = Field(description="What Evalwell answered then, in one line.")


def ship_decision_json(row: Any) -> Json:
    """Return a `ShipDecision` as REST gives it."""
    return ShipDecisionJson.of_object(row, by=row.by_name, run=row.run_number)


class AcceptedFailureJson(Answer):
    """A case that may fail, because a person accepted it."""

    id: int
    case: str
    reason: str
    until: date | None = Field(description="The last day; null: until the case passes again.")
    by: str = Field(description="The name of the person.")
    created_at: datetime
    run: int = Field(description="The number of the run after which it was accepted.")


def accepted_failure_json(row: Any) -> Json:
    """Return an `AcceptedFailure` as REST gives it."""
    return AcceptedFailureJson.of_object(row, by=row.by_name, run=row.run_number)


class ReleaseJson(Answer):
    """May we ship? The answer about a suite, its reasons, the gravest first, and notes."""

    suite: str = Field(description="Its slug.")
    run: int | None = Field(description="The run that it is about; null: the suite never ran.")
    released: int | None = Field(
        description="The run of the released version; null: there is none."
    )
    answer: ReleaseAnswer
    is_scripted: bool = Field(description="Whether the run's agent or judge is a script.")
    is_simulated: bool = Field(description="Whether a model played the user.")
    sentence: str = Field(description="The answer in one line.")
    exit_code: int = Field(description="Of the command `decide`: 0 yes, 1 no or worse, 3 not yet.")
    reasons: list[ReleaseReasonJson]
    notes: list[ReleaseReasonJson]
    decision: ShipDecisionJson | None = Field(
        description="What a person decided last about the run."
    )
    accepted: list[AcceptedFailureJson] = Field(description="The known failures that still count.")


def release_json(
    check: ReleaseCheck,
    *,
    suite: str,
    run: int | None,
    released: int | None,
    decision: object,
    accepted: Iterable[object],
    scale: str,
) -> Json:
    """Return an answer as REST gives it."""
    return ReleaseJson.of_object(
        check,
        suite=suite,
        run=run,
        released=released,
        sentence=answer_text(check, scale=scale),
        reasons=[reason_json(reason, check, scale) for reason in check.reasons],
        notes=[reason_json(note, check, scale) for note in check.notes],
        decision=None if decision is None else ship_decision_json(decision),
        accepted=[accepted_failure_json(row) for row in accepted],
    )


def reason_json(reason: ReleaseReason, check: ReleaseCheck, scale: str) -> Json:
    """Return a reason, or a note, as REST gives it."""
    words = reason_words(reason, check, scale=scale)
    return ReleaseReasonJson.of(
        words._asdict(),
        kind=reason.kind.value,
        cases=[pair.name for pair in reason.cases],
        count=reason.count,
        total=reason.total or None,
    )
