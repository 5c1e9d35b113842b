"""A dataset of pydantic-evals."""

from typing import Any

DATASET: Any = {
    "name": "opening hours",
    "cases": [
        {
            "name": "sunday",
            "inputs": {"question": "Open on Sunday?", "city": "Graz", "days": [1, 2]},
            "expected_output": {"open": False},
            "metadata": {"level": "easy", "seen": 2},
            "evaluators": [{"LLMJudge": "Names the city"}],
        },
        {"inputs": "Open {today}?", "expected_output": "Yes"},
        {"inputs": "And tomorrow?"},
    ],
    "evaluators": ["EqualsExpected", {"MaxDuration": {"seconds": 2.5}}],
}
