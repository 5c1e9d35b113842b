"""The rows of a fixture besides its entities: relations and knowledge."""

from collections.abc import Mapping
from typing import ClassVar

from django import forms
from django.utils.text import Truncator

from fixtures_app.editing.inputs import TextArea, TextInput
from fixtures_app.editing.json_field import JsonTextField
from fixtures_app.editing.rows import OrderedFormSet, RowForm
from fixtures_app.models import KnowledgeChunk, Relation

_TITLE_CHARS = 100


def _json_field(label: str, help_text: str) -> JsonTextField:
    return JsonTextField(
        kind=dict,
        required=False,
        label=label,
        help_text=help_text,
        widget=TextArea({"class": "ew-input ew-mono"}),
    )


class FixtureRowForm(RowForm):
    """A row that can be written as in a file."""

    keys: ClassVar[Mapping[str, str]]  # of files, and their fields
    short: tuple[str, ...] = ()
    long: tuple[str, ...] = ()

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.CharField):
                field.strip = False  # spaces are part of names and statuses
        if "metadata" in self.fields:
            self.initial["metadata"] = self.instance.metadata or None

    @property
    def short_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.short]

    @property
    def long_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.long]

    def to_mapping(self) -> dict[str, object]:
        """Return a row as in a file; a field with an error has its text, or is left out."""
        return {key: self._value(name) for key, name in self.keys.items()}

    def _value(self, name: str) -> object:
        is_json = isinstance(self.fields[name], JsonTextField)
        if name in self.errors:
            return {} if is_json else str(self[name].value() or "")
        value = self.cleaned_data.get(name)
        # Only JSON can be None: an empty field is an empty object.
        return {} if value is None else value

    def validate_unique(self) -> None:
        # Names may be swapped between rows, so FixtureSpec checks all rows together.
        pass


class RelationForm(FixtureRowForm):
    """A link between two entities, by name, because they may be new as well."""

    keys = {"from": "source", "to": "target", "type": "type", "metadata": "metadata"}
    short, long = ("source", "type", "target"), ("metadata",)

    source = forms.CharField(label="From", widget=TextInput)
    target = forms.CharField(label="To", widget=TextInput)
    metadata = _json_field("Notes on the link", "A JSON object. Leave blank for none.")

    class Meta:
        model = Relation
        fields = ("type", "position")
        labels = {"type": "Kind of link"}
        widgets = {"type": TextInput}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["type"].widget.attrs["list"] = "relation-kinds"
        for name in ("source", "target"):
            self.fields[name].widget.attrs["list"] = "entity-names"
            if self.instance.pk:
                self.initial[name] = getattr(self.instance, name).ref

    def _post_clean(self) -> None:
        # The row is saved from the spec; the form has names instead of entities.
        pass

    @property
    def title(self) -> str:
        if not self.instance.pk:
            return ""
        return f"{self.instance.source.ref} {self.instance.type} {self.instance.target.ref}"


class ChunkForm(FixtureRowForm):
    """A piece of knowledge."""

    keys = {"id": "chunk_id", "text": "text", "source": "source", "metadata": "metadata"}
    short, long = ("chunk_id", "source"), ("text", "metadata")

    metadata = _json_field("Notes", "A JSON object. Leave blank for none.")

    class Meta:
        model = KnowledgeChunk
        fields = ("chunk_id", "source", "text", "position")
        labels = {"chunk_id": "Name"}
        help_texts = {"source": "Where the text comes from, for example a file or an address."}
        widgets = {
            "chunk_id": TextInput,
            "source": TextInput,
            "text": TextArea({"rows": 3}),
        }

    @property
    def title(self) -> str:
        if not self.instance.pk:
            return ""
        words = " ".join(self.instance.text[: 2 * _TITLE_CHARS].split())
        return f"{self.instance.chunk_id}: {Truncator(words).chars(_TITLE_CHARS)}"


class FixtureFormSet(OrderedFormSet):
    """Rows that the page checks and saves together."""

    def validate_unique(self) -> None:
        pass

    def save(self, commit: bool = True) -> list[object]:  # noqa: FBT001, FBT002 - Django's signature
        return []


class RelationFormSet(FixtureFormSet):
    """The relations."""

    row_name = "relation"


class ChunkFormSet(FixtureFormSet):
    """The knowledge."""

    row_name = "text"
