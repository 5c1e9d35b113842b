"""The expected answer of a turn, graded by the turn's own checks."""

from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.rehearsal import missed_by_expected

PARIS = {"type": "contains", "value": "Paris"}
EXACT = {"type": "exact_match"}


def missed_types(expected: str | None, *checks: dict[str, Any]) -> list[str]:
    specs = [AssertionSpec.model_validate(assertion) for assertion in checks]
    return [check.type for check, _ in missed_by_expected(expected, specs)]


@pytest.mark.parametrize(
    ("expected", "checks", "problems"),
    [
        pytest.param("Rome", [EXACT], [], id="it is itself"),
        pytest.param("Rome", [EXACT, PARIS], ["contains"], id="two that contradict each other"),
        pytest.param("Rome", [PARIS], [], id="the whole reply may say more"),
        pytest.param("Rome", [{"type": "contains"}, PARIS], [], id="so may this one"),
        pytest.param("Rome", [{"type": "meteor", "threshold": 0.9}], ["meteor"], id="out of reach"),
        pytest.param("Rome", [{"type": "meteor"}], [], id="a score alone"),
        ("Rome", [{"type": "meteor", "threshold": 0.9, "weight": 0}], []),
        pytest.param("twelve euros", [{"type": "numeric"}], ["numeric"], id="no number"),
        pytest.param("12", [{"type": "numeric", "response_path": "total"}], [], id="at a path"),
        ("12", [{"type": "numeric", "response_path": "total"}, {"type": "json_valid"}], []),
        pytest.param("Rome", [EXACT, PARIS | {"scope": "conversation"}], [], id="about all said"),
        pytest.param("Rome", [EXACT, {"type": "llm_judge", "criteria": "a"}], [], id="a judge"),
        pytest.param(None, [PARIS], [], id="nothing expected"),
    ],
)
def test_the_checks_that_the_expected_answer_fails_are_found(
    expected: str | None, checks: list[dict[str, Any]], problems: list[str]
) -> None:
    assert missed_types(expected, *checks) == problems


def test_the_score_and_what_it_needs_are_shown() -> None:
    check = AssertionSpec.model_validate({"type": "meteor", "threshold": 0.9})

    ((_, message),) = missed_by_expected("Rome", [check])

    assert "0.50" in message
    assert "0.90" in message
