"""The agents of a `lobu.toml`, and which of them an eval file tests.

An agent is created only if its slug does not exist yet: what people add to it here, especially
tools, is not in the file and must survive the next import.
"""

import posixpath
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field

from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.prompt_variables import with_plain_variables
from evals_app.formats.foreign.shapes import Foreign, ReaderContext, SourcePlaces
from evals_app.formats.reading.parsed_file import ParsedFile, decode_text
from evals_app.formats.reading.problems import FormatError, Loc

# The instructions of an agent, in this order, from files in its folder.
_PROMPTS = ("IDENTITY.md", "SOUL.md", "USER.md")
# Keys that identify an agent without describing how it works.
_KNOWN_BY = {"name", "description", "dir"}
# Its models have the names of their makers before them, which may be its own.
_ROUTER = "openrouter"

_NO_SANDBOX = "Agents have no sandbox here, so there is nothing to allow or to install. Left out."
_NO_CHANNEL = "Cases talk to the agent directly, not through a chat platform. Left out."
_KEY = "Keys stay in the environment. The provider holds the name of the variable. Left out."

Text = Annotated[str, Field(min_length=1)]


class _Provider(Foreign):
    overlooks = True
    lost = {"key": _KEY, "secret_ref": _KEY}

    id: Annotated[Text, Field(description="The provider, for example openrouter.")]
    model: Text | None = None


class _Agent(Foreign):
    overlooks = True
    lost = {
        "network": _NO_SANDBOX,
        "egress": _NO_SANDBOX,
        "worker": _NO_SANDBOX,
        "platforms": _NO_CHANNEL,
        "connections": _NO_CHANNEL,
        "preview": _NO_CHANNEL,
        "skills": "Skills and their MCP servers are left out. Give the agent `tools`. Your "
        "administrator sets up MCP servers (EVALS_MCP_SERVERS).",
        "tools": "An agent's own list of `tools` says which ones it may use. Left out.",
        "guardrails": "There are no guardrails between user and agent here. Left out.",
    }

    name: str = ""
    description: str = ""
    dir: Text | None = None
    providers: list[_Provider] = Field(default_factory=list)


class _Project(Foreign):
    overlooks = True
    lost = {"memory": "Agents do not remember anything from one case to the next. Left out."}

    agents: dict[str, object] = Field(default_factory=dict)


@dataclass(slots=True)
class LobuProject:
    """A lobu.toml: the folders of its agents by their ids, and what is made of it.

    Folders are whole paths: an import may begin anywhere in the project.
    """

    folder: PurePosixPath
    homes: dict[str, PurePosixPath] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)


def folder_of(path: str, around: ReaderContext) -> PurePosixPath:
    """Return the folder of a file as a whole path, as far as it is known."""
    return PurePosixPath(posixpath.normpath(posixpath.join(around.root, path))).parent


def read_project(
    document: ParsedFile, around: ReaderContext, folders: Collection[PurePosixPath]
) -> LobuProject:
    """Read a lobu.toml; `folders` are those of the files that are imported."""
    reading = ForeignFile(document, around)
    reading.part(_Project, ())
    project = LobuProject(folder_of(document.path, around))
    written = document.value(("agents",))
    for slug in written if isinstance(written, dict) else ():
        home = document.value(("agents", slug, "dir"))
        home = home if isinstance(home, str) else f"agents/{slug}"
        shown = reading.path(home)
        project.homes[slug] = folder = folder_of(f"{shown}/evals", around)
        if folder.parent.name != "agents" and folder / "evals" not in folders:
            message = (
                "Evals are only found automatically in agents/*/evals. Name the files of "
                f"{shown}/evals when you import."
            )
            reading.say(("agents", slug, "dir"), message, level="warning")
        project.drafts += _agent(reading, slug, home)
    project.drafts.append(reading.remarks("lobu"))
    return project


@dataclass(frozen=True, slots=True)
class TestedAgent:
    """The agent that an eval file tests, and the one to which it belongs by its folder, if any."""

    agent: str | None
    home: str | None = None


