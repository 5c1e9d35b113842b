"""Read many files at once, or report everything that is wrong with any of them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from evals_app.engine.basics.plugins import Plugin
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.blind_checks import blind_checks
from evals_app.formats.checking.naming import NamedThings, check_names
from evals_app.formats.checking.references import (
    DeclaredType,
    ExistingObjects,
    check_fixtures,
    check_references,
    check_slugs,
    declared_types,
    invalid_types,
    open_types,
    streaming_warnings,
)
from evals_app.formats.detect import (
    EXPECTED,
    foreign_dialect,
    has_known_name,
    has_own_suffix,
    instead_of,
    is_json,
    is_readable,
    kind_of,
)
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.foreign.attached import (
    AttachedFiles,
    FindFile,
    FindPaths,
    find_nothing,
    is_shown,
)
from evals_app.formats.foreign.draft import (
    MAX_PARTS,
    TOO_MANY_PARTS,
    Draft,
    Kind,
    as_informational,
    parts_in,
    parts_that_cannot_fail,
    unchecked_cases,
)
from evals_app.formats.foreign.kept import with_choices
from evals_app.formats.foreign.losses import Losses, losses_in, losses_of_suites
from evals_app.formats.foreign.one_suite import joined_suites
from evals_app.formats.foreign.shapes import (
    NO_CHOICES,
    ReaderContext,
    TableChoices,
    TablesRead,
)
from evals_app.formats.foreign.sidecar import is_sidecar, with_sidecars
from evals_app.formats.lobu import agent_of
from evals_app.formats.native import read_native
from evals_app.formats.reader_plugins import (
    all_dialects,
    plugin_draft,
    read_by_plugin,
    reader_of,
    reader_plugins,
)
from evals_app.formats.reading.json_lines import read_json_lines
from evals_app.formats.reading.json_source import read_json
from evals_app.formats.reading.parsed_file import MAX_VALUES, ParsedFile, json_document, values_in
from evals_app.formats.reading.problems import FormatError, Level, Problem, in_order
from evals_app.formats.reading.toml_source import read_toml
from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.formats.struere import is_suite as is_struere_suite
from evals_app.formats.struere import may_be_fixture, share_project
from evals_app.formats.tables import is_spreadsheet
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

S = TypeVar("S", bound=BaseModel)

_OURS = {"native", "struere"}
# Those that do not share their names of files and keys with ours.
_FOREIGN = DIALECTS.keys() - _OURS


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to import; the path is shown to people and determines the project folder."""

    path: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SourceData:
    """JSON that a program sends instead of a file; the path determines what it describes."""

    path: str
    data: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Located(Generic[S]):
    """A spec, where it was read, and what was left out of the file of a suite."""

    spec: S
    path: str
    line: int
    losses: Losses = Losses()  # noqa: RUF009 - frozen
    # Whether it is a suite of which the site keeps what its file does not say.
    keeps_choices: bool = False
    # Of a suite, where its cases begin in that file, by name; those from other files are left out.
    case_lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Imported:
    """The contents of an import, its warnings, what cannot be imported, and what was guessed."""

    providers: list[Located[ProviderSpec]] = field(default_factory=list)
    agents: list[Located[AgentSpec]] = field(default_factory=list)
    suites: list[Located[SuiteSpec]] = field(default_factory=list)
    fixtures: list[Located[FixtureSpec]] = field(default_factory=list)
    entity_types: list[Located[EntityTypeSpec]] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    losses: list[Problem] = field(default_factory=list)
    guesses: list[Problem] = field(default_factory=list)
    checks_read: int = 0  # only counted if checks were lost
    contents: dict[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class _File:
    """A file that can be read, and what it describes; a foreign one describes several objects."""

    document: ParsedFile
    kind: Kind | None
    dialect: str
    is_plugged: bool = False  # a plug-in has read it: its document is in our words

    @property
    def slug(self) -> str | None:
        """The slug of what it describes, if it describes one object."""
        slug = self.document.value(("slug",))
        return slug if isinstance(slug, str) else None


def read_files(
    files: Sequence[SourceFile | SourceData],
    *,
    dialect: str | None = None,
    known: ExistingObjects | None = None,
    find: FindFile = find_nothing,
    find_paths: FindPaths = lambda _: (),
    agent: str | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    root: str = "",
    tables: TableChoices = NO_CHOICES,
    as_one_suite: bool = False,
    seen: TablesRead | None = None,
) -> Imported:
    """Read files into specs; `known` is what exists already and may be referred to.

    Files that a file names are among `files`, or `find` finds them by their path, and `find_paths`
    those that match a pattern. With `as_one_suite` all suites that test one agent become one, with a
    case for each. `seen` collects what is read of tables, even if there are errors. The others are
    what a `ReaderContext` has.

    Raises:
        FormatError: with every problem of every file.
    """
    known, seen = known or ExistingObjects(), seen or TablesRead()
    seen.clear()
    problems: list[Problem] = []
    unread: dict[Kind, list[str]] = {}
    given = {file.path: file.content for file in files if isinstance(file, SourceFile)}
    attached = AttachedFiles(given, find, find_paths, known.size_of)
    evals = [file for file in files if not is_sidecar(file.path)]
    read = _classify(evals, dialect, problems, unread)
    documents = (file.document for file in read if not file.is_plugged)
    seen.tables |= {item.path: item for item in documents if is_spreadsheet(item.path)}
    around = ReaderContext(attached, agent, environment, root=root, tables=tables, seen=seen)
    around = _knowing(around, read, known, unread)
    drafts = _whole_drafts(read, [file.path for file in files], around, problems)
    drafts = joined_suites(drafts, around) if as_one_suite else drafts
    drafts = [with_choices(draft, known.chosen) for draft in drafts]
    types, compared = _compare(drafts, known, unread)
    problems = list(dict.fromkeys([*problems, *compared]))  # several suites may read one file
    if any(problem.level == "error" for problem in problems):
        raise FormatError(problems)
    drafts = drafts if known.only_reads else list(map(as_informational, drafts))
    return _outcome(drafts, types, problems, attached)


def _whole_drafts(
    read: Sequence[_File], paths: Sequence[str], around: ReaderContext, problems: list[Problem]
) -> list[Draft]:
    """Return the drafts of all files, with what is written or shown beside them.

    What another file names is a part of that, even if it looks like an eval file.
    """
    attached, wrong = around.attached, {problem.path for problem in problems}
    drafts, more = with_sidecars(list(_limit_drafts(_drafts(read, around))), paths, wrong, attached)
    drafts = list(map(attached.attach, drafts))
    around.seen.leave_out(attached.claimed)
    problems[:] = [item for item in [*problems, *more] if item.path not in attached.claimed]
    return [draft for draft in drafts if draft.document.path not in attached.claimed]


def _knowing(
    around: ReaderContext,
    read: Sequence[_File],
    known: ExistingObjects,
    unread: Mapping[Kind, Sequence[str]],
) -> ReaderContext:
    """Return what readers may look at, with what exists or is described in other files."""
    return replace(
        around,
        agents=frozenset({*known.agents, *_slugs(read, "agent"), *unread.get("agent", ())}),
        providers=frozenset({*known.providers, *_slugs(read, "provider")}),
        fixtures={file.document.path: file.slug for file in read if file.kind == "fixture"},
        fixtures_of=lambda suite: known.chosen(suite).get("fixtures", ()),
    )


def _outcome(
    drafts: Sequence[Draft],
    types: Iterable[DeclaredType],
    problems: Sequence[Problem],
    attached: AttachedFiles,
) -> Imported:
    """Return what drafts describe, and what else was found, by its level."""

    def of_level(level: Level) -> list[Problem]:
        return in_order(problem for problem in problems if problem.level == level)

    losses = of_level("loss")
    return Imported(
        providers=list(_locate_specs(drafts, ProviderSpec)),
        agents=list(_locate_specs(drafts, AgentSpec)),
        suites=[
            replace(located, losses=lost)
            for located, (_, lost) in zip(
                _locate_specs(drafts, SuiteSpec), losses_of_suites(drafts), strict=True
            )
        ],
        fixtures=list(_locate_specs(drafts, FixtureSpec)),
        entity_types=list(map(_located_type, types)),
        warnings=of_level("warning"),
        losses=losses,
        guesses=of_level("guess"),
        checks_read=losses_in(drafts, losses).checks_read,
        contents=attached.contents,
    )


def _classify(
    files: Sequence[SourceFile | SourceData],
    dialect: str | None,
    problems: list[Problem],
    unread: dict[Kind, list[str]],
) -> list[_File]:
    """Parse each file and find out what it is; errors go to `problems`."""
    read: list[_File] = []
    plugged: list[_File] = []
    is_foreign = dialect in all_dialects().keys() - _OURS
    ours = None if is_foreign else dialect
    size = 0
    for file in files:
        if reader := _plugin_for(file, dialect, problems):
            parts = read_by_plugin(reader, file.path, _content(file), problems)
            plugged += (_File(*part, reader.name, is_plugged=True) for part in parts)
            continue
        document = _parse(file, files, problems, unread)
        if document is None:
            continue
        size += values_in(document.data)
        if size > MAX_VALUES:
            message = (
                f"With this file there are more than {MAX_VALUES:,} values, the limit of one import."
                " Import the files one at a time, or in smaller groups."
            )
            raise FormatError([*problems, Problem(file.path, 0, 0, "", "", message)])
        if foreign := _foreign_dialect(document, dialect):
            read.append(_File(document, None, foreign))
            continue
        kind = kind_of(file.path, document.data)
        if kind is None:
            problems.append(_unknown(document))
            continue
        by_content = "struere" if is_struere_suite(file.path, document.data) else "native"
        read.append(_File(document, kind, ours or by_content if kind == "suite" else "native"))
    if is_foreign and all(file.dialect != dialect for file in [*read, *plugged]):
        message = (
            f"This cannot be read as {dialect}: its name says that it is Evalwell's own file, or "
            "one of another system. Rename it, or leave out --format."
        )
        problems += [file.document.problem((), message, value="") for file in read]
    return [*(_resolve_dialect(file, read, ours) for file in read), *plugged]


def _parse(
    file: SourceFile | SourceData,
    files: Sequence[SourceFile | SourceData],
    problems: list[Problem],
    unread: dict[Kind, list[str]],
) -> ParsedFile | None:
    """Parse a file; None if it is not an eval file or cannot be parsed, with the errors in `problems`."""
    if is_shown(file.path) or not is_readable(file.path):
        message = instead_of(file.path) or (
            f"This is not an eval file. {EXPECTED}, outside of folders whose name ends in .files."
        )
        problems.append(Problem(file.path, 0, 0, "", "", message))
        return None
    try:
        return _document(file)
    except FormatError as error:
        problems += error.problems
        _note_unread(file.path, files, unread)
        return None


def _plugin_for(
    file: SourceFile | SourceData, dialect: str | None, problems: list[Problem]
) -> Plugin | None:
    """Return the plug-in that reads a file; our own files, and those of a chosen dialect, have none."""
    plugins = reader_plugins().plugins
    if not plugins or has_own_suffix(file.path) or is_shown(file.path):
        return None
    if dialect is not None:
        return plugins.get(dialect)
    return None if has_known_name(file.path) else reader_of(file.path, _content(file), problems)


def _content(file: SourceFile | SourceData) -> bytes:
    return file.content if isinstance(file, SourceFile) else json.dumps(file.data).encode()


def _unknown(document: ParsedFile) -> Problem:
    keys = list(document.data) if isinstance(document.data, dict) else []
    found = f"Found the keys {cut_middle(', '.join(map(str, keys)))}, which do not say what it is."
    message = f"This is not an eval file. {EXPECTED}. {found if keys else 'It has no keys.'}"
    return document.problem((), message)


def _note_unread(
    path: str, files: Sequence[SourceFile | SourceData], unread: dict[Kind, list[str]]
) -> None:
    """Note what a file would have described, so that it is not reported as missing."""
    name = PurePosixPath(path).name
    if kind := kind_of(path, None):
        unread.setdefault(kind, []).append(name.split(".")[0])
    elif name == "lobu.toml":
        agents = filter(None, (agent_of(file.path) for file in files))
        unread.setdefault("agent", []).extend(agents)


def _document(file: SourceFile | SourceData) -> ParsedFile:
    """Parse a file, whatever it describes.

    Raises:
        FormatError: it cannot be parsed.
    """
    if isinstance(file, SourceData):
        return json_document(file.path, file.data)
    if file.path.endswith(".toml"):
        return read_toml(file.path, file.content)
    if is_spreadsheet(file.path):
        from evals_app.formats.tables.reader import read_table  # noqa: PLC0415 - rarely needed

        return read_table(file.path, file.content)
    if file.path.lower().endswith(".parquet"):
        from evals_app.formats.tables.parquet import read_parquet  # noqa: PLC0415 - rarely needed

        return read_parquet(file.path, file.content)
    if file.path.lower().endswith(".jsonl"):
        return read_json_lines(file.path, file.content)
    if is_json(file.path):
        return read_json(file.path, file.content)
    return read_yaml(file.path, file.content)


def _foreign_dialect(document: ParsedFile, dialect: str | None) -> str | None:
    """Return the dialect of another system's file; native ones next to it stay what they are."""
    if dialect is None or has_own_suffix(document.path):
        return foreign_dialect(document.path, document.data)
    return dialect if dialect in _FOREIGN else None


def _resolve_dialect(file: _File, others: Sequence[_File], dialect: str | None) -> _File:
    """Resolve the dialect of a fixture whose keys may be valid in both.

    It belongs to Struere unless it has native keys, or all files next to it are native.
    """
    if file.kind != "fixture":
        return file
    if dialect is not None:
        return replace(file, dialect=dialect)
    if not may_be_fixture(file.document.data):
        return file
    suites = {
        other.dialect
        for other in others
        if other.kind == "suite" and share_project(other.document.path, file.document.path)
    }
    has_native = any(
        other.kind in {"agent", "provider"}
        or (other.kind != "suite" and not may_be_fixture(other.document.data))
        for other in others
    )
    if "struere" in suites or not (suites or has_native):
        return replace(file, dialect="struere")
    return file


def _slugs(files: Sequence[_File], kind: Kind) -> Iterator[str]:
    return (file.slug for file in files if file.kind == kind and file.slug is not None)


def _limit_drafts(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Yield drafts up to the limit of one import.

    Raises:
        FormatError: there are more cases, turns and checks.
    """
    size = 0
    for draft in drafts:
        size += parts_in(draft.data) if draft.kind == "suite" else 0
        if size > MAX_PARTS:
            raise FormatError([Problem(draft.document.path, 0, 0, "", "", TOO_MANY_PARTS)])
        yield draft


def _drafts(files: Sequence[_File], around: ReaderContext) -> Iterator[Draft]:
    for dialect in DIALECTS.values():
        documents = [file.document for file in files if file.dialect == dialect.name]
        if documents and dialect.package:
            yield from dialect.read(documents, around)
    for file in files:
        if file.dialect == "native" and file.kind is not None:
            yield read_native(file.document, file.kind)
        if file.is_plugged and file.kind is not None:
            yield plugin_draft(file.document, file.kind, file.dialect, around)


def _compare(
    drafts: Sequence[Draft], known: ExistingObjects, unread: Mapping[Kind, Sequence[str]]
) -> tuple[list[DeclaredType], list[Problem]]:
    """Compare drafts with each other and with what exists: all entity types, and all problems."""
    types, misdeclared = declared_types(drafts)
    schemas = {**known.entity_types, **invalid_types(drafts), **_schemas(types)}
    hidden = known.entity_types.keys() - known.visible().entity_types.keys() - types.keys()
    opened, unopened = open_types(drafts, schemas, hidden=hidden)
    schemas |= _schemas(opened)
    problems = [*misdeclared, *unopened]
    for draft in drafts:
        problems += [
            *draft.problems,
            *parts_that_cannot_fail(draft),
            *unchecked_cases(as_informational(draft)),
        ]
    problems += check_slugs(drafts)
    problems += check_references(drafts, known, unread=unread)
    holdings = NamedThings(
        known.abilities, known.contents_of, schemas, known.hidden, known.mentions_of
    ).with_drafts(drafts, unread.get("agent", ()))
    problems += check_names(drafts, holdings)
    problems += list(check_fixtures(drafts, schemas, reported=problems, hidden=hidden))
    problems += streaming_warnings(drafts, known.visible().agents)
    if known.only_reads:
        unread_parts = {problem for draft in drafts for problem in draft.problems}
        problems = [
            problem if problem in unread_parts else replace(problem, level="warning")
            for problem in problems
        ]
    elif all(problem.level != "error" for problem in problems):
        problems += blind_checks(drafts, holdings)
    return [*types.values(), *opened.values()], problems


def _schemas(types: Mapping[str, DeclaredType]) -> dict[str, Mapping[str, object]]:
    return {slug: item.spec.json_schema for slug, item in types.items()}


def _locate_specs(drafts: Sequence[Draft], model: type[S]) -> Iterator[Located[S]]:
    for draft in drafts:
        if isinstance(draft.spec, model):
            begin = draft.place((), "", value="")
            keeps = draft.kind == "suite" and draft.dialect != "native"
            lines = dict(_case_lines(draft, begin.path))
            yield Located(draft.spec, begin.path, begin.line, keeps_choices=keeps, case_lines=lines)


def _case_lines(draft: Draft, path: str) -> Iterator[tuple[str, int]]:
    cases = draft.spec.cases if isinstance(draft.spec, SuiteSpec) else ()
    for n, case in enumerate(cases):
        begin = draft.place(("cases", n), "", value="")
        if begin.path == path and begin.line:
            yield case.name, begin.line


def _located_type(declared: DeclaredType) -> Located[EntityTypeSpec]:
    is_open = declared.spec not in declared.draft.spec.entity_types
    loc = ("entities" if is_open else "entity_types", declared.position)
    document = declared.draft.document
    return Located(declared.spec, document.path, document.place(loc)[0])
