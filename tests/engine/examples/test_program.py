"""The agent that is a program and comes with this one."""

import io
import json

import pytest

from evals_app.engine.callables.references import command_problem
from evals_app.engine.examples import program


def test_it_can_be_named_as_an_agent() -> None:
    assert command_problem(["python", "-m", "evals_app.engine.examples.program"]) is None


def test_it_reads_message_and_history_and_writes_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    history = [{"role": "assistant", "content": text} for text in ("60.94", "25.14")]
    monkeypatch.setenv("AGENTURA_HISTORY", json.dumps(history))
    monkeypatch.setattr("sys.stdin", io.StringIO("What was the change?"))

    program.main()

    assert json.loads(capsys.readouterr().out)["output"] == "35.8"