def tested_by(path: str, projects: Sequence[LobuProject], around: ReaderContext) -> TestedAgent:
    """Return the agent that an eval file tests: the one it names, or the one of its folder.

    Otherwise it is the first agent of the lobu.toml; None if there is none.
    """
    folder = folder_of(path, around)
    above = [project for project in projects if folder.is_relative_to(project.folder)]
    homes = max(above, key=lambda item: len(item.folder.parts)).homes if above else {}
    if folder.name == "evals":
        for slug, home in homes.items():
            if home == folder.parent:
                return TestedAgent(around.agent or slug, slug)
        if folder.parent.parent.name == "agents":
            return TestedAgent(around.agent or folder.parent.name, folder.parent.name)
    return TestedAgent(around.agent or next(iter(homes), None))


def _agent(reading: ForeignFile, slug: str, home: str) -> Iterator[Draft]:
    loc: Loc = ("agents", slug)
    document, around = reading.document, reading.around
    if around.agent is not None:
        message = f"The suites test {around.agent} because of --agent, so this one is left out."
        reading.say(loc, message, at_key=True, level="loss")
        return
    if slug in around.agents:
        written = document.value(loc)
        if isinstance(written, dict) and written.keys() - _KNOWN_BY:
            message = f"The agent {slug} already exists and stays as it is. This one is left out."
            reading.say(loc, message, at_key=True, level="loss")
        return
    agent = reading.part(_Agent, loc)
    if agent is None:
        yield Draft("agent", "lobu", document, {"slug": slug}, None)
        return
    named = [n for n, provider in enumerate(agent.providers) if provider.model]
    position = next((n for n in named if agent.providers[n].id in around.providers), None)
    if position is None:
        missing = ", ".join(agent.providers[n].id for n in named)
        reason, advice = "No `model` is named in its providers", "name one"
        if named:
            reason = f"There is no provider {missing} here"
            advice = f"add a provider with the slug {missing}"
        message = (
            f"{reason}, so no agent is made from this. Either {advice}, write {slug}.agent.yaml, "
            "or choose another agent when you import (--agent)."
        )
        # Shown with errors, too: an eval of it finds no agent.
        reading.say(loc, message, at_key=True, level="warning")
        return
    for n in range(len(agent.providers)):
        if n != position:
            message = "An agent has one model here, without a substitute. Left out."
            reading.say((*loc, "providers", n), message, level="loss")
    yield _agent_draft(reading, slug, home, agent, position)


def _agent_draft(reading: ForeignFile, slug: str, home: str, agent: _Agent, position: int) -> Draft:
    document, loc = reading.document, ("agents", slug)
    places = SourcePlaces(document, loc)
    here = (*loc, "providers", position)
    places.note(("model",), document, (*here, "model"))
    places.note(("model", "provider"), document, (*here, "id"))
    places.note(("agent",), document, (*loc, "name"))
    places.note(("system_prompt",), document, (*loc, "dir"))
    provider = agent.providers[position]
    name = provider.model or ""
    if provider.id != _ROUTER:
        name = name.removeprefix(f"{provider.id}/")
    data = {
        "agent": agent.name or slug,
        "slug": slug,
        "description": agent.description,
        "driver": "model",
        "model": {"provider": provider.id, "name": name},
        "system_prompt": _prompt(reading, home),
    }
    data, lost = with_plain_variables(data, "system_prompt", places)
    reading.problems += lost
    return make_draft("agent", "lobu", document, data, place=places)


def _prompt(reading: ForeignFile, home: str) -> str:
    """Join the instructions in an agent's folder."""
    texts = []
    for name in _PROMPTS:
        path = f"{home}/{name}"
        content = reading.around.content(reading.document, path)
        try:
            texts.append(decode_text(reading.path(path), content or b"").strip())
        except FormatError as error:
            reading.problems += error.problems
    return "\n\n".join(filter(None, texts))
