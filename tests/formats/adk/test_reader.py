"""Eval sets of ADK, new and old."""

import json
from typing import Any

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, NoAgent

KNOWN = ExistingObjects(agents={"desk": "http"})
SAME = {"type": "llm_judge", "criteria": "The reply says the same as the expected answer."}
OLD_TURNS: Any = [
    {"query": "Hello", "expected_tool_use": [], "reference": "Good morning, Ada."},
    {
        "query": "Book it",
        "expected_tool_use": [{"tool_name": "book", "tool_input": {"roomId": 7}}],
        "reference": "Booked.",
    },
]
TURN: dict[str, Any] = {
    "invocation_id": "e-1",
    "user_content": {"role": None, "parts": [{"text": "Book {{room}}", "thought": None}]},
    "final_response": {"parts": [{"text": "Hm", "thought": True}, {"text": "Booked."}]},
    "intermediate_data": {"tool_uses": [{"id": "x", "name": "book", "args": {"roomId": 7}}]},
}


def a_set(*turns: Any, **keys: Any) -> dict[str, Any]:
    case = {"eval_id": "books", "conversation": list(turns), **keys}
    return {"eval_set_id": "rooms", "name": "Rooms", "eval_cases": [case]}


def read(
    data: Any, config: Any = None, *, path: str = "e/rooms.evalset.json", agent: str | None = "desk"
) -> Imported:
    name = "e/test_config.json" if path.endswith(".test.json") else "e/eval_config.json"
    beside = {} if config is None else {name: json.dumps(config).encode()}
    source = SourceFile(path, json.dumps(data).encode())
    return read_files([source], known=KNOWN, agent=agent, find=beside.get)


def suite(data: Any, config: Any = None, **about: Any) -> dict[str, Any]:
    (located,) = read(data, config, **about).suites
    dumped: dict[str, Any] = located.spec.model_dump(mode="json", exclude_defaults=True)
    return dumped


def losses(imported: Imported) -> dict[str, int]:
    return {problem.keys: problem.checks for problem in imported.losses}


def calls(*tools: Any, **options: Any) -> dict[str, Any]:
    return {"type": "tool_calls", "tools": list(tools), **options}


BOOK = {"name": "book", "args": {"roomId": 7}, "args_match": "exact"}
EXACTLY = {"exact": True, "ordered": True}


def test_all_turns_of_an_old_list_are_one_conversation_and_it_says_so() -> None:
    imported = read(OLD_TURNS, path="e/talk.test.json")

    (case,) = suite(OLD_TURNS, path="e/talk.test.json")["cases"]
    assert (case["name"], [turn["user"] for turn in case["turns"]]) == (
        "talk",
        ["Hello", "Book it"],
    )
    assert [turn["expected"] for turn in case["turns"]] == ["Good morning, Ada.", "Booked."]
    assert case["turns"][0]["assertions"] == [calls(**EXACTLY), SAME]
    assert case["turns"][1]["assertions"] == [calls(BOOK, **EXACTLY), SAME]
    assert [guess.message for guess in imported.guesses] == [
        "The 2 turns of this file are one conversation, as ADK reads it."
    ]


@pytest.mark.parametrize(
    "state",
    [
        {"initial_session": {"state": {"floor": 2}, "app_name": "x"}},
        {"initial_state": {"session": {"state": {"floor": 2}}}},
        {"initial_state": {"session": {"floor": 2}}},
        {"initial_state": {"floor": 2}},
    ],
)
def test_older_lists_have_a_case_for_each_entry(state: dict[str, Any]) -> None:
    rows = [{"name": "one", "data": OLD_TURNS[:1], **state}, {"name": "two", "data": OLD_TURNS}]

    one, two = suite(rows, path="e/x.test.json")["cases"]

    assert (one["name"], len(one["turns"]), len(two["turns"])) == ("one", 1, 2)
    assert (one["context_params"], "context_params" in two) == ({"floor": 2}, False)


