"""The protocols through which the engine sees fixtures and their tools."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from evals_app.engine.basics.journal import WorldState


class Tool(Protocol):
    """A tool as models see it: a name, a sentence, and the JSON Schema of its arguments.

    `retrieval` names the key of the result that lists fetched chunks (`id`, `text`), if any.
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def retrieval(self) -> str | None: ...


class World(Protocol):
    """A private copy of the fixtures that one execution reads and changes through tools.

    `call` never raises for what an agent does wrong: it returns `{"error": {"code", "message"}}`.
    `change_count` is the length of the journal; `initial_state` gives the entities and relations as they
    were before the first change.
    """

    @property
    def tools(self) -> Mapping[str, Tool]: ...
    @property
    def journal(self) -> Sequence[Mapping[str, object]]: ...
    @property
    def change_count(self) -> int: ...
    def call(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]: ...
    def changes(self) -> dict[str, Any]: ...
    def initial_state(self) -> WorldState: ...
