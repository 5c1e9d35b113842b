"""The script that measures comparisons, at its smallest size."""

import pytest

from benchmarks.compare import run as measure_comparisons
from benchmarks.pages import MAX_QUERIES


@pytest.mark.django_db
def test_comparisons_of_ten_runs_take_no_more_queries_than_are_allowed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measured = measure_comparisons(cases=120, trials=2, requests=6, only="REST")

    assert len(measured) == 4
    assert [kind.page.title for kind in measured if kind.most_queries > MAX_QUERIES] == []
    assert all(kind.page.title in capsys.readouterr().out for kind in measured[:1])
