"""Import files into rows, all or nothing."""

import functools
import hashlib
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django.db import DataError, connection, transaction
from pydantic import BaseModel, ValidationError

from evals_app.engine.callables.references import importing_within
from evals_app.engine.suite import near
from evals_app.formats import (
    Dialect,
    Difference,
    FindFile,
    FindPaths,
    FormatError,
    Imported,
    Known,
    Located,
    Problem,
    SourceData,
    SourceFile,
    differences,
    files_of,
    nothing_beside,
    read_files,
)
from evals_app.library.changes import Change, ImportReport, Kind
from evals_app.library.memory import uncollected
from evals_app.library.rights import EVERYTHING, Rights
from evals_app.library.saving import save_agent, save_provider, save_suite
from evals_app.models import Agent, Attachment, Provider, Suite
from fixtures_app.library import (
    known_schemas,
    misfits,
    save_entity_types,
    save_fixture,
)
from fixtures_app.models import Fixture
from fixtures_app.spec import EntityTypeSpec

# Any number, as long as nothing else in this database uses it for an advisory lock.
_IMPORT_LOCK = 7_203_117
_MOST_MISFITS = 3
_CODE_S = 60.0  # for all code of the operator's that an import names; somebody waits for it


class ChangedSinceError(Exception):
    """What an import would replace is not what it was when somebody looked at it."""


def import_files(
    files: Sequence[SourceFile | SourceData],
    *,
    dry_run: bool = False,
    dialect: Dialect | None = None,
    find: FindFile = nothing_beside,
    find_paths: FindPaths = lambda _: (),
    agent: str | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    root: str = "",
    prune: Collection[str] = (),
    before: str = "",
    rights: Rights = EVERYTHING,
    approve: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Save everything that the files hold in one transaction; with `dry_run` save nothing.

    A dry run tells in detail what would be different. `find` gives what files name beside
    themselves and is not among them, by its path, and `find_paths` the paths of all that fit a
    pattern; `agent` is the slug of the agent for files of
    other systems that name none, `environment` what stands for `${NAME}` in them. `root` is the
    folder, as a whole path, in which their paths begin: with one, suites remember their file.
    Suites whose file was in a folder of `prune` and is gone, or does not hold them any more, are
    archived. `before` is what the report of a dry run said. `rights` are those of whoever imports:
    they are asked before anything is read, and no message reveals what they may not see. `approve`
    sees the report before it becomes true; what it raises rolls everything back.

    Raises:
        PermissionDenied: they may not; nothing was saved.
        FormatError: with every problem of every file; nothing was saved.
        ChangedSinceError: what is stored is not what it was `before`; nothing was saved.
    """
    rights.require_some()
    sources = _Sources(root, prune, [each.path for each in files])
    try:
        with uncollected(), importing_within(_CODE_S):
            report = None
            while report is None:
                # Code of the operator's is imported here, so nobody may have to wait for it.
                known = _known(rights)
                compared = replace(known, size_of=_stored_sizes(), fixtures_of=_fixtures_of)
                imported = read_files(
                    files,
                    dialect=dialect,
                    known=compared,
                    find=find,
                    find_paths=find_paths,
                    agent=agent,
                    environment=environment,
                    root=root,
                )
                rights.require_kinds(
                    kind for kind, located in _by_kind(imported).items() if located
                )
                _check_agent(agent, imported, known)
                report = _save(
                    imported,
                    known,
                    sources,
                    dry_run=dry_run,
                    before=before,
                    rights=rights,
                    approve=approve,
                )
    except (DataError, OverflowError) as error:
        # The last net; the specs bound what columns hold.
        reason = str(error).partition("\n")[0]  # what follows may quote the value
        message = f"The database cannot store a value of this import: {reason}"
        raise FormatError([Problem("", 0, 0, "", "", message)]) from error
    return report


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where suites come from, and in which folders those that are not there any more are archived."""

    root: str
    folders: Collection[str]
    paths: Sequence[str]  # of the files of this import

    def source_of(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.root, path)) if self.root else ""

    def gone(self, imported: Imported) -> list[str]:
        """Give the slugs of suites that came from these folders and are not imported now."""
        if not self.folders:
            return []
        here = _slugs(imported.suites)
        begins = tuple(f"{folder.rstrip('/')}/" for folder in self.folders)
        read = set(map(self.source_of, self.paths))
        # Compared here: to SQLite upper and lower case are the same.
        stored = Suite.objects.current().exclude(source="").order_by("slug")
        return [
            slug
            for slug, source in stored.values_list("slug", "source")
            if slug not in here
            and source.startswith(begins)
            # A table may be imported by its own name and be passed over in its folder.
            and (source in read or not _is_there(source))
        ]


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        return True  # who may not look cannot say that it is gone


