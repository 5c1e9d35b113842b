"""The Copilot Studio dialect: test sets as CSV, and evaluation documents of Microsoft 365 Copilot."""

from collections.abc import Sequence

from evals_app.formats.dialect import Dialect, rows_under
from evals_app.formats.foreign.words import plain
from evals_app.formats.tables import is_spreadsheet

METHODS = ("test method type", "testing method")
ASKED = ("prompt", "question")
_OF_DOCUMENT = {"schemaVersion", "default_evaluators"}
_OF_ITEMS = {"expected_response", "evaluators", "evaluators_mode"}
_TITLES = 20  # rows that may be above the header


def header_row(rows: Sequence[Sequence[str]]) -> int | None:
    """Return the row of a sheet that has the headers of a test set; None: it is not one."""
    for n, row in enumerate(rows[:_TITLES]):
        headers = set(map(plain, row))
        if headers & set(METHODS) and headers & set(ASKED):
            return n
    return None


def _is_certain(path: str, data: object) -> bool:
    if is_spreadsheet(path):
        sheets = data.values() if isinstance(data, dict) else ()
        return any(header_row(rows) is not None for rows in sheets)
    items = [item for item in rows_under(data, "items") if {"prompt", "turns"} & item.keys()]
    return isinstance(data, dict) and (
        (bool(items) and bool(_OF_DOCUMENT & data.keys()))
        or any(_OF_ITEMS & item.keys() for item in items)
    )


DIALECT = Dialect(
    name="copilot-studio",
    title="Copilot Studio",
    page="coming-from-copilot-studio",
    about=(
        "A test set as .csv with the columns Prompt, Expected response, Test Method Type and Passing "
        "Score. Also the evaluation document (.json) of a Microsoft 365 Copilot agent."
    ),
    sample=(
        (
            "Refund questions.csv",
            """\
Prompt,Expected response,Test Method Type,Passing Score
I want my money back.,Refunds take five days.,CompareMeaning,70
When are you open?,,GeneralQuality,
What is the number of the help desk?,"040 5511, Hamburg",KeywordMatch,
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    # In a folder other tables may be anything, so test sets are named one by one.
    files=("evals/prompts.json",),
    is_certain=_is_certain,
)
