"""Show the errors of a spec next to the fields of a form."""

import re
from collections.abc import Mapping, Sequence

from django import forms
from pydantic import ValidationError

from fixtures_app.ground.json_data import DataProblem, Loc
from fixtures_app.ground.spec_errors import message_of

_PLACE = re.compile(r"\b(entities|relations|chunks)\[(\d+)\]")
_ROWS = {"entities": "entity", "relations": "relation", "chunks": "chunk"}


def problems_in(error: ValidationError) -> list[DataProblem]:
    """Return the errors of pydantic in plain words."""
    return [
        DataProblem(part["loc"], _number_rows(message_of(part)), part["input"])
        for part in error.errors(include_url=False)
    ]


def _number_rows(message: str) -> str:
    """Name rows as the page does: entities[2] is entity 3."""
    return _PLACE.sub(lambda m: f"{_ROWS[m[1]]} {int(m[2]) + 1}", message)


def add_field_error(
    form: forms.BaseForm, fields: Mapping[str, str], loc: Loc, message: str
) -> None:
    """Add an error to the field of a spec's key, or else to the whole form."""
    field = fields.get(str(loc[0])) if loc else None
    where = ".".join(map(str, loc[1:] if field else loc))
    form.add_error(field, f"{where}: {message}" if where else message)


def add_field_errors(form: forms.BaseForm, error: ValidationError) -> None:
    """Add the errors of a spec whose keys are the fields of a form."""
    for problem in problems_in(error):
        add_field_error(form, {name: name for name in form.fields}, problem.loc, problem.message)


def add_row_errors(
    rows: Mapping[str, Sequence[forms.BaseForm]],
    fields: Mapping[str, Mapping[str, str]],
    problems: Sequence[DataProblem],
) -> None:
    """Add each problem to its row, for example `("entities", 2, "ref")`."""
    for problem in problems:
        group, number, *rest = problem.loc
        add_field_error(
            rows[str(group)][int(number)], fields[str(group)], tuple(rest), problem.message
        )
