"""Tasks of tau²-bench about a hotel."""

from typing import Any

# Solo mode: the agent gets a ticket, and every kind of criterion decides.
TICKET: Any = {
    "id": "no_key[PERSONA:None]",
    "description": {
        "purpose": "The key card fails.",
        "relevant_policies": None,
        "notes": "Room 7 has a {{new}} lock.",
    },
    "user_scenario": {
        "persona": None,
        "instructions": {
            "domain": "hotel",
            "reason_for_call": "Your key card does not open room 7.",
            "known_info": "You are Ada Byron.",
            "unknown_info": None,
            "task_instructions": "You stay polite.",
        },
    },
    "ticket": "Ada Byron cannot open {{room}} 7 with her card.",
    "initial_state": {
        "initialization_data": {"agent_data": {"cards": {"c1": {}}}, "user_data": None},
        "initialization_actions": [
            {"env_type": "user", "func_name": "lose_card", "arguments": {"card": "c1"}}
        ],
        "message_history": None,
    },
    "evaluation_criteria": {
        "actions": [
            {
                "action_id": "find_0",
                "requestor": "assistant",
                "name": "find_guest",
                "arguments": {"fullName": "Ada Byron", "floor": 2},
                "info": "By name",
                "compare_args": None,
            },
            {"action_id": "card_1", "name": "make_card", "arguments": {"x": 1}, "compare_args": []},
            {
                "action_id": "log_2",
                "name": "log",
                "arguments": {"data": '{"room": 7}', "level": {"contains": "x"}, "at": "noon"},
                "compare_args": ["data", "level", "by"],
            },
            {"action_id": "wait_3", "name": "wait", "arguments": {}},
            {"action_id": "try_4", "requestor": "user", "name": "try_door", "arguments": {}},
        ],
        "env_assertions": [
            {
                "env_type": "user",
                "func_name": "door_is_open",
                "arguments": {},
                "assert_value": True,
                "message": None,
            }
        ],
        "communicate_info": ["1250", "front desk", "A7", " "],
        "nl_assertions": ["The agent apologises."],
        "reward_basis": ["DB", "ENV_ASSERTION", "COMMUNICATE", "NL_ASSERTION", "ACTION"],
    },
    "user_tools": ["try_door"],
    "annotations": None,
}
# The user is simulated, and the usual criteria decide.
PLAYED: Any = {
    "id": "0",
    "description": None,
    "user_scenario": {"persona": "Calm", "instructions": "You are Ada. You want a late checkout."},
    "initial_state": None,
    "evaluation_criteria": {
        "actions": [{"action_id": "0_0", "name": "extend_stay", "arguments": {"hours": 2}}],
        "communicate_info": ["14"],
        "nl_assertions": None,
    },
}
# No check by code says when the goal of its user is reached.
ENDLESS: Any = {**PLAYED, "evaluation_criteria": {"nl_assertions": ["It is kind."]}}
MESSAGES: Any = [
    {"role": "user", "content": "Hello {{you}}"},
    {"role": "assistant", "content": None, "tool_calls": [{"name": "f", "arguments": {}}]},
    {"role": "tool", "content": "ok"},
    {"role": "assistant", "content": "What is it?", "tool_calls": None},
    {"role": "user", "content": "May I stay until two?"},
]
ASKED: Any = {**PLAYED, "id": "1", "initial_state": {"message_history": MESSAGES}}
# The first tau-bench.
OLD: Any = {
    "user_id": "ada_12",
    "instruction": "You are Ada. You want a late checkout.",
    "actions": [{"name": "extend_stay", "kwargs": {"hours": 2}}],
    "outputs": ["14"],
}
