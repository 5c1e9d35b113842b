"""Forms of rows whose specs state what the fields are called, mean and accept."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from pydantic import BaseModel, ValidationError

from evals_app.admin.words import refuse
from evals_app.models.mapping import RowMapping


class SpecForm(forms.ModelForm):
    """A form whose `Meta` has the labels and help texts of its row mapping."""

    mapping: ClassVar[RowMapping]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django applies them only to fields that it makes itself.
        for name, label in (self._meta.labels or {}).items():
            if name in self.fields:
                self.fields[name].label = label
        for name, text in (self._meta.help_texts or {}).items():
            if name in self.fields:
                self.fields[name].help_text = text

    def read(self, written: Mapping[str, Any]) -> Any:
        """Return the spec; None, and the errors are at the fields, if it is not valid."""
        spec: type[BaseModel] = self.mapping.spec
        try:
            return spec.model_validate(written)
        except ValidationError as error:
            names = {key: key for key in self.mapping.elsewhere} | self.mapping.names
            fields = {key: name for key, name in names.items() if name in self.fields}
            refuse(self, error, model=spec, data=written, fields=fields)
            return None
