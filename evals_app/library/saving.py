"""Specs to rows: save providers, agents and suites, writing only what differs.

A suite's cases keep their rows by name, so that links to them stay valid, unless very many differ
at once. The turns and checks of a case that differs are all replaced.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Self, TypeVar
from uuid import uuid4

from django.db import connection, models, transaction

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import PriceSpec, ProviderSpec
from evals_app.engine.suites.suite_spec import MIXED_USERS, AssertionSpec, CaseSpec, SuiteSpec
from evals_app.formats.foreign.losses import Losses
from evals_app.library.changes.edits import note_edit
from evals_app.library.changes.spec_changes import (
    Compared,
    compare_specs,
    compare_suites,
    readable,
    same,
)
from evals_app.models import Agent, Assertion, Case, ModelPrice, Provider, Suite, Turn
from evals_app.models.authored.agents import AGENT
from evals_app.models.authored.mapping import RowMapping
from evals_app.models.authored.providers import PRICE, PROVIDER
from evals_app.models.authored.suites import CASE, SUITE, delete_cases, empty_cases, remove_staged
from evals_app.models.fields.concurrency import let_others_write
from fixtures_app.library import Saved
from fixtures_app.models import Fixture

M = TypeVar("M", bound=models.Model)
T = TypeVar("T")

BATCH = 500
AT_ONCE = 500  # cases with their turns and checks in one transaction


def mark_of(entry: Compared[Any], imported_at: datetime | None) -> dict[str, Any]:
    """Return the columns by which later edits of an imported row are recognised."""
    if imported_at is None:
        return {}
    return {"imported_digest": entry.mark, "imported_at": imported_at}


def _upsert(model: type[M], rows: Sequence[dict[str, object]], *, by: Sequence[str]) -> list[M]:
    """Insert rows, or update existing ones; `by` names their unique columns."""
    if not rows:
        return []
    columns = [name for name in rows[0] if name not in by]
    return model._default_manager.bulk_create(  # noqa: SLF001 - how Django names it
        [model(**row) for row in rows],
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=by,
        update_fields=[*columns, "updated_at"],
    )


def _mark_unchanged(
    model: type[models.Model], entries: Iterable[Compared[Any]], imported_at: datetime | None
) -> None:
    rows = []
    for entry in entries:
        if entry.what == "unchanged" and imported_at and entry.row.imported_digest != entry.mark:
            entry.row.imported_digest, entry.row.imported_at = entry.mark, imported_at
            rows.append(entry.row)
    manager = model._default_manager  # noqa: SLF001 - how Django names it
    manager.bulk_update(rows, ["imported_digest", "imported_at"], batch_size=BATCH)


def _write_rows(
    model: type[M],
    mapping: RowMapping,
    entries: Sequence[Compared[Any]],
    imported_at: datetime | None,
) -> Iterator[tuple[M, Any]]:
    """Write the rows that differ, and return each with its spec."""
    differing = [entry for entry in entries if entry.what != "unchanged"]
    rows = [mapping.values(entry.spec) | mark_of(entry, imported_at) for entry in differing]
    _mark_unchanged(model, entries, imported_at)
    written = _upsert(model, rows, by=["slug"])
    return zip(written, (entry.spec for entry in differing), strict=True)


def write_providers(
    entries: Sequence[Compared[ProviderSpec]], imported_at: datetime | None = None
) -> None:
    """Write the providers that differ, with the prices of their models."""
    for row, spec in _write_rows(Provider, PROVIDER, entries, imported_at):
        save_prices(row, spec.prices)


@transaction.atomic
def save_prices(provider: Provider, specs: Sequence[PriceSpec]) -> None:
    """Replace the list of a provider's prices; what stays the same keeps its row."""
    wanted = [PRICE.values(spec) for spec in specs]
    kept: list[dict[str, object]] = []
    gone: list[int] = []
    for row in provider.prices.all():
        columns = row.to_mapping()
        if columns in wanted and columns not in kept:
            kept.append(columns)
        else:
            gone.append(row.pk)
    # Deleted first: a new price may replace an old one.
    ModelPrice.objects.filter(pk__in=gone).delete()
    ModelPrice.objects.bulk_create(
        [ModelPrice(provider=provider, **columns) for columns in wanted if columns not in kept],
        batch_size=BATCH,
    )


@transaction.atomic
def save_agent(spec: AgentSpec) -> Saved:
    """Write an agent."""
    entries = compare_specs(Agent.objects.all(), [spec])
    write_agents(entries)
    return entries[0].what


def write_agents(
    entries: Sequence[Compared[AgentSpec]], imported_at: datetime | None = None
) -> None:
    """Write the agents that differ."""
    _write_rows(Agent, AGENT, entries, imported_at)


