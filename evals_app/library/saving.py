"""Specs to rows: save providers, agents and suites, writing only what differs.

A suite's cases keep their rows by name, so that links to them stay good; the turns and checks of
a case that differs are replaced whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import models, transaction
from django.utils import timezone
from pydantic import BaseModel, ValidationError

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.spec import PriceSpec, ProviderSpec
from evals_app.engine.suite import AssertionSpec, CaseSpec, SuiteSpec, TurnSpec
from evals_app.models import Agent, Assertion, Case, ModelPrice, Provider, Suite, Turn
from evals_app.models.agents import model_columns
from evals_app.models.suites import LIMITS
from fixtures_app.library import Saved, canonical
from fixtures_app.models import Fixture

BATCH = 500


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


@transaction.atomic
def save_provider(spec: ProviderSpec) -> Saved:
    """Write a provider with the prices of its models."""
    saved = _save(Provider, spec, provider_columns(spec))
    if saved != "unchanged":
        save_prices(Provider.objects.get(slug=spec.slug), spec.prices)
    return saved


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


@transaction.atomic
def save_agent(spec: AgentSpec) -> Saved:
    """Write an agent."""
    return _save(Agent, spec, agent_columns(spec))


def _save(
    model: type[Provider | Agent], spec: ProviderSpec | AgentSpec, columns: Mapping[str, Any]
) -> Saved:
    row = model.objects.select_for_update().filter(slug=spec.slug).first()
    if row is None:
        model.objects.create(slug=spec.slug, **columns)
        return "created"
    if same(_readable(row), spec):
        return "unchanged"
    for name, value in columns.items():
        setattr(row, name, value)
    row.save()
    return "updated"


@transaction.atomic
def save_suite(spec: SuiteSpec, *, source: str = "") -> Saved:
    """Write a suite with its cases, turns and checks; one that was archived is so no more.

    `source` is the file that it comes from; without one the suite keeps what it knows.

    Raises:
        ValueError: its agent or one of its fixtures does not exist.
    """
    agent = Agent.objects.filter(slug=spec.agent).first()
    if agent is None:
        msg = f"Suite {spec.slug!r} names the agent {spec.agent!r}, which does not exist."
        raise ValueError(msg)
    # The lock keeps two imports of one suite apart on PostgreSQL: the later one wins whole.
    rows = Suite.objects.filter(slug=spec.slug)
    columns = rows.select_for_update().values_list("archived_at", "source")
    archived_at, known_source = columns.first() or (None, "")
    saved = _save_suite(spec, agent)
    if source not in {"", known_source}:
        rows.update(source=source)
    if archived_at is None:
        return saved
    rows.restore()
    return "updated"


def _save_suite(spec: SuiteSpec, agent: Agent) -> Saved:
    row = Suite.objects.with_everything().filter(slug=spec.slug).first()
    before: SuiteSpec | None = _readable(row) if row is not None else None
    if row is None:
        row = Suite.objects.create(slug=spec.slug, agent=agent, **suite_columns(spec))
        saved: Saved = "created"
    elif same(before, spec):
        return "unchanged"
    else:
        saved = "updated"
        row.agent = agent
        for name, value in suite_columns(spec).items():
            setattr(row, name, value)
        row.save()
    row.fixtures.set(_fixtures(spec))
    if not _same_list(row.default_assertions.all(), spec.assertions):
        row.default_assertions.all().delete()
        _create_assertions(_assertions(spec.assertions, suite=row))
    _save_cases(row, spec.cases, before=before)
    return saved


def _fixtures(spec: SuiteSpec) -> list[Fixture]:
    found = {row.slug: row for row in Fixture.objects.filter(slug__in=spec.fixtures)}
    if missing := [slug for slug in spec.fixtures if slug not in found]:
        msg = f"Suite {spec.slug!r} names fixtures that do not exist: {', '.join(missing)}."
        raise ValueError(msg)
    return list(found.values())


def _same_list(rows: Iterable[Assertion], specs: Sequence[AssertionSpec]) -> bool:
    stored = [_readable(row) for row in rows]
    return len(stored) == len(specs) and all(map(same, stored, specs))


def _save_cases(suite: Suite, specs: Sequence[CaseSpec], *, before: SuiteSpec | None) -> None:
    stored = {case.name: case for case in suite.cases.all()}
    # One case that no longer validates makes the suite unreadable; then each is read by itself.
    readable = {case.name: case for case in before.cases} if before is not None else None
    wanted = {spec.name for spec in specs}
    _delete_cases([case.pk for name, case in stored.items() if name not in wanted])
    new: list[Case] = []
    touched: list[Case] = []
    refilled: list[tuple[Case, CaseSpec]] = []
    columns: set[str] = set()  # that differ in some row
    for position, spec in enumerate(specs):
        wanted_columns = {"position": position, **case_columns(spec)}
        row = stored.get(spec.name)
        if row is None:
            new.append(Case(suite=suite, name=spec.name, **wanted_columns))
            refilled.append((new[-1], spec))
            continue
        differing = [
            name
            for name, value in wanted_columns.items()
            if not _is_same(getattr(row, name), value)
        ]
        known = _readable(row) if readable is None else readable[spec.name]
        is_refilled = known is None or not _same_content(known, spec)
        if differing or is_refilled:
            touched.append(row)
        for name in differing:
            setattr(row, name, wanted_columns[name])
        columns.update(differing)
        if is_refilled:
            refilled.append((row, spec))
    if columns:
        Case.objects.bulk_update(touched, sorted(columns), batch_size=BATCH)
    for part in _parts([row.pk for row in touched]):
        Case.objects.filter(pk__in=part).update(updated_at=timezone.now())
    _empty_cases([row.pk for row, _ in refilled if row.pk is not None])
    Case.objects.bulk_create(new, batch_size=BATCH)
    _fill_cases(refilled)


def _is_same(left: Any, right: Any) -> bool:  # noqa: ANN401 - what a column holds
    # Only JSON has values that are equal and yet differ: 1, 1.0 and true.
    is_json = isinstance(left, dict | list)
    return canonical(left) == canonical(right) if is_json else bool(left == right)


def _same_content(left: CaseSpec, right: CaseSpec) -> bool:
    """Whether what stands in a case's other tables is the same."""
    return (
        len(left.turns) == len(right.turns)
        and len(left.final_assertions) == len(right.final_assertions)
        and all(map(same, left.turns, right.turns))
        and all(map(same, left.final_assertions, right.final_assertions))
    )


def _delete_cases(ids: Sequence[int]) -> None:
    _empty_cases(ids)
    for part in _parts(ids):
        Case.objects.filter(pk__in=part).delete()


def _empty_cases(ids: Sequence[int]) -> None:
    # From the bottom up, so that Django finds nothing to cascade to row by row.
    for part in _parts(ids):
        Assertion.objects.filter(turn__case__in=part).delete()
        Assertion.objects.filter(case__in=part).delete()
        Turn.objects.filter(case__in=part).delete()


def _parts(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


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
