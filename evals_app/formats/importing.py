"""Read many files at once: all of them, or everything that is wrong with any of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.spec import ProviderSpec
from evals_app.engine.suite import SuiteSpec
from evals_app.formats import agentura, holodeck, lobu, openai_evals, promptfoo, struere, tables
from evals_app.formats.attached import Attached, FindFile, FindPaths, is_shown, nothing_beside
from evals_app.formats.detect import (
    EVAL_SUFFIXES,
    EXPECTED,
    foreign_dialect,
    is_json,
    is_native_fixture,
    is_readable,
    is_spreadsheet,
    kind_of,
    lobu_agent,
    project_folder,
    suite_dialect,
)
from evals_app.formats.document import MAX_VALUES, Document, json_document, values_in
from evals_app.formats.draft import (
    MAX_PARTS,
    TOO_MANY_PARTS,
    Draft,
    hollow_parts,
    informing,
    parts_in,
)
from evals_app.formats.foreign import Around, Read
from evals_app.formats.json_lines import read_json_lines
from evals_app.formats.json_source import read_json
from evals_app.formats.kinds import Dialect, Kind
from evals_app.formats.naming import Holdings, check_names
from evals_app.formats.native import read_native
from evals_app.formats.problems import FormatError, Level, Problem
from evals_app.formats.references import (
    DeclaredType,
    Known,
    check_fixtures,
    check_references,
    check_slugs,
    declared_types,
    open_types,
    unsound_types,
)
from evals_app.formats.streaming import streaming_warnings
from evals_app.formats.toml_source import read_toml
from evals_app.formats.yaml_source import read_yaml
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

S = TypeVar("S", bound=BaseModel)

# Dialects of other systems, each read as a whole: their files refer to each other.
_FOREIGN: dict[Dialect, Read] = {
    "agentura": agentura.read,
    "lobu": lobu.read,
    "holodeck": holodeck.read,
    "promptfoo": promptfoo.read,
    "openai-evals": openai_evals.read,
    "table": tables.read,
}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to import; the path is shown to people and tells the project folder."""

    path: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SourceData:
    """What a program sends instead of a file, JSON already; the path tells what it describes."""

    path: str
    data: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Located(Generic[S]):
    """A spec, and where it was read."""

    spec: S
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Imported:
    """Everything that an import holds, what is allowed in it but hardly meant, and what it loses."""

    providers: list[Located[ProviderSpec]] = field(default_factory=list)
    agents: list[Located[AgentSpec]] = field(default_factory=list)
    suites: list[Located[SuiteSpec]] = field(default_factory=list)
    fixtures: list[Located[FixtureSpec]] = field(default_factory=list)
    entity_types: list[Located[EntityTypeSpec]] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    losses: list[Problem] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class _File:
    """A file that can be read, and what it describes; a foreign one describes several objects."""

    document: Document
    kind: Kind | None
    dialect: Dialect


def read_files(
    files: Sequence[SourceFile | SourceData],
    *,
    dialect: Dialect | None = None,
    known: Known | None = None,
    find: FindFile = nothing_beside,
    find_paths: FindPaths = lambda _: (),
    agent: str | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    root: str = "",
) -> Imported:
    """Read files into specs; `known` is what exists already and may be referred to.

    What files name beside themselves is among the files, or `find` finds it by its path, and
    `find_paths` those that fit a pattern. `agent` is
    the slug of the agent for foreign files that name none; `environment` stands for `${NAME}` in
    dialects that know it: empty, unless whoever imports may see it. `root` is the folder, as a
    whole path, in which the paths of the files begin.

    Raises:
        FormatError: with every problem of every file.
    """
    known = known or Known()
    problems: list[Problem] = []
    unread: dict[Kind, list[str]] = {}
    given = {each.path: each.content for each in files if isinstance(each, SourceFile)}
    attached = Attached(given, find, find_paths, known.size_of)
    read = _classified(files, dialect, problems, unread)
    agents = frozenset({*known.agents, *_native_slugs(read, "agent"), *unread.get("agent", ())})
    providers = frozenset({*known.providers, *_native_slugs(read, "provider")})
    around = Around(attached, agent, environment, agents, providers, root)
    drafts = list(_bounded(_drafts(read, around, known)))
    drafts = list(map(attached.attach, drafts))
    # What another file names is a part of that, even if it looks like an eval file.
    drafts = [each for each in drafts if each.document.path not in attached.claimed]
    problems = [each for each in problems if each.path not in attached.claimed]
    types, found = declared_types(drafts)
    problems += found
    schemas = {**known.entity_types, **unsound_types(drafts), **_schemas(types)}
    hidden = known.entity_types.keys() - known.visible().entity_types.keys() - types.keys()
    opened, found = open_types(drafts, schemas, hidden=hidden)
    problems += found
    schemas |= _schemas(opened)
    for draft in drafts:
        problems += [*draft.problems, *hollow_parts(draft)]
    drafts = list(map(informing, drafts))
    problems += check_slugs(drafts)
    problems += check_references(drafts, known, unread=unread)
    holdings = Holdings(known.abilities, known.contents_of, schemas, known.hidden)
    problems += check_names(drafts, holdings.with_drafts(drafts, unread.get("agent", ())))
    problems += list(check_fixtures(drafts, schemas, reported=problems, hidden=hidden))
    problems += streaming_warnings(drafts, known.visible().agents)
    problems = list(dict.fromkeys(problems))  # several suites may read one file
    if any(each.level == "error" for each in problems):
        raise FormatError(problems)
    imported = _imported(drafts, [*types.values(), *opened.values()], problems)
    return replace(imported, contents=attached.contents)


