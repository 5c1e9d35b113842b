"""The DeepEval dialect: goldens, of one turn or of conversations, as JSON and as tables."""

from collections.abc import Collection

from evals_app.formats.dialect import Dialect, rows_under
from evals_app.formats.foreign.words import plain
from evals_app.formats.tables import is_spreadsheet

LISTS = ("goldens", "conversational_goldens", "conversationalGoldens")
# Beside `input`, and beside `scenario`: other data sets do not have these.
_OF_GOLDENS = {
    *("actual output", "expected tools", "tools called", "additional metadata", "source file"),
    "retrieval context",
}
_OF_SCENARIOS = {"expected outcome", "user description"}
_OF_RESULTS = {"metrics data", "actual output", "success"}
_LOOKED_AT = 10  # rows


def are_goldens(keys: Collection[str]) -> bool:
    """Whether these are keys or headers of goldens; ours have no underscores and no humps."""
    if not {"input", "scenario"} & set(keys) or any(" " in key.strip() for key in keys):
        return False
    words = set(map(plain, keys))
    of_golden = "input" in words and _OF_GOLDENS & words
    return bool(of_golden or ("scenario" in words and _OF_SCENARIOS & words))


def results_in(data: object) -> bool:
    """Whether data is a saved test run."""
    run = data.get("testRunData", data) if isinstance(data, dict) else None
    return isinstance(run, dict) and any(
        len(_OF_RESULTS & set(map(plain, row))) > 1
        for key in ("testCases", "test_cases", "conversationalTestCases")
        for row in rows_under(run, key)
    )


def _is_certain(path: str, data: object) -> bool:
    if is_spreadsheet(path):
        sheets = data.values() if isinstance(data, dict) else ()
        return any(are_goldens(row) for rows in sheets for row in rows[:1])
    lists = [data] if isinstance(data, list) else []
    lists += [rows_under(data, key) for key in LISTS]
    rows = [row for rows in lists for row in rows[:_LOOKED_AT] if isinstance(row, dict)]
    return results_in(data) or any(map(are_goldens, rows))


DIALECT = Dialect(
    name="deepeval",
    title="DeepEval",
    page="coming-from-deepeval",
    about=(
        "Goldens as a .json or .csv file, of one turn or of conversations. The agent has to exist "
        "here. For metrics, add checks to the suite."
    ),
    sample=(
        (
            "goldens.json",
            """\
[
  {
    "input": "How many days does a refund take?",
    "expected_output": "5",
    "retrieval_context": ["Refunds take 5 days."],
    "additional_metadata": {"topic": "refunds"}
  }
]
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    files=("goldens.json", "goldens.csv"),
    is_certain=_is_certain,
)
