"""Trying a fixture: what a search finds, and what an agent gets from a tool.

Every call opens its own copy of the saved fixture, so no change of a tool is kept.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils import timezone

from fixtures_app.editing.inputs import NumberInput, Select, TextArea, TextInput
from fixtures_app.editing.json_field import write_json
from fixtures_app.ground.cells import read_any, read_cell, read_lines
from fixtures_app.ground.field_table import Field, fields_of
from fixtures_app.ground.strict_json import Json
from fixtures_app.library import known_schemas
from fixtures_app.models import Fixture
from fixtures_app.tools import TOOLS, ToolWorld, WorldTool
from fixtures_app.world import Row

Schemas = Mapping[str, Mapping[str, Json]]

SEARCH = "knowledge.search"
_MAX_OFFERED = 1000
_LABELS = {"id": "Id", "from": "From", "to": "To", "type": "Type", "text": "Text contains"}
_OBJECT = "One field per line, for example: total = 12. "


class ObjectLinesField(forms.CharField):
    """An object, written as lines such as `total = 12`."""

    def __init__(self, **kwargs: Any) -> None:
        area = TextArea({"class": "ew-input ew-mono", "rows": 3, "placeholder": "total = 12"})
        super().__init__(widget=area, **kwargs)

    def clean(self, value: object) -> dict[str, str]:
        try:
            return read_lines(super().clean(value))
        except ValueError as error:
            raise ValidationError(str(error)) from None


class ToolForm(forms.Form):
    """The arguments of a tool, one field each."""

    def __init__(
        self, tool: WorldTool, schemas: Schemas, rows: list[Row], data: Mapping[str, object] | None
    ) -> None:
        super().__init__(data, auto_id=f"{tool.name}-%s".replace(".", "-"))
        self.schemas = schemas
        self.types = {row["id"]: row["type"] for row in rows}
        required = tool.parameters["required"]
        for name, schema in tool.parameters["properties"].items():
            kinds = list(schemas) if name == "type" and tool.name.startswith("entity.") else None
            field = _field(name, schema, kinds)
            field.required = name in required
            self.fields[name] = field

    def clean(self) -> dict[str, object]:
        cleaned = self.cleaned_data
        kind = cleaned.get("type") or self.types.get(cleaned.get("id", ""), "")
        known = {one.name: one for one in fields_of(self.schemas.get(kind, {}))}
        for argument, field in self.fields.items():
            if isinstance(field, ObjectLinesField) and argument in cleaned:
                try:
                    cleaned[argument] = {
                        name: _value(known.get(name), text)
                        for name, text in cleaned[argument].items()
                    }
                except ValueError as error:
                    self.add_error(argument, str(error))
        return cleaned

    def arguments(self) -> dict[str, Json]:
        """Return the arguments that were filled in."""
        return {
            name: value for name, value in self.cleaned_data.items() if value not in ("", None, {})
        }


def _value(one: Field | None, text: str) -> Json:
    """Read a value by the type of its field; null removes a field."""
    if one is None or text == "null":
        return read_any(text)
    try:
        return read_cell(one, text)
    except ValueError as error:
        raise ValueError(f"{one.name}: {error}") from None


def _field(name: str, schema: Mapping[str, Json], kinds: list[str] | None) -> forms.Field:
    about: dict[str, Any] = {
        "label": _LABELS.get(name, name.capitalize()),
        "help_text": schema["description"],
    }
    if kinds is not None:
        about["help_text"] = ""
        choices = [("", "Choose a type…"), *((kind, kind) for kind in kinds)]
        return forms.ChoiceField(choices=choices, widget=Select, **about)
    if schema["type"] == "integer":
        return forms.IntegerField(widget=NumberInput, **about)
    if schema["type"] == "object":
        about["help_text"] = f"{_OBJECT}{about['help_text']}"
        return ObjectLinesField(**about)
    offers = {"id": "try-ids", "from": "try-ids", "to": "try-ids", "type": "relation-kinds"}
    attrs = {"list": offers[name]} if name in offers else {}
    return forms.CharField(widget=TextInput(attrs), strip=False, **about)


def _open_world(fixture: Fixture, schemas: Schemas) -> ToolWorld:
    """Return a copy of a fixture as an execution would get it."""
    return ToolWorld([fixture.to_spec()], schemas, clock=timezone.now().isoformat())


def try_fixture(request: HttpRequest, pk: int) -> HttpResponse:
    """Search the texts of a fixture, or call a tool on a copy of it."""
    if not admin.site.get_model_admin(Fixture).has_view_permission(request):
        raise PermissionDenied
    fixture = get_object_or_404(Fixture.objects.with_everything(), pk=pk)
    schemas = known_schemas()
    asked = request.POST.get("tool") or request.GET.get("tool", SEARCH)
    tool = TOOLS.get(asked, TOOLS[SEARCH])
    world = _open_world(fixture, schemas)
    opened = world.initial_state()
    entities, relations = opened["entities"], opened["relations"]
    form = ToolForm(tool, schemas, entities, request.POST if request.method == "POST" else None)
    ids = relations if tool.name == "relation.delete" else entities
    context = {
        **admin.site.each_context(request),
        "opts": Fixture._meta,  # noqa: SLF001 - documented
        "original": fixture,
        "title": f"Try {fixture.name}",
        "tool": tool,
        "tools": TOOLS.values(),
        "form": form,
        "ids": [row["id"] for row in ids[:_MAX_OFFERED]],
        "relation_kinds": list(dict.fromkeys(row["type"] for row in relations)),
    }
    if form.is_bound and form.is_valid():
        result = world.call(tool.name, form.arguments())
        context |= {
            "result": write_json(result),
            "refused": result.get("error", {}).get("message"),
            "found": result.get("chunks"),
            "changes": world.journal,
        }
    return TemplateResponse(request, "admin/fixtures_app/fixture/try.html", context)
