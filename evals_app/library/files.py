"""Import files into rows, all or nothing."""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypedDict, Unpack

from django.db import DataError, connection, transaction
from django.db.models import Count, Max
from django.utils import timezone

from evals_app.engine.callables.references import importing_within
from evals_app.engine.suite import SuiteSpec
from evals_app.formats import (
    FindFile,
    FindPaths,
    FormatError,
    Imported,
    Known,
    Located,
    Problem,
    SourceData,
    SourceFile,
    files_of,
    read_files,
)
from evals_app.library.changes import Change, ImportReport, Kind
from evals_app.library.comparing import (
    Compared,
    compare_agents,
    compare_providers,
    compare_suites,
    compared,
    digest_of,
)
from evals_app.library.edits import edit_of, note_changes
from evals_app.library.inventories import contents_of
from evals_app.library.judges import unjudged
from evals_app.library.memory import set_aside, uncollected
from evals_app.library.rights import EVERYTHING, Rights
from evals_app.library.saving import (
    Mark,
    SuiteWriting,
    mark_unchanged,
    write_agents,
    write_providers,
)
from evals_app.library.sources import Sources, is_same_file, other_source
from evals_app.models import Agent, Attachment, Provider, Suite
from evals_app.models.concurrency import one_moment
from fixtures_app.ground.words import near
from fixtures_app.library import (
    known_schemas,
    misfits,
    save_entity_types,
    save_fixture,
)
from fixtures_app.models import EntityType, Fixture

# Any number that nothing else in this database uses for an advisory lock.
_IMPORT_LOCK = 7_203_117
_IMPORTED = "Imported from {path}."
_MOST_MISFITS = 3
_CODE_S = 60.0  # for all code of the operator's that an import names; a person waits for it


class ChangedSinceError(Exception):
    """What an import would replace has changed since its dry run."""


class EditedError(Exception):
    """An import would replace edits, or suites from another file: the `changes`."""

    def __init__(self, changes: Sequence[Change]) -> None:
        super().__init__("; ".join(map(edited_words, changes)))
        self.changes = changes


def edited_words(change: Change) -> str:
    """Return a sentence about an edit, or a suite from another file, that an import would replace."""
    return f"The {change.kind} {change.slug!r}{change.size} was {change.replaced}."


class Reading(TypedDict, total=False):
    """How files are read: see `read_files`."""

    dialect: str | None
    find: FindFile
    find_paths: FindPaths
    environment: Mapping[str, str]


def import_files(
    files: Sequence[SourceFile | SourceData],
    *,
    dry_run: bool = False,
    agent: str | None = None,
    root: str = "",
    prune: Collection[str] = (),
    before: Collection[str] = (),
    replace: bool = False,
    edit: str = "",
    rights: Rights = EVERYTHING,
    approve: Callable[[ImportReport], None] = lambda _: None,
    **reading: Unpack[Reading],
) -> ImportReport:
    """Save everything in the files in one transaction; a dry run only reports the differences.

    `agent` is the slug of the agent for files of other systems that name none. `root` is the folder,
    as a whole path, in which the paths begin: suites remember their file. Suites whose file was in a
    folder of `prune`, and that no file has any longer, are archived. `before` has versions from
    reports of dry runs: one of them must still be current. Edits since the last import, and suites
    from another file, are replaced only with `replace`. `edit` means that this is itself such an
    edit, and is its text in the history. `rights` are those of the user, and are checked before
    anything is read; no message reveals what they may not see. `approve` is called with the report
    before anything is saved, and may raise an error.

    Everything is read, compared and prepared without a transaction. The one that writes begins only
    if nothing that it was compared with has changed.

    Raises:
        PermissionDenied: the user may not import this.
        FormatError: with every problem of every file.
        ChangedSinceError: what is stored is not what it was `before`.
        EditedError: it would replace an edit, or a suite from another file.
    """
    rights.require_some()
    sources = Sources(root, prune, [file.path for file in files])
    with _storing_errors_explained(), importing_within(_CODE_S):
        while True:
            known = _known(rights)
            imported = _read(files, known, rights, agent=agent, root=root, reading=reading)
            with set_aside(), one_moment():
                prepared = _Prepared.of(
                    imported, known, sources, rights, is_edit=bool(edit), in_detail=dry_run
                )
            if prepared is None:
                continue
            report = prepared.report
            rights.require(report.changes)
            approve(report)
            if before and report.before not in before:
                raise ChangedSinceError
            if dry_run:
                return report
            if report.edited and not replace:
                raise EditedError(report.edited)
            with set_aside():
                if prepared.save(note=edit or _IMPORTED):
                    return report


