"""Checks of imported files that pass what should fail are warned of before anything is saved."""

from typing import Any

import pytest

from evals_app.formats.checking import blind_checks
from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.reading.problems import Problem
from evals_app.formats.reading.yaml_text import write_yaml

AGENT = {"agent": "Echo", "slug": "echo", "driver": "scripted", "rules": [{"reply": "ok"}]}
BLIND = {"type": "contains", "value": "e"}
GOOD = {"type": "contains", "value": "Bonn"}


def warnings_of(*checks: dict[str, Any], cases: int = 1) -> list[Problem]:
    turn = {"user": "Where is it?", "assertions": list(checks)}
    head = {"suite": "Orders", "slug": "orders", "agent": "echo"}
    written = head | {"cases": [{"name": str(n), "turns": [turn]} for n in range(cases)]}
    documents = {"echo.agent.yaml": AGENT, "orders.suite.yaml": written}
    return read_files([SourceFile(p, write_yaml(data)) for p, data in documents.items()]).warnings


def test_a_blind_check_is_named_at_its_place_with_what_it_passes() -> None:
    # The warning that a text is short is about the same check.
    (blind,) = (w for w in warnings_of(GOOD, BLIND) if "pass" in w.message)

    assert (blind.path, blind.level) == ("orders.suite.yaml", "warning")
    assert blind.keys == "cases[0].turns[0].assertions[1].value"
    assert "refusal" in blind.message
    assert "question" in blind.message


def test_good_checks_are_not_warned_of() -> None:
    assert warnings_of(GOOD, {"type": "not_contains", "value": "hunter2"}) == []


def test_a_suite_that_only_forbids_is_warned_of_once() -> None:
    (warning,) = warnings_of({"type": "not_contains", "value": "hunter2"}, cases=3)

    assert warning.keys == "cases"
    assert "“ok”" in warning.message


def test_what_was_not_tried_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blind_checks, "MAX_TRIED", 2)

    (warning,) = warnings_of(GOOD, cases=5)

    assert "3 checks" in warning.message
    assert "check_evals orders" in warning.message


def test_of_many_blind_checks_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blind_checks, "_NAMED", 2)

    messages = [w.message for w in warnings_of(BLIND, cases=5) if "should fail" in w.message]

    assert len(messages) == 3
    assert sum(m.startswith("3 more") for m in messages) == 1
