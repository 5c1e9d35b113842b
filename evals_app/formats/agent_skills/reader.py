"""Evals of a skill: each is a case, each expectation a criterion of its own.

Source: https://agentskills.io/skill-creation/evaluating-skills
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import Field

from evals_app.engine.basics.template import escape_braces
from evals_app.engine.specs.files import (
    MAX_FILES,
    MAX_TURN_BYTES,
    FileSpec,
    content_problem,
    sha256_of,
)
from evals_app.formats.agent_skills import DIALECT, is_of_scenarios
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.draft import Draft, cut_texts
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.parts import judge_check
from evals_app.formats.foreign.shapes import (
    Foreign,
    ReaderContext,
    first_words,
    slug_of,
)
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import sounds_like_check
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json

Text = Annotated[str, Field(min_length=1)]

_NOT_READ = (
    "This evals.json is that of another maker: its `checks`, `mock_scripts` and `fixture` are about a "
    "sandbox with skills and files, and are not read here. Expected entries with `expectations`."
)
_TRIGGER = (
    "Whether a skill starts does not show in a reply, so it is not checked. If the agent has a tool "
    "that loads skills, write tool_called or tool_not_called."
)
_PATTERNS = "Patterns are not part of Agent Skills. Write them as matches or not_matches."
_BACKGROUND = "What the author of this test describes as a good result:\n{}"
_DESCRIBED = "The reply matches this description of a good result:\n{}"
_NO_TEXT = "Expected a sentence that a judge can decide, or a mapping with `text` or `description`."
_NO_LIST = "Expected a list of sentences that a judge can decide."
_NO_SENTENCE = "Nothing here is a sentence that a judge can decide, so this check is left out."
_MISSING = "This file is not in the import. Import the whole folder of the skill to attach it."
_UNREADABLE = (
    "A file of this kind, or without content, cannot be shown to an agent. It is left out."
)
_TOO_MANY = "A message shows at most 10 files of 30 MB together. This one is left out."
# The keys under which criteria are written, and those of the sentence in a mapping.
_CRITERIA = ("expectations", "assertions", "expected_behavior")
_SENTENCE = ("text", "description", "assertion", "expectation", "criteria", "criterion")


class _File(Foreign):
    overlooks = True

    skill_name: Text | None = None
    description: str = ""
    evals: Annotated[list[object], Field(min_length=1, description="The evals.")]


class _Eval(Foreign):
    overlooks = True
    lost = {
        "should_trigger": _TRIGGER,
        "must_have": _PATTERNS,
        "must_not_have": _PATTERNS,
        "skills": "The agent is chosen when you import, with the skills that it has.",
    }
    lost_checks = ("should_trigger", "must_have", "must_not_have")

    id: int | str | None = None
    name: str | None = None
    category: Text | None = None
    tags: list[Text] = Field(default_factory=list)
    prompt: Text | None = None
    query: Text | None = None
    expected_output: str | list[str] | None = None
    expectations: object = None
    assertions: Any = None
    expected_behavior: object = None
    files: Any = None


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read evals of skills."""
    for document in documents:
        reading = ForeignFile(document, around, cut_texts(document))
        if is_of_scenarios(document.data):
            reading.say((), _NOT_READ, value="")
            yield reading.remarks(DIALECT.name)
        else:
            yield from _suite(reading)


def _suite(reading: ForeignFile) -> Iterator[Draft]:
    root, document = Spot(reading), reading.document
    written = root.part(_File)
    folder = reading.around.project(document)
    name = (written and written.skill_name) or folder or reading.around.file_name(document)
    yield from suite_drafts(
        DIALECT.name,
        root,
        Placed(name, root.at("skill_name")),
        [Placed(_case(spot), spot) for spot in root.at("evals").entries()],
        slug=slug_of(name, instead=slug_of(folder)),
        description=written.description if written else "",
    )


def _case(spot: Spot) -> Json:
    written = spot.part(_Eval) or _Eval(prompt="unread")
    asked = (written.prompt or written.query or "").strip()
    if not asked:
        spot.say("The key `prompt` is missing: what the user says.")
    asked = asked or "unread"
    key = "query" if written.prompt is None else "prompt"
    checks = list(_criteria(spot))
    output = written.expected_output or ""
    described = (output if isinstance(output, str) else "\n".join(output)).strip()
    if described and not checks:
        judged = judge_check(_DESCRIBED.format(described))
        checks, described = [Placed(judged, spot.at("expected_output"))], ""
    turn: Json = {"user": Placed(escape_braces(asked), spot.at(key)), "assertions": checks}
    if described:
        turn["context"] = [_BACKGROUND.format(described)]
    if files := _files(spot.at("files")):
        turn["files"] = files
    return {
        "name": first_words((written.name or "").strip() or asked),
        "description": "" if written.id is None else f"id: {written.id}",
        "tags": list(dict.fromkeys([*filter(None, [written.category]), *written.tags])),
        "turns": [turn],
    }


def _criteria(spot: Spot) -> Iterator[Placed]:
    """Return what is to be judged, under whichever of its names."""
    for key in _CRITERIA:
        here = spot.at(key)
        if here.value in (None, "", [], {}):
            continue
        if not isinstance(here.value, list):
            here.say(_NO_LIST)
        for entry in here.entries():
            if (check := _criterion(entry)) is not None:
                yield Placed(check, entry)


def _criterion(spot: Spot) -> Json | None:
    """Return the check of an expectation; what else is written about it is lost."""
    written = spot.value
    if isinstance(written, str) and written.strip():
        return judge_check(written.strip())
    if not isinstance(written, dict):
        spot.say(_NO_TEXT)
        return None
    texts = {key: text for key, text in written.items() if isinstance(text, str) and text.strip()}
    key = next((key for key in _SENTENCE if key in texts), None)
    if key is None:
        spot.lose(_NO_SENTENCE, checks=1)
        return None
    for other in written.keys() - {key, "id", "name"}:
        message = f"`{other}` of an expectation is left out. A judge decides by its sentence."
        spot.at(other).lose(message, checks=int(sounds_like_check(other)))
    name = {"name": first_words(texts["name"])} if "name" in texts else {}
    return {**judge_check(texts[key].strip()), **name}


def _files(spot: Spot) -> list[Json]:
    """Return the files that can be shown, found from the folder of the skill; report the others."""
    attached = spot.reading.around.attached
    here = PurePosixPath(spot.document.path).parent
    folders = ("..", ".") if here.name in ("evals", "") else (".", "..")
    found: dict[str, Json] = {}
    size = 0
    for entry in spot.entries() if isinstance(spot.value, list) else [spot]:
        path = entry.value
        if path in (None, "", {}):
            continue
        content, name = None, ""
        if isinstance(path, str) and path.isprintable():
            name = PurePosixPath(path.replace("\\", "/")).as_posix().removeprefix("../")
            places = (f"{folder}/{name}" for folder in folders)
            contents = (spot.reading.around.content(spot.document, place) for place in places)
            content = next((item for item in contents if item is not None), None)
        if content is None:
            entry.lose(_MISSING)
        elif not _can_be_shown(name, content):
            entry.lose(_UNREADABLE)
        elif len(found) == MAX_FILES or size + len(content) > MAX_TURN_BYTES:
            entry.lose(_TOO_MANY)
        else:
            size += len(content)
            sha256 = sha256_of(content)
            attached.contents[sha256] = content  # it may be above the folder of this file
            found[name] = {"path": name, "sha256": sha256}
    return list(found.values())


def _can_be_shown(name: str, content: bytes) -> bool:
    try:
        FileSpec(path=name)
        return content_problem(name, content) is None
    except ValueError:
        return False
