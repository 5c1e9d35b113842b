"""Compare files with each other and with what exists already."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from pydantic import ValidationError

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.inventory import Abilities
from evals_app.engine.spec import ProviderKind
from evals_app.engine.suite import near
from evals_app.formats.draft import Draft, Reference
from evals_app.formats.kinds import KINDS, Kind
from evals_app.formats.naming import Contents
from evals_app.formats.problems import Problem
from fixtures_app.spec import EntityTypeSpec, FixtureSpec, check_entities
from fixtures_app.tools import TOOLS

_MANY = 8


@dataclass(frozen=True, slots=True)
class Known:
    """What exists before an import: slugs, and what must be known about them.

    `agents` gives each agent's driver, `abilities` what each may call, `entity_types` each type's
    JSON Schema. `contents_of` tells what checks may name of a fixture. `size_of` tells how
    many bytes the stored content of a SHA-256 has; None if there is none. `fixtures_of` tells
    which fixtures the suite of a slug has. `hidden` are the kinds of which whoever imports may see
    nothing: no message repeats their names or what they hold.
    """

    agents: Mapping[str, str] = field(default_factory=dict)
    abilities: Mapping[str, Abilities] = field(default_factory=dict)
    fixtures: frozenset[str] = frozenset()
    entity_types: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Azure's address is every site's own: nobody has it from the start.
    providers: frozenset[str] = frozenset(get_args(ProviderKind)) - {"azure_openai"}
    contents_of: Callable[[str], Contents | None] = lambda _: None
    size_of: Callable[[str], int | None] = lambda _: None
    fixtures_of: Callable[[str], Sequence[str]] = lambda _: ()
    hidden: frozenset[str] = frozenset()

    def visible(self) -> "Known":
        """Give what messages may repeat."""
        return replace(
            self,
            agents={} if "agent" in self.hidden else self.agents,
            fixtures=frozenset() if "fixture" in self.hidden else self.fixtures,
            entity_types={} if "entity type" in self.hidden else self.entity_types,
            providers=Known().providers if "provider" in self.hidden else self.providers,
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
            message = f"The {draft.kind} {draft.slug!r} is already in {other.path}:{other.line}."
            yield draft.place(("slug",), message)


def check_references(
    drafts: Sequence[Draft], known: Known, *, unread: Mapping[Kind, Sequence[str]]
) -> Iterator[Problem]:
    """Find names of agents, fixtures, tools and providers that do not exist.

    An object whose own file is not sound counts as existing: its file has been reported. `unread`
    are the slugs that files of broken YAML seem to have.
    """
    given = {
        kind: {**dict.fromkeys(unread.get(kind, ()), ""), **_slugs(drafts, kind)} for kind in KINDS
    }

    def names(stored: Known) -> dict[str, Sequence[str]]:
        drivers = {**stored.agents, **given["agent"]}
        return {
            "agent": list(drivers),
            "scripted judge": [each for each, how in drivers.items() if how in ("scripted", "")],
            "fixture": [*given["fixture"], *stored.fixtures],
            "provider": [*given["provider"], *stored.providers],
            "tool": list(TOOLS),
        }

    there, seen = names(known), names(known.visible())
    drivers = {**known.visible().agents, **given["agent"]}
    for draft in drafts:
        for reference in draft.references:
            if reference.name not in there[reference.kind]:
                yield _unknown(draft, reference, seen, drivers)


def _slugs(drafts: Sequence[Draft], kind: Kind) -> dict[str, str]:
    """Give slugs, and for agents the driver; an unsound agent might have any."""
    return {
        draft.slug: draft.spec.driver if isinstance(draft.spec, AgentSpec) else ""
        for draft in drafts
        if draft.kind == kind and draft.slug is not None
    }


def _unknown(
    draft: Draft,
    reference: Reference,
    names: Mapping[str, Sequence[str]],
    drivers: Mapping[str, str],
) -> Problem:
    """Say what is missing; `names`, and the `drivers` of agents, are those that may be repeated."""
    known = names[reference.kind]
    name = reference.name
    hint = near(name, known)
    if not hint and known:
        more = ", ..." if len(known) > _MANY else "."
        hint = f" Known: {', '.join(sorted(known)[:_MANY])}{more}"
    if reference.kind == "tool":
        message = f"There is no tool {name!r}.{hint}"
    elif reference.kind == "scripted judge" and name in drivers:
        message = (
            f"A judge scripted/{name} needs an agent with driver scripted; {name!r} has driver "
            f"{drivers[name]}.{hint}"
        )
    elif reference.kind == "scripted judge":
        message = f"No scripted agent {name!r} exists, in this import or before it.{hint}"
    else:
        message = f"No {reference.kind} {name!r} exists, in this import or before it.{hint}"
        if reference.kind == "agent":
            message += (
                f" Import {name}.agent.yaml along with it, or make the agent in the forms first."
            )
    return draft.place(reference.loc, message)


def declared_types(drafts: Sequence[Draft]) -> tuple[dict[str, DeclaredType], list[Problem]]:
    """Give the entity types that the fixtures declare; two may not differ under one slug."""
    found: dict[str, DeclaredType] = {}
    problems = []
    for draft in drafts:
        if not isinstance(draft.spec, FixtureSpec):
            continue
        for n, spec in enumerate(draft.spec.entity_types):
            known = found.setdefault(spec.slug, DeclaredType(spec, draft, n))
            if known.spec != spec:
                line, _ = known.draft.document.place(("entity_types", known.position))
                where = f"{known.draft.document.path}:{line}"
                message = f"The entity type {spec.slug!r} has another schema in {where}."
                problems.append(draft.document.problem(("entity_types", n, "slug"), message))
    return found, problems


def open_types(
    drafts: Sequence[Draft],
    schemas: Mapping[str, Mapping[str, Any]],
    *,
    hidden: Collection[str] = (),
) -> tuple[dict[str, DeclaredType], list[Problem]]:
    """Make types that allow anything for what Struere fixtures use and nobody declares.

    No message names the types that are `hidden`.
    """
    found: dict[str, DeclaredType] = {}
    problems = []
    for draft in drafts:
        if draft.dialect != "struere" or not isinstance(draft.spec, FixtureSpec):
            continue
        for n, entity in enumerate(draft.spec.entities):
            if entity.type in schemas or entity.type in found:
                continue
            loc = ("entities", n, "type")
            try:
                spec = EntityTypeSpec.model_validate({"slug": entity.type, "schema": {}})
            except ValidationError as error:
                message = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
                problems.append(draft.document.problem(loc, message))
                continue
            found[entity.type] = DeclaredType(spec, draft, n)
            message = (
                f"No file declares the entity type {entity.type!r}; it is made, and any data fits "
                f"it.{near(entity.type, schemas.keys() - set(hidden))}"
            )
            problems.append(draft.document.problem(loc, message, level="warning"))
    return found, problems


def check_fixtures(
    drafts: Sequence[Draft],
    schemas: Mapping[str, Mapping[str, Any]],
    *,
    reported: Sequence[Problem],
    hidden: Collection[str] = (),
) -> Iterator[Problem]:
    """Find entities of unknown types, or with data that their type does not allow.

    Nothing is revealed of the types that are `hidden`.
    """
    said = {(each.path, each.keys) for each in reported if each.level == "error"}
    for draft in drafts:
        if not isinstance(draft.spec, FixtureSpec):
            continue
        for found in check_entities(draft.spec, schemas, hidden=hidden):
            problem = draft.document.problem(found.loc, found.message)
            if (problem.path, problem.keys) not in said:
                yield problem


def unsound_types(drafts: Sequence[Draft]) -> dict[str, Mapping[str, Any]]:
    """Give the entity types of fixtures that are not sound, so that nobody misses them."""
    rows = [
        row
        for draft in drafts
        if draft.kind == "fixture" and draft.spec is None and isinstance(draft.document.data, dict)
        for row in _list(draft.document.data.get("entity_types"))
        if isinstance(row, dict)
    ]
    return {slug: {} for row in rows if isinstance(slug := row.get("slug"), str)}


def _list(value: Any) -> list[Any]:  # noqa: ANN401 - JSON
    return value if isinstance(value, list) else []
