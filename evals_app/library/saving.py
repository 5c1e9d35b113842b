"""Specs to rows: save providers, agents and suites, writing only what differs.

A suite's cases keep their rows by name, so that links to them stay good, unless very many differ at
once; the turns and checks of a case that differs are replaced whole.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Self, TypeVar
from uuid import uuid4

from django.db import connection, models, transaction
from pydantic import BaseModel, ValidationError

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.permits import FROZEN
from evals_app.engine.spec import PriceSpec, ProviderSpec
from evals_app.engine.suite import AssertionSpec, CaseSpec, SuiteSpec, TurnSpec
from evals_app.formats import Difference, differences
from evals_app.models import Agent, Assertion, Case, ModelPrice, Provider, Suite, Turn
from evals_app.models.agents import model_columns
from evals_app.models.concurrency import let_others_write
from evals_app.models.suites import (
    LIMITS,
    cases_of,
    delete_cases,
    empty_cases,
    remove_staged,
)
from fixtures_app.library import Saved, canonical
from fixtures_app.models import Fixture

S = TypeVar("S", bound=BaseModel)
M = TypeVar("M", bound=models.Model)
T = TypeVar("T")

BATCH = 500
AT_ONCE = 500  # cases that one transaction writes with their turns and checks


def same(left: BaseModel | None, right: BaseModel | None) -> bool:
    """Whether two specs say the same; what is left out equals its default."""
    return left is right or _content(left) == _content(right)


def _content(spec: BaseModel | None) -> str:
    if spec is None:
        return ""
    return canonical(spec.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _readable(row: Any) -> Any:  # noqa: ANN401 - a row with to_spec, and its spec
    """Give a row's spec; None where the row no longer validates, and so differs from any spec."""
    try:
        return row.to_spec()
    except ValidationError:
        return None


def digest_of(spec: BaseModel) -> str:
    """Stand for what a spec says: equal for specs that say the same."""
    if isinstance(spec, SuiteSpec):
        return _digest_of_suite(spec, map(digest_of, spec.cases))
    return hashlib.sha256(_content(spec).encode()).hexdigest()


def _digest_of_suite(spec: SuiteSpec, cases: Iterable[str]) -> str:
    """Stand for a suite by the digests of its cases, of which there may be too many to hold."""
    whole = hashlib.sha256()
    for digest in cases:
        whole.update(digest.encode())
    whole.update(_content(spec.model_copy(update={"cases": []})).encode())
    return whole.hexdigest()


class StoredCase(NamedTuple):
    """The row of a case, and how it compares with the case of the same name, if there is one."""

    pk: int
    position: int
    is_same: bool  # all but the position
    has_same_content: bool  # its turns and checks


@dataclass(frozen=True, slots=True)
class Compared(Generic[S]):
    """A spec, the row of the same slug if there is one, and what saving would do.

    The digests stand for what both say; that of a row which does not validate any more is empty.
    `details` are the differences, if somebody asked for them, and `cases` those of a stored suite.
    """

    spec: S
    row: Any = field(repr=False)
    what: Saved
    digest: str
    digest_before: str
    details: Sequence[Difference] = ()
    cases: Mapping[str, StoredCase] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        spec: S,
        row: Any,  # noqa: ANN401 - of any kind, or None
        digests: tuple[str, str],
        details: Sequence[Difference] | None = None,
        cases: Mapping[str, StoredCase] = MappingProxyType({}),
    ) -> Self:
        is_same = digests[0] == digests[1]
        what: Saved = "created" if row is None else "unchanged" if is_same else "updated"
        if is_same and getattr(row, "archived_at", None) is not None:
            what = "updated"  # an import brings it back
        if details is not None and getattr(row, "archived_at", None) is not None:
            details = [Difference("archived", "true", "false"), *details]
        return cls(spec, row, what, *digests, details or (), cases)


def compared(
    rows: Iterable[Any], specs: Sequence[S], *, in_detail: bool = False
) -> list[Compared[S]]:
    """Compare specs with the rows that are stored under their slugs; nothing is written."""
    stored = {row.slug: row for row in rows}
    found = []
    for spec in specs:
        row = stored.get(getattr(spec, "slug"))  # noqa: B009 - of every kind of spec
        before = _readable(row) if row is not None else None
        digests = digest_of(spec), digest_of(before) if before is not None else ""
        is_told = in_detail and before is not None
        details = list(differences(before, spec)) if is_told else None
        found.append(Compared.of(spec, row, digests, details))
    return found


