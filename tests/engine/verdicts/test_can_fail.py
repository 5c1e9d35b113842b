"""Whether the checks of a suite can fail: what they ought to fail, and what they pass."""

from typing import Any

import pytest

from evals_app.engine.specs.inventory import Inventory
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.can_fail import idle, only_forbids, probe_checks, probe_suite
from tests.engine.makers import make_suite

SHOP = Inventory(
    "echo",
    frozenset({"entity.query", "entity.delete"}),
    arguments={"entity.query": {"type": "string"}, "entity.delete": {"id": "string"}},
)
EXPECTED = "Your order 42 is on its way to Bonn."
FIELDS = {"type": "object", "properties": {"total": {"type": "number"}}}


def suite_of(*checks: dict[str, Any], **turn: Any) -> SuiteSpec:
    """Write a suite in which one case has these checks, beside two cases with other answers."""
    asked = {"user": "Where is my order 42?", "expected": EXPECTED, "assertions": list(checks)}
    others = ["The shop opens at 9.", "You can return it within 30 days."]
    cases = [{"name": "Order", "turns": [asked | turn]}]
    cases += [
        {"name": other, "turns": [{"user": "And?", "expected": other, "assertions": []}]}
        for other in others
    ]
    return make_suite(cases=cases)


def result_of(check: dict[str, Any], **turn: Any) -> tuple[str, tuple[str, ...]]:
    (probed,) = probe_checks(suite_of(check, **turn), SHOP).checks
    return probed.sight, probed.passed


@pytest.mark.parametrize(
    "check",
    [
        pytest.param({"type": "contains", "value": "e"}, id="a letter"),
        pytest.param({"type": "matches", "value": "[a-z]"}, id="any letter"),
        pytest.param({"type": "fuzzy_match", "threshold": 0.01}, id="a threshold next to nothing"),
        pytest.param({"type": "numeric", "value": 42, "absolute_tolerance": 5000}, id="any number"),
        pytest.param({"type": "numeric", "value": 42, "relative_tolerance": 5}, id="500 percent"),
        pytest.param({"type": "json_schema", "schema": {"type": "object"}}, id="any object"),
        pytest.param(
            {"type": "tool_not_called", "value": "entity.delete", "args": {"ref": "order-1"}},
            id="an argument that the tool does not take",
        ),
        pytest.param({"type": "tool_not_called", "value": "entity.drop"}, id="no such tool"),
        pytest.param({"type": "latency", "max_ms": 9_000_000}, id="no reply takes that long"),
    ],
)
def test_planted_blind_checks_are_found(check: dict[str, Any]) -> None:
    # The question must share a word with the answer, for a check that counts words.
    assert result_of(check, user="Where is your order?")[0] == "blind"


@pytest.mark.parametrize(
    "check",
    [
        {"type": "contains", "value": "Bonn"},
        {"type": "contains"},
        {"type": "not_contains", "value": "as an AI"},
        {"type": "matches", "value": r"\bBonn\b"},
        {"type": "not_matches", "value": r"\b\d{16}\b"},
        {"type": "exact_match"},
        {"type": "numeric", "value": 42, "relative_tolerance": 0.5, "extract": "last"},
        {"type": "numeric", "value": 2, "absolute_tolerance": 3, "extract": "last"},
        {"type": "json_valid"},
        {"type": "json_schema", "schema": FIELDS | {"required": ["total"]}},
        {"type": "json_path", "path": "order.status", "value": "shipped"},
        {"type": "json_path", "path": "error", "value": {"present": False}},
        {"type": "compare", "left": "sum(reply.items[*].price)", "right": "reply.total"},
        {"type": "compare", "left": "number(reply)", "right": "41 + 1"},
        {"type": "tool_called", "value": "entity.query"},
        {"type": "tool_called", "value": "entity.query", "min_count": 0, "max_count": 2},
        {"type": "tool_not_called", "value": "entity.delete"},
        {"type": "tool_not_called", "value": "entity.delete", "args": {"id": {"any_of": ["a"]}}},
        {"type": "tool_calls", "tools": ["entity.query"], "exact": True},
        {"type": "tool_calls", "tools": [], "exact": True},
        {"type": "tool_use", "tool": "entity.query", "expected_output": "Bonn", "threshold": 0.9},
        {"type": "chunks_fetched", "chunks": ["returns"]},
        {"type": "world_changes", "nothing_else": True},
        {"type": "world_changes", "updated": [{"id": "order-1"}], "nothing_else": True},
    ],
    ids=str,
)
def test_good_checks_are_not_flagged(check: dict[str, Any]) -> None:
    question = {"json_path": "Which status?"}.get(check["type"], "Where is it?")

    assert result_of(check, user=question) == ("sound", ())


@pytest.mark.parametrize(
    ("check", "turn", "passed"),
    [
        pytest.param({"type": "contains", "value": "order"}, {}, ("question",), id="parroting"),
        pytest.param({"type": "contains", "value": "help"}, {}, ("refusal",), id="its words"),
        pytest.param({"type": "contains", "value": "sorry"}, {}, (), id="a refusal that is wanted"),
        pytest.param({"type": "contains"}, {"expected": "valid"}, ("negation",), id="invalid"),
        pytest.param({"type": "contains"}, {"expected": "No"}, (), id="yes is no no"),
        pytest.param({"type": "fuzzy_match", "threshold": 0.8}, {}, ("negation", "near_number")),
        pytest.param({"type": "json_schema", "schema": FIELDS}, {}, ("empty_data",), id="no key"),
        pytest.param(
            {"type": "exact_match", "response_path": "city", "value": "..."}
            | {"strip_punctuation": True},
            {},
            ("nothing",),
            id="a part of JSON",
        ),
        pytest.param(
            {"type": "tool_use", "tool": "entity.query", "threshold": 0.2}
            | {"expected_output": "Bonn"},
            {},
            ("no_tool",),
            id="right by chance",
        ),
    ],
)
def test_what_a_check_passes_although_it_should_not(
    check: dict[str, Any], turn: dict[str, Any], passed: tuple[str, ...]
) -> None:
    assert result_of(check, **turn)[1] == passed


