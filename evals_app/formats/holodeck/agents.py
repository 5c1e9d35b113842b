"""The agent that a file describes."""

import re
from dataclasses import dataclass

from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.prompt_variables import with_plain_variables
from evals_app.formats.foreign.reply_formats import format_settings
from evals_app.formats.foreign.shapes import SourcePlaces
from evals_app.formats.holodeck.models import SCRIPTED, ModelTranslator
from evals_app.formats.holodeck.shapes import AgentFile, Instructions
from evals_app.formats.holodeck.source import HolodeckFile
from evals_app.formats.reading.parsed_file import Node, ParsedFile
from evals_app.formats.reading.problems import Loc
from fixtures_app.ground.words import near

_HEADING = re.compile(r"\A---[ \t]*\r?\n.*?\n---[ \t]*\r?(?:\n|\Z)", re.DOTALL)

# The keys of a file that describe its agent.
_OF_AGENTS = ("model", "instructions", "tools")

# What to do about each kind of tool.
_SEARCH = (
    "put the texts that it searches into test data, as passages, and give the agent knowledge.search, "
    "or give it an HTTP tool that queries your index"
)
_PYTHON = (
    "give the agent a tool of this name with canned answers or an HTTP tool, or call the whole "
    "agent as Python (driver python)"
)
_MODEL = "give the agent a tool of this name with canned answers, or an HTTP tool"
_INSTEAD = {
    "vectorstore": _SEARCH,
    "hierarchical_document": _SEARCH,
    "function": _PYTHON,
    "mcp": "ask your administrator to set up the server (EVALS_MCP_SERVERS), then give the agent {mcp: "
    "NAME, tools: [...]}",
    "prompt": _MODEL,
    "hosted": _MODEL,
    "skill": "write what it knows into the instructions",
}


@dataclass(frozen=True, slots=True)
class _Prompt:
    text: str
    document: ParsedFile
    loc: Loc


@dataclass(frozen=True, slots=True)
class HolodeckAgent:
    """The agent that a file is about: its slug, where that is, and its draft if it is new."""

    slug: str | None
    loc: Loc = ()
    draft: Draft | None = None
    is_replaced: bool = False  # by the one that the person who imports chooses


def read_agent(
    source: HolodeckFile, file: AgentFile | None, models: ModelTranslator, *, has_suite: bool
) -> HolodeckAgent:
    """Return the agent that a file is about, read from the file if it is described there."""
    if has_suite and source.around.agent is not None:
        return _chosen_agent(source, source.around.agent)
    if file is not None and file.model is not None and file.model.provider == SCRIPTED:
        for key in ("instructions", "tools"):
            if getattr(file, key):
                message = f"The scripted agent {file.model.name} follows its own rules. Left out."
                source.say((key,), message, level="loss", at_key=True)
        return HolodeckAgent(file.model.name, ("model", "name"))
    _report_tools(source)
    if any(source.value((key,)) is not None for key in ("model", "instructions")):
        return _own_agent(source, file, models)
    message = (
        "This file names no agent: it has no `model` and no `instructions`. Write them, or "
        "choose an existing agent when you import (--agent)."
    )
    source.say((), message)
    return HolodeckAgent(None)


def _chosen_agent(source: HolodeckFile, agent: str) -> HolodeckAgent:
    """Return the agent that the importing person chose; the agent in the file is lost."""
    has_own = False
    for key in _OF_AGENTS:
        if source.value((key,)) is not None:
            message = f"The suite tests {agent} because of --agent, so this is left out."
            source.say((key,), message, at_key=True, level="loss")
            has_own = True
    return HolodeckAgent(agent, is_replaced=has_own)


def _own_agent(
    source: HolodeckFile, file: AgentFile | None, models: ModelTranslator
) -> HolodeckAgent:
    if file is None:
        return _invalid_agent(source)
    for key in ("name", "model", "instructions"):
        if getattr(file, key) is None:
            message = f"The key `{key}` is missing: an agent has a name, a model and instructions."
            source.say((key,), message)
    prompt = None if file.instructions is None else _prompt(source, file.instructions)
    if file.name is None or file.model is None or prompt is None:
        return _invalid_agent(source)
    settings, problem = format_settings(file.response_format)
    if problem:
        source.say(("response_format",), problem, level="loss")
    document, slug = source.document, source.slug(file.name)
    data = {
        "agent": file.name,
        "slug": slug,
        "description": file.description or "",
        "driver": "model",
        "model": models.model_value(source, ("model",), file.model),
        "system_prompt": prompt.text,
        **settings,
    }
    places = SourcePlaces(document)
    places.note(("agent",), document, ("name",))
    places.note(("slug",), document, ("name",))
    places.note(("system_prompt",), prompt.document, prompt.loc)
    data, lost = with_plain_variables(data, "system_prompt", places)
    source.problems += lost
    draft = make_draft("agent", "holodeck", document, data, place=places)
    return HolodeckAgent(slug, ("name",), draft)


def _invalid_agent(source: HolodeckFile) -> HolodeckAgent:
    """Return an agent that others may refer to, though it cannot be read."""
    name = source.value(("name",))
    if not isinstance(name, str):
        return HolodeckAgent(None)
    document, slug = source.document, source.slug(name)
    draft = Draft("agent", "holodeck", document, {"slug": slug}, None, place=document.problem)
    return HolodeckAgent(slug, ("name",), draft)


def _prompt(source: HolodeckFile, written: str | Instructions) -> _Prompt | None:
    here: Loc = ("instructions",)
    if isinstance(written, str):
        return _Prompt(written, source.document, here)
    if (written.inline is None) == (written.file is None):
        source.say(here, "Write the instructions under `inline`, or name a `file` with them.")
        return None
    if written.inline is not None:
        return _Prompt(written.inline, source.document, (*here, "inline"))
    whole = source.text((*here, "file"))
    if whole is None:
        return None
    text = _HEADING.sub("", whole)
    document = ParsedFile(source.path(written.file or ""), text, Node(1, 1))
    if text != whole:
        message = "The heading between dashes is not part of the prompt. Left out."
        source.problems.append(document.problem((), message, value="", level="loss"))
    return _Prompt(text, document, ())


def _report_tools(source: HolodeckFile) -> None:
    for loc in source.rows(("tools",)):
        tool = source.value(loc)
        kind, name = (tool.get("type"), tool.get("name")) if isinstance(tool, dict) else ("", "")
        advice = _INSTEAD.get(kind) if isinstance(kind, str) else None
        if advice is None:
            hint = near(kind, _INSTEAD) if isinstance(kind, str) else ""
            message = f"Unknown type of tool.{hint} Known types: {', '.join(_INSTEAD)}."
            source.say((*loc, "type"), message)
            continue
        message = (
            f"The {kind} tool {name} does not run here, so the agent is tested without it: "
            f"{advice}. Cases that expect it fail until then."
        )
        source.say(loc, message, level="loss")
