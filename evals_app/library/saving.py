"""Specs to rows: save providers, agents and suites, writing only what differs.

A suite's cases keep their rows by name, so that links to them stay good, unless very many differ at
once; the turns and checks of a case that differs are replaced whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self, TypeVar
from uuid import uuid4

from django.db import connection, models, transaction

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.spec import PriceSpec, ProviderSpec
from evals_app.engine.suite import AssertionSpec, CaseSpec, SuiteSpec
from evals_app.library.columns import (
    agent_columns,
    assertion_columns,
    case_columns,
    price_columns,
    provider_columns,
    suite_columns,
    turn_columns,
)
from evals_app.library.comparing import (
    Compared,
    compare_agents,
    compare_providers,
    compare_suites,
    readable,
    same,
)
from evals_app.models import Agent, Assertion, Case, ModelPrice, Provider, Suite, Turn
from evals_app.models.concurrency import let_others_write
from evals_app.models.suites import delete_cases, empty_cases, remove_staged
from fixtures_app.library import Saved
from fixtures_app.models import Fixture

M = TypeVar("M", bound=models.Model)
T = TypeVar("T")

BATCH = 500
AT_ONCE = 500  # cases that one transaction writes with their turns and checks


@dataclass(frozen=True, slots=True)
class Mark:
    """When an import writes rows: they note it, with what it wrote, to tell edits from it later."""

    at: datetime

    def columns(self, found: Compared[Any]) -> dict[str, Any]:
        """Give the columns of a row that is written."""
        return {"imported_digest": found.digest, "imported_at": self.at}


def _written(each: Compared[Any], columns: Mapping[str, Any], mark: Mark | None) -> dict[str, Any]:
    return {"slug": each.spec.slug, **columns, **(mark.columns(each) if mark else {})}


def _upsert(model: type[M], rows: Sequence[dict[str, Any]], *, by: Sequence[str]) -> list[M]:
    """Insert rows, or change those that are there; `by` names what tells them apart."""
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


def mark_unchanged(model: type[models.Model], found: Iterable[Compared[Any]], mark: Mark) -> None:
    """Let rows that stay as they are count as imported from now on."""
    rows = []
    for each in found:
        if each.what == "unchanged" and each.row.imported_digest != each.digest:
            for name, value in mark.columns(each).items():
                setattr(each.row, name, value)
            rows.append(each.row)
    manager = model._default_manager  # noqa: SLF001 - how Django names it
    manager.bulk_update(rows, ["imported_digest", "imported_at"], batch_size=BATCH)


def save_provider(spec: ProviderSpec) -> Saved:
    """Write a provider with the prices of its models."""
    with transaction.atomic():
        found = compare_providers([spec])
        write_providers(found)
    return found[0].what


def write_providers(found: Sequence[Compared[ProviderSpec]], mark: Mark | None = None) -> None:
    """Write the providers that differ, with the prices of their models."""
    differing = [each for each in found if each.what != "unchanged"]
    rows = [_written(each, provider_columns(each.spec), mark) for each in differing]
    written = _upsert(Provider, rows, by=["slug"])
    for row, each in zip(written, differing, strict=True):
        save_prices(row, each.spec.prices)
    if mark:
        mark_unchanged(Provider, found, mark)


@transaction.atomic
def save_prices(provider: Provider, specs: Sequence[PriceSpec]) -> None:
    """Replace the list of a provider's prices; what stays the same keeps its row."""
    wanted = [price_columns(spec) for spec in specs]
    kept: list[dict[str, Any]] = []
    gone: list[int] = []
    for row in provider.prices.all():
        columns = row.written()
        if columns in wanted and columns not in kept:
            kept.append(columns)
        else:
            gone.append(row.pk)
    # Gone first: a price may take the place of another.
    ModelPrice.objects.filter(pk__in=gone).delete()
    ModelPrice.objects.bulk_create(
        [ModelPrice(provider=provider, **columns) for columns in wanted if columns not in kept],
        batch_size=BATCH,
    )


def save_agent(spec: AgentSpec) -> Saved:
    """Write an agent."""
    with transaction.atomic():
        found = compare_agents([spec])
        write_agents(found)
    return found[0].what


def write_agents(found: Sequence[Compared[AgentSpec]], mark: Mark | None = None) -> None:
    """Write the agents that differ."""
    differing = [each for each in found if each.what != "unchanged"]
    rows = [_written(each, agent_columns(each.spec), mark) for each in differing]
    _upsert(Agent, rows, by=["slug"])
    if mark:
        mark_unchanged(Agent, found, mark)


