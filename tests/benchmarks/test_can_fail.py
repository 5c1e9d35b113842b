"""The script that measures whether checks can fail, at its smallest size."""

import pytest

from benchmarks.can_fail import measure


def test_every_kind_of_check_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    measure(checks=18)

    text = capsys.readouterr().out
    assert "18 checks" in text
    assert "'not_tried': 0" in text
