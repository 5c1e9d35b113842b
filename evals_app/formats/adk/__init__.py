"""The ADK dialect: `*.evalset.json` and `*.test.json` of Google's Agent Development Kit."""

from evals_app.formats.dialect import Dialect, rows_under

_SETS = ("eval_cases", "evalCases")
_OF_CASES = {"eval_id", "evalId", "conversation", "conversation_scenario", "conversationScenario"}
_USES = ("expected_tool_use", "expectedToolUse")


def _is_certain(path: str, data: object) -> bool:
    """Whether it is a set of cases, or a list of turns as it was before."""
    if isinstance(data, dict):
        return any(_OF_CASES & row.keys() for key in _SETS for row in rows_under(data, key))
    turns = [turn for row in _mappings(data) for turn in (row, *_mappings(row.get("data")))]
    is_test = path.endswith(".test.json")
    return any(
        "query" in turn and (is_test or any(_are_uses(turn.get(key)) for key in _USES))
        for turn in turns
    )


def _mappings(data: object) -> list[dict[str, object]]:
    return [row for row in data[:10] if isinstance(row, dict)] if isinstance(data, list) else []


def _are_uses(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(use, dict) and {"tool_name", "toolName"} & use.keys() for use in value
    )


DIALECT = Dialect(
    name="adk",
    title="ADK",
    page="coming-from-adk",
    about=(
        "An eval set of Google's Agent Development Kit (*.evalset.json or *.test.json), with the "
        "eval_config.json or test_config.json beside it. Its agent has to exist here."
    ),
    sample=(
        (
            "refunds.evalset.json",
            """\
{
  "eval_set_id": "refunds",
  "eval_cases": [
    {
      "eval_id": "asks_for_a_refund",
      "conversation": [
        {
          "user_content": {"role": "user", "parts": [{"text": "I want my money back."}]},
          "final_response": {"role": "model", "parts": [{"text": "Your refund is on its way."}]}
        }
      ]
    }
  ]
}
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    files=("*.evalset.json", "*.test.json"),
    is_certain=_is_certain,
)
