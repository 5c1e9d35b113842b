"""What the log of a worker says of runs."""

import logging
from collections import Counter

import pytest

from evals_app.engine.record.trial import Cause
from evals_app.runs.ground import events
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_lines", Counter())


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == events.log.name]


def test_a_run_is_two_lines_and_one_for_each_execution_that_broke(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    run = finished(make_suite(["hello", "crash", "a failed check"]))

    begin, crash, end = lines(caplog)
    assert {line.__dict__["run"] for line in (begin, crash, end)} == {run.pk}
    assert crash.__dict__["execution"] == run.executions.get(cause=Cause.AGENT).pk
    assert "cause agent: The agent crashed." in crash.getMessage()
    assert "1 passed, 2 failed" in end.getMessage()


def test_the_same_cause_again_and_again_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(events, "MAX_LINES", 2)

    finished(make_suite(["crash"] * 5))

    of_executions = [line for line in lines(caplog) if line.__dict__.get("execution")]
    assert len(of_executions) == 2
