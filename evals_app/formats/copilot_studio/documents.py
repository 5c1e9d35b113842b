"""Evaluation documents of Microsoft 365 Copilot: items of one turn or several, with evaluators.

Source: https://github.com/microsoft/m365-copilot-eval, schema/v1/eval-document.schema.json
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from evals_app.engine.basics.template import escape_braces
from evals_app.formats.copilot_studio import DIALECT
from evals_app.formats.copilot_studio.methods import (
    COHERENT,
    COVERED,
    GROUNDED,
    RELEVANT,
    SAME_MEANING,
    judge_grade,
    judge_share,
)
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import (
    Foreign,
    first_words,
    slug_of,
)
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.problems import Json

Text = Annotated[str, Field(min_length=1)]
Grade = Annotated[float, Field(ge=1, le=5)]

_RESULT = "This is the result of an earlier run, so it is left out."
_RESULTS = dict.fromkeys(
    ("response", "citations", "scores", "diagnostics", "status", "error", "summary"), _RESULT
)
_FOR_TOOLS = "This says nothing about the conversation here, so it is left out."
_ALLOWED = "Which tools may be called is not read. Write tool_not_called for those that may not."
_CITATIONS = "Citations in replies are not counted here. Write a pattern for them, with matches."
_RETRIEVAL = "What Microsoft 365 searched is not seen here. Write tool_called or chunks_fetched."
_CUSTOM = "It is code or a prompt beside the document. Write it as criteria of a judge, or as code."
_NOTHING_EXPECTED = (
    "It compares with `expected_response`, and there is none. This check is left out."
)
_NOT_COMPARED = (
    "No evaluator compares the reply with `expected_response`, as in Microsoft 365. Judges of the "
    "others read it. To compare, add Similarity."
)
_PARTIAL = (
    "PartialMatch is read as a judge's estimate of how much of the expected response is there."
)
_LOST = {"Citations": _CITATIONS, "RetrievalQuery": _RETRIEVAL, "RetrievalResult": _RETRIEVAL}
_JUDGED = {
    "Relevance": RELEVANT,
    "Coherence": COHERENT,
    "Groundedness": GROUNDED,
    "Similarity": SAME_MEANING,
}
_COMPARE = ("Similarity", "ExactMatch", "PartialMatch")
# What runs where a document names no evaluator.
_USUAL: Json = {"Relevance": {}, "Coherence": {}}


class _Turn(Foreign):
    overlooks = True
    lost = {**_RESULTS, "extensions": _FOR_TOOLS, "allowed_tools": _ALLOWED}
    lost_checks = ("allowed_tools",)

    prompt: Annotated[Text, Field(description="What the user says.")]
    expected_response: str = ""
    context: str | None = None
    evaluators: object = None
    evaluators_mode: Literal["extend", "replace"] = "extend"
    tags: list[Text] = Field(default_factory=list)


class _Item(_Turn):
    name: str = ""
    testId: str = ""  # noqa: N815 - as it is written
    category: str = ""
    notes: str = ""


class _Thread(Foreign):
    overlooks = True
    lost = {**_RESULTS, "extensions": _FOR_TOOLS, "conversation_id": _FOR_TOOLS}

    name: str = ""
    description: str = ""
    testId: str = ""  # noqa: N815 - as it is written
    category: str = ""
    notes: str = ""
    turns: Annotated[list[Any], Field(min_length=1, description="The messages of the user.")]
    tags: list[Text] = Field(default_factory=list)


class _Metadata(Foreign):
    overlooks = True

    name: str = ""
    description: str = ""
    tags: list[Text] = Field(default_factory=list)


class _Document(Foreign):
    overlooks = True

    schema_: Annotated[object, Field(alias="$schema")] = None  # only for editors
    schemaVersion: str = ""  # noqa: N815 - as it is written
    description: str = ""
    metadata: _Metadata = _Metadata()
    default_evaluators: object = None
    items: Annotated[list[Any], Field(min_length=1, description="What is asked.")]


class _Judged(Foreign):
    threshold: Grade = 3


class _Exact(Foreign):
    case_sensitive: bool = False


class _Partial(Foreign):
    lost = {"case_sensitive": "A judge overlooks upper and lower case. Left out."}

    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5


class _Call(Foreign):
    overlooks = True
    lost = {"arguments": "Only the tool is checked, not its arguments."}
    lost_checks = ("arguments",)

    tool: Text


def read_document(reading: ForeignFile) -> Iterator[Draft]:
    """Return the suite of an evaluation document."""
    root = Spot(reading)
    written = root.part(_Document)
    metadata = written.metadata if written else _Metadata()
    name = metadata.name or reading.around.file_name(reading.document)
    yield from suite_drafts(
        DIALECT.name,
        root,
        Placed(name, root.at("metadata", "name")),
        [Placed(_case(spot), spot) for spot in root.at("items").entries()],
        slug=slug_of(name, instead="evaluation"),
        description=metadata.description or (written.description if written else ""),
        tags=metadata.tags,
    )


def _case(spot: Spot) -> Json:
    item: _Item | _Thread
    if isinstance(spot.value, dict) and "turns" in spot.value:
        item = spot.part(_Thread) or _Thread(turns=["unread"])
        entries = list(spot.at("turns").entries())
        parts = [(entry, entry.part(_Turn) or _Turn(prompt="unread")) for entry in entries]
        description = item.description
    else:
        item = spot.part(_Item) or _Item(prompt="unread")
        parts, description = [(spot, item)], ""
    turns = [_turn(entry, written) for entry, written in parts]
    said = [description, item.notes, f"testId: {item.testId}" if item.testId else ""]
    tags = [item.category, *item.tags, *(tag for _, part in parts for tag in part.tags)]
    asked = parts[0][1].prompt if parts else "unread"
    return {
        "name": first_words(item.name.strip() or asked),
        "description": "\n".join(filter(None, said)),
        "tags": list(dict.fromkeys(filter(None, tags))),
        "turns": turns or [{"user": "unread"}],
    }


def _turn(spot: Spot, written: _Turn) -> Json:
    expected = written.expected_response.strip()
    evaluators = _evaluators(spot, replaces=written.evaluators_mode == "replace")
    checks = [
        Placed(check, where)
        for name, where in evaluators.items()
        for check in _checks(name, where, expected)
    ]
    if expected and not any(name in evaluators for name in _COMPARE):
        spot.at("expected_response").say(_NOT_COMPARED, level="guess", value="")
    asked = Placed(escape_braces(written.prompt), spot.at("prompt"))
    turn: Json = {"user": asked, "assertions": checks}
    if expected:
        turn["expected"] = Placed(expected, spot.at("expected_response"))
    if written.context and written.context.strip():
        turn["context"] = [written.context]
    return turn


def _evaluators(spot: Spot, *, replaces: bool) -> dict[str, Spot]:
    """Return the evaluators of a turn by their names: the document's, and its own instead or too."""
    root = Spot(spot.reading)
    own = _by_name(spot.at("evaluators"))
    if replaces:
        return own
    shared = root.at("default_evaluators")
    usual = {name: shared.at(name) for name in _USUAL}
    return {**(usual if shared.value is None else _by_name(shared)), **own}


