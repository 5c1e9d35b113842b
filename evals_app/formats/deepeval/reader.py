"""Read goldens: each is a case. A conversation has a turn for each message of the user.

Source: the documentation of DeepEval, "Datasets" and "Single-turn" and "Multi-turn" goldens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from evals_app.engine.basics.template import escape_braces
from evals_app.formats.deepeval import LISTS, are_goldens, results_in
from evals_app.formats.deepeval.sheets import first_row, rows_of
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.calls import expected_call
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.parts import MAX_TAG_CHARS, judge_check, tags_of
from evals_app.formats.foreign.plain_keys import with_plain_keys
from evals_app.formats.foreign.shapes import (
    Foreign,
    ReaderContext,
    first_words,
)
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import plain
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json
from evals_app.formats.tables.answers import AnswerChecks, labels_in
from evals_app.formats.tables.table import Table
from fixtures_app.ground.written_data import data_in

Text = Annotated[str, Field(min_length=1)]

_VERBATIM = ("additional_metadata", "custom_column_key_values", "input_parameters")
_CONTEXTS = ("context", "retrieval context")
# In a cell these are JSON.
_DATA = (
    "expected tools",
    "tools called",
    "turns",
    "additional metadata",
    "custom column key values",
)
_OLD = "This is of an earlier run, and the agent answers by itself here. Left out."
_RESULTS = (
    "This is a saved test run of DeepEval: results, not goldens. Import the goldens that it was made "
    "of (goldens.json or goldens.csv)."
)
_SIMULATED = (
    "A model plays the user of this scenario: it has no turn of a user. Here that needs a check by code "
    "that ends the conversation: write the case in the editor, under User. Left out."
)
_NOTHING_LEFT = (
    "No golden of this file can be run. A model plays the user of a scenario that has no turn of a "
    "user; here that needs a check by code that ends the conversation."
)
_NOT_READ = "The sheet {} has no goldens and was not read."
_OUTCOME = "The conversation has this outcome: {}"


class _Golden(Foreign):
    """What both kinds have."""

    overlooks = True

    name: str = ""
    comments: str = ""
    context: list[Text] = []
    additional_metadata: Json = {}
    custom_column_key_values: Json = {}


class _Question(_Golden):
    lost = {"actual_output": _OLD, "tools_called": _OLD}

    input: Annotated[Text, Field(description="What the user says.")]
    expected_output: str = ""
    retrieval_context: list[Text] | None = None
    expected_tools: list[object] = []
    source_file: str = ""

    @property
    def title(self) -> str:
        return self.input


class _Scenario(_Golden):
    scenario: Annotated[Text, Field(description="What the conversation is about.")]
    expected_outcome: str = ""
    user_description: str = ""
    turns: list[object] = []

    @property
    def title(self) -> str:
        return self.scenario


class _Turn(Foreign):
    overlooks = True
    lost = {"tools_called": _OLD, "retrieval_context": _OLD}

    role: str
    content: str = ""


class _Tool(Foreign):
    overlooks = True
    lost = {"output": _OLD}

    name: Text
    description: str = ""
    reasoning: str = ""
    input: Json = {}
    input_parameters: Json = {}


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read goldens; each file is a suite."""
    for document in documents:
        reading = ForeignFile(document, around)
        if results_in(document.data):
            reading.say((), _RESULTS, value="")
            yield reading.remarks("deepeval")
            continue
        if isinstance(document, Table):
            document = _of_sheets(document, reading)  # noqa: PLW2901 - its rows
        document = replace(document, data=_unpack_rows(document.data))  # noqa: PLW2901 - as JSON
        goldens = with_plain_keys(document, verbatim=_VERBATIM)
        yield from _read(Spot(ForeignFile(goldens, around, reading.problems)))


def _of_sheets(table: Table, reading: ForeignFile) -> ParsedFile:
    """Return the rows of the first sheet of goldens."""
    names = [name for name, rows in table.data.items() if are_goldens(_headers(rows))]
    name = names[0] if names else next(iter(table.data))
    for other in (*(name for name in table.data if name not in names[:1]), *table.unseen):
        if other != name:
            reading.problems.append(
                table.problem((other,), _NOT_READ.format(other), level="warning")
            )
    document, problems = rows_of(table, name)
    reading.problems += problems
    return document


def _headers(rows: list[list[str]]) -> list[str]:
    first = first_row(rows)
    return [] if first is None else rows[first]


