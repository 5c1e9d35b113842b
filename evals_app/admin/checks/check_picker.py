"""The list from which people pick the kind of a check: searchable, common kinds first."""

from functools import cache
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from evals_app.engine.graders import GRADERS
from evals_app.reports.reference.checks import FAMILIES, CheckReference, reference_of
from fixtures_app.editing.inputs import Select

USUAL = (
    *("contains", "not_contains", "exact_match", "numeric"),
    *("tool_called", "tool_not_called", "world_changes", "llm_judge"),
)


@cache
def kinds_to_pick() -> list[tuple[str, list[CheckReference]]]:
    """Return the kinds of checks in groups, each kind once."""
    references = {kind: reference_of(kind) for kind in GRADERS}
    groups = [("Common", [references.pop(kind) for kind in USUAL])]
    for family, title in FAMILIES.items():
        members = [
            reference for reference in references.values() if reference.grader.family == family
        ]
        groups += [(title, members)] if members else []
    return groups


def kind_choices() -> list[tuple[str, Any]]:
    """Return the kinds of checks in groups."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for kind, grader in GRADERS.items():
        groups.setdefault(FAMILIES[grader.family], []).append((kind, grader.label))
    in_order = [(title, groups[title]) for title in FAMILIES.values() if title in groups]
    return [("", "Choose a check…"), *in_order]


class KindInput(Select):
    """The kind of a check, and a button that opens the list; without scripts, a plain select."""

    def id_for_label(self, id_: str, index: object = None) -> str:
        return f"{id_}_pick" if id_ else ""

    def render(
        self,
        name: str,
        value: object,
        attrs: dict[str, Any] | None = None,
        renderer: object = None,
    ) -> SafeString:
        select = super().render(name, value, attrs, renderer)
        button = self.id_for_label((attrs or {}).get("id", ""))
        return format_html(
            # Not by the button itself: browsers would read only its label, without the kind.
            '{}<button type="button" class="ew-input ew-kind" id="{}" aria-labelledby="{}_name"'
            ' aria-haspopup="dialog" data-pick-kind><span id="{}_name">'
            '<span class="ew-hidden">Kind of check: </span><span data-kind-label>{}</span></span>'
            "</button>",
            select,
            button,
            button,
            button,
            self._label(value),
        )

    def _label(self, value: Any) -> str:
        """Return what the select shows for a value."""
        for label, entries in self.choices:
            options = entries if isinstance(entries, list | tuple) else [(label, entries)]
            for key, text in options:
                if str(key) == str(value or ""):
                    return str(text)
        return "Choose a check…"