@pytest.mark.parametrize(
    "check",
    [
        {"type": "llm_judge", "criteria": "It is polite."},
        {"type": "semantic_similarity", "threshold": 0.8},
        {"type": "contains", "value": "Bonn", "weight": 0},
        {"type": "bleu"},
        {"type": "latency", "max_ms": 3000},
        {"type": "not_matches", "value": r"[żź]{3}"},
        {"type": "compare", "left": "length(reply)", "comparison": "<", "right": "200"},
        {"type": "tool_not_called", "value": "entity.delete", "args": {"id": {"regex": "x.z"}}},
    ],
    ids=str,
)
def test_what_cannot_be_tried_has_a_reason(check: dict[str, Any]) -> None:
    (probed,) = probe_checks(suite_of(check), SHOP).checks

    assert (probed.sight, probed.tried) == ("not_tried", ())
    assert probed.why


def test_a_check_of_the_suite_is_one_result_of_all_its_turns() -> None:
    turns = [{"user": "Is it big?"}, {"user": "Where?"}]
    cases = [{"name": str(n), "turns": turns} for n in range(3)]
    suite = make_suite(assertions=[{"type": "contains", "value": "big"}], cases=cases)

    (probed,) = probe_checks(suite).checks

    assert (probed.loc, probed.places) == (("assertions", 0), 6)
    assert (probed.sight, probed.passed) == ("weak", ("question",))


def test_answers_of_other_cases_count_only_if_all_pass() -> None:
    check = {"type": "contains", "value": "opens at 9"}

    assert result_of(check) == ("sound", ())


def test_a_check_is_blind_though_a_short_question_fails_it() -> None:
    check = {"type": "contains", "value": "e"}

    assert result_of(check, user="Hi") == ("blind", ("refusal", "other_answer"))


def test_a_check_that_another_case_has_too_may_pass_its_answer() -> None:
    turn = {"user": "?", "assertions": [{"type": "contains", "value": "Yours"}]}
    cases = [
        {"name": city, "turns": [turn | {"expected": f"Yours is in {city}."}]}
        for city in ("Bonn", "Rome")
    ]

    results = probe_checks(make_suite(cases=cases)).checks

    assert [probed.sight for probed in results] == ["sound", "sound"]
    assert all("other_answer" not in probed.tried for probed in results)


def test_checks_are_tried_until_it_is_over() -> None:
    over = iter([False, False, True])
    checks = [{"type": "contains", "value": word} for word in ("one", "two", "three")]

    probed = probe_checks(suite_of(*checks), is_over=lambda: next(over))

    assert (len(probed.checks), probed.left) == (2, 1)


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([{"type": "not_contains", "value": "hunter2"}], True),
        (
            [
                {"type": "tool_not_called", "value": "entity.delete"},
                {"type": "latency", "max_ms": 300},
            ],
            True,
        ),
        ([{"type": "not_contains", "value": "ok"}], False),
        ([{"type": "latency", "max_ms": 300}], False),
        ([{"type": "contains", "value": "ok"}], False),
        ([{"type": "not_contains", "value": "hunter2"}, {"type": "contains", "value": "a"}], False),
        ([{"type": "not_contains", "value": "a"}, {"type": "llm_judge", "criteria": "b"}], False),
        ([], False),
    ],
)
def test_a_suite_only_forbids_if_doing_nothing_passes_it(
    checks: list[dict[str, Any]],
    expected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    cases = [{"name": str(n), "turns": [{"user": "Hi"}]} for n in range(2)]

    assert only_forbids(make_suite(assertions=checks, cases=cases)) is expected


def test_each_case_says_what_doing_nothing_and_refusing_would_score() -> None:
    cases = [
        {"name": "guard", "turns": [{"user": "Hi"}], "limits": {"max_tool_calls": 1}},
        {
            "name": "two",
            "turns": [
                {
                    "user": "Hi",
                    "assertions": [
                        {"type": "contains", "value": "help"},
                        {"type": "contains", "value": "order"},
                    ],
                }
            ],
        },
        {
            "name": "judged",
            "turns": [{"user": "Hi", "assertions": [{"type": "llm_judge", "criteria": "a"}]}],
        },
        {"name": "disabled", "enabled": False, "turns": [{"user": "Hi"}]},
    ]
    suite = make_suite(assertions=[{"type": "not_contains", "value": "secret"}], cases=cases)

    guard, two, judged = probe_suite(suite).cases

    assert (guard.nothing.passed, guard.nothing.score) == (True, 1.0)
    assert (guard.refusal.passed, guard.refusal.score) == (True, 1.0)
    assert (two.nothing.passed, two.nothing.score) == (False, 0.0)
    assert (two.refusal.passed, two.refusal.score) == (False, 0.5)
    assert (judged.nothing.passed, judged.nothing.score) == (None, None)


@pytest.mark.parametrize(("fails", "passed"), [(True, False), (False, None)])
def test_doing_nothing_fails_a_check_that_fails_on_errors(fails: bool, passed: bool | None) -> None:  # noqa: FBT001
    judged = {"type": "llm_judge", "criteria": "It is kind.", "fail_on_error": fails}
    suite = suite_of(judged)

    assert idle(suite, suite.cases[0], "ok").passed is passed