@transaction.atomic
def save_suite(spec: SuiteSpec, *, source: str = "") -> Saved:
    """Write a suite with its cases, turns and checks; an archived one is restored.

    `source` is the file that it comes from; without one, the suite keeps its source.

    Raises:
        ValueError: its agent or one of its fixtures does not exist.
    """
    entries = compare_suites([spec])
    SuiteWriting(entries, {spec.slug: source}).write()
    return entries[0].what


class CaseDoesNotFitError(ValueError):
    """A suite cannot take a case as it is; `key` is the part of the case that does not fit."""

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key


def mixes_users(suite: Suite, *, is_simulated: bool, but: int = 0) -> bool:
    """Return whether a suite has cases of the other kind: written ones beside simulated users."""
    others = suite.cases.exclude(pk=but)
    written = others.filter(simulated_user={})
    return (written if is_simulated else others.exclude(simulated_user={})).exists()


@transaction.atomic
def add_case(suite: Suite, spec: CaseSpec) -> Case:
    """Add a case to the end of a suite.

    Raises:
        CaseDoesNotFitError: the suite has a case with this name, or cases of the other kind of users.
    """
    _take_name(suite, spec)
    _refuse_mixed_users(suite, spec)
    last = suite.cases.aggregate(last=models.Max("position"))["last"]
    _create_cases([_CaseToWrite(spec, 0 if last is None else last + 1)], suite=suite)
    return suite.cases.get(name=spec.name)


@transaction.atomic
def add_general_check(suite: Suite, spec: AssertionSpec, *, by: Any) -> Assertion:
    """Add a check for every turn to the end of those of a suite."""
    Suite.objects.select_for_update().get(pk=suite.pk)
    last = suite.default_assertions.aggregate(last=models.Max("position"))["last"]
    place = {"suite": suite, "position": 0 if last is None else last + 1}
    row = Assertion.objects.create(**place, **Assertion.columns_of(spec))
    suite.save(update_fields=["updated_at"])
    note_edit(suite, user=by, note=f"Added the check “{row}”.")
    return row


@transaction.atomic
def change_case(case: Case, spec: CaseSpec) -> Saved:
    """Write a spec over a case, which keeps its row and its place; return whether it differs.

    Raises:
        CaseDoesNotFitError: another case has this name, or the others have the other kind of users.
    """
    before = readable(case)
    if before is not None and same(before, spec):
        return "unchanged"
    suite: Any = case.suite
    _take_name(suite, spec, but=case.pk)
    if bool(case.simulated_user) != (spec.simulated_user is not None):
        _refuse_mixed_users(suite, spec, but=case.pk)
    for name, value in CASE.values(spec).items():
        setattr(case, name, value)
    case.save()
    empty_cases([case.pk])
    _fill_cases([(case, spec)])
    return "updated"


def _take_name(suite: Suite, spec: CaseSpec, *, but: int = 0) -> None:
    """Refuse a name that another case has; two people may take it at the same moment."""
    Suite.objects.select_for_update().get(pk=suite.pk)
    if suite.cases.filter(name=spec.name).exclude(pk=but).exists():
        problem = f"The suite {suite.name} already has a case “{spec.name}”."
        raise CaseDoesNotFitError(problem, key="name")


def _refuse_mixed_users(suite: Suite, spec: CaseSpec, *, but: int = 0) -> None:
    is_simulated = spec.simulated_user is not None
    if mixes_users(suite, is_simulated=is_simulated, but=but):
        raise CaseDoesNotFitError(MIXED_USERS, key="simulated_user")


