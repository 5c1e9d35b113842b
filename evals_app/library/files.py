"""Import files into rows, all or nothing, and write rows as files again."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db import DataError, connection, transaction
from django.db.models import QuerySet
from pydantic import BaseModel

from evals_app.engine.spec import AgentSpec, ModelSpec
from evals_app.engine.suite import AssertionSpec, SuiteSpec, near
from evals_app.formats import (
    Dialect,
    FormatError,
    Imported,
    Known,
    Problem,
    SourceData,
    SourceFile,
    file_name,
    read_files,
    write_native,
)
from evals_app.library.saving import save_agent, save_provider, save_suite
from evals_app.models import Agent, Provider, Suite
from fixtures_app.library import (
    Saved,
    fixture_specs,
    known_schemas,
    misfits,
    save_entity_types,
    save_fixture,
)
from fixtures_app.models import Fixture

Kind = Literal["entity type", "fixture", "provider", "agent", "suite"]

# Any number, as long as nothing else in this database uses it for an advisory lock.
_IMPORT_LOCK = 7_203_117


@dataclass(frozen=True, slots=True)
class Change:
    """What an import did, or would do, to one object."""

    kind: Kind
    slug: str
    what: Saved


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of everything in an import, and what is allowed in it but hardly meant."""

    changes: list[Change] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


def import_files(
    files: Sequence[SourceFile | SourceData],
    *,
    dry_run: bool = False,
    dialect: Dialect | None = None,
    approve: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Save everything that the files hold in one transaction; with `dry_run` save nothing.

    `approve` sees the report before it becomes true; what it raises rolls everything back.

    Raises:
        FormatError: with every problem of every file; nothing was saved.
    """
    try:
        with _uncollected(), transaction.atomic():
            _wait_for_other_imports()
            imported = read_files(files, dialect=dialect, known=_known())
            _check_types(imported)
            report = ImportReport(list(_save(imported)), imported.warnings)
            if approve is not None:
                approve(report)
            # Comparing is what saving does anyway; so a dry run saves, and takes it back.
            if dry_run:
                transaction.set_rollback(True)
    except (DataError, OverflowError) as error:
        # The last net; the specs bound what columns hold.
        reason = str(error).partition("\n")[0]  # what follows may quote the value
        message = f"The database cannot store a value of this import: {reason}"
        raise FormatError([Problem("", 0, 0, "", "", message)]) from error
    return report


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector out of the way of a large import.

    It would walk millions of new objects again and again and find nothing: half of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _wait_for_other_imports() -> None:
    """Let one import of a site follow the other; SQLite does so by itself."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_IMPORT_LOCK])


def _known() -> Known:
    return Known(
        agents=dict(Agent.objects.values_list("slug", "driver")),
        fixtures=frozenset(Fixture.objects.values_list("slug", flat=True)),
        entity_types=known_schemas(),
        # Those that every site has count even where somebody removed their rows.
        providers=Known().providers | set(Provider.objects.values_list("slug", flat=True)),
    )


def _check_types(imported: Imported) -> None:
    """Refuse schemas that stored entities do not fit: what is stored can always be imported."""
    places = {each.spec.slug: each for each in imported.entity_types}
    besides = [each.spec.slug for each in imported.fixtures]
    found = misfits([each.spec for each in places.values()], besides=besides)
    problems = [
        Problem(
            places[slug].path,
            places[slug].line,
            0,
            "",
            slug,
            f"Entities that exist do not fit this schema of {slug!r}; import their fixtures along "
            f"with it. {'; '.join(sentences[:3])}" + _more(len(sentences) - 3),
        )
        for slug, sentences in found.items()
    ]
    if problems:
        raise FormatError(problems)


def _more(count: int) -> str:
    return f"; and {count} more." if count > 0 else ""


def _save(imported: Imported) -> Iterator[Change]:
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
        yield Change("suite", suite.spec.slug, save_suite(suite.spec))


@_uncollected()
def export_files(suites: Sequence[str] = ()) -> dict[str, bytes]:
    """Write everything as native YAML, or some suites with all that they need; by file name.

    Raises:
        LookupError: there is no such suite; the message names near ones.
        pydantic.ValidationError: a row holds what no longer validates.
    """
    rows = Suite.objects.with_everything().order_by("slug")
    if not suites:
        specs: list[BaseModel] = [row.to_spec() for row in rows.iterator(chunk_size=50)]
        specs += [row.to_spec() for row in Agent.objects.order_by("slug")]
        specs += fixture_specs()
        specs += [row.to_spec() for row in _providers()]
        return _files(specs)
    _check_slugs(suites)
    chosen = [row.to_spec() for row in rows.filter(slug__in=suites)]
    agents = _agents_of(chosen)
    fixtures = {slug for suite in chosen for slug in suite.fixtures}
    models = [agent.model for agent in agents if agent.model]
    models += [judge for suite in chosen for judge in _judges_of(suite)]
    providers = _providers().filter(slug__in={model.provider for model in models})
    return _files(
        [
            *chosen,
            *agents,
            *fixture_specs(fixtures),
            *(row.to_spec() for row in providers),
        ]
    )


def _files(specs: Iterable[BaseModel]) -> dict[str, bytes]:
    return {file_name(spec): write_native(spec) for spec in specs}


def _providers() -> QuerySet[Provider]:
    return Provider.objects.order_by("slug").prefetch_related("prices")


def _check_slugs(suites: Sequence[str]) -> None:
    known = list(Suite.objects.order_by("slug").values_list("slug", flat=True))
    unknown = [slug for slug in suites if slug not in known]
    if unknown:
        raise LookupError(
            " ".join(f"There is no suite {slug!r}.{near(slug, known)}" for slug in unknown)
        )


def _agents_of(suites: Sequence[SuiteSpec]) -> list[AgentSpec]:
    """Load the agents of suites, and the scripted ones that judge."""
    slugs = {suite.agent for suite in suites}
    for suite in suites:
        slugs |= {judge.name for judge in _judges_of(suite) if judge.provider == "scripted"}
    return [row.to_spec() for row in Agent.objects.filter(slug__in=slugs).order_by("slug")]


def _judges_of(suite: SuiteSpec) -> Iterator[ModelSpec]:
    own: list[Any] = [suite.judge_model, *(each.model for each in _assertions_of(suite))]
    yield from (judge for judge in own if isinstance(judge, ModelSpec))


def _assertions_of(suite: SuiteSpec) -> Iterator[AssertionSpec]:
    yield from suite.assertions
    for case in suite.cases:
        yield from case.final_assertions
        for turn in case.turns:
            yield from turn.assertions or ()
