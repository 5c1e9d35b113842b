"""Rows <-> specs: one table for each kind of row states which column has which key.

Both directions, labels and help texts of forms follow from it. A table names only columns whose name
is not that of their key, so a new key needs a column, and nothing here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db.models import Field, JSONField, Model
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evals_app.engine.specs.base_spec import ModelSpec, fields_of


def model_columns(model: ModelSpec | str | None) -> tuple[str, dict[str, object]]:
    """Split a model reference into its name and its sampling settings."""
    if not isinstance(model, ModelSpec):
        return model or "", {}
    return str(model), model.model_dump(exclude={"provider", "name"}, exclude_none=True)


def model_reference(name: str, settings: Mapping[str, object]) -> object:
    """Join what `model_columns` split."""
    if not settings:
        return name or None
    provider, _, model = name.partition("/")
    return {"provider": provider, "name": model, **settings}


class MappedColumn(NamedTuple):
    """A column of a row and the key of the spec, with its parts, that it has."""

    name: str
    key: tuple[str, ...]
    info: FieldInfo
    field: "Field[Any, Any]"

    @property
    def is_json(self) -> bool:
        return isinstance(self.field, JSONField)

    @property
    def is_blank_for_none(self) -> bool:
        """Whether the row has an empty value where the spec has None."""
        return not self.field.null and self.info.default is None


@dataclass(frozen=True)
class RowMapping:
    """The columns of a row and the keys of its spec.

    `renamed` has columns by keys where their names differ, `limits` the keys whose parts, optional
    limits, are columns of the row itself, `models` the columns of sampling settings by the keys of
    models. `rest` is the JSON column of all keys that have no column of their own. `elsewhere` are keys
    that are not in columns of the row.
    """

    row: type[Model]
    spec: type[BaseModel]
    renamed: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, type[BaseModel]] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""
    elsewhere: frozenset[str] = frozenset()

    @cached_property
    def columns(self) -> tuple[MappedColumn, ...]:
        """The columns, in the order of the spec's keys."""
        return tuple(self._columns())

    def _columns(self) -> Iterator[MappedColumn]:
        own = {
            (key,): info
            for key, info in fields_of(self.spec).items()
            if key not in {*self.elsewhere, *self.limits, *self.in_rest}
        }
        parts = {
            (key, part): info
            for key, spec in self.limits.items()
            for part, info in spec.model_fields.items()
        }
        for key, info in (own | parts).items():
            name = self.renamed.get(".".join(key), key[-1])
            column: Any = self.row._meta.get_field(name)  # noqa: SLF001 - the documented API of models
            yield MappedColumn(name, key, info, column)

    @cached_property
    def in_rest(self) -> dict[str, FieldInfo]:
        """The keys that have no column of their own."""
        columns = {column.name for column in self.row._meta.fields}  # noqa: SLF001 - the same
        keys = fields_of(self.spec).items() if self.rest else ()
        return {key: info for key, info in keys if self.renamed.get(key, key) not in columns}

    @cached_property
    def names(self) -> dict[str, str]:
        """The columns, or fields of forms, by the dotted keys that they have."""
        own = {".".join(column.key): column.name for column in self.columns}
        return own | {key: key for key in self.in_rest}

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of columns, and of keys that are elsewhere."""
        return {name: info.title for name, info in self._field_infos().items() if info.title}

    @cached_property
    def help_texts(self) -> dict[str, str]:
        """The help texts of columns, and of keys that are elsewhere."""
        texts = {name: info.description or "" for name, info in self._field_infos().items()}
        limits = {column.name for column in self.columns if column.key[0] in self.limits}
        return texts | {name: f"{texts[name]} Leave blank for no limit." for name in limits}

    def _field_infos(self) -> dict[str, FieldInfo]:
        elsewhere = {key: self.spec.model_fields[key] for key in self.elsewhere}
        return elsewhere | self.in_rest | {column.name: column.info for column in self.columns}

    def to_mapping(
        self, row: Model, values: Mapping[str, object] = MappingProxyType({})
    ) -> dict[str, Any]:
        """Return a row as a file would contain it.

        `values` are those of a form and replace the row's own. A form may lack any field: a new row
        has the spec's default for it, and a stored one keeps what it has.
        """

        def read(name: str) -> Any:
            return values[name] if name in values else getattr(row, name)

        written: dict[str, Any] = {key: {} for key in self.limits}
        for column in self.columns:
            value = read(column.name)
            if column.key[0] in self.models:
                value = model_reference(value, read(self.models[column.key[0]]))
            elif column.is_blank_for_none and not value:
                value = None
            place = written if len(column.key) == 1 else written[column.key[0]]
            place[column.key[-1]] = value
        return written | (read(self.rest) if self.rest else {})

    def values(self, spec: BaseModel) -> dict[str, Any]:
        """Return the values of the columns; JSON has no defaults, so that better ones apply later."""
        in_json = {column.key[0] for column in self.columns if column.is_json} | set(self.in_rest)
        json = (
            spec.model_dump(mode="json", include=in_json, exclude_defaults=True) if in_json else {}
        )
        values: dict[str, Any] = {}
        if self.rest:
            values[self.rest] = {key: json[key] for key in self.in_rest if key in json}
        for column in self.columns:
            value: Any = spec
            for part in column.key:
                value = getattr(value, part, None)  # one member of a union lacks keys of others
            if column.key[0] in self.models:
                value, values[self.models[column.key[0]]] = model_columns(value)
            elif column.is_json:
                value = json.get(column.key[0], column.field.get_default())
            elif value is None and not column.field.null:
                value = column.field.get_default()
            values[column.name] = value
        return values
