"""Checks as rows: of a turn, of the whole conversation, or of every turn of a suite."""

from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from unfold.decorators import display

from evals_app.admin.checks.check_form import CheckForm
from evals_app.admin.checks.check_picker import kinds_to_pick
from evals_app.admin.kit.lines import list_of
from evals_app.admin.kit.model_choices import offered_judges
from evals_app.engine.graders.kit.base import Need
from evals_app.engine.specs.inventory import NOTHING_KNOWN, Inventory
from evals_app.library.importing.inventories import inventory_for, names_offered
from evals_app.models import Assertion, Case, Suite
from fixtures_app.editing.editor import Editor
from fixtures_app.editing.rows import OrderedFormSet, RowsInline
from fixtures_app.models import Fixture

_MAX_OFFERED = 500
NEEDED: dict[Need, str] = {"expected": "an expected answer", "context": "a context"}


class CheckFormSet(OrderedFormSet):
    """Checks in order."""

    row_name = "check"
    goes_with_owner = False  # the turn of these checks is being removed

    def is_valid(self) -> bool:
        return self.goes_with_owner or bool(super().is_valid())


class FinalCheckFormSet(CheckFormSet):
    """Checks of the whole conversation, which has no expected answer."""

    row_name = "final check"

    def clean(self) -> None:
        super().clean()
        case: Case = self.instance
        inventory = inventory_of_case(case)
        for row in self.kept_rows:
            row.compare_names(inventory, is_new="suite" in changed_on(case))
            if need := row.lacks():
                row.complain_of_value(
                    f"Fill this in. Only a turn has {NEEDED[need]} to compare with."
                    if row.takes_value
                    else f"Only a turn has {NEEDED[need]}. Move this check to a turn."
                )


class DefaultCheckFormSet(CheckFormSet):
    """Default checks of a suite, compared with its chosen agent and fixtures."""

    @cached_property
    def _inventory(self) -> Inventory:
        suite: Suite = self.instance
        if suite.agent_id is None:
            return NOTHING_KNOWN
        return inventory_for(suite.agent, getattr(suite, _CHOSEN, ()))

    def clean(self) -> None:
        super().clean()
        is_new = bool({"agent", "fixtures"} & changed_on(self.instance))
        for row in self.kept_rows:
            row.compare_names(lambda: self._inventory, is_new=is_new)


# Choices at the top of a page that affect the rows below.
_CHOSEN, _CHANGED = "chosen_fixtures", "changed_on_page"


def note_choices(row: Model, *, changed: Iterable[str], fixtures: Iterable[Fixture] = ()) -> None:
    """Remember what was chosen at the top of a page and is not stored yet."""
    setattr(row, _CHANGED, frozenset(changed))
    setattr(row, _CHOSEN, list(fixtures))


def changed_on(row: Model) -> frozenset[str]:
    """Return the fields that were changed at the top of a page."""
    changed: frozenset[str] = getattr(row, _CHANGED, frozenset())
    return changed


def inventory_of_case(case: Case) -> Callable[[], Inventory]:
    """Return a function that queries the names that checks of a case may use, once."""

    @cache
    def inventory() -> Inventory:
        if case.suite_id is None:
            return NOTHING_KNOWN
        return inventory_for(case.suite.agent, case.suite.fixtures.all())

    return inventory


class CheckInline(RowsInline):
    """Rows of checks; `fk_name` names their owner."""

    model, form, formset = Assertion, CheckForm, CheckFormSet
    verbose_name, verbose_name_plural = "check", "checks"
    row_template = "admin/evals_app/checks/check_row.html"
    add_label, add_action = "Add a check", "pick-check"
    shared_blank = "check"
    handle = "ew-check-drag"


class DefaultCheckInline(CheckInline):
    """Default checks of a suite."""

    fk_name = "suite"
    formset = DefaultCheckFormSet
    page_model = Suite
    verbose_name_plural = "Checks of every turn"
    hint = (
        "They apply to every turn that uses the checks of its suite. A check that compares with the "
        "expected answer is skipped on turns without one."
    )


def _with_shown_tags(name: str | tuple[str, ...]) -> object:
    """Return the name of a field, or of those in one line, to show without inputs."""
    if isinstance(name, tuple):
        return tuple(map(_with_shown_tags, name))
    return "show_tags" if name == "tags" else name


class ChecksEditor(Editor):
    """An editor with checks: its page contains one template per kind."""

    change_form_outer_after_template = "admin/evals_app/checks/templates.html"

    class Media:
        js = [
            "evals_app/suites/case_editor.js",
            "evals_app/checks/check_values.js",
            "evals_app/checks/check_picker.js",
            "evals_app/checks/check_trying.js",
        ]
        css = {"all": ["evals_app/suites/case_editor.css", "evals_app/checks/check_picker.css"]}

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        # Without the right to change, tags are shown as words, not as a list.
        return [
            (title, {**options, "fields": [_with_shown_tags(name) for name in options["fields"]]})
            for title, options in fieldsets
        ]

    @display(description="Tags")
    def show_tags(self, row: Any) -> str:
        return ", ".join(row.tags)

    def checks_context(self, request: HttpRequest) -> dict[str, object]:
        """Return the blank row, and the kinds to choose from."""
        return {
            "kinds_to_pick": kinds_to_pick(),
            "blank_check": CheckForm(prefix="__formset__-__prefix__"),
            "judges": offered_judges(),
        }

    def suggested_names(self, suite: Suite) -> dict[str, object]:
        """Return the names that inputs suggest."""
        offer = names_offered(suite, most=_MAX_OFFERED)
        suggestions = {list_of(what): names for what, names in offer.names.items()}
        parts = {list_of(what): owners for what, owners in offer.parts.items()}
        values = {list_of(what): owners for what, owners in offer.values.items()}
        return {"suggestions": suggestions, "parts": parts, "values": values}
