"""Import files into rows, all or nothing."""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, TypedDict, Unpack

from django.conf import settings
from django.db import DataError, connection, transaction
from django.db.models import Count, Max, QuerySet
from django.utils import timezone
from pydantic import ValidationError

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.callables.references import importing_within
from evals_app.engine.llm.keys import no_judge, why_unreachable
from evals_app.engine.specs.base_spec import read_model
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.foreign.attached import FindFile, FindPaths, files_of
from evals_app.formats.foreign.shapes import TableChoices, TablesRead
from evals_app.formats.importing import Imported, Located, SourceData, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.library.changes.edits import command_line_user, edit_of, note_changes
from evals_app.library.changes.import_report import CaseChanges, ImportReport, Kind, ObjectChange
from evals_app.library.changes.spec_changes import (
    Compared,
    compare_specs,
    compare_suites,
    digest_of,
)
from evals_app.library.deleting.written import delete_cases
from evals_app.library.importing.adding import with_cases_added
from evals_app.library.importing.inventories import contents_of, mentions_of
from evals_app.library.importing.rights import EVERYTHING, Rights
from evals_app.library.importing.sources import Sources, is_same_file, other_source
from evals_app.library.saving import SuiteWriting, mark_of, write_agents, write_providers
from evals_app.models import Agent, Attachment, DeletedObject, Provider, Suite
from evals_app.models.authored.mapping import model_reference
from evals_app.models.fields.concurrency import one_moment
from fixtures_app.ground.memory import pause_collection
from fixtures_app.ground.words import near
from fixtures_app.library import known_schemas, misfits, save_entity_types, save_fixture
from fixtures_app.models import EntityType, Fixture

# Any number that nothing else in this database uses for an advisory lock.
_IMPORT_LOCK = 7_203_117
_IMPORTED = "Imported from {path}."
_MAX_MISFITS = 3
_CODE_S = 60.0  # for all code of the operator's that an import names; a person waits for it


class ChangedSinceError(Exception):
    """What an import would replace has changed since its dry run."""


class EditedError(Exception):
    """An import would replace edits, or suites from another file: the `changes`."""

    def __init__(self, changes: Sequence[ObjectChange]) -> None:
        super().__init__("; ".join(map(edited_words, changes)))
        self.changes = changes


class NoChecksError(Exception):
    """An import would write suites in which no case checks anything: the `changes`.

    Warnings and losses of its `report` say where the checks are.
    """

    def __init__(self, report: ImportReport) -> None:
        super().__init__("; ".join(map(unchecked_words, report.without_checks)))
        self.changes = report.without_checks
        self.report = report


def unchecked_words(change: ObjectChange) -> str:
    """Return a sentence about a suite in which no case checks anything."""
    return f"No case of the suite {change.slug!r} checks anything, so no run of it can pass."


def edited_words(change: ObjectChange) -> str:
    """Return a sentence about an edit, or a suite from another file, that an import would replace."""
    return f"The {change.name} {change.slug!r}{change.size} was {change.overwrites}."


class ReadOptions(TypedDict, total=False):
    """How files are read: see `read_files`."""

    dialect: str | None
    find: FindFile
    find_paths: FindPaths
    agent: str | None
    environment: Mapping[str, str]
    root: str
    tables: TableChoices
    as_one_suite: bool
    seen: TablesRead


@pause_collection()
def import_files(
    files: Sequence[SourceFile | SourceData],
    *,
    dry_run: bool = False,
    prune: Collection[str] = (),
    before: Collection[str] = (),
    replace: bool = False,
    accept_no_checks: bool = False,
    edit: str = "",
    into: str = "",
    rights: Rights = EVERYTHING,
    approve: Callable[[ImportReport], None] = lambda _: None,
    written: Callable[[], None] = lambda: None,
    **reading: Unpack[ReadOptions],
) -> ImportReport:
    """Save everything in the files in one transaction; a dry run only reports the differences.

    Suites remember their file, by its path from the `root` of reading. Suites whose file was in a
    folder of `prune`, and that no file has any longer, are archived. `before` has versions from
    reports of dry runs: one of them must still be current. Edits since the last import, and suites
    from another file, are replaced only with `replace`. Suites in which no case checks anything are
    written only with `accept_no_checks`. `edit` means that this is itself an edit, which may leave
    a suite without checks, and is its text in the history. `into` is the slug of a suite that gets the
    cases. No message reveals what `rights` hide. `approve` is called with the report before anything
    is saved, and may raise an error; `written` in the transaction, once nothing has changed meanwhile.

    Raises:
        PermissionDenied, FormatError: the user may not import this; every problem of every file.
        ChangedSinceError: what is stored is not what it was `before`.
        EditedError: it would replace an edit, or a suite from another file.
        NoChecksError: it would write a suite in which no case checks anything.
    """
    rights.require_some()
    sources = Sources(reading.get("root", ""), prune, [file.path for file in files])
    prepare = functools.partial(
        _Prepared, sources=sources, rights=rights, is_edit=bool(edit), in_detail=dry_run
    )
    with _storing_errors_explained(), importing_within(_CODE_S):
        while True:
            prepared, state = _at_one_moment(files, rights, reading, prepare, into)
            report = prepared.report
            rights.require(report.changes)
            approve(report)
            if before and report.before not in before:
                raise ChangedSinceError
            if dry_run:
                return report
            _require_intent(report, replaces=replace, is_checked=not (accept_no_checks or edit))
            if prepared.save(unless_changed_from=state, note=edit or _IMPORTED, written=written):
                return prepared.report


