"""The AgentV dialect: eval files in YAML with tests, each with an id and what it should achieve."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from evals_app.formats.dialect import Dialect, rows_under

_ACHIEVED = {"criteria", "expected_outcome", "outcome", "rubrics", "assertions", "assert"}
_OF_FILES = {"assertions", "assert", "execution", "target", "workspace"}
# Of configurations of promptfoo, whose tests may look the same.
_NOT_THEIRS = {"providers", "targets", "defaultTest", "redteam"}


def _is_test(row: Mapping[str, object], file: Mapping[str, object]) -> bool:
    variables = row.get("vars")
    asks = "input" in row or (isinstance(variables, dict) and "input" in variables)
    says = bool((_ACHIEVED | {"execution"}) & row.keys() or _OF_FILES & file.keys())
    return "id" in row and (("input_messages" in row) or (asks and says))


def _is_certain(path: str, data: object) -> bool:
    if not isinstance(data, dict) or PurePosixPath(path).stem == "promptfooconfig":
        return False
    if "evalcases" in data:
        return True
    if _NOT_THEIRS & data.keys():
        return False
    is_whole = isinstance(data.get("tests"), str) and bool(_OF_FILES & data.keys())
    return is_whole or any(_is_test(row, data) for row in rows_under(data, "tests"))


DIALECT = Dialect(
    name="agentv",
    title="AgentV",
    page="coming-from-agentv",
    about="Eval files with the cases, prompts and files that they name. The agent has to exist here.",
    sample=(
        (
            "evals/refunds.EVAL.yaml",
            """\
description: Refunds
tests:
  - id: asks-for-a-refund
    input: I want my money back.
    criteria: Says when the money arrives
    assertions:
      - {type: icontains, value: refund}
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    files=("*.EVAL.yaml", "*.EVAL.yml"),
    is_certain=_is_certain,
)
