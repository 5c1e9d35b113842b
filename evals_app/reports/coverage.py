"""What a run covered of its suite, in words: `1 of 38 cases, with agent edge instead of shop`."""

from collections.abc import Mapping
from typing import Any

COVERAGE_COLUMNS = (
    *("is_whole", "is_tryout", "rerun_of_id", "case_count", "suite_case_count"),
    *("agent_slug", "suite_agent_slug", "model", "replaced_model"),
)


def coverage(run: Mapping[str, Any]) -> str:
    """Return in words what a run covered; empty for a whole run."""
    if run["is_whole"]:
        return ""
    return ", ".join([*_kind(run), *_cases(run), *_instead(run)]) or "not the whole suite"


def _kind(run: Mapping[str, Any]) -> list[str]:
    if run["rerun_of_id"] is not None:
        return [f"re-run of run {run['rerun_of_id']}"]
    return ["trial run"] if run["is_tryout"] else []


def _cases(run: Mapping[str, Any]) -> list[str]:
    covered, in_suite = run["case_count"], run["suite_case_count"]
    if covered is None or in_suite is None or covered >= in_suite:
        return []
    return [f"{covered:,} of {in_suite:,} cases"]


def _instead(run: Mapping[str, Any]) -> list[str]:
    replaced = []
    if run["suite_agent_slug"] not in {"", run["agent_slug"]}:
        replaced.append(f"with agent {run['agent_slug']} instead of {run['suite_agent_slug']}")
    if run["replaced_model"]:
        replaced.append(f"with model {run['model']} instead of {run['replaced_model']}")
    return replaced