def _classified(
    files: Sequence[SourceFile | SourceData],
    dialect: Dialect | None,
    problems: list[Problem],
    unread: dict[Kind, list[str]],
) -> list[_File]:
    """Read the YAML of each file and tell what it is; what is wrong goes to `problems`."""
    read: list[_File] = []
    ours = None if dialect in _FOREIGN else dialect
    size = 0
    for file in files:
        if is_shown(file.path) or not is_readable(file.path):
            message = (
                tables.instead_of(file.path)
                or f"This is not an eval file. {EXPECTED}, outside of folders ending in .files."
            )
            problems.append(Problem(file.path, 0, 0, "", "", message))
            continue
        try:
            document = _document(file)
        except FormatError as error:
            problems += error.problems
            name = PurePosixPath(file.path).name
            if guess := kind_of(file.path, None):
                unread.setdefault(guess, []).append(name.split(".")[0])
            elif name == "lobu.toml":
                there = filter(None, (lobu_agent(each.path) for each in files))
                unread.setdefault("agent", []).extend(there)
            continue
        size += values_in(document.data)
        if size > MAX_VALUES:
            message = (
                f"With this file there are more than {MAX_VALUES:,} values, which is more than one "
                "import reads. Import the files one after the other, or a part of them at a time."
            )
            raise FormatError([*problems, Problem(file.path, 0, 0, "", "", message)])
        if foreign := _foreign_dialect(document, dialect):
            read.append(_File(document, None, foreign))
            continue
        kind = kind_of(file.path, document.data)
        if kind is None:
            message = f"This is not an eval file. {EXPECTED}; its keys do not tell what else it is."
            problems.append(document.problem((), message))
            continue
        spoken = ours or suite_dialect(file.path, document.data) if kind == "suite" else "native"
        read.append(_File(document, kind, spoken))
    if dialect in _FOREIGN and read and all(each.dialect != dialect for each in read):
        problems += [_not_of(dialect, each.document) for each in read]
    return [_spoken(each, read, ours) for each in read]


def _not_of(dialect: Dialect, document: Document) -> Problem:
    """Refuse a file that goes by its own name although somebody said what it is."""
    message = (
        f"This cannot be read as {dialect}: by its name it is a file of Touchstone's own, or of another"
        " system. Give it another name, or leave --format out."
    )
    return document.problem((), message, value="")


def _document(file: SourceFile | SourceData) -> Document:
    """Read a file, whatever it holds.

    Raises:
        FormatError: it cannot be read.
    """
    if isinstance(file, SourceData):
        return json_document(file.path, file.data)
    if file.path.endswith(".toml"):
        return read_toml(file.path, file.content)
    if is_spreadsheet(file.path):
        return tables.read_table(file.path, file.content)
    if file.path.lower().endswith(".jsonl"):
        return read_json_lines(file.path, file.content)
    if is_json(file.path):
        return read_json(file.path, file.content)
    return read_yaml(file.path, file.content)


def _foreign_dialect(document: Document, dialect: Dialect | None) -> Dialect | None:
    """Tell the dialect of another system's file; native ones beside it stay what their names say."""
    if dialect is None or document.path.endswith(EVAL_SUFFIXES):
        return foreign_dialect(document.path, document.data)
    return dialect if dialect in _FOREIGN else None