def _at_one_moment(
    files: Sequence[SourceFile | SourceData],
    rights: Rights,
    reading: ReadOptions,
    prepare: Callable[[Imported], "_Prepared"],
    into: str,
) -> tuple["_Prepared", object]:
    """Read files and prepare their import; return also the state that it was compared with."""
    while True:
        known, chosen = _existing_objects(rights), _stored_choices()
        imported = _read(files, known, rights, reading, chosen)
        with one_moment():
            if into:
                imported = with_cases_added(imported, into)
            state = _state(imported)
            if _existing_objects(rights) == known and not _has_changed(imported, chosen):
                return prepare(imported), state


def _require_intent(report: ImportReport, *, replaces: bool, is_checked: bool) -> None:
    if report.replacing_edits and not replaces:
        raise EditedError(report.replacing_edits)
    if report.without_checks and is_checked:
        raise NoChecksError(report)


def read_case(suite: Suite, data: object, *, rights: Rights) -> tuple[SuiteSpec, list[Problem]]:
    """Read a case in JSON as an import of its suite would: the suite with this case alone, and warnings.

    Nothing is written, and no other case is read.

    Raises:
        PermissionDenied: the user may not see the suite.
        FormatError: with every problem; the case is `cases[0]`.
        pydantic.ValidationError: the stored suite no longer validates.
    """
    head = SuiteSpec.model_validate(suite.head_mapping(), context=FROZEN)
    written = head.model_dump(mode="json", by_alias=True) | {"cases": [data]}
    source = SourceData(f"{suite.slug}.suite.yaml", written)
    with importing_within(_CODE_S):
        imported = _read([source], _existing_objects(rights), rights, {"dialect": "native"})
    return imported.suites[0].spec, imported.warnings


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
    known: ExistingObjects,
    rights: Rights,
    reading: ReadOptions,
    chosen: Callable[[str], Mapping[str, object]] = lambda _: {},
) -> Imported:
    """Read files; code of the operator's is imported here, so nothing is locked."""
    reachable = dataclasses.replace(
        known,
        size_of=_stored_sizes(),
        contents_of=functools.cache(contents_of),
        chosen=chosen,
        mentions_of=functools.cache(mentions_of),
    )
    imported = read_files(files, known=reachable, **reading)
    if "provider" not in rights.hidden_kinds():
        imported.warnings.extend(_warn_of_missing_judges(imported))
    rights.require_kinds(kind for kind, located in _by_kind(imported).items() if located)
    _check_agent(reading.get("agent"), imported, known)
    return imported


def _warn_of_missing_judges(imported: Imported) -> Iterator[Problem]:
    """Warn of suites with judged checks that name no judge, if this site has none either."""
    site = settings.EVALS_JUDGE_MODEL
    stored = {row.slug: row.to_spec() for row in Provider.objects.prefetch_related("prices")}
    providers = stored | {located.spec.slug: located.spec for located in imported.providers}
    with suppress(ValidationError):
        if why_unreachable(read_model(site), providers, os.environ) is None:
            return
    with_model = set(Agent.objects.exclude(model="").values_list("slug", flat=True))
    for agent in imported.agents:
        (with_model.add if agent.spec.asked_model else with_model.discard)(agent.spec.slug)
    for suite in imported.suites:
        spec = suite.spec
        if spec.judge_model is not None or spec.agent in with_model:
            continue
        if check := spec.judged_check(spec.cases):
            message = no_judge(spec.slug, check.label, site, providers.values(), os.environ)
            yield Problem(suite.path, suite.line, 1, "", "", message, "warning")


def _check_agent(agent: str | None, imported: Imported, known: ExistingObjects) -> None:
    """Refuse an unknown agent for files that name none, even if all of them name one."""
    agents = _slugs(imported.agents)
    if agent is not None and agent not in {*known.agents, *agents}:
        shown = {*known.visible().agents, *agents}
        message = (
            f"There is no agent {agent!r}, neither stored nor in this import.{near(agent, shown)}"
        )
        raise FormatError([Problem("agent", 0, 0, "", "", message)])


