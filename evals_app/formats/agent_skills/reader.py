"""Read `evals.json`: each entry is a case of one turn, each expectation a criterion for a judge.

Source: the specification of Agent Skills, "Evaluating skills".
"""

import posixpath
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from evals_app.engine.basics.template import escape_braces
from evals_app.engine.specs.files import content_problem
from evals_app.formats.dialect import rows_under
from evals_app.formats.foreign.attached import own_folder
from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.losses import count_losses
from evals_app.formats.foreign.shapes import (
    Foreign,
    ReaderContext,
    SourcePlaces,
    distinct_names,
    first_words,
)
from evals_app.formats.foreign.suites import NOBODY, agent_problem
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Loc

Json = dict[str, Any]
Text = Annotated[str, Field(min_length=1)]

_ANOTHER = (
    "This evals.json is that of another maker: it checks with `checks`, `mock_scripts` or `fixture`, "
    "which are not read here. Expected entries with `prompt` and `expectations`."
)
_NO_FILE = "`{}` is not in this import, so it is not attached. Import the folder of the skill."
_UNREADABLE = "This file cannot be attached. {}"


class _Entry(Foreign):
    overlooks = True
    lost = {
        "should_trigger": "Whether a skill is used is not checked here. Check a tool call instead."
    }
    lost_checks = ("should_trigger",)

    id: int | str | None = None
    name: str = ""
    prompt: Annotated[Text, Field(description="What the user says.")]
    expected_output: str = ""
    files: list[Text] = []
    expectations: list[Text] = []
    assertions: list[Text] = []


class _Evals(Foreign):
    overlooks = True

    skill_name: str = ""
    evals: Annotated[list[object], Field(min_length=1, description="The evals of the skill.")]


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read files of evals; each is a suite."""
    for document in documents:
        reading = ForeignFile(document, around)
        rows = rows_under(document.data, "evals")
        if rows and not any("prompt" in row for row in rows):
            reading.say((), _ANOTHER, value="")
        else:
            yield _suite(reading)
        reading.problems = count_losses(reading.problems)
        yield reading.remarks("agent-skills")


def _suite(reading: ForeignFile) -> Draft:
    document, around = reading.document, reading.around
    written = reading.part(_Evals, ())
    skill = (written.skill_name if written else "") or around.file_name(document)
    slug = reading.slug(skill)
    places = SourcePlaces(document)
    places.note(("suite",), document, ("skill_name",))
    rows = reading.value(("evals",))
    count = len(rows) if isinstance(rows, list) else 0
    entries = [reading.part(_Entry, ("evals", n)) for n in range(count)]
    names = [_name(entry) for entry in entries]
    cases = [
        _case(reading, name, entry, n, places)
        for n, (name, entry) in enumerate(zip(distinct_names(names), entries, strict=True))
    ]
    for n, (case, entry) in enumerate(zip(cases, entries, strict=True)):
        if entry and (files := list(_files(reading, slug, entry, ("evals", n)))):
            case["turns"][0]["files"] = files
    data = {"suite": skill, "slug": slug, "agent": around.agent or NOBODY, "cases": cases}
    draft = make_draft("suite", "agent-skills", document, data, place=places)
    if around.agent is None:
        reading.problems.append(agent_problem(document))
        draft = draft.without_agent()
    return draft if reading.is_valid else draft.without_spec()


def _name(entry: _Entry | None) -> str:
    if entry is None:
        return "unread"
    return entry.name or first_words(entry.prompt)


def _case(
    reading: ForeignFile, name: str, entry: _Entry | None, n: int, places: SourcePlaces
) -> Json:
    here: Loc = ("evals", n)
    places.note(("cases", n), reading.document, here)
    if entry is None:
        return {"name": name, "turns": [{"user": "unread"}]}
    there: Loc = ("cases", n, "turns", 0)
    key = "expectations" if entry.expectations else "assertions"
    criteria = [*entry.expectations, *entry.assertions]
    turn: Json = {"user": escape_braces(entry.prompt)}
    if criteria and entry.expected_output:
        turn["context"] = [f"A good result is described as: {entry.expected_output}"]
    elif entry.expected_output:
        key = "expected_output"
        criteria = [f"The reply fits this description of a good result: {entry.expected_output}"]
    for k in range(len(criteria)):
        loc = (*here, key) if key == "expected_output" else (*here, key, k)
        places.note((*there, "assertions", k), reading.document, loc)
    turn["assertions"] = [
        {"type": "llm_judge", "scale": "pass_fail", "criteria": text} for text in criteria
    ]
    return {"name": name, "turns": [turn]}


def _problem(name: str, content: bytes) -> str | None:
    try:
        return content_problem(name, content)
    except ValueError as error:
        return str(error)


def _files(reading: ForeignFile, slug: str, entry: _Entry, here: Loc) -> Iterator[str]:
    """Attach the files of an entry, by their paths from the skill's folder or from the file's."""
    attached = reading.around.attached
    for n, written in enumerate(entry.files):
        path = posixpath.normpath(written.replace("\\", "/"))
        found = (reading.around.content(reading.document, f"{up}{path}") for up in ("", "../"))
        content = next((item for item in found if item is not None), None)
        loc = (*here, "files", n)
        if content is None or path.startswith(("/", "..")):
            reading.say(loc, _NO_FILE.format(posixpath.basename(path)), level="loss")
        elif problem := _problem(posixpath.basename(path), content):
            reading.say(loc, _UNREADABLE.format(problem), level="loss")
        else:
            attached.given.setdefault(reading.path(f"{own_folder(slug)}/{path}"), content)
            yield path