def _check_agent(agent: str | None, imported: Imported, known: Known) -> None:
    """Refuse an agent, named for files that name none, that is nowhere: even if all of them do."""
    agents = _slugs(imported.agents)
    if agent is not None and agent not in {*known.agents, *agents}:
        shown = {*known.visible().agents, *agents}
        message = f"No agent {agent!r} exists, in this import or before it.{near(agent, shown)}"
        raise FormatError([Problem("agent", 0, 0, "", "", message)])


def _save(
    imported: Imported,
    known: Known,
    sources: _Sources,
    *,
    dry_run: bool,
    before: str,
    rights: Rights,
    approve: Callable[[ImportReport], None] | None,
) -> ImportReport | None:
    """Save in one transaction what was compared with `known`; None if that has changed since."""
    with transaction.atomic():
        _wait_for_other_imports()
        shown = _shown_before(imported)
        if _known(rights) != known or len(Attachment.objects.keep(shown)) < len(shown):
            return None
        _check_types(imported, rights)
        Attachment.objects.store(imported.contents.values())
        stored = _stored(imported, known) if dry_run or before else _Stored()
        digest = stored.digest() if dry_run or before else ""
        if before not in {"", digest}:
            raise ChangedSinceError
        changes = [stored.told(each, imported) for each in _changes(imported, sources)]
        report = ImportReport(changes, imported.warnings, imported.losses, digest)
        rights.require(changes)
        if approve is not None:
            approve(report)
        # Comparing is what saving does anyway; so a dry run saves, and takes it back.
        if dry_run:
            transaction.set_rollback(True)
    return report


@dataclass(frozen=True, slots=True)
class _Stored:
    """What was there before an import, to tell what is different."""

    specs: Mapping[tuple[Kind, str], BaseModel] = field(default_factory=dict)
    archived: Collection[str] = ()  # suites

    def told(self, change: Change, imported: Imported) -> Change:
        """Tell what is different in what was updated."""
        stored = self.specs.get((change.kind, change.slug))
        if change.what != "updated" or stored is None:
            return change
        located = _by_kind(imported)[change.kind]
        spec = next(each.spec for each in located if each.spec.slug == change.slug)
        if change.kind == "fixture":
            spec = spec.model_copy(update={"entity_types": []})
        found = list(differences(stored, spec))
        if change.kind == "suite" and change.slug in self.archived:
            found.insert(0, Difference("archived", "true", "false"))
        return replace(change, differences=tuple(found))

    def digest(self) -> str:
        """Stand for all of it in short."""
        digest = hashlib.sha256(repr(sorted(self.archived)).encode())
        for (kind, slug), spec in sorted(self.specs.items()):
            digest.update(f"{kind} {slug} {spec.model_dump_json()}\n".encode())
        return digest.hexdigest()


def _stored(imported: Imported, known: Known) -> _Stored:
    """Give what is stored under the slugs of an import, as far as it still validates."""
    found: dict[tuple[Kind, str], BaseModel] = {}
    for slug in _slugs(imported.entity_types) & known.entity_types.keys():
        with suppress(ValidationError):
            schema = known.entity_types[slug]
            found["entity type", slug] = EntityTypeSpec.model_validate(
                {"slug": slug, "schema": schema}
            )
    suites = Suite.objects.filter(slug__in=_slugs(imported.suites))
    fixtures = Fixture.objects.filter(slug__in=_slugs(imported.fixtures))
    rows: list[tuple[Kind, Iterable[Any]]] = [
        ("suite", suites.with_everything()),
        ("agent", Agent.objects.filter(slug__in=_slugs(imported.agents))),
        (
            "provider",
            Provider.objects.prefetch_related("prices").filter(slug__in=_slugs(imported.providers)),
        ),
        ("fixture", fixtures.with_everything()),
    ]
    for kind, stored in rows:
        for row in stored:
            with suppress(ValidationError):
                found[kind, row.slug] = row.to_spec()
    archived = suites.exclude(archived_at=None).values_list("slug", flat=True)
    return _Stored(found, set(archived))