class _Prepared:
    """An import that was compared with what is stored and is ready to be written.

    Raises:
        FormatError: stored entities do not match the schema of a type.
    """

    def __init__(
        self,
        imported: Imported,
        sources: Sources,
        rights: Rights,
        *,
        is_edit: bool,
        in_detail: bool,
    ) -> None:
        _check_types(imported, rights)
        self._imported = imported
        self._user = rights.user
        self._is_edit = is_edit
        self._gone = sources.missing_suites(imported)
        self._entries = entries = _compare(imported, in_detail=in_detail)
        self._sources = {
            located.spec.slug: _kept_source(
                entry.row, "" if is_edit else sources.source_of(located.path)
            )
            for entry, located in zip(entries["suite"], imported.suites, strict=True)
        }
        changes = [
            _change(kind, entry, located, self._sources, is_edit=is_edit)
            for kind, all_located in _by_kind(imported).items()
            for entry, located in zip(entries[kind], all_located, strict=True)
        ]
        changes += [ObjectChange("suite", slug, "archived") for slug in self._gone]
        self.report = ImportReport(
            changes,
            imported.warnings,
            imported.losses,
            imported.guesses,
            *_versions(entries),
            checks_read=imported.checks_read,
        )

    def save(self, *, unless_changed_from: object, note: str, written: Callable[[], None]) -> bool:
        """Write everything; return False, with nothing written, if that state has changed."""
        # Contents that nothing names are invisible, and are removed at night.
        Attachment.objects.store(self._imported.contents.values())
        now = timezone.now()
        imported_at = None if self._is_edit else now
        imported = () if self._is_edit else self._imported.suites
        losses = {located.spec.slug: located.losses for located in imported}
        suites = SuiteWriting(self._entries["suite"], self._sources, imported_at, losses)
        shown = set(files_of(located.spec for located in self._imported.suites).values())
        try:
            suites.stage()
            with transaction.atomic():
                _wait_for_other_imports()
                kept = Attachment.objects.keep(shown)
                state = _state(self._imported, lock=True)
                if state != unless_changed_from or len(kept) < len(shown):
                    return False
                self._write(suites, imported_at)
                note_changes(self.report.changes, user=self._user, at=now, note=note)
                written()
        finally:
            suites.clean_up()
        return True

    def _write(self, suites: SuiteWriting, imported_at: datetime | None) -> None:
        types = [entry for entry in self._entries["entity type"] if entry.what != "unchanged"]
        save_entity_types([entry.spec for entry in types])
        for entry in self._entries["fixture"]:
            if entry.what != "unchanged":
                save_fixture(entry.spec)
        marked: dict[Kind, Any] = {"entity type": EntityType.objects, "fixture": Fixture.objects}
        for kind, rows in marked.items():
            for entry in self._entries[kind]:
                is_marked = entry.row and entry.row.imported_digest == entry.mark
                if imported_at and not (entry.what == "unchanged" and is_marked):
                    rows.filter(slug=entry.spec.slug).update(**mark_of(entry, imported_at))
        write_providers(self._entries["provider"], imported_at)
        write_agents(self._entries["agent"], imported_at)
        deleted = [*self._delete_cases()]
        self.report = dataclasses.replace(self.report, deleted=deleted)
        suites.write()
        Suite.objects.filter(slug__in=self._gone).archive()

    def _delete_cases(self) -> Iterator[DeletedObject]:
        """Delete the cases that the files no longer have, so that people can restore them."""
        for entry in self._entries["suite"]:
            if removed := _case_changes(entry).removed:
                by: Any = self._user or command_line_user()
                yield delete_cases(entry.row, [*removed.values()], by=by, note=None)


def _compare(imported: Imported, *, in_detail: bool) -> dict[Kind, list[Compared[Any]]]:
    rows: dict[Kind, QuerySet[Any]] = {
        "entity type": EntityType.objects.all(),
        "fixture": Fixture.objects.with_everything(),
        "provider": Provider.objects.prefetch_related("prices"),
        "agent": Agent.objects.all(),
    }
    specs = {
        kind: [located.spec for located in all_located]
        for kind, all_located in _by_kind(imported).items()
    }
    # Entity types are compared and saved separately from fixtures.
    specs["fixture"] = [spec.model_copy(update={"entity_types": []}) for spec in specs["fixture"]]
    entries = {kind: compare_specs(rows[kind], specs[kind], in_detail=in_detail) for kind in rows}
    keeping = {located.spec.slug for located in imported.suites if located.keeps_choices}
    return entries | {"suite": compare_suites(specs["suite"], in_detail=in_detail, keeping=keeping)}


def _kept_source(row: Suite | None, new: str) -> str:
    """Return the longer of two paths of one file: the stored one, or that of this import."""
    known = row.source if row is not None else ""
    return known if len(known) > len(new) and is_same_file(known, new) else new


