"""How the worker processes share a run."""

import pytest

from evals_app.runs.workers import MOST_SLOTS, drainers_for, slots_for


@pytest.mark.parametrize(
    ("workers", "concurrency", "executions", "drainers"),
    [
        pytest.param(9, 1, 100, 1, id="one at a time: one"),
        pytest.param(9, 2, 100, 2, id="at least two"),
        pytest.param(9, 64, 100, 2, id="also where one could hold all"),
        pytest.param(9, 128, 1000, 2, id="two are full"),
        pytest.param(9, 129, 1000, 3, id="one more"),
        pytest.param(9, 1000, 10_000, 8, id="one process stays free"),
        pytest.param(3, 1000, 10_000, 2, id="of three, two"),
        pytest.param(2, 1000, 10_000, 1, id="of two, one"),
        pytest.param(1, 1000, 10_000, 1, id="but one there must be"),
        pytest.param(9, 10, 1, 1, id="no more than there is to do"),
        pytest.param(9, 1000, 3, 3, id="three for three"),
        pytest.param(9, 10, 0, 1, id="nothing to do: somebody must say so"),
    ],
)
def test_how_many_drainers_a_run_wants(
    workers: int, concurrency: int, executions: int, drainers: int
) -> None:
    assert drainers_for(concurrency, executions=executions, processes=workers) == drainers


@pytest.mark.parametrize(
    ("concurrency", "drainers", "slots"),
    [
        pytest.param(1, 1, 1, id="one at a time"),
        pytest.param(10, 2, 5, id="two share ten"),
        pytest.param(5, 2, 3, id="rounded up"),
        pytest.param(129, 3, 43, id="three share"),
        pytest.param(1000, 1, MOST_SLOTS, id="never more than a drainer holds"),
        pytest.param(10, 1, 10, id="one drainer has all"),
    ],
)
def test_the_drainers_share_what_may_be_held_at_once(
    concurrency: int, drainers: int, slots: int
) -> None:
    assert slots_for(concurrency, drainers=drainers) == slots
