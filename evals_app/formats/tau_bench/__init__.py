"""The tau-bench dialect: `tasks.json` of tau²-bench and of benchmarks in its form."""

from collections.abc import Mapping
from typing import Any

from evals_app.formats.dialect import Dialect, rows_under

_CRITERIA = {"actions", "env_assertions", "communicate_info", "nl_assertions", "reward_basis"}
_LOOKED_AT = 10  # rows


def is_of_instructions(row: object) -> bool:
    """Whether a row is a task of the first tau-bench: instructions to a user, and calls."""
    return (
        isinstance(row, dict)
        and isinstance(row.get("instruction"), str)
        and bool({"user_id", "outputs"} & row.keys())
        and isinstance(actions := row.get("actions"), list)
        and all(isinstance(action, dict) and "name" in action for action in actions)
    )


def results_in(data: object) -> bool:
    """Whether data is a file of simulations that were run, which repeats its tasks."""
    return isinstance(data, dict) and "simulations" in data and any(map(_is_task, _rows(data)))


def _rows(data: object) -> list[Any]:
    return data if isinstance(data, list) else [data, *rows_under(data, "tasks")]


def _is_task(row: object) -> bool:
    if not isinstance(row, dict):
        return False
    criteria, scenario = row.get("evaluation_criteria"), row.get("user_scenario")
    has_scenario = isinstance(scenario, dict) and "instructions" in scenario
    is_judged = isinstance(criteria, Mapping) and bool(_CRITERIA & criteria.keys())
    return (has_scenario and "id" in row) or is_judged


def _is_certain(_path: str, data: object) -> bool:
    rows = _rows(data)[:_LOOKED_AT]
    return any(_is_task(row) or is_of_instructions(row) for row in rows)


DIALECT = Dialect(
    name="tau-bench",
    title="tau-bench",
    page="coming-from-tau-bench",
    about=(
        "A tasks.json of tau²-bench. Tasks without a ticket become cases whose user a model plays. The "
        "agent has to exist here."
    ),
    sample=(
        (
            "domains/shop/tasks.json",
            """\
[
  {
    "id": "late_refund",
    "description": {"purpose": "The refund is late."},
    "ticket": "Customer ada_12 has waited for the refund of order 7 since Monday.",
    "evaluation_criteria": {
      "actions": [
        {"action_id": "a", "name": "get_order", "arguments": {"order_id": 7}, "compare_args": []}
      ],
      "communicate_info": ["Friday"],
      "reward_basis": ["ACTION", "COMMUNICATE"]
    }
  }
]
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    files=("domains/*/tasks.json", "domains/*/tasks_*.json", "domains/*/tasks/*.json"),
    is_certain=_is_certain,
)