@contextmanager
def _storing_errors_explained() -> Iterator[None]:
    try:
        yield
    except (DataError, OverflowError) as error:
        # The last resort: specs bound what columns can store.
        reason = str(error).partition("\n")[0]  # what follows may quote the value
        message = f"The database cannot store a value of this import: {reason}"
        raise FormatError([Problem("", 0, 0, "", "", message)]) from error


def _read(
    files: Sequence[SourceFile | SourceData],
    known: Known,
    rights: Rights,
    *,
    agent: str | None,
    root: str,
    reading: Reading,
) -> Imported:
    """Read files; code of the operator's is imported here, so nothing is locked."""
    reachable = dataclasses.replace(
        known,
        size_of=_stored_sizes(),
        fixtures_of=_fixtures_of,
        contents_of=functools.cache(contents_of),
    )
    with uncollected():
        imported = read_files(files, known=reachable, agent=agent, root=root, **reading)
    if "provider" not in rights.hidden():
        imported.warnings.extend(unjudged(imported, os.environ))
    rights.require_kinds(kind for kind, located in _by_kind(imported).items() if located)
    _check_agent(agent, imported, known)
    return imported


def _check_agent(agent: str | None, imported: Imported, known: Known) -> None:
    """Refuse an unknown agent for files that name none, even if all of them name one."""
    agents = _slugs(imported.agents)
    if agent is not None and agent not in {*known.agents, *agents}:
        shown = {*known.visible().agents, *agents}
        message = (
            f"There is no agent {agent!r}, neither stored nor in this import.{near(agent, shown)}"
        )
        raise FormatError([Problem("agent", 0, 0, "", "", message)])


@dataclass(slots=True)
class _Prepared:
    """An import that was compared with what is stored and is ready to be written."""

    imported: Imported
    known: Known
    rights: Rights
    state: Any
    found: Mapping[Kind, list[Compared[Any]]]
    sources: Mapping[str, str]
    gone: Sequence[str]
    report: ImportReport
    is_edit: bool

    @classmethod
    def of(
        cls,
        imported: Imported,
        known: Known,
        sources: Sources,
        rights: Rights,
        *,
        is_edit: bool,
        in_detail: bool,
    ) -> Self | None:
        """Compare an import with what is stored; return None if that changed in the meantime.

        Raises:
            FormatError: stored entities do not match the schema of a type.
        """
        state = _state(imported)
        if _known(rights) != known:
            return None
        _check_types(imported, rights)
        gone = sources.gone(imported)
        found = _compared(imported, in_detail=in_detail)
        files = {
            located.spec.slug: _kept_source(
                entry.row, "" if is_edit else sources.source_of(located.path)
            )
            for entry, located in zip(found["suite"], imported.suites, strict=True)
        }
        changes = [
            _change(kind, entry, located.path, files, is_edit=is_edit)
            for kind, all_located in _by_kind(imported).items()
            for entry, located in zip(found[kind], all_located, strict=True)
        ]
        changes += [Change("suite", slug, "archived") for slug in gone]
        report = ImportReport(
            changes, imported.warnings, imported.losses, _before(found), _after(found)
        )
        return cls(imported, known, rights, state, found, files, gone, report, is_edit)

    def save(self, *, note: str) -> bool:
        """Write everything; return False, with nothing written, if stored rows have changed."""
        # Contents that nothing names are invisible, and are removed at night.
        Attachment.objects.store(self.imported.contents.values())
        mark = None if self.is_edit else Mark(timezone.now())
        suites = SuiteWriting(self.found["suite"], self.sources, mark)
        try:
            suites.stage()
            with transaction.atomic():
                _wait_for_other_imports()
                shown = _shown(self.imported)
                kept = Attachment.objects.keep(shown)
                if _state(self.imported, lock=True) != self.state or len(kept) < len(shown):
                    return False
                self._write(suites, mark)
                note_changes(
                    self.report.changes,
                    user=self.rights.user,
                    at=mark.at if mark else timezone.now(),
                    note=note,
                )
        finally:
            suites.clean_up()
        return True

    def _write(self, suites: SuiteWriting, mark: Mark | None) -> None:
        types = [entry for entry in self.found["entity type"] if entry.what != "unchanged"]
        save_entity_types([entry.spec for entry in types])
        fixtures = [entry for entry in self.found["fixture"] if entry.what != "unchanged"]
        for entry in fixtures:
            save_fixture(entry.spec)
        if mark:
            for model, found in ((EntityType, types), (Fixture, fixtures)):
                for entry in found:
                    rows = model._default_manager.filter(slug=entry.spec.slug)  # noqa: SLF001 - how Django names it
                    rows.update(**mark.columns(entry))
            mark_unchanged(EntityType, self.found["entity type"], mark)
            mark_unchanged(Fixture, self.found["fixture"], mark)
        write_providers(self.found["provider"], mark)
        write_agents(self.found["agent"], mark)
        suites.write()
        Suite.objects.filter(slug__in=self.gone).archive()