def _change(
    kind: Kind,
    entry: Compared[Any],
    located: Located[Any],
    files: Mapping[str, str],
    *,
    is_edit: bool,
) -> ObjectChange:
    takes_over = kind == "suite" and entry.what == "updated" and not is_edit
    new = files.get(entry.spec.slug, "")
    return ObjectChange(
        kind,
        entry.spec.slug,
        entry.what,
        tuple(entry.details),
        suite=entry.spec if isinstance(entry.spec, SuiteSpec) else None,
        path=located.path,
        edit=None if is_edit else edit_of(entry),
        source=other_source(entry.row.source, new) if takes_over else "",
        cases_before=len(entry.cases) if kind == "suite" else None,
        cases=_case_changes(entry),
        case_lines=located.case_lines,
    )


def _case_changes(entry: Compared[Any]) -> CaseChanges:
    if entry.row is None or not isinstance(entry.spec, SuiteSpec):
        return CaseChanges()  # a new suite says it all
    names = [case.name for case in entry.spec.cases]
    stored, kept = entry.cases, set(names)
    return CaseChanges(
        added=[name for name in names if name not in stored],
        changed=[name for name in names if name in stored and not stored[name].is_same],
        removed={name: case.pk for name, case in stored.items() if name not in kept},
    )


def _versions(entries: Mapping[Kind, Iterable[Compared[Any]]]) -> tuple[str, str]:
    """Return the versions of what is stored under the slugs of specs, and of what will be."""
    rows = [(kind, entry.spec.slug, entry) for kind in sorted(entries) for entry in entries[kind]]
    before = _version(
        (kind, slug, entry.digest_before, getattr(entry.row, "archived_at", None))
        for kind, slug, entry in rows
        if entry.digest_before
    )
    return before, _version((kind, slug, entry.digest, None) for kind, slug, entry in rows)


def version_of(kind: Kind, spec: Any, *, archived_at: datetime | None = None) -> str:
    """Return the version of what is stored: `after` of an import of it alone.

    That of a fixture includes its entity types, so it is not the one of an import.
    """
    return _version([(kind, spec.slug, digest_of(spec), archived_at)])


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


def _existing_objects(rights: Rights) -> ExistingObjects:
    """Return what exists. It has no functions: it stays equal as long as nothing changes."""
    return ExistingObjects(
        agents=dict(Agent.objects.values_list("slug", "driver")),
        abilities={
            row.slug: row.abilities for row in Agent.objects.only("slug", "driver", "tools")
        },
        fixtures=frozenset(Fixture.objects.values_list("slug", flat=True)),
        entity_types=known_schemas(),
        # The default providers count even if their rows were removed.
        providers=ExistingObjects().providers
        | set(Provider.objects.values_list("slug", flat=True)),
        hidden=rights.hidden_kinds(),
    )


def _has_changed(imported: Imported, chosen: Callable[[str], Mapping[str, object]]) -> bool:
    """Whether something else has been chosen for a suite since it was read."""
    slugs = [located.spec.slug for located in imported.suites if located.keeps_choices]
    now = _choices(Suite.objects.filter(slug__in=slugs)) if slugs else {}
    return any(now.get(slug, {}) != chosen(slug) for slug in slugs)


def _choices(suites: QuerySet[Suite]) -> dict[str, dict[str, object]]:
    """Return the judge and the fixtures of suites by their slugs, as far as they have any."""
    chosen: dict[str, dict[str, Any]] = {}
    columns = ("slug", "fixtures__slug", "judge_model", "judge_settings")
    for slug, fixture, *judge in suites.order_by("fixtures__slug").values_list(*columns):
        of_suite = chosen.setdefault(slug, {})
        if fixture:
            of_suite.setdefault("fixtures", []).append(fixture)
        if judge[0]:
            of_suite["judge_model"] = model_reference(*judge)
    return chosen


def _stored_choices() -> Callable[[str], Mapping[str, object]]:
    """Return a function for what was chosen for a suite; it queries the database at most once."""

    @functools.cache
    def choices() -> dict[str, dict[str, Any]]:
        return _choices(Suite.objects.all())

    return lambda slug: choices().get(slug, {})


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
    sentences_of = misfits([located.spec for located in places.values()], besides=besides)
    problems = []
    for slug, sentences in sentences_of.items():
        message = (
            f"Stored entities do not match this schema of {slug!r}. Import their test data "
            "together with it."
        )
        if rights.may_see("fixture"):
            more = len(sentences) - _MAX_MISFITS
            message += f" {'; '.join(sentences[:_MAX_MISFITS])}"
            message += f"; and {more} more." if more > 0 else ""
        problems.append(Problem(places[slug].path, places[slug].line, 0, "", slug, message))
    if problems:
        raise FormatError(problems)
