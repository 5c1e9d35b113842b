"""An example below a choice: a reply that passes with the chosen value, and one that does not."""

import json
import re
from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fixtures_app.editing.inputs import Select

_PLAIN_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")
_USUAL, _OTHER, _ANOTHER = "14", "204", "305"


def fill_number(reply: str, number: Any) -> str:
    """Return the example reply with this number; if it has two, the second one differs."""
    text = "" if number is None else str(number).strip()
    shown = text if _PLAIN_NUMBER.fullmatch(text) else _USUAL
    return reply.format(number=shown, other=_ANOTHER if shown == _OTHER else _OTHER)


class SelectWithExample(Select):
    """A choice with an example below it; number_examples.js keeps it up to date."""

    number: Any = None

    def __init__(self, examples: Mapping[str, tuple[str, str]]) -> None:
        super().__init__()
        self.examples = {
            value: f"For example, “{passes}” passes, and “{fails}” does not."
            for value, (passes, fails) in examples.items()
        }

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        key = f"{(attrs or {}).get('id', name)}_example"
        select = super().render(name, value, {**(attrs or {}), "aria-describedby": key}, renderer)
        example = self.examples.get(str(value), "")
        return format_html(
            '{}<p class="ew-help" id="{}" data-examples="{}">{}</p>',
            select,
            key,
            json.dumps(self.examples),
            fill_number(example, self.number),
        )
