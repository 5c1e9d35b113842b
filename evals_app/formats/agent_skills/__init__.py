"""The Agent Skills dialect: `evals.json` in the folder `evals` of a skill."""

from evals_app.formats.dialect import Dialect, rows_under

_JUDGED = {"expected_output", "expectations", "assertions", "expected_behavior", "should_trigger"}
_ASKED = {"prompt", "query"}


def is_of_scenarios(data: object) -> bool:
    """Whether a file is the one of the same name that describes scenarios with fixtures."""
    rows = rows_under(data, "evals")
    is_named = isinstance(data, dict) and "scenario_name" in data
    return bool(rows) and (is_named or any(isinstance(row.get("checks"), dict) for row in rows))


def _is_certain(_path: str, data: object) -> bool:
    rows = rows_under(data, "evals")
    is_named = isinstance(data, dict) and "skill_name" in data
    return (
        (bool(rows) and is_named)
        or any(_ASKED & row.keys() and _JUDGED & row.keys() for row in rows)
        or is_of_scenarios(data)
    )


DIALECT = Dialect(
    name="agent-skills",
    title="Agent Skills",
    page="coming-from-agent-skills",
    about=(
        "The file evals.json of a skill, or the folder of the skill as a .zip with the files that its "
        "prompts are about. A judge checks each expectation."
    ),
    sample=(
        (
            "evals/evals.json",
            """\
{
  "skill_name": "invoice-reader",
  "evals": [
    {
      "id": 1,
      "prompt": "What does the July invoice add up to?",
      "expected_output": "The total of the invoice with its currency.",
      "expectations": ["The reply names 84.20 euros", "The reply says which invoice it read"]
    }
  ]
}
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    files=("evals/evals.json",),
    is_certain=_is_certain,
)
