"""The names in checks, and whether an agent and its fixtures have them.

A field of a grader states what it names: `json_schema_extra={"names": "tool"}`. What forms offer and
what is compared follow from that.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args

from pydantic import BaseModel

from evals_app.engine.specs.base_spec import mark_of
from fixtures_app.ground.words import near, nearest

Thing = Literal["tool", "argument", "chunk", "entity", "entity type"]
THINGS: tuple[Thing, ...] = get_args(Thing)

_MANY = 8
_CREATED = re.compile(r"(.+)-\d+")  # ids of what an agent creates: refund-1


@dataclass(frozen=True, slots=True)
class CheckedName:
    """A name in a check, and the keys of the check under which it is written.

    `is_part`: any name that has this text in it will do. `is_passed`: it is what an agent passes to
    a tool, and agents may pass anything. `is_old`: it is there at the start, so no agent creates it.
    `owner`: the tool that takes an argument.
    """

    thing: Thing
    name: str
    loc: tuple[str | int, ...]
    is_part: bool = False
    is_passed: bool = False
    is_old: bool = False
    owner: str = ""


def names_in(spec: BaseModel, loc: tuple[str | int, ...] = ()) -> Iterator[CheckedName]:
    """Find what the fields of a spec name, and those of the specs that it lists."""
    for name, key, thing in _fields(type(spec)):
        value = getattr(spec, name)
        for n, item in enumerate(value) if isinstance(value, list) else ((None, value),):
            where = (*loc, key) if n is None else (*loc, key, n)
            if isinstance(item, BaseModel):
                yield from names_in(item, where)
            elif isinstance(item, str) and thing:
                yield CheckedName(thing, item, where)


@cache
def _fields(model: type[BaseModel]) -> list[tuple[str, str, Thing | None]]:
    """Return the fields of a model with their keys in files, and what each names."""
    marks = {thing: thing for thing in THINGS}
    return [
        (name, info.alias or name, marks.get(mark_of(info, "names")))
        for name, info in model.model_fields.items()
    ]


@dataclass(frozen=True, slots=True)
class Abilities:
    """What is known of an agent: its tools, and whether it finds knowledge outside its world.

    `tools` None: it brings its own, which are unknown here.
    """

    tools: frozenset[str] | None = None
    finds_elsewhere: bool = True


@dataclass(frozen=True, slots=True)
class Inventory:
    """What the agent and the fixtures of a suite have; None if it is unknown."""

    agent: str = ""
    tools: frozenset[str] | None = None
    chunks: frozenset[str] | None = None
    entities: frozenset[str] | None = None
    types: frozenset[str] | None = None
    # The arguments of the tools of which they are known, with their types of JSON.
    arguments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Whether messages may name what exists.
    shows_tools: bool = True
    shows_data: bool = True

    @classmethod
    def of(
        cls,
        agent: str,
        abilities: Abilities,
        *,
        chunks: Iterable[str] = (),
        entities: Iterable[str] = (),
        types: Iterable[str] = (),
    ) -> "Inventory":
        """Return what an agent has and finds in a world with these contents."""
        return cls(
            agent,
            abilities.tools,
            None if abilities.finds_elsewhere else frozenset(chunks),
            frozenset(entities),
            frozenset(types),
        )

    def known_names(self, named: CheckedName) -> frozenset[str] | None:
        """Return the names that it could be; None if they are unknown."""
        if named.thing == "argument":
            arguments = self.arguments.get(named.owner)
            return None if arguments is None else frozenset(arguments)
        return {
            "tool": self.tools,
            "chunk": self.chunks,
            "entity": self.entities,
            "entity type": self.types,
        }[named.thing]

    def problem(self, named: CheckedName) -> str | None:
        """Explain that a name does not exist; None if it does or may exist."""
        known = self.known_names(named)
        if known is None or self._has(named, known):
            return None
        return f"{self._missing(named)}.{self._hint(named, known)}"

    def problems(self, names: Iterable[CheckedName]) -> Iterator[tuple[CheckedName, str]]:
        """Find the names that do not exist, with an explanation."""
        for named in names:
            if not named.is_passed and (problem := self.problem(named)):
                yield named, problem

    def warnings(self, names: Iterable[CheckedName]) -> Iterator[tuple[CheckedName, str]]:
        """Find the names that agents should pass to tools and that do not exist."""
        for named in names:
            if named.is_passed and (problem := self.problem(named)):
                yield named, problem

    def _has(self, named: CheckedName, known: Collection[str]) -> bool:
        if named.is_part:
            return any(named.name in name for name in known)
        if named.name in known:
            return True
        if named.thing != "entity" or named.is_old:
            return False
        created = _CREATED.fullmatch(named.name)
        return created is not None and (self.types is None or created[1] in self.types)

    def _missing(self, named: CheckedName) -> str:
        name = repr(named.name)
        match named.thing:
            case "tool" if named.is_part:
                return f"No tool of the agent {self.agent} has {name} in its name"
            case "tool":
                return f"The agent {self.agent} has no tool {name}"
            case "argument":
                return f"The tool {named.owner} has no argument {name}"
            case "entity type":
                return f"There is no entity type {name}"
            case "chunk":
                return f"The test data of this suite has no passage {name}"
            case "entity":
                return f"The test data of this suite has no entity {name}"

    def _hint(self, named: CheckedName, known: Collection[str]) -> str:
        is_shown = self.shows_tools if named.thing in {"tool", "argument"} else self.shows_data
        if not is_shown:
            return ""
        if not known:
            return f" There are no {_PLURALS[named.thing]}."
        hint = near(named.name, sorted(known))
        more = ", ..." if len(known) > _MANY else "."
        return f"{hint} Known: {', '.join(sorted(known)[:_MANY])}{more}"


NOTHING_KNOWN = Inventory()


def slips(names: Iterable[CheckedName]) -> dict[str, str]:
    """Find tools that are named once and almost like one that is named more often."""
    counts = Counter(name.name for name in names if name.thing == "tool" and not name.is_part)
    usual = [name for name, count in counts.items() if count > 1]
    slip_of = {
        name: nearest(name, usual, is_slip=True) for name, count in counts.items() if count == 1
    }
    return {name: meant for name, meant in slip_of.items() if meant}


_PLURALS: dict[Thing, str] = {
    "tool": "tools",
    "argument": "arguments",
    "chunk": "passages",
    "entity": "entities",
    "entity type": "entity types",
}
