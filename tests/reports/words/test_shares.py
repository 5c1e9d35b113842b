"""Shares are written with what they are of."""

import pytest

from evals_app.reports.words.shares import share_of_cases, share_of_trials, share_text


@pytest.mark.parametrize(
    ("part", "graded", "not_graded", "words"),
    [
        pytest.param(8, 10, 0, "80\u00a0% (8 of 10)", id="all are graded"),
        pytest.param(5, 5, 5, "100\u00a0% (5 of 5 graded, 5 not graded)", id="half are not"),
        pytest.param(0, 2, 1, "0\u00a0% (0 of 2 graded, 1 not graded)", id="none passed"),
        pytest.param(0, 0, 3, "— (0 graded, 3 not graded)", id="none is graded"),
        pytest.param(0, 0, 0, "—", id="there is none"),
        pytest.param(1999, 2000, 0, "99.9\u00a0% (1,999 of 2,000)", id="many"),
    ],
)
def test_a_share_never_stands_alone(part: int, graded: int, not_graded: int, words: str) -> None:
    assert share_text(part, graded, not_graded=not_graded) == words


def test_an_interval_is_beside_its_numbers() -> None:
    shown = share_text(5, 5, not_graded=5, bounds=(0.566, 1.0))

    assert shown.startswith("100\u00a0% (5 of 5 graded, 5 not graded; 95\u00a0% interval: 56.6")


def test_a_run_that_was_never_summed_up_has_none() -> None:
    assert share_of_cases({}) == "—"
    assert "3 of 4" in share_of_cases({"cases_passed": 3, "cases_failed": 1, "cases_not_graded": 0})


def test_trials_that_were_skipped_are_not_missing() -> None:
    case = {"trials": 10, "passed": 2, "failed": 4, "measured": 0, "skipped": 3}

    assert "2 of 6 graded, 1 not graded" in share_of_trials(case)