def save_suite(spec: SuiteSpec, *, source: str = "") -> Saved:
    """Write a suite with its cases, turns and checks; one that was archived is so no more.

    `source` is the file that it comes from; without one the suite keeps what it knows.

    Raises:
        ValueError: its agent or one of its fixtures does not exist.
    """
    with transaction.atomic():
        found = compare_suites([spec])
        SuiteWriting(found, {spec.slug: source}).write()
    return found[0].what


class SuiteWriting:
    """Write the suites that differ, so that other writers wait for no more than a moment.

    `write` is called in a transaction, which on SQLite locks everybody else out. Before it `stage`
    puts down, a few at a time, all cases that are too many for that; nobody sees them until `write`
    gives them to their suites. After it `clean_up` removes what they replace. Where it is not asked
    to stage, `write` does everything itself.
    """

    def __init__(
        self,
        found: Sequence[Compared[SuiteSpec]],
        sources: Mapping[str, str],
        mark: Mark | None = None,
    ) -> None:
        self._found = found
        self._sources = sources
        self._mark = mark
        self._name = uuid4().hex
        differing = [each for each in found if each.what != "unchanged"]
        self._plans = [_CasePlan.of(each) for each in differing]

    def stage(self) -> None:
        """Write cases ahead where there are more than a transaction should write."""
        room = AT_ONCE
        for number, plan in enumerate(self._plans):
            if plan.written <= room:
                room -= plan.written
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
        """Write everything, or give what was staged to its suite.

        Raises:
            ValueError: the agent or a fixture of a suite does not exist.
        """
        differing = [plan.compared for plan in self._plans]
        agents = _by_slug(Agent, (each.spec.agent for each in differing), "agent")
        rows = [
            _written(each, self._columns(each, agents[each.spec.agent]), self._mark)
            for each in differing
        ]
        suites = _upsert(Suite, rows, by=["slug"])
        _write_fixtures(suites, differing)
        _write_defaults(suites, differing)
        for suite, plan in zip(suites, self._plans, strict=True):
            self._write_cases(suite, plan)
        self._write_sources()
        if self._mark:
            mark_unchanged(Suite, self._found, self._mark)

    def _columns(self, each: Compared[SuiteSpec], agent: Agent) -> dict[str, Any]:
        return {
            "agent_id": agent.pk,
            "archived_at": None,
            "source": self._source(each),
            **suite_columns(each.spec),
        }

    def _source(self, each: Compared[SuiteSpec]) -> str:
        known = each.row.source if each.row is not None else ""
        return self._sources.get(each.spec.slug) or known

    def _write_sources(self) -> None:
        for each in self._found:
            if each.what == "unchanged" and each.row.source != self._source(each):
                Suite.objects.filter(pk=each.row.pk).update(source=self._source(each))

    def _write_cases(self, suite: Suite, plan: "_CasePlan") -> None:
        if plan.staged:
            for part in _parts(plan.gone):
                Case.objects.filter(pk__in=part).update(suite=None, staged=f"{self._name}-gone")
            Case.anywhere.filter(staged=plan.staged).update(suite=suite, staged="")
        else:
            delete_cases(plan.gone)
        _move_cases(plan.moved)
        _create_cases(plan.new, suite=suite)
        _change_cases(plan.changed, suite=suite)

    def clean_up(self) -> None:
        """Remove what was staged and is in no suite: replaced, or not wanted after all."""
        if any(plan.staged for plan in self._plans):
            remove_staged(Case.anywhere.filter(suite=None, staged__startswith=self._name))


@dataclass(frozen=True, slots=True)
class _CaseToWrite:
    """A case at its place; `pk` is that of its row, if it has one."""

    spec: CaseSpec
    position: int
    pk: int | None = None
    is_refilled: bool = True  # its turns and checks differ, or are not there yet

    def columns(self) -> dict[str, Any]:
        return {"name": self.spec.name, "position": self.position, **case_columns(self.spec)}


@dataclass(slots=True)
class _CasePlan:
    """What becomes of the cases of a suite; `staged` is the name of those that are written ahead."""

    compared: Compared[SuiteSpec]
    gone: list[int] = field(default_factory=list)
    moved: list[tuple[int, int]] = field(default_factory=list)  # new position, key
    changed: list[_CaseToWrite] = field(default_factory=list)
    new: list[_CaseToWrite] = field(default_factory=list)
    staged: str = ""

    @classmethod
    def of(cls, found: Compared[SuiteSpec]) -> Self:
        plan = cls(found)
        wanted = {spec.name for spec in found.spec.cases}
        plan.gone = [case.pk for name, case in found.cases.items() if name not in wanted]
        for position, spec in enumerate(found.spec.cases):
            stored = found.cases.get(spec.name)
            if stored is None:
                plan.new.append(_CaseToWrite(spec, position))
            elif not stored.is_same:
                is_refilled = not stored.has_same_content
                plan.changed.append(_CaseToWrite(spec, position, stored.pk, is_refilled))
            elif stored.position != position:
                plan.moved.append((position, stored.pk))
        return plan

    @property
    def written(self) -> int:
        """How many cases are written with all that belongs to them."""
        return len(self.new) + len(self.changed)

    def replace_all(self) -> None:
        """Let those that differ come as new ones: they are too many to be changed one by one."""
        self.gone += [each.pk for each in self.changed if each.pk is not None]
        self.new += self.changed
        self.changed = []


