"""Compare files with each other and with what exists already."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from evals_app.engine.llm.judge_plugins import PLUGIN, judge_problem
from evals_app.engine.network.provider_kinds import KINDS as PROVIDER_KINDS
from evals_app.engine.specs.agent_spec import OUTSIDE, AgentSpec
from evals_app.engine.specs.inventory import Abilities
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.naming import CheckedThing, FixtureContents
from evals_app.formats.dialect import rows_under
from evals_app.formats.foreign.draft import KINDS, NAMES, Draft, DraftReference, Kind
from evals_app.formats.reading.problems import Problem
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.ground.words import near
from fixtures_app.spec import EntityTypeSpec, FixtureSpec, check_entities
from fixtures_app.tools import TOOLS

NO_STREAMING = "Only agents that are models can stream. The setting has no effect for this one."
_MANY = 8


@dataclass(frozen=True, slots=True)
class ExistingObjects:
    """What exists before an import: slugs, and what must be known about them.

    `agents` gives each agent's driver, `abilities` what each may call, `entity_types` each type's
    JSON Schema. `contents_of` returns what checks may name of a fixture. `size_of` returns how
    many bytes the stored content of a SHA-256 has; None if there is none. `chosen` returns
    the fixtures and the judge of the suite of a slug, as far as it has any, and `mentions_of` what the
    checks of its stored version name. `hidden` are the kinds of which the person who imports may see
    nothing: no message repeats their names or what they contain. With `only_reads` nothing is to be
    saved: what does not fit is a warning then, as what a file refers to may exist elsewhere.
    """

    agents: Mapping[str, str] = field(default_factory=dict)
    abilities: Mapping[str, Abilities] = field(default_factory=dict)
    fixtures: frozenset[str] = frozenset()
    entity_types: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Azure has a separate address for each site: no site has it from the start.
    providers: frozenset[str] = frozenset(PROVIDER_KINDS) - {"azure_openai"}
    contents_of: Callable[[str], FixtureContents | None] = lambda _: None
    size_of: Callable[[str], int | None] = lambda _: None
    chosen: Callable[[str], Mapping[str, Any]] = lambda _: {}
    mentions_of: Callable[[str], Collection[CheckedThing]] = lambda _: ()
    hidden: frozenset[str] = frozenset()
    only_reads: bool = False

    def visible(self) -> "ExistingObjects":
        """Return what messages may repeat."""
        return replace(
            self,
            agents={} if "agent" in self.hidden else self.agents,
            fixtures=frozenset() if "fixture" in self.hidden else self.fixtures,
            entity_types={} if "entity type" in self.hidden else self.entity_types,
            providers=ExistingObjects().providers if "provider" in self.hidden else self.providers,
        )


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """An entity type, and where it is declared or first used."""

    spec: EntityTypeSpec
    draft: Draft
    position: int


def check_slugs(drafts: Sequence[Draft]) -> Iterator[Problem]:
    """Find two objects of one kind with the same slug."""
    first: dict[tuple[Kind, str], Draft] = {}
    for draft in drafts:
        if draft.slug is None:
            continue
        known = first.setdefault((draft.kind, draft.slug), draft)
        if known is not draft:
            other = known.place(("slug",), "")
            message = f"The {NAMES.get(draft.kind, draft.kind)} {draft.slug!r} is already in {other.path}:{other.line}."
            yield draft.place(("slug",), message)


def check_references(
    drafts: Sequence[Draft], known: ExistingObjects, *, unread: Mapping[Kind, Sequence[str]]
) -> Iterator[Problem]:
    """Find names of agents, fixtures, tools and providers that do not exist.

    An object whose own file is invalid counts as existing: its file has been reported. `unread`
    are the slugs that files of broken YAML seem to have.
    """
    given = {
        kind: {**dict.fromkeys(unread.get(kind, ()), ""), **_slugs(drafts, kind)} for kind in KINDS
    }

    def names(stored: ExistingObjects) -> dict[str, Sequence[str]]:
        drivers = {**stored.agents, **given["agent"]}
        return {
            "agent": list(drivers),
            "scripted judge": [
                driver for driver, how in drivers.items() if how in ("scripted", "")
            ],
            "fixture": [*given["fixture"], *stored.fixtures],
            "provider": [*given["provider"], *stored.providers],
            "tool": list(TOOLS),
        }

    def exists(reference: DraftReference) -> bool:
        if reference.kind != "judge":
            return reference.name in there[reference.kind]
        # A provider of that name goes before plug-ins.
        return PLUGIN in there["provider"] or judge_problem(reference.name) is None

    there, seen = names(known), names(known.visible())
    drivers = {**known.visible().agents, **given["agent"]}
    for draft in drafts:
        for reference in draft.references:
            if not exists(reference):
                yield _unknown(draft, reference, seen, drivers)


def _slugs(drafts: Sequence[Draft], kind: Kind) -> dict[str, str]:
    """Return slugs, and for agents the driver; an unsound agent might have any."""
    return {
        draft.slug: draft.spec.driver if isinstance(draft.spec, AgentSpec) else ""
        for draft in drafts
        if draft.kind == kind and draft.slug is not None
    }


def _unknown(
    draft: Draft,
    reference: DraftReference,
    names: Mapping[str, Sequence[str]],
    drivers: Mapping[str, str],
) -> Problem:
    """Return what is missing; `names` and the `drivers` of agents are those that may be repeated."""
    name = reference.name
    if reference.kind == "judge":
        message = f"{PLUGIN}/{name} cannot judge: {judge_problem(name)}"
        return draft.place(reference.loc, message)
    known = names[reference.kind]
    hint = near(name, known)
    if not hint and known:
        more = ", ..." if len(known) > _MANY else "."
        hint = f" Known: {', '.join(sorted(known)[:_MANY])}{more}"
    if reference.kind == "tool":
        message = f"There is no tool {name!r}.{hint}"
    elif reference.kind == "scripted judge" and name in drivers:
        message = (
            f"A judge scripted/{name} needs an agent with driver scripted, but {name!r} has "
            f"driver {drivers[name]}.{hint}"
        )
    elif reference.kind == "scripted judge":
        message = f"No scripted agent {name!r} exists in this import or on this site.{hint}"
    else:
        kind = NAMES.get(reference.kind, reference.kind)
        message = f"No {kind} {name!r} exists in this import or on this site.{hint}"
        if reference.kind == "agent":
            message += (
                f" Import {name}.agent.yaml together with it, or create the agent in the "
                "forms first."
            )
    return draft.place(reference.loc, message)


def declared_types(drafts: Sequence[Draft]) -> tuple[dict[str, DeclaredType], list[Problem]]:
    """Return the entity types that the fixtures declare; two may not differ under one slug."""
    types: dict[str, DeclaredType] = {}
    problems = []
    for draft in drafts:
        if not isinstance(draft.spec, FixtureSpec):
            continue
        for n, spec in enumerate(draft.spec.entity_types):
            known = types.setdefault(spec.slug, DeclaredType(spec, draft, n))
            if known.spec != spec:
                line, _ = known.draft.document.place(("entity_types", known.position))
                where = f"{known.draft.document.path}:{line}"
                message = f"The entity type {spec.slug!r} has another schema in {where}."
                problems.append(draft.document.problem(("entity_types", n, "slug"), message))
    return types, problems


def open_types(
    drafts: Sequence[Draft],
    schemas: Mapping[str, Mapping[str, object]],
    *,
    hidden: Collection[str] = (),
) -> tuple[dict[str, DeclaredType], list[Problem]]:
    """Make types that allow anything for what Struere fixtures use and no file declares.

    No message names the types that are `hidden`.
    """
    opened: dict[str, DeclaredType] = {}
    problems = []
    for draft in drafts:
        if draft.dialect != "struere" or not isinstance(draft.spec, FixtureSpec):
            continue
        for n, entity in enumerate(draft.spec.entities):
            if entity.type in schemas or entity.type in opened:
                continue
            loc = ("entities", n, "type")
            try:
                spec = EntityTypeSpec.model_validate({"slug": entity.type, "schema": {}})
            except ValidationError as error:
                message = messages_of(error)[0]
                problems.append(draft.document.problem(loc, message))
                continue
            opened[entity.type] = DeclaredType(spec, draft, n)
            message = (
                f"No file declares the entity type {entity.type!r}. It is created and accepts "
                f"any data.{near(entity.type, schemas.keys() - set(hidden))}"
            )
            problems.append(draft.document.problem(loc, message, level="warning"))
    return opened, problems


def check_fixtures(
    drafts: Sequence[Draft],
    schemas: Mapping[str, Mapping[str, object]],
    *,
    reported: Sequence[Problem],
    hidden: Collection[str] = (),
) -> Iterator[Problem]:
    """Find entities of unknown types, or with data that their type does not allow.

    Nothing is revealed of the types that are `hidden`.
    """
    known_places = {(item.path, item.keys) for item in reported if item.level == "error"}
    for draft in drafts:
        if not isinstance(draft.spec, FixtureSpec):
            continue
        for fault in check_entities(draft.spec, schemas, hidden=hidden):
            problem = draft.document.problem(fault.loc, fault.message)
            if (problem.path, problem.keys) not in known_places:
                yield problem


def invalid_types(drafts: Sequence[Draft]) -> dict[str, Mapping[str, object]]:
    """Return the entity types of invalid fixtures, so that they are not reported as missing."""
    declared = (
        row
        for draft in drafts
        if draft.kind == "fixture" and draft.spec is None
        for row in rows_under(draft.document.data, "entity_types")
    )
    return {slug: {} for row in declared if isinstance(slug := row.get("slug"), str)}


def streaming_warnings(drafts: Sequence[Draft], agents: Mapping[str, str]) -> Iterator[Problem]:
    """Warn of cases that ask for streaming where it does nothing, once for each suite.

    `agents` gives the driver of each agent that is stored.
    """
    drivers = {**agents, **_slugs(drafts, "agent")}
    for draft in drafts:
        if isinstance(draft.spec, SuiteSpec) and drivers.get(draft.spec.agent) in OUTSIDE:
            streamed = [n for n, case in enumerate(draft.spec.cases) if case.streaming]
            for n in streamed[:1]:
                yield draft.place(("cases", n, "streaming"), NO_STREAMING, level="warning")
