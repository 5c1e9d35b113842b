"""What is accepted, and what is refused, of suites, cases, turns and assertions."""

import math
from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.graders import ALIASES, GRADERS
from evals_app.engine.graders.text import Contains
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec, SuiteSpec, TurnSpec

CHECK = {"type": "contains", "value": "hello"}
SHOWN_ONLY = CHECK | {"weight": 0}
INFORMS = {"type": "llm_judge", "criteria": "Polite", "scale": "0-1"}
NEEDS_EXPECTED = {"type": "contains"}


def turn(user: str = "Hi", **changes: Any) -> dict[str, Any]:
    return {"user": user} | changes


def case(*turns: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"name": "c", "turns": list(turns) or [turn(assertions=[CHECK])]} | changes


def suite(*cases: dict[str, Any], **changes: Any) -> SuiteSpec:
    written = {"suite": "S", "slug": "s", "agent": "a", "cases": list(cases) or [case()]}
    return SuiteSpec.model_validate(written | changes)


def errors_in(model: type[Any], written: object) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(written)
    return [(error["loc"], error["msg"]) for error in caught.value.errors()]


# Assertions


@pytest.mark.parametrize("kind", list(GRADERS))
def test_every_check_is_written_flat_and_read_back(kind: str) -> None:
    written = {"type": kind, "name": "Mine", "weight": 2.0, **GRADERS[kind].example}

    spec = AssertionSpec.model_validate(written)

    assert type(spec.grader) is GRADERS[kind]
    assert spec.model_dump(exclude_unset=True) == written
    assert AssertionSpec.model_validate(spec.model_dump(exclude_unset=True)) == spec
    assert AssertionSpec.model_validate(spec.model_dump()) == spec


@pytest.mark.parametrize("alias", list(ALIASES))
def test_another_name_means_the_same_check(alias: str) -> None:
    kind, implied = ALIASES[alias]
    options = GRADERS[kind].example

    spec = AssertionSpec.model_validate({"type": alias, **options})

    assert spec == AssertionSpec.model_validate({"type": kind, **implied, **options})


def test_what_another_name_implies_can_be_written_otherwise() -> None:
    written = {"type": "llm-rubric", "criteria": "Polite", "scale": "1-5"}

    spec = AssertionSpec.model_validate(written)

    assert spec.model_dump(exclude_unset=True) == written | {"type": "llm_judge"}


def test_the_common_keys_have_defaults() -> None:
    spec = AssertionSpec.model_validate(CHECK)

    assert (spec.weight, spec.threshold, spec.enabled, spec.fail_on_error) == (1, None, True, False)
    assert (spec.model, spec.scope) == (None, None)
    assert spec.label == "Reply contains “hello”"


def test_a_name_of_its_own_is_the_label() -> None:
    assert AssertionSpec.model_validate(CHECK | {"name": "Greets"}).label == "Greets"


@pytest.mark.parametrize(
    ("written", "loc", "words"),
    [
        pytest.param({"value": "x"}, "type", "A check needs a type. Known:", id="no type"),
        pytest.param({"type": "contain"}, "type", "Did you mean 'contains'?", id="misspelt"),
        pytest.param({"type": "llm_rubrik"}, "type", "Did you mean 'llm_rubric'?", id="alias"),
        pytest.param({"type": ["contains"]}, "type", "Unknown check ['contains']", id="a list"),
        pytest.param({"type": 3}, "type", "Unknown check 3.", id="a number"),
        ({"type": "code", "grader": "a:b"}, "grader", "EVALS_PYTHON_MODULES"),
        (CHECK | {"grader": {}}, "grader", "Unknown key. Known: type, name"),
        (CHECK | {"case_sensitiv": True}, "case_sensitiv", "Did you mean 'case_sensitive'?"),
        (CHECK | {"wieght": 2}, "wieght", "Did you mean 'weight'?"),
        pytest.param(CHECK | {"weight": -1}, "weight", "", id="negative weight"),
        pytest.param(CHECK | {"weight": math.inf}, "weight", "", id="endless weight"),
        pytest.param(CHECK | {"weight": math.nan}, "weight", "", id="no number"),
        pytest.param(CHECK | {"threshold": 1.1}, "threshold", "", id="threshold above 1"),
        pytest.param(CHECK | {"enabled": "no"}, "enabled", "", id="a text for a switch"),
        ({"type": "matches", "value": "a("}, "value", "The pattern cannot be used"),
        pytest.param(CHECK | {"model": "agent"}, "model", "judge", id="needless judge"),
        ({"type": "tool_called", "value": "x", "scope": "turn"}, "scope", "text"),
    ],
)
def test_a_wrong_check_is_refused_where_it_is_wrong(
    written: dict[str, Any], loc: str, words: str
) -> None:
    ((place, message),) = errors_in(AssertionSpec, written)

    assert ".".join(map(str, place)) == loc
    assert words in message
    assert not message.startswith("Value error")