def _by_slug(model: type[M], slugs: Iterable[str], noun: str) -> dict[str, M]:
    wanted = set(slugs)
    rows = model._default_manager.filter(slug__in=wanted)  # noqa: SLF001 - how Django names it
    found = {getattr(row, "slug"): row for row in rows}  # noqa: B009 - of either model
    if missing := sorted(wanted - found.keys()):
        msg = f"There is no {noun} {', '.join(map(repr, missing))}."
        raise ValueError(msg)
    return found


def _write_fixtures(suites: Sequence[Suite], found: Sequence[Compared[SuiteSpec]]) -> None:
    rows = _by_slug(Fixture, (slug for each in found for slug in each.spec.fixtures), "fixture")
    link = Suite.fixtures.through
    before = {
        each.row.pk: {row.slug for row in each.row.fixtures.all()} for each in found if each.row
    }
    pairs = [
        (suite, each.spec.fixtures)
        for suite, each in zip(suites, found, strict=True)
        if before.get(suite.pk, set()) != set(each.spec.fixtures)
    ]
    for part in _parts([suite.pk for suite, _ in pairs if suite.pk in before]):
        link.objects.filter(suite__in=part).delete()
    links = [link(suite=suite, fixture=rows[slug]) for suite, slugs in pairs for slug in set(slugs)]
    link.objects.bulk_create(links, batch_size=BATCH)


def _write_defaults(suites: Sequence[Suite], found: Sequence[Compared[SuiteSpec]]) -> None:
    """Write the checks that suites have for all turns, where they differ."""
    pairs = [
        (suite, each)
        for suite, each in zip(suites, found, strict=True)
        if each.row is None
        or not _same_list(each.row.default_assertions.all(), each.spec.assertions)
    ]
    for part in _parts([suite.pk for suite, each in pairs if each.row is not None]):
        Assertion.objects.filter(suite__in=part).delete()
    _create_assertions(
        row for suite, each in pairs for row in _assertions(each.spec.assertions, suite=suite)
    )


def _same_list(rows: Iterable[Assertion], specs: Sequence[AssertionSpec]) -> bool:
    stored = [readable(row) for row in rows]
    return len(stored) == len(specs) and all(map(same, stored, specs))


def _move_cases(moved: Sequence[tuple[int, int]]) -> None:
    # Fifty times as fast as `bulk_update`: one case more at the top moves all others.
    if moved:
        table = connection.ops.quote_name(Case._meta.db_table)  # noqa: SLF001 - how Django names it
        with connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {table} SET position = %s WHERE id = %s", moved)  # noqa: S608 - no value in it


def _create_cases(cases: Sequence[_CaseToWrite], *, suite: Suite | None, staged: str = "") -> None:
    rows = [Case(suite=suite, staged=staged, **each.columns()) for each in cases]
    Case.anywhere.bulk_create(rows, batch_size=BATCH)
    _fill_cases([(row, each.spec) for row, each in zip(rows, cases, strict=True)])


def _change_cases(cases: Sequence[_CaseToWrite], *, suite: Suite) -> None:
    rows = _upsert(
        Case, [{"suite": suite, **each.columns()} for each in cases], by=["suite", "name"]
    )
    refilled = [(row, each) for row, each in zip(rows, cases, strict=True) if each.is_refilled]
    empty_cases([row.pk for row, _ in refilled])
    _fill_cases([(row, each.spec) for row, each in refilled])


def _parts(items: Sequence[T]) -> Iterable[Sequence[T]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _fill_cases(cases: Sequence[tuple[Case, CaseSpec]]) -> None:
    turns = [
        (Turn(case=case, position=position, **turn_columns(turn)), turn)
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
        Assertion(position=position, **owner, **assertion_columns(spec))
        for position, spec in enumerate(specs or ())
    )


def _create_assertions(rows: Iterable[Assertion]) -> None:
    Assertion.objects.bulk_create(rows, batch_size=BATCH)