def test_a_set_has_what_is_said_expected_called_and_known() -> None:
    session = {"app_name": "hotel", "user_id": "ada", "state": {"floorId": 2, "cart": [1]}}
    rubrics = [{"rubric_id": "kind", "rubric_content": {"text_property": "It is kind."}}]
    bye = {"user_content": {"parts": [{"text": "Bye"}]}}

    read_suite = suite(a_set({**TURN, "rubrics": rubrics}, bye, session_input=session))

    assert (read_suite["suite"], read_suite["slug"]) == ("Rooms", "rooms")
    (case,) = read_suite["cases"]
    assert case["context_params"] == {"user_id": "ada", "floorId": 2, "cart": "[1]"}
    kind = {"type": "llm_judge", "name": "kind", "criteria": "It is kind."}
    assert case["turns"] == [
        {
            "user": "Book \\{{room}}",
            "expected": "Booked.",
            "assertions": [calls(BOOK, **EXACTLY), SAME, kind],
        },
        {"user": "Bye"},
    ]


def test_keys_in_camel_case_mean_the_same_and_are_named_as_written() -> None:
    data = {
        "evalCases": [
            {
                "evalId": "books",
                "conversation": [
                    {
                        "userContent": {"parts": [{"text": "Book it"}]},
                        "finalResponse": {"parts": [{"text": "Booked."}]},
                        "intermediateData": {"toolUses": [{"name": "book", "args": {"roomId": 7}}]},
                    }
                ],
                "finalSessionState": {"a": 1},
            }
        ]
    }

    (turn,) = suite(data)["cases"][0]["turns"]

    assert turn["assertions"] == [calls(BOOK, **EXACTLY), SAME]
    assert losses(read(data)) == {"evalCases[0].finalSessionState": 1}


def test_calls_of_events_are_expected_calls() -> None:
    parts = [{"text": "Let me see"}, {"functionCall": {"name": "book", "args": {"roomId": 7}}}]
    events = {"invocationEvents": [{"author": "desk", "content": {"parts": parts}}]}

    (case,) = suite(a_set({**TURN, "intermediate_data": events}))["cases"]

    assert case["turns"][0]["assertions"][0] == calls(BOOK, **EXACTLY)


RUBRIC = {"rubricId": "short", "rubricContent": {"textProperty": "It is short."}}
SHORT = {"type": "llm_judge", "name": "short", "criteria": "It is short."}
ROUGE = {"type": "rouge", "variant": "rouge1", "threshold": 0.4}


@pytest.mark.parametrize(
    ("criteria", "checks"),
    [
        ({"tool_trajectory_avg_score": 1.0}, [calls(BOOK, **EXACTLY)]),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "IN_ORDER"}},
            [calls(BOOK, ordered=True)],
        ),
        ({"tool_trajectory_avg_score": {"matchType": 2, "ignoreArgs": True}}, [calls("book")]),
        ({"final_response_match_v2": 1}, [SAME]),
        ({"response_match_score": 0.4}, [ROUGE]),
        ({"rubric_based_final_response_quality_v1": {"rubrics": [RUBRIC]}}, None),
    ],
)
def test_only_the_metrics_of_the_file_beside_it_decide(criteria: Any, checks: Any) -> None:
    read_suite = suite(a_set(TURN), {"criteria": criteria})

    assert read_suite["cases"][0]["turns"][0].get("assertions") == checks
    assert read_suite.get("assertions", []) == ([] if checks else [SHORT])
    assert read(a_set(TURN), {"criteria": criteria}).losses == []


def test_rubrics_of_trajectories_are_about_the_whole_conversation() -> None:
    criteria = {"rubric_based_multi_turn_trajectory_quality_v1": {"rubrics": [RUBRIC]}}

    (case,) = suite(OLD_TURNS, {"criteria": criteria}, path="e/x.test.json")["cases"]

    assert case["final_assertions"] == [{**SHORT, "scope": "conversation"}]