def _slugs(imported: Iterable[Located[Any]]) -> set[str]:
    return {each.spec.slug for each in imported}


def _shown_before(imported: Imported) -> set[str]:
    """Give the contents that are named only, because they are stored already."""
    return set(files_of(each.spec for each in imported.suites).values()) - set(imported.contents)


def _wait_for_other_imports() -> None:
    """Let one import of a site follow the other; SQLite does so by itself."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_IMPORT_LOCK])


def _by_kind(imported: Imported) -> dict[Kind, Sequence[Located[Any]]]:
    return {
        "suite": imported.suites,
        "agent": imported.agents,
        "provider": imported.providers,
        "fixture": imported.fixtures,
        "entity type": imported.entity_types,
    }


def _known(rights: Rights) -> Known:
    """Give what exists: equal for as long as none of it changes, so there is no function in it."""
    return Known(
        agents=dict(Agent.objects.values_list("slug", "driver")),
        tools=frozenset(name for row in Agent.objects.all() for name in row.tool_names),
        fixtures=frozenset(Fixture.objects.values_list("slug", flat=True)),
        entity_types=known_schemas(),
        # Those that every site has count even where somebody removed their rows.
        providers=Known().providers | set(Provider.objects.values_list("slug", flat=True)),
        hidden=rights.hidden(),
    )


def _fixtures_of(suite: str) -> list[str]:
    slugs = Suite.objects.filter(slug=suite, fixtures__isnull=False).order_by("fixtures__slug")
    return list(slugs.values_list("fixtures__slug", flat=True))


def _stored_sizes() -> Callable[[str], int | None]:
    """Give a way to the sizes of stored contents, which asks the database once and if need be."""

    @functools.cache
    def sizes() -> dict[str, int]:
        return dict(Attachment.objects.values_list("sha256", "size_bytes"))

    return lambda sha256: sizes().get(sha256)


def _check_types(imported: Imported, rights: Rights) -> None:
    """Refuse schemas that stored entities do not fit: what is stored can always be imported."""
    places = {each.spec.slug: each for each in imported.entity_types}
    besides = _slugs(imported.fixtures)
    found = misfits([each.spec for each in places.values()], besides=besides)
    problems = [
        Problem(
            places[slug].path,
            places[slug].line,
            0,
            "",
            slug,
            f"Entities that exist do not fit this schema of {slug!r}; import their fixtures along with "
            "it." + (_listed(sentences) if rights.may_see("fixture") else ""),
        )
        for slug, sentences in found.items()
    ]
    if problems:
        raise FormatError(problems)


def _listed(sentences: Sequence[str]) -> str:
    more = len(sentences) - _MOST_MISFITS
    return f" {'; '.join(sentences[:_MOST_MISFITS])}" + (f"; and {more} more." if more > 0 else "")


def _changes(imported: Imported, sources: _Sources) -> Iterator[Change]:
    types = save_entity_types([each.spec for each in imported.entity_types])
    yield from (Change("entity type", slug, what) for slug, what in types.items())
    for fixture in imported.fixtures:
        # Its types are saved, and reported for themselves.
        bare = fixture.spec.model_copy(update={"entity_types": []})
        yield Change("fixture", bare.slug, save_fixture(bare))
    for provider in imported.providers:
        yield Change("provider", provider.spec.slug, save_provider(provider.spec))
    for agent in imported.agents:
        yield Change("agent", agent.spec.slug, save_agent(agent.spec))
    for suite in imported.suites:
        source = sources.source_of(suite.path)
        saved = save_suite(suite.spec, source=source)
        yield Change("suite", suite.spec.slug, saved, suite=suite.spec)
    gone = sources.gone(imported)
    Suite.objects.filter(slug__in=gone).archive()
    yield from (Change("suite", slug, "archived") for slug in gone)
