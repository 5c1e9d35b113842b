"""Conversations that kill their worker: they are found out, and their neighbours pass."""

from pathlib import Path

import pytest
from django.db.models import Max

from evals_app.runs.ending.reap import MAX_ATTEMPTS
from tests.faults.crew import check_run, crew, eventually, is_over
from tests.faults.harmed_runs import harmed, start_harmful

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_100_conversations_only_the_three_that_kill_their_worker_are_errored(
    harmful_environment: dict[str, str], tmp_path: Path
) -> None:
    poison = ["case 5", "case 47", "case 80"]
    run = start_harmful(100, dict.fromkeys(poison, "die"), concurrency=32)

    with crew(harmful_environment, tmp_path):
        eventually(lambda: is_over(run), "the end of the run", within_s=120)

    check_run(run, passed=97)
    assert run.verdict == "inconclusive"
    wrong = harmed(run)
    assert list(wrong) == poison
    for verdict, cause, reason in wrong.values():
        assert (verdict, cause) == ("errored", "harness")
        assert f"Its worker died {MAX_ATTEMPTS} times" in reason
    most = run.executions.aggregate(most=Max("attempts"))["most"]
    assert most == MAX_ATTEMPTS  # and nobody was tried for ever