def test_wrong_options_and_wrong_common_keys_are_reported_together() -> None:
    written = {"type": "contains", "value": 1, "casesensitive": True, "weight": -1, "scope": "x"}

    place = {loc[0] for loc, _ in errors_in(AssertionSpec, written)}

    assert place == {"value", "casesensitive", "weight", "scope"}


@pytest.mark.parametrize("written", [None, "contains", ["contains"], 3])
def test_what_is_no_mapping_is_no_check(written: object) -> None:
    assert errors_in(AssertionSpec, written)


def test_a_check_can_be_made_of_its_grader() -> None:
    spec = AssertionSpec(type="contains", grader=Contains(value="hello"))

    assert spec == AssertionSpec.model_validate(CHECK)


# Turns


@pytest.mark.parametrize(
    ("own", "inherit", "graded"),
    [
        pytest.param(None, False, ["default", "other"], id="none: the suite's"),
        pytest.param([], False, [], id="an empty list: unscored"),
        pytest.param(["own"], False, ["own"], id="its own replace them"),
        pytest.param(["own"], True, ["default", "other", "own"], id="or are added"),
    ],
)
def test_which_checks_a_turn_has(
    own: list[str] | None, *, inherit: bool, graded: list[str]
) -> None:
    def checks_named(names: list[str]) -> list[dict[str, Any]]:
        return [CHECK | {"name": name} for name in names]

    off = CHECK | {"name": "off", "enabled": False}
    written = turn(assertions=None if own is None else [*checks_named(own), off], inherit=inherit)
    if own == []:
        written["assertions"] = []
    spec = suite(case(written), assertions=[*checks_named(["default", "other"]), off])

    place = spec.assertions_for(spec.cases[0].turns[0])

    assert [check.label for check in place] == graded


@pytest.mark.parametrize("own", [None, []])
def test_inheriting_beside_nothing_of_its_own_is_refused(own: list[Any] | None) -> None:
    ((_, message),) = errors_in(TurnSpec, turn(inherit=True, assertions=own))

    assert "this turn has none" in message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("user_input", "Hi", id="unknown"),
        pytest.param("context", "A fact", id="context is a list"),
        pytest.param("retrieval_context", [""], id="empty passage"),
        pytest.param("config", [], id="config is a mapping"),
        pytest.param("config", {"day": date(2026, 5, 1)}, id="config is JSON"),
    ],
)
def test_what_a_turn_cannot_have_is_refused_at_its_place(key: str, value: object) -> None:
    ((loc, _),) = errors_in(TurnSpec, turn() | {key: value})

    assert loc[0] == key


def test_no_retrieved_knowledge_differs_from_none_given() -> None:
    assert TurnSpec.model_validate(turn()).retrieval_context is None
    assert TurnSpec.model_validate(turn(retrieval_context=[])).retrieval_context == []