def test_what_has_no_equivalent_is_a_named_loss() -> None:
    judged = {"threshold": 0.8, "judge_model_options": {"num_samples": 5}}
    config = {
        "criteria": {"safety_v1": 0.8, "final_response_match_v2": judged},
        "custom_metrics": {"own": {"code_config": {"name": "a.b"}}},
    }
    picture = {"inline_data": {"mime_type": "image/png"}}
    turn = {
        "user_content": {"parts": [{"text": "Hi"}, picture]},
        "intermediate_data": {"intermediate_responses": [["a", [{"text": "Wait"}]]]},
        "mood": 1,
    }
    data = a_set(turn, final_session_state={"a": 1})
    scenario = {"eval_id": "played", "conversation_scenario": {"starting_prompt": "Hi"}}
    data["eval_cases"].append(scenario)

    imported = read(data, config)

    turn_at = "eval_cases[0].conversation[0]"
    assert losses(imported) == {
        "criteria.safety_v1": 1,
        "criteria.final_response_match_v2": 0,
        "criteria.final_response_match_v2.judge_model_options": 0,
        "custom_metrics": 1,
        f"{turn_at}.user_content.parts[1].inline_data": 0,
        f"{turn_at}.intermediate_data.intermediate_responses": 0,
        f"{turn_at}.mood": 0,
        "eval_cases[0].final_session_state": 1,
        "eval_cases[1].conversation_scenario": 1,
    }
    assert [case.name for case in imported.suites[0].spec.cases] == ["books"]


@pytest.mark.parametrize(
    ("data", "path", "keys"),
    [
        (a_set({"user_content": {"parts": []}}), "a.evalset.json", "[0].conversation[0]"),
        (a_set(), "a.evalset.json", "eval_cases[0]"),
        (a_set({**TURN, "rubrics": [{"rubricId": "x"}]}), "a.evalset.json", "rubrics[0]"),
        ({"eval_cases": [{"eval_id": 4, "conversation": [TURN]}]}, "a.json", "eval_id"),
        ([{"query": 4}], "a.test.json", "[0].query"),
        ([{"query": "x", "expected_tool_use": [{"tool_nam": "y"}]}], "a.test.json", "use[0]"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(data: Any, path: str, keys: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(data, path=path)

    errors = [problem for problem in caught.value.problems if problem.level == "error"]
    assert keys in {problem.keys[-len(keys) :] for problem in errors}
    assert all(problem.line == 1 and problem.column > 1 for problem in errors)


def test_a_set_whose_users_are_all_simulated_is_refused_and_an_agent_is_asked_for() -> None:
    scenario = {"eval_id": "played", "conversation_scenario": {"starting_prompt": "Hi"}}

    with pytest.raises(FormatError) as caught:
        read({"eval_cases": [scenario]}, agent=None)

    errors = [problem for problem in caught.value.problems if problem.level == "error"]
    assert any(isinstance(problem, NoAgent) for problem in errors)
    assert any("plays the user" in problem.message for problem in errors)


def test_arguments_that_look_like_matchers_are_named() -> None:
    steps = {"tool_uses": [{"name": "find", "args": {"filter": {"contains": "x"}}}]}

    (warning,) = read(a_set({**TURN, "intermediate_data": steps})).warnings

    assert warning.keys.endswith("tool_uses[0].args.filter.contains")


PROMPTFOO = {"prompts": ["x"], "tests": [{"vars": {"query": "x"}}]}


@pytest.mark.parametrize(
    ("path", "data", "dialect"),
    [
        ("a.json", a_set(TURN), "adk"),
        ("a.json", OLD_TURNS, "adk"),
        ("a.test.json", [{"query": "x", "reference": "y"}], "adk"),
        ("a.json", [{"query": "x", "reference": "y"}], "table"),
        ("a.json", [{"query": "x", "expected_tool_use": "find"}], "table"),
        ("a.json", {"eval_cases": [{"id": "x", "input": "y"}]}, "table"),
        ("a.json", [{"name": "x", "data": [{"input": "y"}]}], "table"),
        ("promptfooconfig.json", PROMPTFOO, "promptfoo"),
        ("x.suite.yaml", a_set(TURN), None),
    ],
)
def test_only_eval_sets_are_read_as_such(path: str, data: Any, dialect: str | None) -> None:
    assert foreign_dialect(path, data) == dialect