def compare_providers(
    specs: Sequence[ProviderSpec], *, in_detail: bool = False
) -> list[Compared[ProviderSpec]]:
    """Compare providers with what is stored."""
    rows = Provider.objects.prefetch_related("prices")
    return compared(rows.filter(slug__in=_slugs(specs)), specs, in_detail=in_detail)


def compare_agents(
    specs: Sequence[AgentSpec], *, in_detail: bool = False
) -> list[Compared[AgentSpec]]:
    """Compare agents with what is stored."""
    rows = Agent.objects.filter(slug__in=_slugs(specs))
    return compared(rows, specs, in_detail=in_detail)


def compare_suites(
    specs: Sequence[SuiteSpec], *, in_detail: bool = False
) -> list[Compared[SuiteSpec]]:
    """Compare suites with what is stored, a few cases at a time."""
    rows = Suite.objects.with_head().filter(slug__in=_slugs(specs)).order_by("pk")
    by_slug = {spec.slug: spec for spec in specs}
    stored = {row.slug: row for row in rows}
    pairs: dict[int | None, _ComparedSuite] = {
        row.pk: _ComparedSuite(row, by_slug[row.slug], in_detail=in_detail) for row in rows
    }
    for case in cases_of(list(rows)):
        pairs[case.suite_id].take(case)
    return [
        pairs[stored[spec.slug].pk].result()
        if spec.slug in stored
        else Compared.of(spec, None, (digest_of(spec), ""))
        for spec in specs
    ]


def _readable_head(row: Suite) -> SuiteSpec | None:
    try:
        return SuiteSpec.model_validate(row.written_head(), context=FROZEN)
    except ValidationError:
        return None


class _ComparedSuite:
    """Compares a stored suite with a spec while its cases come one by one."""

    def __init__(self, row: Suite, spec: SuiteSpec, *, in_detail: bool) -> None:
        self._row, self._spec, self._in_detail = row, spec, in_detail
        self._head = _readable_head(row)
        self._wanted = {case.name: (case, digest_of(case)) for case in spec.cases}
        self._stored: dict[str, StoredCase] = {}
        self._digests: list[str] = []
        self._details: list[Difference] = []
        self._is_sound = self._head is not None

    def take(self, row: Case) -> None:
        """Compare the next case."""
        before = _readable(row)
        spec, wanted = self._wanted.get(row.name, (None, ""))
        digest = digest_of(before) if before is not None else ""
        is_same = digest == wanted
        has_same_content = is_same or _have_same_content(before, spec)
        self._stored[row.name] = StoredCase(row.pk, row.position, is_same, has_same_content)
        self._digests.append(digest)
        self._is_sound &= before is not None
        if self._in_detail and self._is_sound and not is_same:
            self._details += differences(before, spec, ("cases", row.name))

    def result(self) -> Compared[SuiteSpec]:
        """Say what all of it comes to."""
        digest = _digest_of_suite(self._spec, (digest for _, digest in self._wanted.values()))
        if self._head is None or not self._is_sound:
            return Compared.of(self._spec, self._row, (digest, ""), None, self._stored)
        before = _digest_of_suite(self._head, self._digests)
        return Compared.of(self._spec, self._row, (digest, before), self._all(), self._stored)

    def _all(self) -> list[Difference] | None:
        if not self._in_detail:
            return None
        head = self._spec.model_copy(update={"cases": []})
        new = (case for case, _ in self._wanted.values() if case.name not in self._stored)
        return [
            *differences(self._head, head),
            *self._details,
            *(each for case in new for each in differences(None, case, ("cases", case.name))),
        ]


def _slugs(specs: Iterable[Any]) -> list[str]:
    return [spec.slug for spec in specs]


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
    stored = [_readable(row) for row in rows]
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


def _have_same_content(left: CaseSpec | None, right: CaseSpec | None) -> bool:
    """Whether what stands in a case's other tables is the same."""
    return (
        left is not None
        and right is not None
        and len(left.turns) == len(right.turns)
        and len(left.final_assertions) == len(right.final_assertions)
        and all(map(same, left.turns, right.turns))
        and all(map(same, left.final_assertions, right.final_assertions))
    )


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


# Columns: what `to_spec` of the row reads back. The slug and the keys to other rows stand apart.