# Cases


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="the least"),
        pytest.param({"clock": "2026-05-01T09:30:00+00:00"}, id="clock"),
        pytest.param({"clock": "2026-05-01T09:30:00Z"}, id="clock in UTC"),
        {"context_params": {"a": 1, "b": "x", "c": 1.5, "d": True, "e": None}},
        pytest.param({"trials": 100, "turn_timeout_s": 1500}, id="the most"),
        pytest.param(
            {
                "history": [
                    {"role": "user", "content": "Hello"},
                    {"role": "assistant", "content": "Good morning"},
                    {"role": "user", "content": "Well"},
                ]
            },
            id="history",
        ),
    ],
)
def test_cases_that_are_fine(changes: dict[str, Any]) -> None:
    spec = CaseSpec.model_validate(case(**changes))

    assert spec.model_dump(include=set(changes)) == changes


USER, AGENT = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}


@pytest.mark.parametrize(
    ("changes", "loc", "words"),
    [
        pytest.param({"turns": []}, "turns", "", id="no turns"),
        pytest.param({"turns": [{"user": ""}]}, "turns.0.user", "", id="an empty message"),
        pytest.param({"clock": "tomorrow"}, "clock", "2026", id="no time"),
        pytest.param({"turn_timeout_s": 0}, "turn_timeout_s", "", id="no time to answer"),
        pytest.param({"turn_timeout_s": 1501}, "turn_timeout_s", "", id="above the deadline"),
        pytest.param({"trials": 0}, "trials", "", id="no trials"),
        pytest.param({"limits": {"max_cost_usd": -1}}, "limits.max_cost_usd", "", id="gain"),
        pytest.param({"limits": {"max_time_ms": -1}}, "limits.max_time_ms", "", id="negative"),
        pytest.param({"history": [AGENT, USER]}, "history.0.role", "first", id="the agent begins"),
        ({"history": [USER, AGENT, AGENT]}, "history.2.role", "second message of assistant"),
        ({"history": [USER, USER]}, "history.1.role", "second message of user"),
        pytest.param(
            {"history": [{"role": "system", "content": "a"}]},
            "history.0.role",
            "'user' or 'assistant'",
            id="another role",
        ),
        pytest.param(
            {"turns": [turn(assertions=[CHECK, NEEDS_EXPECTED])]},
            "turns.0.assertions.1",
            "needs a value",
            id="nothing expected",
        ),
        ({"final_assertions": [NEEDS_EXPECTED]}, "final_assertions.0", "needs a value"),
    ],
)
def test_cases_that_are_refused(changes: dict[str, Any], loc: str, words: str) -> None:
    ((place, message),) = errors_in(CaseSpec, case() | changes)

    assert ".".join(map(str, place)) == loc
    assert words in message


def test_all_that_does_not_hold_together_is_reported_at_once() -> None:
    written = case(
        turn(assertions=[NEEDS_EXPECTED]), final_assertions=[NEEDS_EXPECTED], history=[AGENT]
    )

    place = [loc for loc, _ in errors_in(CaseSpec, written)]

    assert place == [("history", 0, "role"), ("turns", 0, "assertions", 0), ("final_assertions", 0)]


@pytest.mark.parametrize(
    "checks",
    [
        pytest.param([NEEDS_EXPECTED | {"value": "x"}], id="a value of its own"),
        pytest.param([{"type": "tool_not_called", "value": "x"}], id="a check that needs none"),
    ],
)
def test_a_check_that_has_what_it_needs_is_fine(checks: list[dict[str, Any]]) -> None:
    spec = CaseSpec.model_validate(case(turn(assertions=checks)))

    assert not any(check.lacks_expected for check in spec.turns[0].assertions or [])


def test_the_expected_text_of_the_turn_serves_a_check_without_a_value() -> None:
    spec = CaseSpec.model_validate(case(turn(expected="hello", assertions=[NEEDS_EXPECTED])))

    assert spec.turns[0].expected == "hello"


