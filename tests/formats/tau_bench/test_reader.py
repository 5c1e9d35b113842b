"""Tasks of tau-bench."""

import json
from typing import Any

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, NoAgent
from tests.formats.tau_bench.tasks import ASKED, ENDLESS, MESSAGES, OLD, PLAYED, TICKET

KNOWN = ExistingObjects(agents={"desk": "http"})
PATH = "domains/hotel/tasks.json"


def read(data: Any, path: str = PATH, agent: str | None = "desk") -> Imported:
    content = json.dumps(data).encode()
    return read_files([SourceFile(path, content)], known=KNOWN, agent=agent)


def suite(data: Any, path: str = PATH) -> dict[str, Any]:
    (located,) = read(data, path).suites
    dumped: dict[str, Any] = located.spec.model_dump(mode="json", exclude_defaults=True)
    return dumped


def losses(imported: Imported) -> dict[str, int]:
    return {loss.keys: loss.checks for loss in imported.losses}


def with_criteria(**criteria: Any) -> dict[str, Any]:
    return {"id": "a", "ticket": "Hi", "evaluation_criteria": criteria}


def errors(data: Any, agent: str | None = "desk") -> list[Any]:
    with pytest.raises(FormatError) as caught:
        read(data, agent=agent)
    return [problem for problem in caught.value.problems if problem.level == "error"]


def test_a_ticket_is_what_the_user_says_and_all_that_decides_is_checked() -> None:
    assert suite([TICKET]) == {
        "suite": "hotel tasks",
        "slug": "hotel-tasks",
        "agent": "desk",
        "cases": [
            {
                "name": "no_key[PERSONA:None]",
                "description": "The key card fails.\n\nRoom 7 has a {{new}} lock.",
                "turns": [
                    {
                        "user": "Ada Byron cannot open \\{{room}} 7 with her card.",
                        "assertions": [
                            {
                                "type": "tool_called",
                                "value": "find_guest",
                                "args": {"fullName": "Ada Byron", "floor": 2},
                                "args_match": "exact",
                            },
                            {"type": "tool_called", "value": "make_card"},
                            {
                                "type": "tool_called",
                                "value": "log",
                                "args": {
                                    "data": '{"room": 7}',
                                    "level": {"contains": "x"},
                                    "by": {"present": False},
                                },
                            },
                            {"type": "tool_called", "value": "wait", "args_match": "exact"},
                            {
                                "type": "numeric",
                                "value": "1250",
                                "extract": "any",
                                "decimal": "point",
                            },
                            {"type": "contains", "value": "front desk"},
                            {"type": "contains", "value": "A7", "whole_words": True},
                            {"type": "llm_judge", "criteria": "The agent apologises."},
                        ],
                    }
                ],
            }
        ],
    }


def test_everything_else_is_lost_by_its_key_with_the_checks_that_decide_there() -> None:
    imported = read([TICKET])

    criteria = "[0].evaluation_criteria"
    assert losses(imported) == {
        "[0].user_scenario": 0,
        "[0].user_tools": 0,
        "[0].initial_state.initialization_data": 0,
        "[0].initial_state.initialization_actions": 0,
        f"{criteria}.actions[0].info": 0,
        f"{criteria}.actions[2].arguments.data": 0,
        f"{criteria}.actions[4]": 1,
        f"{criteria}.env_assertions[0]": 1,
        f"{criteria}.reward_basis": 1,
    }
    (warning,) = imported.warnings
    assert warning.keys == f"{criteria}.actions[2].arguments.level.contains"


@pytest.mark.parametrize(
    ("basis", "kinds", "lost"),
    [
        pytest.param({}, ["contains"], 1, id="by default the database and what is said"),
        pytest.param({"reward_basis": ["COMMUNICATE"]}, ["contains"], 0, id="what is said"),
        pytest.param({"reward_basis": ["ACTION"]}, ["tool_called"], 0, id="calls"),
        pytest.param({"reward_basis": ["NL_ASSERTION"]}, ["llm_judge"], 0, id="sentences"),
        pytest.param({"reward_basis": ["ENV_ASSERTION", "TONE"]}, [], 2, id="what is not known"),
        pytest.param({"reward_basis": []}, [], 0, id="nothing"),
    ],
)
def test_only_what_the_reward_basis_names_is_checked_or_a_lost_check(
    basis: dict[str, Any], kinds: list[str], lost: int
) -> None:
    task = with_criteria(
        actions=[{"action_id": "x", "name": "f", "arguments": {}}],
        env_assertions=[{"func_name": "g"}],
        communicate_info=["Friday"],
        nl_assertions=["It is kind."],
        **basis,
    )

    imported = read([task])

    (turn,) = imported.suites[0].spec.cases[0].turns
    assert [check.type for check in turn.assertions or []] == kinds
    assert sum(losses(imported).values()) == lost
    undecided = [loss for loss in imported.losses if "decides nothing" in loss.message]
    assert len(undecided) + len(kinds) + ("ENV_ASSERTION" in str(basis)) == 4


def test_a_model_plays_the_user_of_a_task_without_messages_in_a_suite_of_its_own() -> None:
    scenario = {"persona": "Calm", "instructions": "You are Ada. You want {{more}}."}
    imported = read([TICKET, {**PLAYED, "user_scenario": scenario}])

    written, played = (located.spec for located in imported.suites)
    assert (written.suite, played.suite) == ("hotel tasks", "hotel tasks, simulated")
    (case,) = played.cases
    assert case.simulated_user is not None
    assert case.simulated_user.goal == ("persona: Calm\nYou are Ada. You want {{more}}.")
    assert [turn.user for turn in case.turns] == ["Hello"]
    assert [(check.type, check.scope) for check in case.final_assertions] == [
        ("numeric", "conversation")
    ]
    (guess,) = [note for note in imported.guesses if note.keys.endswith("user_scenario")]
    assert "Hello" in guess.message


