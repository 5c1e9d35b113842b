"""Rows that leave their tables and come back: taken out with all that belongs to them.

What belongs to a row is what Django's own rules (`on_delete`) delete with it, so a new model needs
nothing here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from django.apps import apps
from django.core.serializers import deserialize
from django.core.serializers.json import Serializer
from django.db import connection
from django.db.models import Field, ForeignKey, Model, QuerySet
from django.db.models.deletion import Collector

AT_ONCE = 500

Key = tuple[str, Any]  # of a row: its model and its primary key


@dataclass(frozen=True, slots=True)
class TakenRows:
    """Rows as text, the references that deleting them emptied, and all their foreign keys."""

    content: str
    references: list[dict[str, object]]
    keys: frozenset[Key]
    targets: frozenset[Key]


class _ColumnSerializer(Serializer):
    """Columns alone: links between rows are rows themselves."""

    def handle_m2m_field(self, obj: Model, field: object) -> None:
        """Leave it out."""


def take_rows(rows: QuerySet[Any]) -> TakenRows:
    """Delete rows and what belongs to them, and return what brings them back.

    Raises:
        ProtectedError: something else uses one of them.
    """
    collector = Collector(using=rows.db, origin=rows)
    collector.collect(rows)
    # A collector finds a row once for each way to it.
    gone = list({(_label(row), row.pk): row for row in _whole(collector)}.values())
    references = list(_emptied_references(collector))
    content = _ColumnSerializer().serialize(gone, separators=(",", ":"))
    keys = frozenset((_label(row), row.pk) for row in gone)
    targets = frozenset(target for row in gone for _, target in _targets(row)) - keys
    collector.delete()
    return TakenRows(content, references, keys, targets)


def read_rows(content: str) -> list[Any]:
    """Return rows that were taken out; columns that no longer exist are left out."""
    return [entry.object for entry in deserialize("json", content, ignorenonexistent=True)]


def insert_rows(rows: Sequence[Model]) -> None:
    """Put rows back under their keys; what referred to something that is gone refers to nothing."""
    model: type[Model]
    for model, group in groupby(_mended_rows(rows), key=type):
        same = list(group)
        fields = model._meta.concrete_fields  # noqa: SLF001 - the documented API of models
        size = max(1, connection.ops.bulk_batch_size(fields, same))
        for start in range(0, len(same), size):
            # Raw, as no public way writes many rows without new dates.
            cast("Any", model._base_manager.all())._insert(  # noqa: SLF001
                same[start : start + size], fields=fields, raw=True, using=connection.alias
            )


def refer_again(references: Iterable[Mapping[str, Any]]) -> None:
    """Fill in references that deleting emptied, where no one has written something else."""
    for one in references:
        rows = apps.get_model(one["model"])._base_manager  # noqa: SLF001 - staged rows and unprepared runs too
        for part in _parts(one["rows"]):
            rows.filter(pk__in=part, **{one["field"]: one["emptied"]}).update(
                **{one["field"]: one["value"]}
            )


def _whole(collector: Collector) -> Iterator[Any]:
    """Yield all rows that a collector would delete; it has loaded only some of their columns."""
    for model, rows in collector.data.items():
        for part in _parts(sorted(row.pk for row in rows)):
            yield from model._base_manager.filter(pk__in=part).order_by("pk")  # noqa: SLF001
    for query in collector.fast_deletes:
        yield from query.order_by("pk")


def _emptied_references(collector: Collector) -> Iterator[dict[str, Any]]:
    """Yield the references that a collector would empty, those with the same value together."""
    for (field, emptied), found in collector.field_updates.items():
        model = field.model
        by_value: dict[object, list[object]] = {}
        for rows in cast("list[QuerySet[Any]]", found):  # not read yet, so only two columns are
            for pk, value in rows.values_list("pk", field.attname):
                by_value.setdefault(value, []).append(pk)
        for value, pks in by_value.items():
            yield reference(model, field.attname, emptied=emptied, value=value, rows=pks)


def reference(
    model: type[Model], field: str, *, emptied: object, value: object, rows: Sequence[object]
) -> dict[str, Any]:
    """Return how `refer_again` fills in a column of these rows."""
    of_rows = {"model": model._meta.label_lower, "rows": list(rows)}  # noqa: SLF001 - documented
    return of_rows | {"field": field, "emptied": emptied, "value": value}


def _mended_rows(rows: Sequence[Any]) -> Iterator[Any]:
    """Yield rows without their references to what is gone; leave out those that cannot be without."""
    own = {(_label(row), row.pk) for row in rows}
    wanted: dict[str, set[object]] = {}
    for row in rows:
        for _, (model, pk) in _targets(row):
            if (model, pk) not in own:
                wanted.setdefault(model, set()).add(pk)
    gone = {(model, pk) for model, pks in wanted.items() for pk in pks - _existing(model, pks)}
    for row in rows:
        lost = [field for field, target in _targets(row) if target in gone]
        if all(field.null for field in lost):
            for field in lost:
                setattr(row, field.attname, None)
            yield row


def _existing(model: str, pks: Iterable[Any]) -> set[object]:
    rows = apps.get_model(model)._base_manager  # noqa: SLF001 - staged rows and unprepared runs too
    found: set[object] = set()
    for part in _parts(sorted(pks)):
        found |= set(rows.filter(pk__in=part).values_list("pk", flat=True))
    return found


def _targets(row: Model) -> Iterator[tuple["Field[Any, Any]", Key]]:
    """Yield the foreign keys of a row, and what they refer to."""
    for field in row._meta.concrete_fields:  # noqa: SLF001 - the documented API of models
        if isinstance(field, ForeignKey):
            value = getattr(row, field.attname)
            if value is not None:
                yield field, (_label(field.related_model), value)


def _label(row: Any) -> str:
    label: str = row._meta.label_lower  # noqa: SLF001 - the documented API of models
    return label


def _parts(items: Sequence[object]) -> Iterator[Sequence[object]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))
