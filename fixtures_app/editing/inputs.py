"""Plain inputs for rows, in our own style and rendered without templates.

A page of a hundred checks has about 1,500 inputs, and Django's widgets would take most of its
time.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from fixtures_app.editing.markup import TemplateContext


class _Input:
    """Renders `<input>`."""

    def _render(
        self, template_name: str, context: TemplateContext, renderer: object = None
    ) -> SafeString:
        widget = context["widget"]
        value = {} if widget["value"] is None else {"value": widget["value"]}
        attrs = {"type": widget["type"], "name": widget["name"], **value, **widget["attrs"]}
        return format_html("<input{}>", flatatt(attrs))


class _Styled(forms.Widget):
    """Has default attributes unless others are given."""

    own: ClassVar[dict[str, object]] = {"class": "ew-input"}

    def __init__(self, attrs: Mapping[str, object] | None = None) -> None:
        super().__init__({**self.own, **(attrs or {})})


class NumberInput(_Styled, _Input, forms.NumberInput):
    """A number."""


class CheckBox(_Styled, _Input, forms.CheckboxInput):
    """A check box."""

    own = {"class": "ew-check"}


class HiddenInput(_Input, forms.HiddenInput):
    """A value for the page itself."""


def _area(widget: dict[str, Any], **attrs: object) -> SafeString:
    given = flatatt({"name": widget["name"], **attrs, **widget["attrs"]})
    # Browsers drop a newline right after the tag.
    return format_html("<textarea{}>\n{}</textarea>", given, widget["value"] or "")


class TextInput(_Styled, _Input, forms.TextInput):
    """A line of text. A text of several lines gets a text area, because browsers would join them."""

    def _render(
        self, template_name: str, context: TemplateContext, renderer: object = None
    ) -> SafeString:
        widget = context["widget"]
        if "\n" in (widget["value"] or ""):
            return _area(widget, rows=2)
        return super()._render(template_name, context, renderer)


class TextArea(_Styled, forms.Textarea):
    """Several lines of text."""

    own = {"class": "ew-input", "rows": 2}

    def _render(
        self, template_name: str, context: TemplateContext, renderer: object = None
    ) -> SafeString:
        return _area(context["widget"])


class Select(_Styled, forms.Select):
    """One of several."""

    def render(
        self,
        name: str,
        value: object,
        attrs: dict[str, object] | None = None,
        renderer: object = None,
    ) -> SafeString:
        chosen = "" if value is None else str(value)
        options = SafeString()
        for label, entries in self.choices:
            if isinstance(entries, list | tuple):
                group = '<optgroup label="{}">{}</optgroup>'
                options += format_html(group, label, _options(entries, chosen))
            else:
                options += _options([(label, entries)], chosen)
        given = {"name": name, **self.build_attrs(self.attrs, attrs)}
        return format_html("<select{}>{}</select>", flatatt(given), options)


def _options(entries: Any, chosen: str) -> SafeString:
    return format_html_join(
        "",
        '<option value="{}"{}>{}</option>',
        (
            (value, SafeString(" selected") if str(value) == chosen else "", text)
            for value, text in entries
        ),
    )