class SuiteWriting:
    """Write the suites that differ, and block other writers only for a moment.

    `write` is called in a transaction, which on SQLite blocks all other writers. If there are too
    many cases for that, `stage` writes them before it, a few at a time; they are invisible until
    `write` adds them to their suites. `clean_up` then removes what they replace. Without `stage`,
    `write` does everything itself. `losses` are those of an import, by the slugs of its suites.
    """

    def __init__(
        self,
        entries: Sequence[Compared[SuiteSpec]],
        sources: Mapping[str, str],
        imported_at: datetime | None = None,
        losses: Mapping[str, Losses] = MappingProxyType({}),
    ) -> None:
        self._entries = entries
        self._losses = losses
        self._sources = sources
        self._imported_at = imported_at
        self._name = uuid4().hex
        differing = [entry for entry in entries if entry.what != "unchanged"]
        self._plans = [_CasePlan.of(entry) for entry in differing]

    def stage(self) -> None:
        """Write cases in advance if they are too many for one transaction."""
        room = AT_ONCE
        for number, plan in enumerate(self._plans):
            if plan.write_count <= room:
                room -= plan.write_count
                continue
            plan.replace_all()
            plan.staged = f"{self._name}-{number}"
            for start in range(0, len(plan.new), AT_ONCE):
                with transaction.atomic():
                    part = plan.new[start : start + AT_ONCE]
                    _create_cases(part, suite=None, staged=plan.staged)
                let_others_write()
            plan.new = []

    def write(self) -> None:
        """Write everything, and add staged cases to their suites.

        Raises:
            ValueError: the agent or a fixture of a suite does not exist.
        """
        differing = [plan.compared for plan in self._plans]
        agents = _by_slug(Agent, (entry.spec.agent for entry in differing), "agent")
        rows = [self._columns(entry, agents[entry.spec.agent]) for entry in differing]
        suites = _upsert(Suite, rows, by=["slug"])
        _write_fixtures(suites, differing)
        _write_defaults(suites, differing)
        for suite, plan in zip(suites, self._plans, strict=True):
            self._write_cases(suite, plan)
        for entry in self._entries:
            columns = self._of_import(entry)
            if entry.what == "unchanged" and columns != {
                name: getattr(entry.row, name) for name in columns
            }:
                Suite.objects.filter(pk=entry.row.pk).update(**columns)
        _mark_unchanged(Suite, self._entries, self._imported_at)

    def _columns(self, entry: Compared[SuiteSpec], agent: Agent) -> dict[str, object]:
        return {
            "agent_id": agent.pk,
            "archived_at": None,
            **self._of_import(entry),
            **SUITE.values(entry.spec),
            **mark_of(entry, self._imported_at),
        }

    def _of_import(self, entry: Compared[SuiteSpec]) -> dict[str, object]:
        """Return what a suite remembers of its file."""
        known = entry.row.losses if entry.row is not None else {}
        losses = self._losses.get(entry.spec.slug)
        return {
            "source": self._source(entry),
            "losses": known if losses is None else losses.to_json(),
        }

    def _source(self, entry: Compared[SuiteSpec]) -> str:
        known = entry.row.source if entry.row is not None else ""
        return self._sources.get(entry.spec.slug) or known

    def _write_cases(self, suite: Suite, plan: "_CasePlan") -> None:
        if plan.staged:
            for part in _parts(plan.gone):
                Case.objects.filter(pk__in=part).update(suite=None, staged=f"{self._name}-gone")
            Case.with_staged.filter(staged=plan.staged).update(suite=suite, staged="")
        else:
            delete_cases(plan.gone)
        _move_cases(plan.moved)
        _create_cases(plan.new, suite=suite)
        _change_cases(plan.changed, suite=suite)

    def clean_up(self) -> None:
        """Remove staged cases without a suite: replaced ones, or those of a failed import."""
        if any(plan.staged for plan in self._plans):
            remove_staged(Case.with_staged.filter(suite=None, staged__startswith=self._name))


@dataclass(frozen=True, slots=True)
class _CaseToWrite:
    """A case with its position, and the key of its row if it has one."""

    spec: CaseSpec
    position: int
    pk: int | None = None
    is_refilled: bool = True  # its turns and checks differ, or are not there yet

    def columns(self) -> dict[str, object]:
        return {"position": self.position, **CASE.values(self.spec)}


@dataclass(slots=True)
class _CasePlan:
    """What becomes of the cases of a suite; `staged` is the name of those written in advance."""

    compared: Compared[SuiteSpec]
    gone: list[int] = field(default_factory=list)
    moved: list[tuple[int, int]] = field(default_factory=list)  # new position, key
    changed: list[_CaseToWrite] = field(default_factory=list)
    new: list[_CaseToWrite] = field(default_factory=list)
    staged: str = ""

    @classmethod
    def of(cls, entry: Compared[SuiteSpec]) -> Self:
        plan = cls(entry)
        wanted = {spec.name for spec in entry.spec.cases}
        plan.gone = [case.pk for name, case in entry.cases.items() if name not in wanted]
        for position, spec in enumerate(entry.spec.cases):
            stored = entry.cases.get(spec.name)
            if stored is None:
                plan.new.append(_CaseToWrite(spec, position))
            elif not stored.is_same:
                is_refilled = not stored.has_same_content
                plan.changed.append(_CaseToWrite(spec, position, stored.pk, is_refilled))
            elif stored.position != position:
                plan.moved.append((position, stored.pk))
        return plan

    @property
    def write_count(self) -> int:
        """How many cases are written with their turns and checks."""
        return len(self.new) + len(self.changed)

    def replace_all(self) -> None:
        """Replace the cases that differ by new ones: they are too many to be changed one by one."""
        self.gone += [case.pk for case in self.changed if case.pk is not None]
        self.new += self.changed
        self.changed = []


