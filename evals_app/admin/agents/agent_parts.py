"""Fields for the parts of an agent over HTTP that are objects in files: places, stream and others.

Each key of such an object is one field, named after both: `response_text`. A part whose fields are all
blank is left out.
"""

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from django import forms
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.kit.lines import TextLines
from evals_app.admin.kit.quantities import quantity
from evals_app.engine.specs.base_spec import mark_of
from evals_app.engine.specs.outside_spec import OAuthSpec, PaceSpec, PollSpec
from evals_app.engine.specs.tool_spec import FromEnvironment
from evals_app.engine.specs.wire_spec import Places, StreamSpec
from evals_app.models import Agent
from fixtures_app.editing.units import UNITS

PARTS: Mapping[str, type[BaseModel]] = {
    "response": Places,
    "stream": StreamSpec,
    "poll": PollSpec,
    "oauth": OAuthSpec,
    "pace": PaceSpec,
}
# The keys of a part, by their fields.
FIELDS: Mapping[str, tuple[str, str]] = {
    f"{part}_{key}": (part, key) for part, spec in PARTS.items() for key in spec.model_fields
}


def names_of(part: str) -> list[str]:
    """Return the fields of a part."""
    return [name for name, (of, _) in FIELDS.items() if of == part]


def part_fields() -> dict[str, forms.Field]:
    """Return a field for each key of each part."""
    return {name: _field(PARTS[part].model_fields[key]) for name, (part, key) in FIELDS.items()}


def _field(info: FieldInfo) -> forms.Field:
    kinds = set(get_args(info.annotation) or (info.annotation,))
    given: dict[str, Any] = {
        "required": False,
        "label": info.title,
        "help_text": f"{info.description or ''}{_default(info)}",
    }
    if words := mark_of(info, "words"):
        none = mark_of(info, "none")
        choices = [("", none), *words.items()] if none else list(words.items())
        return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget, **given)
    if get_origin(info.annotation) is list:
        return TextLines(**given)
    for number, field in ((int, forms.IntegerField), (float, forms.FloatField)):
        if number in kinds:
            return quantity(field(widget=UnfoldAdminDecimalFieldWidget, **given), info)
    return forms.CharField(widget=UnfoldAdminTextInputWidget, **given)


def _default(info: FieldInfo) -> str:
    """Say what applies where a field is blank, if its spec has a default."""
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    if default in (None, [], "") or mark_of(info, "words"):
        return ""
    if isinstance(default, list):
        return f" Leave blank for {', '.join(default)}."
    unit = mark_of(info, "unit")
    return f" Leave blank for {UNITS[unit].written(default) if unit else default}."


def initial_of(agent: Agent) -> dict[str, Any]:
    """Return what the fields show of a stored agent."""
    shown = {name: getattr(agent, part).get(key) for name, (part, key) in FIELDS.items()}
    # A value from the environment shows the name of its variable.
    return {
        name: value["env"] if isinstance(value, dict) else value for name, value in shown.items()
    }


def written(cleaned: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a file would state of each part; empty if nothing is filled in."""
    parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for name, (part, key) in FIELDS.items():
        info, value = PARTS[part].model_fields[key], cleaned[name]
        if value not in (None, "", [], info.get_default(call_default_factory=True)):
            is_variable = info.annotation is FromEnvironment
            parts[part][key] = {"env": value} if is_variable else value
    return parts
