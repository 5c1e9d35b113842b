"""The Agent Skills dialect: `evals.json` in the folder `evals` of a skill."""

from evals_app.formats.dialect import Dialect, rows_under

_OURS = {"expectations", "assertions", "expected_output", "should_trigger"}
_ANOTHER = {"checks", "mock_scripts", "fixture", "scenario_name"}


def _is_certain(_path: str, data: object) -> bool:
    """Whether data has evals with prompts and what is expected of each, or looks like its namesake."""
    if not isinstance(data, dict) or not (
        {"skill_name", "scenario_name"} & data.keys() or "evals" in data
    ):
        return False
    rows = rows_under(data, "evals")
    return any(
        ("prompt" in row and _OURS & row.keys()) or {*row, *data} >= _ANOTHER for row in rows
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
