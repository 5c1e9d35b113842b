"""Results with the decisions of people, in words and as answers."""

from evals_app.reports.answers.run_answers import Json, ReviewedExecution, ReviewedRun, Row
from evals_app.reports.words.figures import count_text
from evals_app.reports.words.shares import share_of_cases

WITH_PEOPLE = "with people's decisions"
# Columns of an execution that its verdict with the decisions of people has.
REVIEWED_COLUMNS = ("reviewed__verdict", "reviewed__cause", "reviewed__reason", "reviewed__score")
_COUNTS = ("passed", "failed", "errored", "measured")


def counts_with_people(reviewed: Row) -> str:
    """Write how executions ended with the decisions of people: 25 passed, 5 failed; else nothing."""
    return ", ".join(f"{reviewed[kind]:,} {kind}" for kind in _COUNTS if reviewed.get(kind))


def share_with_people(run: Row, reviewed: Row) -> str:
    """Write the share of cases that passed, and what it is with the decisions of people."""
    recorded = share_of_cases(run)
    decided = share_of_cases(reviewed) if reviewed else recorded
    return recorded if decided == recorded else f"{recorded}; {decided} {WITH_PEOPLE}"


def people_note(reviewed: Row) -> str:
    """Return a sentence on what people made of a run; nothing if they changed no grade."""
    if not reviewed:
        return ""
    conversations = count_text(reviewed["overruled"], "conversation")
    return (
        f"People overruled grades of {conversations}. With their decisions:"
        f" {reviewed['verdict']}; {counts_with_people(reviewed)}."
    )


def verdict_with_people(execution: Row) -> str:
    """Write the verdict of an answered execution with the decisions of people; else nothing."""
    reviewed = execution["reviewed"]
    if not reviewed:
        return ""
    return f"{reviewed['verdict']} {WITH_PEOPLE}. {reviewed['reason'] or ''}".rstrip()


def reviewed_run_json(reviewed: Row) -> Json | None:
    """Return the result of a run with the decisions of people; None if they changed no grade."""
    if not reviewed:
        return None
    measured = {name: reviewed.get(name, 0) for name in ("measured", "cases_measured")}
    return ReviewedRun.of(reviewed, **measured)  # results of earlier versions lack these


def reviewed_json(execution: Row) -> Json | None:
    """Return the verdict of an execution with the decisions of people; None if there is none."""
    verdict, cause, reason, score = (execution[column] for column in REVIEWED_COLUMNS)
    if verdict is None:
        return None
    return ReviewedExecution.of(
        verdict=verdict, cause=cause or None, reason=reason or None, score=score
    )
