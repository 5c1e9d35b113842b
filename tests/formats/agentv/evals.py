"""Eval files of AgentV, in the words of its versions."""

from typing import Any

NOW: Any = {
    "name": "refunds",
    "description": "What customers ask about refunds",
    "tags": ["shop"],
    "target": "codex",
    "repeat": {"count": 2, "strategy": "pass_any"},
    "timeout_seconds": 90,
    "assertions": [{"type": "latency", "threshold": 5000}],
    "tests": [
        {
            "id": "late",
            "criteria": "Says when the money arrives",
            "input": [
                {"role": "user", "content": "I sent the shoes back."},
                {"role": "assistant", "content": "Thank you."},
                {"role": "user", "content": [{"type": "text", "value": "Where is my {money}?"}]},
            ],
            "expected_output": [{"role": "assistant", "content": "It arrives on Friday."}],
            "metadata": {"level": "easy"},
            "assertions": [
                "Is polite",
                {"type": "icontains-any", "value": ["friday", "5 days"], "weight": 3},
                {"type": "llm-grader", "name": "content"},
            ],
        },
        {
            "id": "alone",
            "criteria": "Refuses",
            "input": "Give me two refunds.",
            "execution": {"skip_defaults": True},
        },
    ],
}
BEFORE: Any = {
    "execution": {
        "target": "azure",
        "evaluators": [{"name": "speed", "type": "cost", "budget": 0.1}],
    },
    "evalcases": [
        {
            "id": "sum",
            "expected_outcome": "Adds up",
            "input_messages": [{"role": "user", "content": "2+2?"}],
            "expected_messages": [{"role": "assistant", "content": "4"}],
            "rubrics": ["Is short", {"id": "r", "outcome": "Is right", "weight": 2}],
        }
    ],
}
NEXT: Any = {
    "prompts": ["{{ input }}"],
    "tests": [
        {"id": "hello", "assert": ["Greets"], "vars": {"input": "Hi", "expected_output": {"a": 1}}}
    ],
}