def test_a_file_whose_users_are_all_played_is_one_suite() -> None:
    assert suite([PLAYED])["suite"] == "hotel tasks"


def test_messages_that_end_with_the_users_are_sent_and_others_need_a_user() -> None:
    imported = read([ASKED, ENDLESS])

    (case,) = imported.suites[0].spec.model_dump(mode="json", exclude_defaults=True)["cases"]
    assert (case["name"], case["turns"][0]["user"]) == ("1", "May I stay until two?")
    assert case["history"] == [
        {"role": "user", "content": "Hello \\{{you}}"},
        {"role": "assistant", "content": "What is it?"},
    ]
    assert losses(imported) == {
        "[0].user_scenario": 0,
        "[0].initial_state.message_history": 0,
        "[0].evaluation_criteria": 1,
        "[0].evaluation_criteria.actions[0]": 0,
        "[1].evaluation_criteria": 1,
        "[1].evaluation_criteria.nl_assertions[0]": 0,
        "[1].user_scenario": 1,
    }


def test_a_warning_about_a_check_has_its_place() -> None:
    (warning,) = read([with_criteria(communicate_info=["Friday", "['a', 'b']"])]).warnings

    assert warning.keys == "[0].evaluation_criteria.communicate_info[1]"


@pytest.mark.parametrize("length", [2, 4], ids=["a call", "a question"])
def test_a_ticket_is_sent_instead_of_messages_that_end_with_the_agents(length: int) -> None:
    task = {**TICKET, "initial_state": {"message_history": MESSAGES[:length]}}

    imported = read([task])

    (case,) = imported.suites[0].spec.cases
    assert (case.history, case.turns[0].user[:9]) == ([], "Ada Byron")
    assert losses(imported)["[0].initial_state.message_history"] == 0


@pytest.mark.parametrize("rows", [[ENDLESS], [OLD, ENDLESS], {"tasks": [OLD]}, ENDLESS])
def test_tasks_whose_conversations_nothing_would_end_are_refused(rows: Any) -> None:
    (problem,) = errors(rows)

    assert "No task of this file can be run" in problem.message


def test_simulations_are_refused_by_name_and_an_agent_is_asked_for() -> None:
    (problem,) = errors({"tasks": [TICKET], "simulations": []})

    assert "results, not tasks" in problem.message
    assert any(isinstance(problem, NoAgent) for problem in errors([TICKET], agent=None))


def test_what_many_tasks_lose_in_the_same_way_is_one_line_with_its_number() -> None:
    rows = [{**PLAYED, "id": str(n), "ticket": f"Ticket {n}"} for n in range(5)]

    imported = read(rows)

    assert {(loss.keys, loss.checks) for loss in imported.losses} == {
        ("[0].user_scenario", 0),
        ("[0].evaluation_criteria", 5),
        ("[0].evaluation_criteria.actions[0]", 0),
    }
    assert all("5 places" in loss.message for loss in imported.losses)


@pytest.mark.parametrize(
    "data", [TICKET, {"tasks": [TICKET]}], ids=["one task in a file", "under tasks"]
)
def test_a_file_may_hold_one_task_or_have_them_under_a_key(data: Any) -> None:
    assert len(suite(data, "domains/hotel/tasks/no_key.json")["cases"]) == 1


def test_names_that_are_long_and_begin_alike_stay_apart() -> None:
    rows = [{**TICKET, "id": "x" * 250 + end} for end in "ab"]

    assert [case["name"] for case in suite(rows)["cases"]] == ["x" * 190, "x" * 190 + " (2)"]


@pytest.mark.parametrize(
    ("task", "keys"),
    [
        ({**TICKET, "id": None}, "[0]"),
        ({**TICKET, "ticket": 5}, "[0].ticket"),
        (with_criteria(communicate_info=[5]), "[0].evaluation_criteria.communicate_info[0]"),
        (
            with_criteria(actions=[{"nam": "f"}], reward_basis=["ACTION"]),
            "[0].evaluation_criteria.actions[0]",
        ),
        (
            {**TICKET, "initial_state": {"message_history": [5]}},
            "[0].initial_state.message_history",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(task: Any, keys: str) -> None:
    assert keys in {problem.keys for problem in errors([task])}


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        pytest.param([TICKET], "tau-bench", id="list"),
        pytest.param([OLD], "tau-bench", id="the first one"),
        pytest.param([{"id": 1, "evaluation_criteria": "Is kind", "input": "x"}], "table", id="text"),
        pytest.param([{"instruction": "x", "output": "y"}], "table", id="instructions"),
        pytest.param([{"instruction": "x", "user_id": 1, "actions": ["a"]}], "table", id="names"),
        pytest.param([{"user_scenario": "x", "question": "y"}], "table", id="a column"),
        pytest.param([{"scenario": "x", "expected_outcome": "y"}], "deepeval", id="scenario"),
        pytest.param({"skill": "x", "config": {}, "tasks": [{"id": "y"}]}, "waza", id="waza"),
        pytest.param({"eval_cases": [{"eval_id": "x", "conversation": []}]}, "adk", id="ADK"),
    ],
)  # fmt: skip
def test_only_tasks_are_read_as_such(data: Any, dialect: str) -> None:
    assert foreign_dialect("tasks.json", data) == dialect