def _compared(imported: Imported, *, in_detail: bool) -> dict[Kind, list[Compared[Any]]]:
    # Entity types are compared and saved separately from fixtures.
    fixtures = [
        located.spec.model_copy(update={"entity_types": []}) for located in imported.fixtures
    ]
    rows = Fixture.objects.with_everything().filter(slug__in=[spec.slug for spec in fixtures])
    types = [located.spec for located in imported.entity_types]
    stored_types = EntityType.objects.filter(slug__in=[spec.slug for spec in types])
    providers = [located.spec for located in imported.providers]
    agents = [located.spec for located in imported.agents]
    suites = [located.spec for located in imported.suites]
    return {
        "entity type": compared(stored_types, types, in_detail=in_detail),
        "fixture": compared(rows, fixtures, in_detail=in_detail),
        "provider": compare_providers(providers, in_detail=in_detail),
        "agent": compare_agents(agents, in_detail=in_detail),
        "suite": compare_suites(suites, in_detail=in_detail),
    }


def _kept_source(row: Suite | None, new: str) -> str:
    """Return the longer of two paths of one file: the stored one, or that of this import."""
    known = row.source if row is not None else ""
    return known if len(known) > len(new) and is_same_file(known, new) else new


def _change(
    kind: Kind, found: Compared[Any], path: str, files: Mapping[str, str], *, is_edit: bool
) -> Change:
    takes_over = kind == "suite" and found.what == "updated" and not is_edit
    new = files.get(found.spec.slug, "")
    return Change(
        kind,
        found.spec.slug,
        found.what,
        tuple(found.details),
        suite=found.spec if isinstance(found.spec, SuiteSpec) else None,
        path=path,
        edit=None if is_edit else edit_of(found),
        source=other_source(found.row.source, new) if takes_over else "",
        cases_before=len(found.cases) if kind == "suite" else None,
    )


def _before(found: Mapping[Kind, Iterable[Compared[Any]]]) -> str:
    """Return a version of all that is stored under the slugs of specs."""
    return _version(
        (kind, entry.spec.slug, entry.digest_before, getattr(entry.row, "archived_at", None))
        for kind in sorted(found)
        for entry in found[kind]
        if entry.digest_before
    )


def _after(found: Mapping[Kind, Iterable[Compared[Any]]]) -> str:
    """Return a version of what will be stored."""
    return _version(
        (kind, entry.spec.slug, entry.digest, None)
        for kind in sorted(found)
        for entry in found[kind]
    )


