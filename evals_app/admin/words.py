"""What a spec refuses, in words and places that a form has."""

from collections.abc import Mapping
from typing import Any

from django import forms
from pydantic import BaseModel, ValidationError

from evals_app.formats.explain import explain
from evals_app.formats.problems import Loc, Problem
from evals_app.formats.yaml_source import read_yaml

# A form has no lines of text to point at.
_NOWHERE = read_yaml("", b"{}")


def explained(
    error: ValidationError,
    *,
    model: type[BaseModel],
    data: Any,  # noqa: ANN401 - what was validated
) -> list[tuple[Loc, str]]:
    """Give the place and the sentence of everything that a spec refuses."""
    found: list[tuple[Loc, str]] = []

    def note(loc: Loc, message: str, *, at_key: bool = False) -> Problem:  # noqa: ARG001 - Place
        found.append((loc, message))
        return Problem("", 0, 0, "", "", message)

    explain(error, model=model, data=data, document=_NOWHERE, place=note)
    return found


def refuse(
    form: forms.BaseForm,
    error: ValidationError,
    *,
    model: type[BaseModel],
    data: Mapping[str, Any],
    fields: Mapping[str, str],
) -> None:
    """Put what a spec refuses beside the fields of a form.

    `fields` are names of fields by keys of the spec: `trials`, or `gates.min_score`.
    """
    for loc, message in explained(error, model=model, data=data):
        field = field_of(loc, fields)
        if field is not None and form.has_error(field):
            continue  # Django already said what is wrong with it
        where = "" if field else ".".join(map(str, loc))
        form.add_error(field, f"{where}: {message}" if where else message)


def field_of(loc: Loc, fields: Mapping[str, str]) -> str | None:
    """Give the field that a place of the spec belongs to; the longest key that is known counts."""
    keys = (".".join(map(str, loc[:length])) for length in range(len(loc), 0, -1))
    return next((fields[key] for key in keys if key in fields), None)
