"""Read many files at once: all of them, or everything that is wrong with any of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from evals_app.engine.spec import AgentSpec, ProviderSpec
from evals_app.engine.suite import SuiteSpec
from evals_app.formats import struere
from evals_app.formats.detect import (
    EXPECTED,
    Dialect,
    is_native_fixture,
    is_yaml,
    kind_of,
    project_folder,
    suite_dialect,
)
from evals_app.formats.draft import Draft, Kind
from evals_app.formats.native import read_native
from evals_app.formats.problems import FormatError, Problem
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
from evals_app.formats.yaml_source import Document, json_document, read_yaml
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

S = TypeVar("S", bound=BaseModel)


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
    """Everything that an import holds, and what is allowed in it but hardly meant."""

    providers: list[Located[ProviderSpec]] = field(default_factory=list)
    agents: list[Located[AgentSpec]] = field(default_factory=list)
    suites: list[Located[SuiteSpec]] = field(default_factory=list)
    fixtures: list[Located[FixtureSpec]] = field(default_factory=list)
    entity_types: list[Located[EntityTypeSpec]] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _File:
    """A file that is YAML, and what it describes."""

    document: Document
    kind: Kind
    dialect: Dialect


def read_files(
    files: Sequence[SourceFile | SourceData],
    *,
    dialect: Dialect | None = None,
    known: Known | None = None,
) -> Imported:
    """Read files into specs; `known` is what exists already and may be referred to.

    Raises:
        FormatError: with every problem of every file.
    """
    known = known or Known()
    problems: list[Problem] = []
    unread: dict[Kind, list[str]] = {}
    drafts = _drafts(_classified(files, dialect, problems, unread))
    types, found = declared_types(drafts)
    problems += found
    schemas = {**known.entity_types, **unsound_types(drafts), **_schemas(types)}
    opened, found = open_types(drafts, schemas)
    problems += found
    schemas |= _schemas(opened)
    for draft in drafts:
        problems += draft.problems
    problems += check_slugs(drafts)
    problems += check_references(drafts, known, unread=unread)
    problems += list(check_fixtures(drafts, schemas, reported=problems))
    if any(each.level == "error" for each in problems):
        raise FormatError(problems)
    return _imported(drafts, [*types.values(), *opened.values()], problems)


def _classified(
    files: Sequence[SourceFile | SourceData],
    dialect: Dialect | None,
    problems: list[Problem],
    unread: dict[Kind, list[str]],
) -> list[_File]:
    """Read the YAML of each file and tell what it is; what is wrong goes to `problems`."""
    read: list[_File] = []
    for file in files:
        if not is_yaml(file.path):
            message = f"This is no eval file. {EXPECTED}."
            problems.append(Problem(file.path, 0, 0, "", "", message))
            continue
        try:
            document = (
                read_yaml(file.path, file.content)
                if isinstance(file, SourceFile)
                else json_document(file.path, file.data)
            )
        except FormatError as error:
            problems += error.problems
            if guess := kind_of(file.path, None):
                unread.setdefault(guess, []).append(PurePosixPath(file.path).name.split(".")[0])
            continue
        kind = kind_of(file.path, document.data)
        if kind is None:
            message = f"This YAML is no eval file. {EXPECTED}; its keys tell nothing else."
            problems.append(document.problem((), message))
            continue
        spoken = dialect or suite_dialect(file.path, document.data) if kind == "suite" else "native"
        read.append(_File(document, kind, spoken))
    return [_spoken(each, read, dialect) for each in read]


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


def _drafts(files: Sequence[_File]) -> list[Draft]:
    drafts = []
    for file in files:
        if file.dialect == "native":
            drafts.append(read_native(file.document, file.kind))
        elif file.kind == "fixture":
            drafts.append(struere.read_fixture(file.document))
        else:
            slugs = _project_fixtures(file, files)
            drafts.append(struere.read_suite(file.document, fixtures=slugs))
    return drafts


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
        warnings=sorted(problems, key=lambda each: (each.path, each.line, each.column)),
    )


def _located(drafts: Sequence[Draft], model: type[S]) -> Iterator[Located[S]]:
    for draft in drafts:
        if isinstance(draft.spec, model):
            yield Located(draft.spec, draft.document.path, draft.document.place(())[0])


def _located_type(declared: DeclaredType) -> Located[EntityTypeSpec]:
    is_open = declared.spec not in declared.draft.spec.entity_types
    loc = ("entities" if is_open else "entity_types", declared.position)
    document = declared.draft.document
    return Located(declared.spec, document.path, document.place(loc)[0])
