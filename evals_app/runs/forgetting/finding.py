"""Find a text in all tables, so that what is stored about someone can be removed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db.models import CharField, JSONField, Model, Q, TextField
from django.db.models.functions import Cast

_APPS = ("evals_app", "fixtures_app", "auth", "axes")


@dataclass(frozen=True, slots=True)
class FoundText:
    """A row that contains a text."""

    kind: str
    row: Model

    def __str__(self) -> str:
        return f"{self.kind} {self.row.pk}: {self.row}"


def find_text(text: str) -> Iterator[FoundText]:
    """Yield all rows that contain a text, in any column; upper and lower case are alike."""
    for model in apps.get_models(include_auto_created=True):
        if model._meta.app_label in _APPS or model is LogEntry:  # noqa: SLF001 - documented
            yield from _in_table(model, text)


def _in_table(model: type[Model], text: str) -> Iterator[FoundText]:
    wanted, casts = Q(), {}
    for field in model._meta.concrete_fields:  # noqa: SLF001 - the documented API of models
        if isinstance(field, JSONField):
            name = f"text_of_{field.name}"
            casts[name] = Cast(field.name, TextField())
            # Databases store JSON with or without escapes.
            for written in {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}:
                wanted |= Q(**{f"{name}__icontains": written})
        elif isinstance(field, CharField | TextField):
            wanted |= Q(**{f"{field.name}__icontains": text})
            wanted |= Q(**{f"{field.name}__icontains": json.dumps(text)[1:-1]})
    if wanted:
        kind = str(model._meta.verbose_name)  # noqa: SLF001 - the documented API of models
        rows = model._base_manager.alias(**casts).filter(wanted).order_by("pk")  # noqa: SLF001 - documented
        for row in rows.iterator(chunk_size=100):
            yield FoundText(kind, row)
