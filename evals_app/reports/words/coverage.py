"""What a run covered of its suite, in words: `1 of 38 cases, with the agent Edge instead of the suite's own`."""

from collections.abc import Mapping
from typing import Any

COVERAGE_COLUMNS = (
    *("is_whole", "is_tryout", "rerun_of_id", "grades_of_id", "settlement_id"),
    *("case_count", "suite_case_count", "from_file", "conversation_set_id"),
    *("agent_name", "agent_slug", "suite_agent_slug", "model", "replaced_model"),
)

SIMULATED = "A model played the user."
NOT_MIXED = (
    "Its calls count with the judges. The rates are kept apart from those of written conversations."
)


def marks_text(run: Mapping[str, Any]) -> str:
    """Return in brackets whether a run is about a script or simulated users; empty for most."""
    marks = [mark for mark in ("scripted", "simulated") if run[f"is_{mark}"]]
    return f" ({', '.join(marks)})" if marks else ""


def marks_of(run: Any) -> str:
    """Return the same of an object."""
    return marks_text({"is_scripted": run.is_scripted, "is_simulated": run.is_simulated})


def tested_thing(run: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a run tested, as what it is called and its name: an agent, or a set of conversations."""
    if name := run.get("set_name"):
        return "Real conversations", name
    return "Agent", run["agent_name"]


def unit(run: Mapping[str, Any]) -> str:
    """Return what a run counts: `Case`, or `Conversation` where real ones were graded."""
    return "Conversation" if run.get("set_name") else "Case"


def coverage(run: Mapping[str, Any]) -> str:
    """Return in words what a run covered; empty for a full run."""
    if run["is_whole"]:
        return ""
    if run["conversation_set_id"] is not None:
        return "real conversations"
    parts = []
    if run["from_file"]:
        parts.append("read from a file")
    elif run["rerun_of_id"] is not None:
        of = f"re-run of run {run['rerun_of_id']}"
        number = run["settlement_id"]
        parts.append(of if number is None else f"{of} for retest {number}")
    elif run["grades_of_id"] is not None:
        parts.append(f"run {run['grades_of_id']} graded again")
    elif run["is_tryout"]:
        parts.append("try")
    covered, in_suite = run["case_count"], run["suite_case_count"]
    if covered is not None and in_suite is not None and covered < in_suite:
        parts.append(f"{covered:,} of {in_suite:,} cases")
    if run["suite_agent_slug"] not in {"", run["agent_slug"]}:
        parts.append(f"with the agent {run['agent_name']} instead of the suite's own")
    if run["replaced_model"]:
        parts.append(f"with the model {run['model']} instead of {run['replaced_model']}")
    return ", ".join(parts) or "not the whole suite"
