"""Graders with mistakes, in whole worker processes: each spoils its own execution and no other."""

from pathlib import Path

import pytest

from tests.faults.crew import check_run, crew, eventually, is_over
from tests.faults.harmed_runs import harmed, start_harmful

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_grader_that_raises_or_takes_all_memory_is_a_result(
    harmful_environment: dict[str, str], tmp_path: Path
) -> None:
    run = start_harmful(30, {"case 7": "raise", "case 13": "eat", "case 20": "raise"})

    with crew(harmful_environment | {"EVALS_MEMORY_MB": "1500"}, tmp_path):
        eventually(lambda: is_over(run), "the end of the run")

    check_run(run, passed=27)
    assert run.verdict == "inconclusive"
    wrong = harmed(run)
    broke = (
        "errored",
        "harness",
        "Harm: This check failed with an error: RuntimeError: A mistake in a grader.",
    )
    assert wrong["case 7"] == wrong["case 20"] == broke
    verdict, cause, reason = wrong["case 13"]
    assert (verdict, cause) == ("errored", "harness")
    assert "more memory than a worker" in reason


def test_a_grader_that_never_ends_is_given_up_with_the_third_process_that_stands_still(
    harmful_environment: dict[str, str], tmp_path: Path
) -> None:
    run = start_harmful(30, {"case 20": "loop in C"})

    with crew(harmful_environment, tmp_path) as hurt:
        eventually(lambda: is_over(run), "the end of the run", within_s=120)
        log = hurt.log

    check_run(run, passed=29)
    verdict, cause, reason = harmed(run)["case 20"]
    assert (verdict, cause) == ("errored", "harness")
    assert "Its worker died 3 times" in reason
    assert "harm.py" in log  # a traceback tells the operator where they stood still