def provider_columns(spec: ProviderSpec) -> dict[str, Any]:
    """Give the columns of a provider."""
    return {
        "name": spec.provider,
        "kind": spec.kind,
        "base_url": spec.base_url or "",
        "api_key_env": spec.api_key_env or "",
        "max_tokens_parameter": spec.max_tokens_parameter or "",
        "max_concurrency": spec.max_concurrency,
        "requests_per_minute": spec.requests_per_minute,
    }


def price_columns(spec: PriceSpec) -> dict[str, Any]:
    """Give the columns of a price."""
    return {name: getattr(spec, name) for name in PriceSpec.model_fields}


def agent_columns(spec: AgentSpec) -> dict[str, Any]:
    """Give the columns of an agent."""
    dumped = spec.model_dump(mode="json")
    model, settings = model_columns(dumped["model"])
    return {
        "name": spec.agent,
        "description": spec.description,
        "driver": spec.driver,
        "model": model,
        "model_settings": settings,
        "system_prompt": spec.system_prompt,
        "url": spec.url or "",
        "headers": dumped["headers"],
        "protocol": spec.protocol,
        "remote_model": spec.remote_model or "",
        "callable": spec.callable or "",
        "command": spec.command or [],
        "tools": [
            each if isinstance(each, str) else each.model_dump(mode="json", exclude_defaults=True)
            for each in spec.tools
        ],
        # Defaults are left out, so that they may become better ones without an edit of each row.
        "settings": spec.settings.model_dump(mode="json", exclude_defaults=True),
        "rules": [each.model_dump(mode="json", exclude_defaults=True) for each in spec.rules],
    }


def suite_columns(spec: SuiteSpec) -> dict[str, Any]:
    """Give the columns of a suite; a run's gates are columns of it too."""
    judge, settings = model_columns(
        spec.model_dump(mode="json", include={"judge_model"})["judge_model"]
    )
    return {
        "name": spec.suite,
        "description": spec.description,
        "tags": spec.tags,
        "trials": spec.trials,
        "min_pass_rate": spec.min_pass_rate,
        "pass_rule": spec.pass_rule,
        "pass_threshold": spec.pass_threshold,
        "run_rule": spec.run_rule,
        "score_scale": spec.score_scale,
        "concurrency": spec.concurrency,
        "judge_model": judge,
        "judge_settings": settings,
        "judge_prompt": spec.judge_prompt,
        "judge_context": spec.judge_context,
        "rubric": spec.rubric,
        "rubric_weight": spec.rubric_weight,
        "min_score": spec.gates.min_score,
        "gate_pass_rate": spec.gates.min_pass_rate,
        "max_p95_ms": spec.gates.max_p95_ms,
        "max_cost_per_call_usd": spec.gates.max_cost_per_call_usd,
        "max_cost_usd": spec.gates.max_cost_usd,
    }


def case_columns(spec: CaseSpec) -> dict[str, Any]:
    """Give the columns of a case."""
    return {
        "description": spec.description,
        "tags": spec.tags,
        "channel": spec.channel or "",
        "context_params": spec.context_params,
        "clock": spec.clock or "",
        **{limit: getattr(spec.limits, limit) for limit in LIMITS},
        "turn_timeout_s": spec.turn_timeout_s,
        "streaming": spec.streaming,
        "trials": spec.trials,
        "history": [message.model_dump(mode="json") for message in spec.history],
    }


def turn_columns(spec: TurnSpec) -> dict[str, Any]:
    """Give the columns of a turn."""
    if spec.assertions is None:
        checks = Turn.Checks.SUITE
    else:
        checks = Turn.Checks.BOTH if spec.inherit else Turn.Checks.OWN
    return {
        "user": spec.user,
        "expected": spec.expected,
        "checks": checks,
        "files": [each.model_dump(mode="json") for each in spec.files],
        "context": spec.context,
        "retrieval_context": spec.retrieval_context,
        "config": spec.config,
    }


def assertion_columns(spec: AssertionSpec) -> dict[str, Any]:
    """Give the columns of an assertion."""
    model, settings = model_columns(
        spec.model_dump(mode="json", include={"model"})["model"] if spec.model else None
    )
    return {
        "type": spec.type,
        "options": spec.grader.model_dump(mode="json", exclude_defaults=True),
        "name": spec.name or "",
        "weight": spec.weight,
        "threshold": spec.threshold,
        "enabled": spec.enabled,
        "fail_on_error": spec.fail_on_error,
        "model": model,
        "model_settings": settings,
        "scope": spec.scope or "",
    }
