"""Forms of rows whose specs define labels, help texts and valid values."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from django import forms
from pydantic import BaseModel, ValidationError

from evals_app.admin.kit.lines import OFFERS_TAGS
from evals_app.admin.kit.quantities import quantity
from evals_app.engine.specs.base_spec import mark_of
from evals_app.formats.reading.explain import explain
from evals_app.formats.reading.problems import Loc, Problem
from evals_app.models.authored.mapping import RowMapping


class SpecForm(forms.ModelForm):
    """A form whose `Meta` has the labels and help texts of its row mapping."""

    mapping: ClassVar[RowMapping]
    places: ClassVar[Mapping[str, str]] = MappingProxyType({})  # fields of other keys
    whole: ClassVar[Sequence[str]] = ()  # the fields that make up the spec; if empty, all of them

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django applies them only to fields that it makes itself.
        for name, label in (self._meta.labels or {}).items():
            if name in self.fields:
                self.fields[name].label = label
        for name, text in (self._meta.help_texts or {}).items():
            if name in self.fields:
                self.fields[name].help_text = text
        for column in self.mapping.columns:
            if field := self.fields.get(column.name):
                self.fields[column.name] = quantity(field, column.info)
                if mark_of(column.info, "names") == "tag":
                    field.widget.attrs |= OFFERS_TAGS

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not any(name in self.errors for name in self.whole or self.fields):
            self.clean_whole(cleaned)
        return cleaned

    def clean_whole(self, cleaned: dict[str, object]) -> None:
        """Validate the row as a whole, once each of these fields is valid."""
        self.read(self.mapping.to_mapping(self.instance, cleaned))

    def read(self, written: Mapping[str, Any]) -> Any:
        """Return the spec; if it is not valid, add the errors to the fields and return None."""
        spec: type[BaseModel] = self.mapping.spec
        try:
            return spec.model_validate(written)
        except ValidationError as error:
            names = {key: key for key in self.mapping.elsewhere} | self.mapping.names
            names |= self.places
            fields = {key: name for key, name in names.items() if name in self.fields}
            for loc, message in explain_errors(error, model=spec, data=written):
                field = field_of(loc, fields)
                if field is not None and self.has_error(field):
                    continue  # Django already reported an error
                where = "" if field else ".".join(map(str, loc))
                self.add_error(field, f"{where}: {message}" if where else message)
            return None


def explain_errors(
    error: ValidationError, *, model: type[BaseModel], data: object
) -> list[tuple[Loc, str]]:
    """Return the place and message of every error of a spec."""
    errors: list[tuple[Loc, str]] = []

    def note(loc: Loc, message: str, *, at_key: bool = False) -> Problem:  # noqa: ARG001 - Place
        errors.append((loc, message))
        return Problem("", 0, 0, "", "", message)

    explain(error, model=model, data=data, place=note)
    return errors


def field_of(loc: Loc, fields: Mapping[str, str]) -> str | None:
    """Return the field of a place in a spec, by the longest key: `trials`, `gates.min_score`."""
    keys = (".".join(map(str, loc[:length])) for length in range(len(loc), 0, -1))
    return next((fields[key] for key in keys if key in fields), None)
