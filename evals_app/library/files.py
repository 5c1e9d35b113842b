"""Import files into rows, all or nothing."""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Self

from django.db import DataError, connection, transaction
from django.db.models import Count, Max
from django.utils import timezone

from evals_app.engine.callables.references import importing_within
from evals_app.engine.suite import SuiteSpec, near
from evals_app.formats import (
    Dialect,
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
    nothing_beside,
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
from fixtures_app.library import (
    known_schemas,
    misfits,
    save_entity_types,
    save_fixture,
)
from fixtures_app.models import EntityType, Fixture

# Any number, as long as nothing else in this database uses it for an advisory lock.
_IMPORT_LOCK = 7_203_117
_IMPORTED = "Imported from {path}."
_MOST_MISFITS = 3
_CODE_S = 60.0  # for all code of the operator's that an import names; somebody waits for it


class ChangedSinceError(Exception):
    """What an import would replace is not what it was when somebody looked at it."""


class EditedError(Exception):
    """An import would replace what somebody edited, or what came from another file.

    `changes` say what.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        super().__init__("; ".join(map(edited_words, changes)))
        self.changes = changes


def edited_words(change: Change) -> str:
    """Say what an import would replace that somebody edited, or that came from another file."""
    return f"The {change.kind} {change.slug!r}{change.size} was {change.replaced}."


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
    before: Collection[str] = (),
    replace: bool = False,
    edit: str = "",
    rights: Rights = EVERYTHING,
    approve: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Save everything that the files hold in one transaction; with `dry_run` write nothing.

    A dry run tells in detail what would be different. `find` gives what files name beside
    themselves and is not among them, by its path, and `find_paths` the paths of all that fit a
    pattern; `agent` is the slug of the agent for files of
    other systems that name none, `environment` what stands for `${NAME}` in them. `root` is the
    folder, as a whole path, in which their paths begin: suites remember their file.
    Suites whose file was in a folder of `prune` and is gone, or does not hold them any more, are
    archived. `before` is what reports of a dry run said, one of which still has to be so. What
    somebody edited since its last import, and suites that came from another file, are only replaced
    with `replace`. `edit`: this is no import
    but such an edit, and its words for the history. `rights` are those of whoever imports:
    they are asked before anything is read, and no message reveals what they may not see. `approve`
    sees the report before it becomes true; what it raises stops the import.

    Everything is read, compared and prepared without a transaction; the one that writes begins
    when what it was compared with has not changed since.

    Raises:
        PermissionDenied: they may not; nothing was saved.
        FormatError: with every problem of every file; nothing was saved.
        ChangedSinceError: what is stored is not what it was `before`; nothing was saved.
        EditedError: it would replace what somebody edited, or what came from another file; nothing
            was saved.
    """
    rights.require_some()
    sources = Sources(root, prune, [each.path for each in files])
    try:
        with importing_within(_CODE_S):
            while True:
                # Code of the operator's is imported here, so nobody may have to wait for it.
                known = _known(rights)
                reachable = dataclasses.replace(
                    known,
                    size_of=_stored_sizes(),
                    fixtures_of=_fixtures_of,
                    contents_of=functools.cache(contents_of),
                )
                with uncollected():
                    imported = read_files(
                        files,
                        dialect=dialect,
                        known=reachable,
                        find=find,
                        find_paths=find_paths,
                        agent=agent,
                        environment=environment,
                        root=root,
                    )
                if "provider" not in rights.hidden():
                    imported.warnings.extend(unjudged(imported, os.environ))
                rights.require_kinds(
                    kind for kind, located in _by_kind(imported).items() if located
                )
                _check_agent(agent, imported, known)
                with set_aside(), one_moment():
                    prepared = _Prepared.of(
                        imported, known, sources, rights, is_edit=bool(edit), in_detail=dry_run
                    )
                if prepared is None:
                    continue
                report = prepared.report
                rights.require(report.changes)
                if approve is not None:
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
    except (DataError, OverflowError) as error:
        # The last net; the specs bound what columns hold.
        reason = str(error).partition("\n")[0]  # what follows may quote the value
        message = f"The database cannot store a value of this import: {reason}"
        raise FormatError([Problem("", 0, 0, "", "", message)]) from error


def _check_agent(agent: str | None, imported: Imported, known: Known) -> None:
    """Refuse an agent, named for files that name none, that is nowhere: even if all of them do."""
    agents = _slugs(imported.agents)
    if agent is not None and agent not in {*known.agents, *agents}:
        shown = {*known.visible().agents, *agents}
        message = f"No agent {agent!r} exists, in this import or before it.{near(agent, shown)}"
        raise FormatError([Problem("agent", 0, 0, "", "", message)])


@dataclass(slots=True)
class _Prepared:
    """An import that was compared with what is stored, and needs only be written."""

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
        """Compare an import with what is stored; None if that changed in the meantime.

        Raises:
            FormatError: stored entities do not fit the schema of a type any more.
        """
        state = _state(imported)
        if _known(rights) != known:
            return None
        _check_types(imported, rights)
        gone = sources.gone(imported)
        found = _compared(imported, in_detail=in_detail)
        files = {
            located.spec.slug: _kept_source(
                each.row, "" if is_edit else sources.source_of(located.path)
            )
            for each, located in zip(found["suite"], imported.suites, strict=True)
        }
        changes = [
            _change(kind, each, located.path, files, is_edit=is_edit)
            for kind, all_located in _by_kind(imported).items()
            for each, located in zip(found[kind], all_located, strict=True)
        ]
        changes += [Change("suite", slug, "archived") for slug in gone]
        report = ImportReport(
            changes, imported.warnings, imported.losses, _before(found), _after(found)
        )
        return cls(imported, known, rights, state, found, files, gone, report, is_edit)

    def save(self, *, note: str) -> bool:
        """Write everything; False, and nothing is written, if what is stored changed meanwhile."""
        # A content that nothing names is seen by nobody, and goes in the night.
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
        types = [each for each in self.found["entity type"] if each.what != "unchanged"]
        save_entity_types([each.spec for each in types])
        fixtures = [each for each in self.found["fixture"] if each.what != "unchanged"]
        for each in fixtures:
            save_fixture(each.spec)
        if mark:
            for model, found in ((EntityType, types), (Fixture, fixtures)):
                for each in found:
                    rows = model._default_manager.filter(slug=each.spec.slug)  # noqa: SLF001 - how Django names it
                    rows.update(**mark.columns(each))
            mark_unchanged(EntityType, self.found["entity type"], mark)
            mark_unchanged(Fixture, self.found["fixture"], mark)
        write_providers(self.found["provider"], mark)
        write_agents(self.found["agent"], mark)
        suites.write()
        Suite.objects.filter(slug__in=self.gone).archive()


def _compared(imported: Imported, *, in_detail: bool) -> dict[Kind, list[Compared[Any]]]:
    # The types of a fixture are compared, and saved, for themselves.
    fixtures = [each.spec.model_copy(update={"entity_types": []}) for each in imported.fixtures]
    rows = Fixture.objects.with_everything().filter(slug__in=[spec.slug for spec in fixtures])
    types = [each.spec for each in imported.entity_types]
    stored_types = EntityType.objects.filter(slug__in=[spec.slug for spec in types])
    providers = [each.spec for each in imported.providers]
    agents = [each.spec for each in imported.agents]
    suites = [each.spec for each in imported.suites]
    return {
        "entity type": compared(stored_types, types, in_detail=in_detail),
        "fixture": compared(rows, fixtures, in_detail=in_detail),
        "provider": compare_providers(providers, in_detail=in_detail),
        "agent": compare_agents(agents, in_detail=in_detail),
        "suite": compare_suites(suites, in_detail=in_detail),
    }


def _kept_source(row: Suite | None, new: str) -> str:
    """Return which of two paths of one file tells more: that it has, or that of this import."""
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
    """Stand in short for all that is stored under the slugs of specs."""
    return _version(
        (kind, each.spec.slug, each.digest_before, getattr(each.row, "archived_at", None))
        for kind in sorted(found)
        for each in found[kind]
        if each.digest_before
    )


def _after(found: Mapping[Kind, Iterable[Compared[Any]]]) -> str:
    """Stand in short for what will be stored."""
    return _version(
        (kind, each.spec.slug, each.digest, None) for kind in sorted(found) for each in found[kind]
    )


def version_of_suite(row: Suite, spec: SuiteSpec) -> str:
    """Stand in short for a suite: as `before` of an import that holds it alone says it."""
    return _version([("suite", row.slug, digest_of(spec), row.archived_at)])


def _version(stored: Iterable[tuple[Kind, str, str, datetime | None]]) -> str:
    version = hashlib.sha256()
    for kind, slug, digest, archived_at in stored:
        version.update(f"{kind} {slug} {digest} {archived_at is not None}\n".encode())
    return version.hexdigest()


def _state(imported: Imported, *, lock: bool = False) -> Any:  # noqa: ANN401 - only ever compared
    """Give what changes whenever something does that an import is compared with.

    `lock` keeps it from changing until the end of the transaction, where rows can be locked.
    """
    suites = Suite.objects.filter(slug__in=_slugs(imported.suites)).order_by("slug")
    if lock:
        list(suites.select_for_update().values_list("pk"))
    whole = suites.annotate(count=Count("cases"), last=Max("cases__updated_at"))
    columns = ("slug", "updated_at", "archived_at", "agent", "count", "last")
    tables = (Agent, Provider, Fixture, EntityType)
    rows = [list(each.objects.order_by("pk").values_list("pk", "updated_at")) for each in tables]
    return rows, list(whole.values_list(*columns))


def _slugs(imported: Iterable[Located[Any]]) -> set[str]:
    return {each.spec.slug for each in imported}


def _shown(imported: Imported) -> set[str]:
    """Give the contents that the turns of an import show."""
    return set(files_of(each.spec for each in imported.suites).values())


def _wait_for_other_imports() -> None:
    """Let one import of a site follow the other; SQLite does so by itself."""
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
    """Give what exists: equal for as long as none of it changes, so there is no function in it."""
    return Known(
        agents=dict(Agent.objects.values_list("slug", "driver")),
        abilities={
            row.slug: row.abilities for row in Agent.objects.only("slug", "driver", "tools")
        },
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