# Suites


def test_a_suite_has_defaults() -> None:
    spec = suite()

    assert (spec.trials, spec.min_pass_rate, spec.concurrency, spec.score_scale) == (
        1,
        1.0,
        10,
        "0-1",
    )
    assert (spec.pass_rule, spec.pass_threshold, spec.run_rule) == ("all", 0.8, "all_cases")


def test_rows_without_a_name_are_named_by_position() -> None:
    unnamed = {"turns": [turn()]}

    spec = suite(unnamed, case(), unnamed)

    assert [case.name for case in spec.cases] == ["row-0001", "c", "row-0003"]


def test_cases_with_the_same_name_are_refused() -> None:
    written = suite().model_dump() | {"cases": [case(), case(name="d"), case(), case()]}

    place = errors_in(SuiteSpec, written)

    assert [loc for loc, _ in place] == [("cases", 2, "name"), ("cases", 3, "name")]
    assert all("Case 1" in message for _, message in place)


@pytest.mark.parametrize(("own", "of_the_suite", "trials"), [(None, 3, 3), (2, 3, 2), (None, 1, 1)])
def test_a_case_may_have_its_own_number_of_trials(
    own: int | None, of_the_suite: int, trials: int
) -> None:
    spec = suite(case(trials=own), trials=of_the_suite)

    assert spec.trials_of(spec.cases[0]) == trials


@pytest.mark.parametrize(
    ("written", "fixtures"),
    [("shop", ["shop"]), (["b", "a", "b"], ["a", "b"]), ([], [])],
    ids=["one", "several in any order", "none"],
)
def test_fixtures_are_one_or_several(written: object, fixtures: list[str]) -> None:
    assert suite(fixtures=written).fixtures == fixtures


@pytest.mark.parametrize(
    ("changes", "loc"),
    [
        pytest.param({"trials": 101}, "trials", id="too many trials"),
        pytest.param({"concurrency": 0}, "concurrency", id="nobody at work"),
        pytest.param({"min_pass_rate": 0}, "min_pass_rate", id="a rate of 0 demands nothing"),
        pytest.param({"pass_rule": "any"}, "pass_rule", id="unknown rule"),
        pytest.param({"gates": {"min_score": 2}}, "gates.min_score", id="score above 1"),
        pytest.param({"gates": {"max_p95_ms": math.inf}}, "gates.max_p95_ms", id="no bound"),
        pytest.param({"gates": {"max_cost_usd": "1"}}, "gates.max_cost_usd", id="a text"),
        ({"gates": {"max_regressions": -1}}, "gates.max_regressions"),
        pytest.param({"judge_context": "{{x}}"}, "judge_context", id="unknown variable"),
        pytest.param({"run_rule": "gates"}, "run_rule", id="gates decide, but there are none"),
        pytest.param({"rubric": "- x\n" * 401}, "rubric", id="a rubric nobody could judge"),
        pytest.param({"rubric_weight": 1.1}, "rubric_weight", id="more than all"),
        pytest.param({"rubric_weight": -0.1}, "rubric_weight", id="less than nothing"),
        pytest.param({"slug": "Not A Slug"}, "slug", id="slug"),
        pytest.param({"assertions": [{"type": "x"}]}, "assertions.0.type", id="default check"),
        pytest.param({"cases": None}, "cases", id="no list of cases"),
    ],
)
def test_suites_that_are_refused(changes: dict[str, Any], loc: str) -> None:
    ((place, _),) = errors_in(SuiteSpec, suite().model_dump() | changes)

    assert ".".join(map(str, place)) == loc


def test_the_rubric_of_a_suite_is_a_check_that_passes_at_its_threshold() -> None:
    check = suite(rubric="- Polite", rubric_weight=0.3, pass_threshold=0.6).rubric_check

    assert check is not None
    assert (check.type, check.label) == ("rubric", "Rubric of the suite")
    assert (check.weight, check.threshold) == (0.3, 0.6)
    assert suite().rubric_check is None