def _by_slug(model: type[M], slugs: Iterable[str], noun: str) -> dict[str, M]:
    wanted = set(slugs)
    rows = model._default_manager.filter(slug__in=wanted)  # noqa: SLF001 - how Django names it
    by_slug = {getattr(row, "slug"): row for row in rows}  # noqa: B009 - of either model
    if missing := sorted(wanted - by_slug.keys()):
        raise ValueError(f"There is no {noun} {', '.join(map(repr, missing))}.")
    return by_slug


def _write_fixtures(suites: Sequence[Suite], entries: Sequence[Compared[SuiteSpec]]) -> None:
    rows = _by_slug(
        Fixture, (slug for entry in entries for slug in entry.spec.fixtures), "test data"
    )
    link = Suite.fixtures.through
    before = {
        entry.row.pk: {row.slug for row in entry.row.fixtures.all()}
        for entry in entries
        if entry.row
    }
    pairs = [
        (suite, entry.spec.fixtures)
        for suite, entry in zip(suites, entries, strict=True)
        if before.get(suite.pk, set()) != set(entry.spec.fixtures)
    ]
    for part in _parts([suite.pk for suite, _ in pairs if suite.pk in before]):
        link.objects.filter(suite__in=part).delete()
    links = [link(suite=suite, fixture=rows[slug]) for suite, slugs in pairs for slug in set(slugs)]
    link.objects.bulk_create(links, batch_size=BATCH)


def _write_defaults(suites: Sequence[Suite], entries: Sequence[Compared[SuiteSpec]]) -> None:
    pairs = [
        (suite, entry)
        for suite, entry in zip(suites, entries, strict=True)
        if entry.row is None
        or not _same_list(entry.row.default_assertions.all(), entry.spec.assertions)
    ]
    for part in _parts([suite.pk for suite, entry in pairs if entry.row is not None]):
        Assertion.objects.filter(suite__in=part).delete()
    _create_assertions(
        row for suite, entry in pairs for row in _assertions(entry.spec.assertions, suite=suite)
    )


def _same_list(rows: Iterable[Assertion], specs: Sequence[AssertionSpec]) -> bool:
    stored = [readable(row) for row in rows]
    return len(stored) == len(specs) and all(map(same, stored, specs))


def _move_cases(moved: Sequence[tuple[int, int]]) -> None:
    # Fifty times as fast as `bulk_update`: a new case at the top moves all others.
    if moved:
        table = connection.ops.quote_name(Case._meta.db_table)  # noqa: SLF001 - how Django names it
        with connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {table} SET position = %s WHERE id = %s", moved)  # noqa: S608 - no value in it


def _create_cases(cases: Sequence[_CaseToWrite], *, suite: Suite | None, staged: str = "") -> None:
    rows = [Case(suite=suite, staged=staged, **entry.columns()) for entry in cases]
    Case.with_staged.bulk_create(rows, batch_size=BATCH)
    _fill_cases([(row, entry.spec) for row, entry in zip(rows, cases, strict=True)])


def _change_cases(cases: Sequence[_CaseToWrite], *, suite: Suite) -> None:
    rows = _upsert(
        Case, [{"suite": suite, **entry.columns()} for entry in cases], by=["suite", "name"]
    )
    refilled = [(row, entry) for row, entry in zip(rows, cases, strict=True) if entry.is_refilled]
    empty_cases([row.pk for row, _ in refilled])
    _fill_cases([(row, entry.spec) for row, entry in refilled])


def _parts(items: Sequence[T]) -> Iterable[Sequence[T]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _fill_cases(cases: Sequence[tuple[Case, CaseSpec]]) -> None:
    turns = [
        (Turn(case=case, position=position, **Turn.columns_of(turn)), turn)
        for case, spec in cases
        for position, turn in enumerate(spec.turns)
    ]
    Turn.objects.bulk_create([row for row, _ in turns], batch_size=BATCH)
    assertions = [
        assertion for row, turn in turns for assertion in _assertions(turn.assertions, turn=row)
    ]
    assertions += [
        assertion
        for case, spec in cases
        for assertion in _assertions(spec.final_assertions, case=case)
    ]
    _create_assertions(assertions)


def _assertions(
    specs: Sequence[AssertionSpec] | None, **owner: models.Model
) -> Iterable[Assertion]:
    return (
        Assertion(position=position, **owner, **Assertion.columns_of(spec))
        for position, spec in enumerate(specs or ())
    )


def _create_assertions(rows: Iterable[Assertion]) -> None:
    Assertion.objects.bulk_create(rows, batch_size=BATCH)