def _read(root: Spot) -> Iterator[Draft]:
    reading, data = root.reading, root.value
    lists = (
        [root] if isinstance(data, list) else [root.at(key) for key in LISTS if root.at(key).value]
    )
    spots = [spot for rows in lists for spot in rows.entries() if spot.value]
    answers = [spot.value.get("expected_output") for spot in spots if isinstance(spot.value, dict)]
    compared = AnswerChecks(
        reading.around.tables.checks, labels_in([text for text in answers if isinstance(text, str)])
    )
    cases = [
        Placed(case, spot) for n, spot in enumerate(spots) if (case := _case(spot, n, compared))
    ]
    if not cases and reading.is_valid:
        root.say(_NOTHING_LEFT, value="")
    for kind, met in compared.met.items():
        at = spots[met[0][0]].at("expected_output")
        at.say(compared.sentence(kind), level="guess", value="")
    yield from suite_drafts("deepeval", root, reading.around.file_name(root.document), cases)


def _unpack_rows(data: object) -> object:
    """Read lists and mappings that are written as text; a list of passages may have bars."""
    if isinstance(data, list):
        return [_unpack_rows(row) if isinstance(row, dict) else row for row in data]
    if not isinstance(data, dict):
        return data
    return {
        key: _unpack_rows(value) if key in LISTS else _data(plain(key), value)
        for key, value in data.items()
    }


def _data(word: str, value: Any) -> Any:
    if not isinstance(value, str) or word not in (*_CONTEXTS, *_DATA):
        return value
    data = data_in(value)
    if data is None and word in _CONTEXTS:
        return [part.strip() for part in value.split("|") if part.strip()]
    return value if data is None else data


def _case(spot: Spot, n: int, compared: AnswerChecks) -> Json | None:
    """Read a golden; None if it cannot be asked here."""
    is_talk = isinstance(spot.value, dict) and "scenario" in spot.value
    golden = spot.part(_Scenario) if is_talk else spot.part(_Question)
    if golden is None:
        return {"name": "unread", "turns": [{"user": "unread"}]}
    if isinstance(golden, _Scenario):
        texts = [golden.scenario, golden.user_description, golden.comments]
        case, source = _talk(spot, golden), ""
    else:
        texts, source = [golden.comments], golden.source_file
        case = _question(spot, golden, n, compared)
    if case is None:
        return None
    tags = [f"source_file={source}"[:MAX_TAG_CHARS]] if source else []
    for key in ("additional_metadata", "custom_column_key_values"):
        tags += tags_of(spot.at(key), getattr(golden, key))
    return {
        "name": golden.name or first_words(golden.title),
        "description": "\n\n".join(filter(None, texts)),
        "tags": list(dict.fromkeys(tags)),
        **case,
    }


def _question(spot: Spot, golden: _Question, n: int, compared: AnswerChecks) -> Json:
    expected = golden.expected_output
    checks = compared.checks_for(expected, (n, 0)) if expected.strip() else []
    turn: Json = {"user": escape_braces(golden.input), "context": golden.context}
    if expected.strip() and not compared.drops_text(checks):
        turn["expected"] = expected
    if golden.retrieval_context is not None:
        turn["retrieval_context"] = golden.retrieval_context
    if tools := list(filter(None, map(_tool, spot.at("expected_tools").entries()))):
        checks.append({"type": "tool_calls", "tools": tools})
    return {"turns": [turn | ({"assertions": checks} if checks else {})]}


def _tool(spot: Spot) -> Json | str | None:
    """Return an expected call: its name, with the arguments that are given."""
    if isinstance(spot.value, str) and spot.value:
        return spot.value
    tool = spot.part(_Tool)
    if tool is None:
        return None
    key = "input_parameters" if tool.input_parameters else "input"
    args = tool.input_parameters or tool.input
    return expected_call(tool.name, args or None, args_at=spot.at(key))


def _talk(spot: Spot, golden: _Scenario) -> Json | None:
    turns: list[Json] = []
    for at in spot.at("turns").entries():
        turn = at.part(_Turn)
        if turn is not None and turn.role == "user":
            turns.append({"user": escape_braces(turn.content) or "unread"})
            if not turn.content.strip():
                at.say("This turn has no content.", value="")
        elif turn is not None:
            at.at("content").lose(_OLD)
    if not turns:
        spot.at("scenario").say(_SIMULATED, level="loss", checks=1, value="")
        return None
    turns[-1]["context"] = golden.context
    outcome = golden.expected_outcome.strip()
    final = [{**judge_check(_OUTCOME.format(outcome)), "scope": "conversation"}] if outcome else []
    return {"turns": turns, "final_assertions": final}
