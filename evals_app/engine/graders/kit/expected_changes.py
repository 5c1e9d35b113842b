"""The changes that `world_changes` expects, one per line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from evals_app.engine.basics.journal import Entry, Row, changed_fields, difference, value_at
from evals_app.engine.basics.matchers import ABSENT, Matcher, matcher_warnings, mismatches, phrase
from evals_app.engine.specs.base_spec import Spec
from fixtures_app.ground.quoting import join_list, json_text

Kind = Literal["created", "updated", "deleted", "linked", "unlinked"]

_SHOWN = 120

_MAX = 500  # characters of a name
_Type = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=_MAX,
        title="Type",
        description="Slug of the entity type.",
        json_schema_extra={"names": "entity type"},
    ),
]
_Id = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=_MAX,
        title="Id",
        description="In test data, the entity's ref. For entities that the agent creates, `<type>-<n>`, for"
        " example refund-1.",
        json_schema_extra={"names": "entity"},
    ),
]
_Status = Annotated[
    str | None,
    Field(min_length=1, max_length=_MAX, title="Status", description="The entity's status."),
]
_End = Annotated[
    str | None, Field(min_length=1, max_length=_MAX, json_schema_extra={"names": "entity"})
]
_Count = Annotated[
    int, Field(ge=1, le=100, title="How many", description="The number of such entities.")
]
_Data = Annotated[
    dict[str, Matcher],
    Field(
        title="Fields",
        description="What the entity's fields must be: a value, or one of {fuzzy: x}, {regex: p},"
        " {any_of: [...]}, {contains: x}, {present: true|false}. A dotted path (address.city) leads"
        " into a field. Fields that are not listed may have any value.",
        json_schema_extra={"mono": True, "names": "field"},
    ),
]


@dataclass(frozen=True, slots=True)
class WorldChange:
    """A change that happened: the row after it, or before it if the row is gone.

    Of an update `fields` are the data that it changed, by dotted path, and `status` the status
    before and after if that changed.
    """

    kind: Kind
    row: Row
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    status: tuple[str, str] | None = None

    @classmethod
    def of_update(cls, before: Row, after: Row) -> Self:
        old, new = before["status"], after["status"]
        status = None if old == new else (old, new)
        return cls("updated", after, changed_fields(before, after), status)

    def __str__(self) -> str:
        row = self.row
        match self.kind:
            case "linked" | "unlinked":
                return f"{row['from']} → {row['type']} → {row['to']}"
            case "created":
                return f"{row['type']} {row['id']} {json_text(row['data'], _SHOWN)}"
            case "deleted":
                return f"{row['type']} {row['id']}"
            case "updated":
                turned = [_link_text(*field) for field in self.fields.items()]
                turned += [_link_text("status", self.status)] if self.status else []
                return f"{row['id']} ({join_list(turned)})"


def _link_text(name: str, values: tuple[object, object]) -> str:
    old, new = ("nothing" if value is ABSENT else json_text(value, _SHOWN) for value in values)
    return f"{name}: {old} → {new}"


class ExpectedEntity(Spec):
    """An entity that must be created, updated or deleted."""

    id: _Id = None
    type: _Type = None
    data: _Data = Field(default_factory=dict)
    status: _Status = None
    count: _Count = 1

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if self.id is None and self.type is None:
            raise ValueError("Give the entity's id or its type.")
        if self.id is not None and self.count > 1:
            raise ValueError(f"{self.id} is a single entity; count is only for a type.")
        return self

    @property
    def handle(self) -> tuple[str, str]:
        """A key that changes must have to be the expected one, and its value."""
        return ("id", self.id) if self.id is not None else ("type", str(self.type))

    def is_about(self, change: WorldChange) -> bool:
        """Return whether it happened to this entity or relation, as expected or not."""
        key, value = self.handle
        return bool(change.row[key] == value)

    def faults(self, change: WorldChange, *, spared: tuple[str, ...] | None) -> list[str]:
        """Describe what keeps a change from being the expected one.

        An update that names fields may change no others but those in `spared`; None: any.
        """
        row = change.row
        faults = []
        if self.type is not None and row["type"] != self.type:
            faults.append(f"its type is {row['type']}")
        if self.status is not None and row["status"] != self.status:
            faults.append(f"its status is {row['status']}")
        if self.data:
            values = {path: value_at(row["data"], path) for path in self.data}
            there = {path: value for path, value in values.items() if value is not ABSENT}
            faults += mismatches(self.data, there, exact=False)
        if spared is not None and (self.data or self.status is not None):
            faults += self._also_changed(change, spared)
        return faults

    def _also_changed(self, change: WorldChange, spared: tuple[str, ...]) -> list[str]:
        named = (*self.data, *spared)
        turned = [field for field in change.fields.items() if not covers(named, field[0])]
        if self.status is None and change.status is not None:
            turned.append(("status", change.status))
        return [f"{_link_text(*pair)} was not expected" for pair in turned]

    def cost(self) -> int:
        """Count what there is to compare."""
        return 1 + sum(map(_operands, self.data.values()))

    def warnings(self) -> list[str]:
        return matcher_warnings(self.data)

    def __str__(self) -> str:
        if self.id is not None:
            which = f"{self.id} ({self.type})" if self.type is not None else self.id
        else:
            which = str(self.type) if self.count == 1 else f"{self.count} of type {self.type}"
        conditions = [phrase(*item) for item in self.data.items()]
        conditions += [] if self.status is None else [phrase("status", self.status)]
        return f"{which} with {join_list(conditions)}" if conditions else which


class ExpectedLink(Spec):
    """A relation that must be made or removed."""

    model_config = ConfigDict(serialize_by_alias=True)

    from_: Annotated[_End, Field(alias="from", title="From", description="Id of an entity.")] = None
    type: Annotated[
        str | None,
        Field(min_length=1, max_length=_MAX, title="Relation", description="Type of the relation."),
    ] = None
    to: Annotated[_End, Field(title="To", description="Id of an entity.")] = None

    count: ClassVar[int] = 1

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self._ends_by_name:
            raise ValueError("Describe the relation: give from, type or to.")
        return self

    @property
    def _ends_by_name(self) -> dict[str, str]:
        named = {"from": self.from_, "type": self.type, "to": self.to}
        return {key: value for key, value in named.items() if value is not None}

    @property
    def handle(self) -> tuple[str, str]:
        """A key that changes must have to be the expected one, and its value."""
        key = next(key for key in ("from", "to", "type") if key in self._ends_by_name)
        return key, self._ends_by_name[key]

    def is_about(self, change: WorldChange) -> bool:
        """Return whether it happened to this entity or relation, as expected or not."""
        row = change.row
        ends = {self.from_, self.to} - {None}
        return bool(ends & {row["from"], row["to"]}) if ends else bool(self.type == row["type"])

    def faults(self, change: WorldChange, *, spared: tuple[str, ...] | None) -> list[str]:
        """Describe what keeps a change from being the expected one."""
        named = self._ends_by_name.items()
        return [
            f"{name} is {change.row[name]}" for name, value in named if change.row[name] != value
        ]

    def cost(self) -> int:
        """Count what there is to compare."""
        return 1

    def warnings(self) -> list[str]:
        return []

    def __str__(self) -> str:
        return " → ".join(self._ends_by_name.get(key, "any") for key in ("from", "type", "to"))


def _operands(matcher: object) -> int:
    if isinstance(matcher, dict) and list(matcher) == ["any_of"]:
        return sum(map(_operands, matcher["any_of"]))
    return 1


def covers(named: tuple[str, ...], path: str) -> bool:
    """Return whether a changed path is one of these, within one of them, or contains one."""
    return any(
        path == name or path.startswith(f"{name}.") or name.startswith(f"{path}.") for name in named
    )


def changes_of(journal: Sequence[Entry]) -> dict[Kind, list[WorldChange]]:
    """Return the net changes of a world, by kind."""
    changes = difference(journal)
    return {
        "created": [WorldChange("created", row) for row in changes["created"]],
        "updated": [
            WorldChange.of_update(row["before"], row["after"]) for row in changes["updated"]
        ],
        "deleted": [WorldChange("deleted", row) for row in changes["deleted"]],
        "linked": [WorldChange("linked", row) for row in changes["relations_created"]],
        "unlinked": [WorldChange("unlinked", row) for row in changes["relations_deleted"]],
    }
