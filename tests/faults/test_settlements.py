"""A settlement whose workers are killed: every look happens once, and it comes to its end."""

import signal
from pathlib import Path

import pytest

from evals_app.models import Run, Settlement
from evals_app.runs.retests.candidates import plan_settlement
from evals_app.runs.retests.rounds import start_settlement
from tests.faults.crew import PATIENCE_S, RECOVERED_S, check_run, crew, eventually, finished, send
from tests.runs.settlements import rewrite, two_runs

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_settlement_survives_the_death_of_all_its_workers(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    # Slow enough that the first look is not over when its workers are killed.
    base, head = two_runs(delay_ms=600)
    # With three suspects five trials are not enough for certainty.
    rewrite(head, {"case 1": (2, 1), "case 3": (2, 1)})
    before = finished()
    settlement = start_settlement(plan_settlement(base, head))

    def is_over() -> bool:
        return not Settlement.objects.get(pk=settlement.pk).is_open

    def has_second_look() -> bool:
        return settlement.runs.exclude(status=Run.PREPARING).count() == 4

    with crew(child_environment, tmp_path) as hurt:
        eventually(lambda: finished() > before + 5, "some results of the first look")
        send(signal.SIGKILL, *hurt.tree)
        hurt.wait()
    with crew(child_environment, tmp_path) as hurt:
        # Not while one of them is prepared: reapers remove what that leaves only after ten minutes.
        eventually(lambda: has_second_look() or is_over(), "the second look")
        send(signal.SIGKILL, *hurt.tree)
        hurt.wait()
    with crew(child_environment, tmp_path):
        eventually(is_over, "its end", within_s=RECOVERED_S + PATIENCE_S)

    settlement.refresh_from_db()
    assert (settlement.status, settlement.look, settlement.really_worse) == ("finished", 2, 1)
    runs = list(settlement.runs.order_by("pk"))
    assert [run.total for run in runs] == [15, 15, 5, 5]
    for run, passed in zip(runs, [15, 10, 5, 0], strict=True):
        check_run(run, passed=passed)