def version_of_suite(row: Suite, spec: SuiteSpec) -> str:
    """Return the version of a suite: `before` of an import of it alone."""
    return _version([("suite", row.slug, digest_of(spec), row.archived_at)])


def _version(stored: Iterable[tuple[Kind, str, str, datetime | None]]) -> str:
    version = hashlib.sha256()
    for kind, slug, digest, archived_at in stored:
        version.update(f"{kind} {slug} {digest} {archived_at is not None}\n".encode())
    return version.hexdigest()


def _state(imported: Imported, *, lock: bool = False) -> Any:
    """Return what differs as soon as anything changes that an import is compared with.

    `lock` prevents changes until the end of the transaction, if the database can lock rows.
    """
    suites = Suite.objects.filter(slug__in=_slugs(imported.suites)).order_by("slug")
    if lock:
        list(suites.select_for_update().values_list("pk"))
    whole = suites.annotate(count=Count("cases"), last=Max("cases__updated_at"))
    columns = ("slug", "updated_at", "archived_at", "agent", "count", "last")
    tables = (Agent, Provider, Fixture, EntityType)
    rows = [list(table.objects.order_by("pk").values_list("pk", "updated_at")) for table in tables]
    return rows, list(whole.values_list(*columns))


def _slugs(imported: Iterable[Located[Any]]) -> set[str]:
    return {located.spec.slug for located in imported}


def _shown(imported: Imported) -> set[str]:
    """Return the contents of the files of an import's turns."""
    return set(files_of(located.spec for located in imported.suites).values())


def _wait_for_other_imports() -> None:
    """Make imports wait for each other; SQLite does so anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_IMPORT_LOCK])


def _by_kind(imported: Imported) -> dict[Kind, Sequence[Located[Any]]]:
    return {
        "entity type": imported.entity_types,
        "fixture": imported.fixtures,
        "provider": imported.providers,
        "agent": imported.agents,
        "suite": imported.suites,
    }


def _known(rights: Rights) -> Known:
    """Return what exists. It has no functions: it stays equal as long as nothing changes."""
    return Known(
        agents=dict(Agent.objects.values_list("slug", "driver")),
        abilities={
            row.slug: row.abilities for row in Agent.objects.only("slug", "driver", "tools")
        },
        fixtures=frozenset(Fixture.objects.values_list("slug", flat=True)),
        entity_types=known_schemas(),
        # The default providers count even if their rows were removed.
        providers=Known().providers | set(Provider.objects.values_list("slug", flat=True)),
        hidden=rights.hidden(),
    )


def _fixtures_of(suite: str) -> list[str]:
    slugs = Suite.objects.filter(slug=suite, fixtures__isnull=False).order_by("fixtures__slug")
    return list(slugs.values_list("fixtures__slug", flat=True))


def _stored_sizes() -> Callable[[str], int | None]:
    """Return a function for the sizes of stored contents; it queries the database at most once."""

    @functools.cache
    def sizes() -> dict[str, int]:
        return dict(Attachment.objects.values_list("sha256", "size_bytes"))

    return lambda sha256: sizes().get(sha256)


def _check_types(imported: Imported, rights: Rights) -> None:
    """Refuse schemas that stored entities do not match: what is stored can always be imported."""
    places = {located.spec.slug: located for located in imported.entity_types}
    besides = _slugs(imported.fixtures)
    found = misfits([located.spec for located in places.values()], besides=besides)
    problems = [
        Problem(
            places[slug].path,
            places[slug].line,
            0,
            "",
            slug,
            f"Stored entities do not match this schema of {slug!r}. Import their fixtures together with "
            "it." + (_listed(sentences) if rights.may_see("fixture") else ""),
        )
        for slug, sentences in found.items()
    ]
    if problems:
        raise FormatError(problems)


def _listed(sentences: Sequence[str]) -> str:
    more = len(sentences) - _MOST_MISFITS
    return f" {'; '.join(sentences[:_MOST_MISFITS])}" + (f"; and {more} more." if more > 0 else "")
