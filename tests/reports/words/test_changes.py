"""What changed from one run of a suite to the next, in words."""

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.reports.words.changes import ChangedCases, changes_between


def outcomes(cases: dict[str, str], *, edited: str = "") -> dict[str, CaseOutcome]:
    """Return cases by name: their trials as P passed, F failed, E errored."""
    made = {}
    for name, trials in cases.items():
        passed, failed, errored = map(trials.count, "PFE")
        verdict = Verdict.PASSED if passed > failed else Verdict.FAILED
        digest = f"{name}, edited" if name in edited else name
        decided = verdict if passed + failed else Verdict.ERRORED
        made[name] = CaseOutcome(name, digest, decided, passed, failed, errored, None)
    return made


def changes(before: dict[str, str], now: dict[str, str], edited: str = "") -> ChangedCases:
    return changes_between(outcomes(before), outcomes(now, edited=edited))


@pytest.mark.parametrize(
    ("before", "now", "edited", "short", "details"),
    [
        ({"a": "P", "b": "F"}, {"a": "P", "b": "P"}, "", "50 points up", "1 better"),
        ({"a": "P", "b": "P"}, {"a": "P", "b": "F"}, "", "50 points down", "1 worse"),
        pytest.param({"a": "P"}, {"a": "P"}, "", "same as before", "", id="same"),
        ({"a": "P", "b": "F"}, {"a": "F", "b": "P"}, "", "1 worse, 1 better", ""),
        pytest.param(
            {"a": "P", "b": "F"},
            {"a": "P"},
            "",
            "same as before",
            "over 1 case in both runs; left out: 1 removed",
            id="a failing case was deleted",
        ),
        pytest.param(
            {"a": "P", "b": "F"},
            {"a": "P", "b": "P"},
            "b",
            "same as before",
            "over 1 case in both runs; left out: 1 edited",
            id="a check was softened",
        ),
        pytest.param(
            {"a": "P", "b": "F", "c": "F", "d": "P"},
            {"a": "P", "b": "P", "e": "F", "d": "F"},
            "b",
            "50 points down",
            "1 worse; over 2 cases in both runs; left out: 1 edited, 1 new, 1 removed",
            id="all at once",
        ),
        pytest.param(
            {"a": "P", "b": "P"},
            {"a": "P", "b": "E"},
            "",
            "same as before",
            "over 1 case in both runs; left out: 1 not decided in both",
            id="not graded now",
        ),
        pytest.param(
            {"a": "F"},
            {"a": "P"},
            "a",
            "not comparable",
            "over 0 cases in both runs; left out: 1 edited",
            id="all edited",
        ),
        ({"a": "PPP"}, {"a": "PPF"}, "", "1 with fewer trials passed", ""),
        ({"a": "PPF"}, {"a": "PFF"}, "", "100 points down", "1 flaky before"),
    ],
)
def test_a_change_counts_cases_of_both_runs_that_were_not_edited(
    before: dict[str, str], now: dict[str, str], edited: str, short: str, details: str
) -> None:
    found = changes(before, now, edited)

    assert (found.in_short, found.details) == (short, details)


def test_without_a_decided_case_nothing_is_said() -> None:
    assert changes({"a": "E"}, {"a": "P"}).in_short == ""


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [("P", "P", 0), ("P", "F", 1), ("P", "E", 1), ("PPF", "PFF", 1), ("F", "F", 0)],
)
def test_what_passed_before_and_does_not_now_is_lost_for_whatever_reason(
    before: str, now: str, lost: int
) -> None:
    assert changes({"a": before}, {"a": now}).lost == lost


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ({"a": "P", "b": "F"}, {"a": "F", "b": "P"}, "1 worse, 1 better"),
        ({"a": "P", "b": "F"}, {"a": "P"}, "no case changed. Left out: 1 removed"),
        ({"a": "E"}, {"a": "P"}, "no case can be compared. Left out: 1 not decided in both"),
    ],
)
def test_a_list_of_suites_counts_cases_and_says_what_is_left_out(
    before: dict[str, str], now: dict[str, str], words: str
) -> None:
    assert changes(before, now).in_words == words
