"""What people edited since a run: whether its cases would be run as they were."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import Spec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec, read_case
from evals_app.models import Agent, Run, Suite
from evals_app.models.authored.suites import cases_of
from fixtures_app.models import EntityType

MAX_COMPARED = 500  # cases; larger suites are only reported as not compared

S = TypeVar("S", bound=Spec)


def edited_since(
    run: Run, names: Collection[str], *, suite: Suite, agent: Agent, model: str
) -> list[str]:
    """Return what differs today from what the run used, for people: `agent shop`, `case “Refund”`.

    `names` are the cases to compare, `agent` and `model` what the suite would be run with.
    """
    head = SnapshotSpec.read(run.snapshot.content)
    row = Suite.objects.with_head().get(pk=suite.pk)
    return [
        *_agent(head.agent, agent, model),
        *_suite(head.suite, row),
        *_edited_rows("test data", head.fixtures, row.fixtures.with_everything()),
        *_edited_rows("entity type", head.entity_types, EntityType.objects.all()),
        *_cases(run, names, suite),
    ]


def checks_edited_since(run: Run, names: Collection[str], *, suite: Suite) -> list[str]:
    """Return the same, limited to what regrading stored conversations depends on."""
    head = SnapshotSpec.read(run.snapshot.content)
    row = Suite.objects.with_head().get(pk=suite.pk)
    return [*_suite(head.suite, row), *_cases(run, names, suite)]


def _agent(before: AgentSpec, agent: Agent, model: str) -> Iterator[str]:
    if before.slug != agent.slug:
        yield f"the agent, now {agent.slug}"
        return
    after = agent.to_mapping() | ({"model": model} if model else {})
    if _differs(before, after):
        yield f"agent {agent.slug}"


def _suite(before: SuiteSpec, row: Suite) -> Iterator[str]:
    if _differs(before, row.head_mapping() | {"agent": before.agent}):
        yield f"the settings or checks of suite {row.slug}"


def _edited_rows(what: str, before: Iterable[Any], rows: Iterable[Any]) -> Iterator[str]:
    # Ignore additions: nothing unchanged can use them, or the suite itself would have changed.
    today = {row.slug: row.to_spec() for row in rows}
    yield from (f"{what} {spec.slug}" for spec in before if spec != today.get(spec.slug))


def _cases(run: Run, names: Collection[str], suite: Suite) -> Iterator[str]:
    if len(names) > MAX_COMPARED:
        yield f"perhaps some of the {len(names):,} cases, which were not compared"
        return
    positions = run.executions.filter(case__in=names).values_list("position", flat=True)
    rows = run.snapshot.cases.filter(position__in=set(positions))
    contents = rows.values_list("content", flat=True)
    before = {case.name: case for case in map(read_case, contents)}
    today = {row.name: row.to_mapping() for row in cases_of([suite], names=names)}
    for name, case in before.items():
        if name not in today:
            yield f"case “{name}”, which is no longer in the suite"
        elif _differs(case, today[name]):
            yield f"case “{name}”"


def _differs(before: Spec, after: Mapping[str, object]) -> bool:
    return _read(type(before), after) != before


def _read(spec: type[S], written: Mapping[str, object]) -> S | None:
    """Validate the content of rows; None if it is invalid, and so has changed."""
    try:
        return spec.model_validate(written, context=FROZEN)
    except ValidationError:
        return None
