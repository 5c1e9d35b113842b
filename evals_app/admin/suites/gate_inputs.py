"""The gates of a suite in its form: sentences with a tick box and the number inside."""

from collections.abc import Mapping
from typing import Any

from django import forms

from evals_app.reports.words.gates import gate_to_write
from fixtures_app.editing.inputs import TextInput
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.editing.units import QuantityField

ON = "_on"  # how the name of a tick box ends
NO_NUMBER = "Enter a number, or clear the tick box."
_USUAL = {"max_regressions": "0", "max_cost_per_call_usd": "0.01", "max_cost_usd": "5"}
# Their descriptions only repeat the sentence.
_CLEAR = {
    *("min_score", "min_pass_rate", "max_p95_ms", "max_cost_per_call_usd"),
    *("max_regressions", "max_score_drop", "max_cost_increase"),
}


class GateInput(forms.Widget):
    """A tick box, and a sentence around the number of a gate; a gate that is not ticked is off.

    A gate that is off shows a usual number, so that a tick is enough.
    """

    template_name = "admin/evals_app/suites/gate.html"

    class Media:
        js = ("evals_app/suites/gates.js",)

    def __init__(self, sentence: str, usual: str, *, style: str) -> None:
        super().__init__()
        self.before, _, self.after = sentence.partition("{}")
        self.usual = usual
        self.number = TextInput({"inputmode": "decimal", "class": style})

    def get_context(
        self, name: str, value: Any, attrs: dict[str, object] | None
    ) -> TemplateContext:
        context = super().get_context(name, value, attrs)
        is_on = value not in {None, ""}
        shown = str(value).strip() if is_on else self.usual
        context["widget"] |= {
            "is_on": is_on,
            "before": self.before,
            "after": self.after,
            "number": self.number.render(name, shown, attrs),
        }
        return context

    def value_from_datadict(self, data: Mapping[str, object], files: object, name: str) -> object:
        if f"{name}{ON}" not in data:
            return ""
        return data.get(name) or " "  # no number: an error, which still shows the tick


def write_as_sentence(field: forms.Field, gate: str, *, about: str) -> None:
    """Let the field of a gate be a sentence; one without words has its label before the number."""
    usual = field.example if isinstance(field, QuantityField) else _USUAL.get(gate, "")
    sentence = gate_to_write(gate) or f"{field.label}: {{}}"
    field.widget = GateInput(sentence, usual, style=field.widget.attrs.get("class", ""))
    field.help_text = "" if gate in _CLEAR else about
