"""Form fields for what only one driver has: one field for each key.

Of a part, an object in files such as places or stream, each key is one, named after both:
`response_text`. A part whose fields are all blank is left out.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args, get_origin

from django import forms
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from unfold.utils import prettify_json
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.kit.lines import TextLines
from evals_app.admin.kit.quantities import quantity
from evals_app.engine.specs.base_spec import ModelSpec, mark_of
from evals_app.engine.specs.model_settings import AgentSettings
from evals_app.engine.specs.tool_spec import FromEnvironment
from evals_app.models import Agent
from evals_app.models.authored.agents import AGENT
from fixtures_app.editing.units import UNITS

F = TypeVar("F", bound=forms.ModelForm)

_SAMPLING = ("temperature", "max_tokens", "top_p", "seed", "effort")
PARTS: Mapping[str, type[BaseModel]] = {
    key: kind
    for key, info in AGENT.in_rest.items()
    for kind in get_args(info.annotation)
    if get_origin(info.annotation) is not list
    if isinstance(kind, type) and issubclass(kind, BaseModel)
} | {"settings": AgentSettings, "model_settings": ModelSpec}
# The keys of a part, by their fields.
FIELDS: Mapping[str, tuple[str, str]] = {
    **{
        f"{part}_{key}": (part, key)
        for part in AGENT.in_rest
        if part in PARTS
        for key in PARTS[part].model_fields
    },
    **{key: ("settings", key) for key in AgentSettings.model_fields},
    **{key: ("model_settings", key) for key in _SAMPLING},
}


def names_of(part: str) -> tuple[str, ...]:
    """Return the fields of a part."""
    return tuple(name for name, (of, _) in FIELDS.items() if of == part)


def with_fields(form: type[F]) -> type[F]:
    """Add the fields that a form does not have."""
    infos = {key: info for key, info in AGENT.in_rest.items() if key not in PARTS}
    infos |= {name: PARTS[part].model_fields[key] for name, (part, key) in FIELDS.items()}
    for name, info in infos.items():
        if name not in form.base_fields:
            form.base_fields[name] = form.declared_fields[name] = _field(info)
    for name in _SAMPLING:
        if not isinstance(field := form.base_fields[name], forms.ChoiceField):
            field.help_text += " Leave blank for the model's default."
    return form


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
    """Return what applies if a field is left blank, if its spec has a default."""
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    if default in (None, [], "") or mark_of(info, "words"):
        return ""
    if isinstance(default, list):
        return f" Leave blank for {', '.join(default)}."
    unit = mark_of(info, "unit")
    return f" Leave blank for {UNITS[unit].to_text(default) if unit else default}."


def _is_variable(place: tuple[str, str]) -> bool:
    """Return whether a key of a part has a value from the environment."""
    part, key = place
    kind = PARTS[part].model_fields[key].annotation
    return any(FromEnvironment in (branch, *get_args(branch)) for branch in (kind, *get_args(kind)))


def stored_value(agent: Agent, key: str) -> Any:
    """Return the value of an agent for a key, or the default."""
    info = AGENT.in_rest[key]
    usual = None if info.is_required() else info.get_default(call_default_factory=True)
    return agent.connection.get(key, usual)


def column_of(key: str, words: Mapping[str, str]) -> Callable[[Agent], object]:
    """Return a read-only column with the value of an agent for a key."""

    def column(agent: Agent) -> Any:
        value = stored_value(agent, key)
        return (
            prettify_json(value, None)
            if isinstance(value, dict | list)
            else words.get(value, value)
        )

    column.__name__ = key  # Django finds label and help text by it
    return column


def initial_of(agent: Agent) -> dict[str, object]:
    """Return the initial values of the fields for a stored agent."""
    whole = agent.connection | {
        "settings": agent.settings,
        "model_settings": agent.model_settings,
    }
    parts = {name: whole.get(part, {}).get(key) for name, (part, key) in FIELDS.items()}
    # A value from the environment shows the name of its variable.
    shown = {
        name: value["env"] if value and _is_variable(FIELDS[name]) else value
        for name, value in parts.items()
    }
    return shown | {key: stored_value(agent, key) for key in AGENT.in_rest if key not in PARTS}


def to_mapping(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts, and other keys of the connection, as a file would define them."""
    whole: dict[str, Any] = {part: {} for part in PARTS}
    for name, (part, key) in FIELDS.items():
        info, value = PARTS[part].model_fields[key], cleaned[name]
        if value not in (None, "", [], info.get_default(call_default_factory=True)):
            whole[part][key] = {"env": value} if _is_variable((part, key)) else value
    return whole | {key: cleaned[key] for key in AGENT.in_rest if key not in PARTS}
