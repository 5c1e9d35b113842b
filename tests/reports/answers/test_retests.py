"""Settlements in words: every number that a reader needs, and nothing that is not known."""

from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.statistics.retest import Direction, Suspect, SuspectState, Trials
from evals_app.reports.answers.retests import (
    by_finding,
    headline,
    price_in_words,
    reason,
    warnings,
)


def suspect(**changes: Any) -> Suspect:
    usual: dict[str, Any] = {
        "name": "Refund",
        "direction": Direction.WORSE,
        "base_before": Trials(3, 0),
        "head_before": Trials(2, 1),
    }
    return Suspect(**usual | changes)


def row(**changes: Any) -> dict[str, Any]:
    return {
        "status": "finished",
        "look": 1,
        "with_better": False,
        "really_worse": 0,
        "really_better": 0,
        "was_flaky": 0,
        "cannot_tell": 0,
        "stand_in": "",
        "few": 0,
        "compared": 10,
        "hopeless": 0,
    } | changes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"really_worse": 2}, ["2 cases are really worse"]),
        ({"really_worse": 1, "was_flaky": 2}, ["1 case is really worse", "2 cases were flaky"]),
        ({"cannot_tell": 1}, ["No case is really worse.", "1 case: cannot tell"]),
        ({"with_better": True}, ["really worse or better"]),
        ({"really_better": 1, "with_better": True}, ["1 case is really better"]),
    ],
)
def test_the_result_names_what_was_found(changes: dict[str, int], words: list[str]) -> None:
    text = headline(row(**changes), [])

    assert all(word in text for word in words)
    assert ("0" in text) is False


def test_while_it_runs_the_look_and_what_is_open_are_named() -> None:
    suspects = [suspect(), suspect(state=SuspectState.DROPPED)]

    text = headline(row(status="running", look=2), suspects)

    assert "Look 2 of 3: 1 case" in text


def test_the_reason_has_the_numbers_of_both_versions() -> None:
    tested = suspect(base=Trials(5, 0), head=Trials(1, 4))

    assert "5 of 5 trials in the version of run 9" in reason(tested, base=9, head=12)
    assert "1 of 5 trials in that of run 12" in reason(tested, base=9, head=12)
    assert "graded" in reason(suspect(), base=9, head=12)


def test_what_is_worse_comes_first() -> None:
    unsure, flaky = suspect(name="unsure"), suspect(name="flaky", base=Trials(1, 1))
    worse = suspect(name="worse", state=SuspectState.DECIDED)

    assert [case.name for case in by_finding([flaky, unsure, worse])] == [
        "worse",
        "unsure",
        "flaky",
    ]


@pytest.mark.parametrize(
    ("changes", "count"), [({}, 0), ({"few": 3}, 1), ({"stand_in": "Gone.", "hopeless": 2}, 2)]
)
def test_what_limits_the_result_is_said(changes: dict[str, Any], count: int) -> None:
    assert len(warnings(row(**changes))) == count


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ["12 cases", "each version", "at most 480", "$0.30 to $0.50", "$1.20"]),
        ({"versions": 1}, ["the new version"]),
        ({"unpriced": ["local/m"], "likely_usd": None, "most_usd": None}, ["unknown", "local/m"]),
        ({"calls": 0}, ["free"]),
        ({"calls": 0, "is_outside": True}, ["unknown"]),
        ({"is_outside": True}, ["$1.20", "own cost is unknown"]),
    ],
)
def test_the_price_is_named_or_unknown(changes: dict[str, Any], words: list[str]) -> None:
    usual: dict[str, Any] = {
        "suspects": 12,
        "versions": 2,
        "most_conversations": 480,
        "likely_usd": (Decimal("0.3"), Decimal("0.5")),
        "most_usd": Decimal("1.2"),
        "unpriced": [],
        "calls": 100,
        "is_outside": False,
    }

    text = price_in_words(**usual | changes)

    assert all(word in text for word in words)
    assert "free" not in text or "free" in words
