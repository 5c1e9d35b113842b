"""The suite of a file, and what it needs of the files around it."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import EXPECTED
from evals_app.formats.folders import files_in
from evals_app.formats.foreign.losses import Losses
from evals_app.formats.importing import Imported, Located, SourceData, SourceFile, read_files
from evals_app.formats.reading.parsed_file import MAX_BYTES
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.formats.reading.sibling_files import SiblingFiles
from fixtures_app.ground.words import near
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

NO_AGENT = "agent"  # the slug that suites get whose files name no agent
_NEEDED = tuple(
    f".{kind}.{end}" for kind in ("agent", "fixture", "provider") for end in ("yaml", "yml")
)

_FOLDERS = ("agents", "fixtures", "providers")  # that projects have beside their evals


@dataclass(frozen=True, slots=True)
class Project:
    """What files around a suite describe, and the contents of the files that it shows, by SHA-256."""

    agents: Mapping[str, AgentSpec] = field(default_factory=dict)
    fixtures: Mapping[str, FixtureSpec] = field(default_factory=dict)
    entity_types: Sequence[EntityTypeSpec] = ()
    providers: Mapping[str, ProviderSpec] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    losses: Losses = Losses()  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class SuiteInFile:
    """A suite, its file, what is around it, and the lines where its cases begin."""

    spec: SuiteSpec
    path: str
    project: Project
    case_lines: Mapping[str, int]


def read_suite(path: Path, slug: str | None) -> SuiteInFile:
    """Read the suite of a file or folder, and what it needs.

    Raises:
        FormatError: with every problem; there is no suite, or there are several and none is chosen.
    """
    files = _sources(files_in([path])) if path.exists() else []
    if not files:
        what = f"There is no eval file in it. {EXPECTED}." if path.exists() else "It is missing."
        raise FormatError([_problem(path, what)])
    folder = path if path.is_dir() else path.parent
    around = {file.path: file for file in (*_sources(_beside(folder)), *files)}
    imported = _read_suite(list(around.values()), {file.path for file in files}, path, slug)
    located = _choose(imported.suites, path, slug)
    if _missing(imported, located.spec):
        above = _sources(_around(folder.resolve().parent))
        known = {Path(name).resolve() for name in around}
        more = [file for file in above if Path(file.path).resolve() not in known]
        imported = _read_suite([*around.values(), *more], {file.path for file in files}, path, slug)
        located = _choose(imported.suites, path, slug)
    project = _project(imported, located.losses)
    return SuiteInFile(located.spec, located.path, project, located.case_lines)


def read_mapping(written: Mapping[str, object]) -> SuiteInFile:
    """Read a suite that was written in Python, by the rules of files.

    Raises:
        FormatError: with every problem.
    """
    imported = _read([SourceData(f"{written['slug']}.suite.yaml", written)])
    located = imported.suites[0]
    return SuiteInFile(located.spec, located.path, Project(), {})


def read_agent(path: Path) -> AgentSpec:
    """Read the agent of a file.

    Raises:
        FormatError: with every problem; there is no agent in it, or there are several.
    """
    if not path.is_file():
        raise FormatError([_problem(path, "It is missing.")])
    agents = _read(_sources([path])).agents
    if len(agents) != 1:
        raise FormatError([_problem(path, f"It describes {len(agents)} agents; expected one.")])
    return agents[0].spec


def _read(files: Sequence[SourceFile | SourceData]) -> Imported:
    # What is missing may come from the caller: a function is an agent.
    beside = SiblingFiles.of(Path(file.path) for file in files)
    return read_files(
        files,
        known=ExistingObjects(only_reads=True),
        find=beside.find,
        find_paths=beside.find_paths,
        agent=NO_AGENT,
        root=Path.cwd().as_posix(),
    )


def _read_suite(
    files: Sequence[SourceFile | SourceData], own: Collection[str], path: Path, slug: str | None
) -> Imported:
    """Read files; faulty ones beside the suite's own do not count if they have nothing that it needs."""
    try:
        return _read(files)
    except FormatError as error:
        faulty = {problem.path for problem in error.problems} - set(own)
        try:
            imported = _read([file for file in files if file.path not in faulty])
        except FormatError:
            raise error from None
        missing = _missing(imported, _choose(imported.suites, path, slug).spec)
        left = [file for file in files if file.path in faulty and isinstance(file, SourceFile)]
        if any(name.encode() in file.content for file in left for name in missing):
            raise
        return imported


def _project(imported: Imported, losses: Losses) -> Project:
    return Project(
        {located.spec.slug: located.spec for located in imported.agents},
        {located.spec.slug: located.spec for located in imported.fixtures},
        [located.spec for located in imported.entity_types],
        {located.spec.slug: located.spec for located in imported.providers},
        imported.contents,
        losses,
    )


def _missing(imported: Imported, spec: SuiteSpec) -> set[str]:
    """Return the agents and test data of a suite that no file has."""
    agents = {located.spec.slug for located in imported.agents}
    fixtures = {located.spec.slug for located in imported.fixtures}
    return {*_agents_of(spec)} - agents | {*spec.fixtures} - fixtures


def _agents_of(spec: SuiteSpec) -> Iterator[str]:
    """Return the agent of a suite, and those that its scripted judges follow."""
    yield spec.agent
    models = (spec.judge_model, *(check.model for check in spec.checks()))
    for model in models:
        if isinstance(model, ModelSpec) and model.provider == "scripted":
            yield model.name


def _choose(
    suites: Sequence[Located[SuiteSpec]], path: Path, slug: str | None
) -> Located[SuiteSpec]:
    known = [located.spec.slug for located in suites]
    found = [located for located in suites if slug in (None, located.spec.slug)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(known) or "none"
    if slug is not None:
        raise FormatError(
            [_problem(path, f"No suite {slug!r}.{near(slug, known)} It has: {names}.")]
        )
    what = f"It has several suites: {names}. Choose one: slug=..." if known else "It has no suite."
    raise FormatError([_problem(path, what)])


def _problem(path: Path, message: str) -> Problem:
    return Problem(str(path), 0, 0, "", "", message)


def _beside(folder: Path) -> Iterator[Path]:
    """Return the files of agents, test data and providers in a folder and below."""
    return (file for file in files_in([folder]) if file.name.endswith(_NEEDED))


def _around(folder: Path) -> Iterator[Path]:
    for place in (folder, *(folder / name for name in _FOLDERS)):
        yield from sorted(file for file in place.glob("*") if file.name.endswith(_NEEDED))


def _sources(paths: Iterable[Path]) -> list[SourceFile]:
    read = []
    for path in paths:
        with path.open("rb") as file:
            read.append(
                SourceFile(Path(os.path.relpath(path)).as_posix(), file.read(MAX_BYTES + 1))
            )
    return read