def _by_name(spot: Spot) -> dict[str, Spot]:
    """Return evaluators by their names, from a mapping of their options or from a list of names."""
    written = spot.value
    if isinstance(written, dict):
        return {name: spot.at(name) for name in written}
    found = {}
    for entry in spot.entries():
        if isinstance(entry.value, str):
            found[entry.value] = entry
        elif isinstance(entry.value, dict) and len(entry.value) == 1:
            name = next(iter(entry.value))
            found[name] = entry.at(name)
        else:
            entry.say("Expected the name of an evaluator, perhaps with its options below it.")
    if written is not None and not isinstance(written, list):
        spot.say("Expected evaluators by their names, each with its options.")
    return found


def _checks(name: str, spot: Spot, expected: str) -> list[Json]:
    """Return the checks that an evaluator is; report what is lost."""
    if name in ("ToolCallSelection", "ToolCallExecution"):
        calls = [call.part(_Call) for call in spot.at("calls").entries()]
        return [{"type": "tool_called", "value": call.tool} for call in calls if call]
    if name not in _JUDGED and name not in _COMPARE:
        spot.lose(f"{name} is left out. {_LOST.get(name, _CUSTOM)}", checks=1)
        return []
    if name in _COMPARE and not expected:
        spot.lose(f"{name} is left out. {_NOTHING_EXPECTED}", checks=1)
        return []
    if name in _JUDGED:
        judged = _options(spot, _Judged)
        return [judge_grade(_JUDGED[name], judged.threshold)]
    if name == "ExactMatch":
        exact = _options(spot, _Exact)
        ways = {"case_insensitive": not exact.case_sensitive, "strip_whitespace": True}
        return [{"type": "exact_match", **ways}]
    spot.say(_PARTIAL, level="guess", value="")
    return [judge_share(COVERED, _options(spot, _Partial).threshold)]


def _options(spot: Spot, shape: Any) -> Any:
    """Read the options of an evaluator; without any it has its usual ones."""
    if not isinstance(spot.value, dict) and (spot.value is None or isinstance(spot.value, str)):
        return shape()
    return spot.part(shape) or shape()
