"""What a spec refuses, put beside the fields of a form."""

import re
from collections.abc import Mapping, Sequence

from django import forms
from pydantic import ValidationError

from fixtures_app.json_data import Loc, Problem

_PLACE = re.compile(r"\b(entities|relations|chunks)\[(\d+)\]")
_ROWS = {"entities": "entity", "relations": "relation", "chunks": "chunk"}


def found_by(error: ValidationError) -> list[Problem]:
    """Give what pydantic found, its own words translated."""
    return [
        Problem(each["loc"], _plain(each["type"], each["msg"]), each["input"])
        for each in error.errors(include_url=False)
    ]


def _plain(kind: str, message: str) -> str:
    if kind in {"string_too_short", "missing"}:
        return "This must not be blank."
    message = message.removeprefix("Value error, ").replace("Input should be", "This should be")
    message = _PLACE.sub(lambda m: f"{_ROWS[m[1]]} {int(m[2]) + 1}", message)
    return message if message.endswith((".", "?", "!")) else f"{message}."


def put_beside(form: forms.BaseForm, fields: Mapping[str, str], loc: Loc, message: str) -> None:
    """Add an error to the field that a key of the spec belongs to, else to the whole form."""
    field = fields.get(str(loc[0])) if loc else None
    where = ".".join(map(str, loc[1:] if field else loc))
    form.add_error(field, f"{where}: {message}" if where else message)


def put_beside_rows(
    rows: Mapping[str, Sequence[forms.BaseForm]],
    fields: Mapping[str, Mapping[str, str]],
    problems: Sequence[Problem],
) -> None:
    """Add each problem to the row that it is about: `("entities", 2, "ref")`."""
    for problem in problems:
        group, number, *rest = problem.loc
        put_beside(rows[str(group)][int(number)], fields[str(group)], tuple(rest), problem.message)