def _spoken(file: _File, others: Sequence[_File], dialect: Dialect | None) -> _File:
    """Settle the dialect of a fixture, which by its keys may be of either.

    It belongs to Struere unless it has native keys, or only native files stand beside it.
    """
    if file.kind != "fixture":
        return file
    if dialect is not None:
        return replace(file, dialect=dialect)
    if is_native_fixture(file.document.data):
        return file
    suites = {each.dialect for each in others if each.kind == "suite" and _shares(each, file)}
    has_native = any(
        each.kind in {"agent", "provider"} or is_native_fixture(each.document.data)
        for each in others
        if each.kind != "suite"
    )
    if "struere" in suites or not (suites or has_native):
        return replace(file, dialect="struere")
    return file


def _native_slugs(files: Sequence[_File], kind: Kind) -> Iterator[str]:
    """Give the slugs of the objects of a kind that native files describe."""
    for file in files:
        data = file.document.data
        if file.kind == kind and isinstance(data, dict) and isinstance(data.get("slug"), str):
            yield data["slug"]


def _bounded(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Give drafts as far as one import may go.

    Raises:
        FormatError: there are more cases, turns and checks.
    """
    size = 0
    for draft in drafts:
        size += parts_in(draft.data) if draft.kind == "suite" else 0
        if size > MAX_PARTS:
            raise FormatError([Problem(draft.document.path, 0, 0, "", "", TOO_MANY_PARTS)])
        yield draft


def _drafts(files: Sequence[_File], around: Around, known: Known) -> Iterator[Draft]:
    for dialect, read in _FOREIGN.items():
        if documents := [each.document for each in files if each.dialect == dialect]:
            yield from read(documents, around)
    for file in files:
        if file.kind is None:
            continue
        if file.dialect == "native":
            yield read_native(file.document, file.kind)
        elif file.kind == "fixture":
            yield struere.read_fixture(file.document)
        else:
            slugs = _project_fixtures(file, files)
            had = known.fixtures_of
            yield struere.read_suite(file.document, fixtures=slugs, had=had)


def _project_fixtures(suite: _File, files: Sequence[_File]) -> list[str]:
    """Give the slugs of all fixtures in the project folder of a suite, in order."""
    slugs = (
        each.document.data.get("slug")
        for each in files
        if each.kind == "fixture" and isinstance(each.document.data, dict) and _shares(suite, each)
    )
    return sorted({slug for slug in slugs if isinstance(slug, str)})


def _shares(suite: _File, fixture: _File) -> bool:
    """Whether both lie in one project folder; without such folders, in one folder tree."""
    home, has_evals = project_folder(suite.document.path, part="evals")
    place, has_fixtures = project_folder(fixture.document.path, part="fixtures")
    if home == place or (has_evals and has_fixtures):
        return home == place
    return _is_inside(place, home) or _is_inside(home, place)


def _is_inside(folder: str, parent: str) -> bool:
    return not parent or folder.startswith(parent.rstrip("/") + "/")


def _schemas(types: Mapping[str, DeclaredType]) -> dict[str, Mapping[str, Any]]:
    return {slug: each.spec.json_schema for slug, each in types.items()}


def _imported(
    drafts: Sequence[Draft], types: Sequence[DeclaredType], problems: Sequence[Problem]
) -> Imported:
    return Imported(
        providers=list(_located(drafts, ProviderSpec)),
        agents=list(_located(drafts, AgentSpec)),
        suites=list(_located(drafts, SuiteSpec)),
        fixtures=list(_located(drafts, FixtureSpec)),
        entity_types=[_located_type(each) for each in types],
        warnings=_sorted(problems, "warning"),
        losses=_sorted(problems, "loss"),
    )


def _sorted(problems: Sequence[Problem], level: Level) -> list[Problem]:
    chosen = (each for each in problems if each.level == level)
    return sorted(chosen, key=lambda each: (each.path, each.line, each.column))


def _located(drafts: Sequence[Draft], model: type[S]) -> Iterator[Located[S]]:
    for draft in drafts:
        if isinstance(draft.spec, model):
            begin = draft.place((), "", value="")
            yield Located(draft.spec, begin.path, begin.line)


def _located_type(declared: DeclaredType) -> Located[EntityTypeSpec]:
    is_open = declared.spec not in declared.draft.spec.entity_types
    loc = ("entities" if is_open else "entity_types", declared.position)
    document = declared.draft.document
    return Located(declared.spec, document.path, document.place(loc)[0])
