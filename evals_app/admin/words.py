"""Errors of specs, in the words and fields of a form."""

from collections.abc import Mapping
from typing import Any

from django import forms
from pydantic import BaseModel, ValidationError

from evals_app.formats.explain import explain
from evals_app.formats.problems import Loc, Problem


def explained(
    error: ValidationError,
    *,
    model: type[BaseModel],
    data: Any,
) -> list[tuple[Loc, str]]:
    """Return the place and message of every error of a spec."""
    errors: list[tuple[Loc, str]] = []

    def note(loc: Loc, message: str, *, at_key: bool = False) -> Problem:  # noqa: ARG001 - Place
        errors.append((loc, message))
        return Problem("", 0, 0, "", "", message)

    explain(error, model=model, data=data, place=note)
    return errors


def refuse(
    form: forms.BaseForm,
    error: ValidationError,
    *,
    model: type[BaseModel],
    data: Mapping[str, Any],
    fields: Mapping[str, str],
) -> None:
    """Add the errors of a spec to the fields of a form.

    `fields` are names of fields by keys of the spec: `trials`, or `gates.min_score`.
    """
    for loc, message in explained(error, model=model, data=data):
        field = field_of(loc, fields)
        if field is not None and form.has_error(field):
            continue  # Django already reported an error
        where = "" if field else ".".join(map(str, loc))
        form.add_error(field, f"{where}: {message}" if where else message)


def field_of(loc: Loc, fields: Mapping[str, str]) -> str | None:
    """Return the field that a place of the spec belongs to, by the longest known key."""
    keys = (".".join(map(str, loc[:length])) for length in range(len(loc), 0, -1))
    return next((fields[key] for key in keys if key in fields), None)
