"""Compare the names in checks with what the agent and the fixtures of their suite have."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.inventory import Abilities, CheckedName, Inventory, Thing, slips
from evals_app.engine.suites.suite_spec import AssertionSpec, SuiteSpec
from evals_app.formats.foreign.draft import Draft, placed_assertions, written_assertions
from evals_app.formats.reading.problems import Level, Loc, Problem, holds
from fixtures_app.spec import FixtureSpec

CheckedThing = tuple[Thing, str]  # what a check names: a tool, a chunk, an entity; and its name


@dataclass(frozen=True, slots=True)
class FixtureContents:
    """What checks may name of a fixture."""

    entities: frozenset[str] = frozenset()
    chunks: frozenset[str] = frozenset()

    @classmethod
    def of(cls, fixture: FixtureSpec) -> "FixtureContents":
        entities = frozenset(entity.ref for entity in fixture.entities)
        return cls(entities, frozenset(chunk.id for chunk in fixture.chunks))


def inventory_of(
    agent: str, abilities: Abilities, fixtures: Iterable[FixtureContents], types: Iterable[str]
) -> Inventory:
    """Return what the checks of a suite may name."""
    known = list(fixtures)
    return Inventory.of(
        agent,
        abilities,
        chunks=(chunk for item in known for chunk in item.chunks),
        entities=(entity for item in known for entity in item.entities),
        types=types,
    )


@dataclass(frozen=True, slots=True)
class NamedThings:
    """What agents and fixtures have: those that are stored, and over them those of an import.

    None marks what exists but cannot be read. `hidden` are the kinds of which the importing person
    may see nothing that is stored.
    """

    abilities: Mapping[str, Abilities | None]
    contents_of: Callable[[str], FixtureContents | None]
    types: Collection[str]
    hidden: frozenset[str] = frozenset()
    mentions_of: Callable[[str], Collection[CheckedThing]] = lambda _: ()
    agents: Mapping[str, Abilities | None] = field(default_factory=dict)
    fixtures: Mapping[str, FixtureContents | None] = field(default_factory=dict)

    def with_drafts(self, drafts: Sequence[Draft], unread: Iterable[str]) -> "NamedThings":
        """Return the same with what an import brings; `unread` are agents of broken files."""
        agents: dict[str, Abilities | None] = dict.fromkeys(unread)
        fixtures: dict[str, FixtureContents | None] = {}
        for draft in drafts:
            spec, slug = draft.spec, draft.slug
            if slug is None:
                continue
            if draft.kind == "agent":
                agents[slug] = spec.abilities if isinstance(spec, AgentSpec) else None
            elif draft.kind == "fixture":
                fixtures[slug] = FixtureContents.of(spec) if isinstance(spec, FixtureSpec) else None
        return replace(self, agents=agents, fixtures=fixtures)

    def inventory(self, agent: str, fixtures: Iterable[str]) -> Inventory | None:
        """Return what the checks of a suite may name; None if its agent cannot be read."""
        abilities = self.agents.get(agent, self.abilities.get(agent))
        if abilities is None:
            return None
        slugs = list(fixtures)
        contents = [self.fixtures[s] if s in self.fixtures else self.contents_of(s) for s in slugs]
        inventory = inventory_of(agent, abilities, filter(None, contents), self.types)
        is_whole = None not in contents
        return replace(
            inventory,
            chunks=inventory.chunks if is_whole else None,
            entities=inventory.entities if is_whole else None,
            shows_tools=agent in self.agents or "agent" not in self.hidden,
            shows_data=not {"fixture", "entity type"} & self.hidden,
        )


_NO_FIXTURES = "The suite has no test data: name some under `fixtures`."
_NO_FIXTURE = {
    "table": "The suite has no test data: add a column settings, and write `fixtures: [SLUG]` in its "
    "first row."
}


def check_names(drafts: Iterable[Draft], holdings: NamedThings) -> Iterator[Problem]:
    """Find tools, chunks and entities in checks that the agent and the fixtures do not have.

    This is only a warning in files of other systems, which must import; for an agent without tools,
    which may get some later; and for what the stored suite names, so that its export can come back.
    """
    for draft in drafts:
        if draft.kind != "suite" or not isinstance(draft.data, dict):
            continue
        agent, fixtures = _setting(draft)
        inventory = holdings.inventory(agent, fixtures)
        if inventory is None:
            continue
        mentioned = [
            (names, loc)
            for check, loc in _checks(draft)
            if (names := list(check.grader.mentions()))
        ]
        for names, loc in mentioned:
            for named, problem in inventory.problems(names):
                needs_fixture = named.thing in {"chunk", "entity"} and not fixtures
                more = f" {_NO_FIXTURE.get(draft.dialect, _NO_FIXTURES)}" if needs_fixture else ""
                has_none = named.thing == "tool" and not inventory.tools
                is_stored = (named.thing, named.name) in holdings.mentions_of(draft.slug or "")
                level: Level = "warning" if has_none or is_stored else draft.strictness
                place = _place_of_name((*loc, *named.loc), draft)
                yield draft.place(place, f"{problem}{more}", level=level)
            for named, problem in inventory.warnings(names):
                yield draft.place((*loc, *named.loc), problem, level="warning")
        yield from _misspelt(draft, inventory, mentioned)


def _place_of_name(loc: Loc, draft: Draft) -> Loc:
    """Return the place of a name; a tool without options is written as its name alone."""
    value: Any = draft.data
    for length, step in enumerate(loc):
        if isinstance(value, str):
            return loc[:length]
        value = value[step] if holds(value, step) else None
    return loc


def _setting(draft: Draft) -> tuple[str, list[str]]:
    """Return the agent and the fixtures of a suite that may be invalid."""
    if isinstance(draft.spec, SuiteSpec):
        return draft.spec.agent, draft.spec.fixtures
    written = draft.data.get("fixtures")
    slugs = [written] if isinstance(written, str) else written
    return str(draft.data.get("agent")), [
        slug for slug in (slugs if isinstance(slugs, list) else []) if isinstance(slug, str)
    ]


def _checks(draft: Draft) -> Iterator[tuple[AssertionSpec, Loc]]:
    """Find the checks of a suite, or the valid ones of an invalid suite."""
    if isinstance(draft.spec, SuiteSpec):
        yield from placed_assertions(draft.spec)
        return
    for written, loc in written_assertions(draft.data):
        try:
            yield AssertionSpec.model_validate(written), loc
        except ValidationError:
            continue  # reported elsewhere


def _misspelt(
    draft: Draft, inventory: Inventory, mentioned: Sequence[tuple[Sequence[CheckedName], Loc]]
) -> Iterator[Problem]:
    """Warn of tool names that look misspelt and cannot be looked up here."""
    if inventory.tools is not None:
        return
    placed = [(named, (*loc, *named.loc)) for names, loc in mentioned for named in names]
    doubts = slips([named for named, _ in placed])
    for named, loc in placed:
        if usual := doubts.get(named.name):
            message = (
                f"The agent {inventory.agent} has its own tools, so {named.name!r} cannot be looked up"
                f" here. Other checks use {usual!r}. Did you mean that?"
            )
            yield draft.place(loc, message, level="warning")
