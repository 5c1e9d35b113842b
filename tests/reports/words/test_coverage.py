from typing import Any

import pytest

from evals_app.reports.words.coverage import coverage


def a_part(**changes: Any) -> dict[str, Any]:
    return {
        "is_whole": False,
        "is_tryout": False,
        "rerun_of_id": None,
        "from_file": "",
        "conversation_set_id": None,
        "grades_of_id": None,
        "settlement_id": None,
        "case_count": 38,
        "suite_case_count": 38,
        "agent_name": "Edge",
        "agent_slug": "shop",
        "suite_agent_slug": "shop",
        "model": "acme/small",
        "replaced_model": "",
    } | changes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"case_count": 1}, "1 of 38 cases"),
        ({"agent_slug": "edge"}, "with the agent Edge instead of the suite's own"),
        ({"replaced_model": "acme/large"}, "with the model acme/small instead of acme/large"),
        ({"from_file": "run 3 of a.json", "is_tryout": True}, "read from a file"),
        ({"conversation_set_id": 3, "grades_of_id": 12}, "real conversations"),
        ({"rerun_of_id": 75}, "re-run of run 75"),
        ({"rerun_of_id": 75, "settlement_id": 4}, "re-run of run 75 for retest 4"),
        ({"grades_of_id": 75, "is_tryout": True}, "run 75 graded again"),
        ({"grades_of_id": 75, "case_count": 1}, "run 75 graded again, 1 of 38 cases"),
        ({"is_tryout": True}, "try"),
        (
            {"rerun_of_id": 75, "is_tryout": True, "case_count": 1},
            "re-run of run 75, 1 of 38 cases",
        ),
        (
            {"case_count": 2, "agent_slug": "edge"},
            "2 of 38 cases, with the agent Edge instead of the suite's own",
        ),
        # Nobody knows why.
        (
            {"case_count": None, "suite_case_count": None, "suite_agent_slug": ""},
            "not the whole suite",
        ),
        ({"is_whole": True}, ""),
    ],
)
def test_what_is_not_a_whole_suite_is_named(changes: dict[str, Any], words: str) -> None:
    assert coverage(a_part(**changes)) == words
