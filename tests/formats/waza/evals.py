"""An eval of waza with its tasks."""

from typing import Any

EVAL: Any = {
    "name": "refund skill",
    "description": "Asks about refunds",
    "skill": "refunds",
    "config": {"trials_per_task": 2, "timeout_seconds": 120, "model": "gpt-5", "executor": "mock"},
    "graders": [{"type": "text", "name": "calm", "config": {"regex_not_match": ["(?i)error"]}}],
    "metrics": [{"name": "done", "weight": 1, "threshold": 0.8}],
    "tasks": ["tasks/*.yaml"],
}
TASK: Any = {
    "id": "late-01",
    "name": "Late money",
    "tags": ["shop"],
    "inputs": {
        "prompt": "Where is my {money}?",
        "follow_up_prompts": ["And the shoes?"],
        "files": [{"path": "bill.txt"}],
    },
    "expected": {
        "output_contains": ["friday"],
        "behavior": {
            "required_tools": ["entity.query"],
            "max_response_time_ms": 5000,
            "max_tokens": 9,
        },
    },
    "graders": [
        {"type": "prompt", "name": "tone", "weight": 2, "config": {"prompt": "Is it calm?"}}
    ],
}
