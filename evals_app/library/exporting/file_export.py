"""Write rows as files: native ones, or those of other systems as far as they support it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from pydantic import BaseModel

from evals_app.engine.graders.similarity import SemanticSimilarity
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.foreign.attached import files_of
from evals_app.formats.native import file_name, write_native
from evals_app.formats.reading.parsed_file import MAX_BYTES, MAX_NODES
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.formats.struere.export import write_project
from evals_app.formats.tables.writing import write_csv, write_xlsx
from evals_app.models import Agent, Attachment, Provider, Suite
from fixtures_app.ground.memory import pause_collection
from fixtures_app.ground.words import near
from fixtures_app.library import fixture_specs
from fixtures_app.spec import FixtureSpec

Form = Literal["native", "struere", "xlsx", "csv"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class ExportedFiles:
    """Files by their paths, losses, and warnings of what an import would refuse."""

    files: Mapping[str, bytes] = field(repr=False)
    losses: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Chosen:
    suites: list[SuiteSpec]
    agents: list[AgentSpec]
    fixtures: list[FixtureSpec]
    providers: list[ProviderSpec]


@pause_collection()
def export_files(
    suites: Sequence[str] = (), *, form: Form = "native", has_providers: bool = True
) -> ExportedFiles:
    """Write all that is not archived, or some suites with all that they need.

    Providers are left out for people who may not see them: how a site reaches its models.

    Files of turns are in a folder next to their suite, if the format supports them.

    Raises:
        LookupError: there is no such suite; the message names similar ones.
        pydantic.ValidationError: a row contains what no longer validates.
    """
    chosen = _some(suites) if suites else _everything()
    return _WRITERS[form](chosen if has_providers else replace(chosen, providers=[]))


def _everything() -> _Chosen:
    rows = Suite.objects.current().with_everything().order_by("slug")
    return _Chosen(
        suites=[row.to_spec() for row in rows.iterator(chunk_size=50)],
        agents=[row.to_spec() for row in Agent.objects.order_by("slug")],
        fixtures=fixture_specs(),
        providers=_providers(),
    )


def _some(slugs: Sequence[str]) -> _Chosen:
    known = list(Suite.objects.order_by("slug").values_list("slug", flat=True))
    if unknown := [slug for slug in slugs if slug not in known]:
        raise LookupError(
            " ".join(f"There is no suite {slug!r}.{near(slug, known)}" for slug in unknown)
        )
    rows = Suite.objects.with_everything().order_by("slug").filter(slug__in=slugs)
    suites = [row.to_spec() for row in rows]
    judges = [judge for suite in suites for judge in _judges_of(suite)]
    scripted = {judge.name for judge in judges if judge.provider == "scripted"}
    slugs_of_agents = scripted | {suite.agent for suite in suites}
    rows_of_agents = Agent.objects.filter(slug__in=slugs_of_agents).order_by("slug")
    agents = [row.to_spec() for row in rows_of_agents]
    graders = [check.grader for suite in suites for check in suite.checks()]
    embedders = [item.embedder for item in graders if isinstance(item, SemanticSimilarity)]
    models = filter(None, [*judges, *embedders, *(agent.asked_model for agent in agents)])
    return _Chosen(
        suites=suites,
        agents=agents,
        fixtures=fixture_specs({slug for suite in suites for slug in suite.fixtures}),
        providers=_providers(slug__in={model.provider for model in models}),
    )


def _providers(**wanted: object) -> list[ProviderSpec]:
    rows = Provider.objects.filter(**wanted).order_by("slug").prefetch_related("prices")
    return [row.to_spec() for row in rows]


def _judges_of(suite: SuiteSpec) -> Iterator[ModelSpec]:
    own: list[object] = [suite.judge_model, *(check.model for check in suite.checks())]
    yield from (judge for judge in own if isinstance(judge, ModelSpec))
    for check in suite.checks():
        yield from check.grader.jurors()


# Formats


def _native(chosen: _Chosen) -> ExportedFiles:
    specs = [*chosen.suites, *chosen.agents, *chosen.fixtures, *chosen.providers]
    written = {file_name(spec): write_native(spec) for spec in specs}
    warnings = [*_warn_of_large_files(written), *_without_judge(chosen)]
    return ExportedFiles(written | _attached_files(chosen), warnings=warnings)


def _struere(chosen: _Chosen) -> ExportedFiles:
    written, losses = write_project(chosen.suites, chosen.fixtures)
    left = _report_lost_specs(
        [*chosen.agents, *chosen.providers], "Struere projects do not support this."
    )
    return ExportedFiles(written, [*losses, *left], list(_warn_of_large_files(written)))


def _xlsx(chosen: _Chosen) -> ExportedFiles:
    tools = {agent.slug: agent.abilities.tools or () for agent in chosen.agents}
    written, losses = write_xlsx(chosen.suites, tools=tools)
    files = {"suites.suite.xlsx": written} if chosen.suites else {}
    return ExportedFiles(files | _attached_files(chosen), [*losses, *_beside_tables(chosen)])


def _csv(chosen: _Chosen) -> ExportedFiles:
    files: dict[str, bytes] = {}
    losses: list[Problem] = []
    for suite in chosen.suites:
        files[f"{suite.slug}.suite.csv"], lost = write_csv(suite)
        losses += lost
    return ExportedFiles(files | _attached_files(chosen), [*losses, *_beside_tables(chosen)])


_WRITERS: Mapping[Form, Callable[[_Chosen], ExportedFiles]] = {
    "native": _native,
    "struere": _struere,
    "xlsx": _xlsx,
    "csv": _csv,
}


def _attached_files(chosen: _Chosen) -> dict[str, bytes]:
    return Attachment.objects.by_name(files_of(chosen.suites))


def _beside_tables(chosen: _Chosen) -> Iterator[Problem]:
    others = [*chosen.agents, *chosen.fixtures, *chosen.providers]
    return _report_lost_specs(others, "Tables can contain only suites.")


def _report_lost_specs(specs: Iterable[BaseModel], reason: str) -> Iterator[Problem]:
    for spec in specs:
        yield Problem(file_name(spec), 0, 0, "", "", reason, "loss")


def _without_judge(chosen: _Chosen) -> Iterator[Problem]:
    """Warn of suites whose judge is a scripted agent that no longer exists."""
    agents = {agent.slug for agent in chosen.agents}
    for suite in chosen.suites:
        for judge in dict.fromkeys(_judges_of(suite)):
            if judge.provider == "scripted" and judge.name not in agents:
                message = f"An import would refuse it: its judge, the agent {judge.name!r}, no longer exists."
                yield Problem(file_name(suite), 0, 0, "", "", message, "warning")


def _warn_of_large_files(files: Mapping[str, bytes]) -> Iterator[Problem]:
    """Warn of files that an import would refuse because they are too large."""
    for path, content in files.items():
        if len(content) <= MAX_BYTES and _most_values(content) <= MAX_NODES:
            continue  # reading it to be sure would take longer than writing it
        try:
            read_yaml(path, content)
        except FormatError as error:
            (problem,) = error.problems
            message = f"An import would refuse it: {problem.message}"
            yield replace(problem, message=message, level="warning")


def _most_values(content: bytes) -> int:
    # A line of our YAML has at most a key, its value, and a dash for each list.
    return 2 * content.count(b"\n") + content.count(b"- ") + 1