@pytest.mark.parametrize(
    "gates",
    [
        {"min_score": 0.1},
        {"min_pass_rate": 0.5},
        {"max_p95_ms": 0},
        {"max_cost_per_call_usd": 0},
        {"max_cost_usd": 0.5},
    ],
)
def test_one_gate_is_enough_for_gates_to_decide(gates: dict[str, float]) -> None:
    assert suite(run_rule="gates", gates=gates).scores_decide


def test_a_suite_is_read_back_as_it_was() -> None:
    spec = suite(
        case(turn(expected="hi", assertions=[CHECK, INFORMS], inherit=True), turn("More")),
        assertions=[{"type": "llm-rubric", "criteria": "Kind", "model": "agent"}],
        judge_model="scripted/judge",
        gates={"min_score": 1},
    )

    assert SuiteSpec.model_validate(spec.model_dump()) == spec
    assert SuiteSpec.model_validate(spec.model_dump(exclude_unset=True)) == spec
    assert SuiteSpec.model_validate_json(spec.model_dump_json()) == spec


GATES = {"run_rule": "gates", "gates": {"min_score": 0.5}}


@pytest.mark.parametrize(
    ("written", "changes", "nothing"),
    [
        pytest.param(case(turn(assertions=[CHECK])), {}, False, id="a check"),
        pytest.param(case(turn()), {}, True, id="no check at all"),
        pytest.param(case(turn()), {"assertions": [CHECK]}, False, id="a default check"),
        pytest.param(case(turn(assertions=[])), {"assertions": [CHECK]}, True, id="unscored turn"),
        pytest.param(case(turn(), final_assertions=[CHECK]), {}, False, id="a final check"),
        pytest.param(case(turn(), limits={"max_time_ms": 5}), {}, False, id="a limit"),
        pytest.param(case(turn(assertions=[SHOWN_ONLY])), {}, True, id="only a weight of 0"),
        (case(turn(assertions=[CHECK | {"enabled": False}])), {}, True),
        pytest.param(case(turn(assertions=[INFORMS])), {}, True, id="only informs"),
        pytest.param(case(turn()), {"rubric": "- Polite"}, False, id="a rubric of the suite"),
        pytest.param(case(turn()), {"rubric": " \n"}, True, id="a blank one"),
        (case(turn()), {"rubric": "- Polite", "rubric_weight": 0}, True),
        (case(turn(assertions=[INFORMS | {"threshold": 0.5}])), {}, False),
        pytest.param(case(turn(assertions=[INFORMS])), GATES, False, id="informs, gates decide"),
        (case(turn(assertions=[INFORMS])), {"pass_rule": "score"}, False),
        pytest.param(case(turn(assertions=[SHOWN_ONLY])), GATES, True, id="weight 0, gates decide"),
        (case(turn()), {"assertions": [NEEDS_EXPECTED]}, True),
        (case(turn(expected="x")), {"assertions": [NEEDS_EXPECTED]}, False),
    ],
)
def test_a_case_in_which_nothing_could_decide_is_found(
    written: dict[str, Any], changes: dict[str, Any], *, nothing: bool
) -> None:
    spec = suite(written, **changes)

    assert spec.asserts_nothing(spec.cases[0]) is nothing


@pytest.mark.parametrize(
    ("model", "written"),
    [
        pytest.param(TurnSpec, {"user": " \n"}, id="message"),
        pytest.param(AssertionSpec, {"type": "llm_judge", "criteria": " "}, id="criteria"),
        pytest.param(AssertionSpec, {"type": "tool_called", "value": " "}, id="tool"),
    ],
)
def test_nothing_but_spaces_is_refused_and_was_stored_once(
    model: type[Any], written: dict[str, Any]
) -> None:
    assert len(errors_in(model, written)) == 1
    assert model.model_validate(written, context=FROZEN)
