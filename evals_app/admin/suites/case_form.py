"""The form of a case itself; its turns and checks are separate rows."""

import re
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Exists, OuterRef, Q, QuerySet
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.checks.check_rows import note_choices
from evals_app.admin.kit.lines import LineColumn, RecordLines, TagsField
from evals_app.admin.kit.quantities import UsdInput
from evals_app.admin.kit.spec_form import SpecForm
from evals_app.admin.kit.value_lines import VALUE_HELP, ValueLines
from evals_app.admin.suites.case_user import PLACES, UserFields, columns_of, initial_of
from evals_app.engine.suites.suite_spec import MIXED_USERS
from evals_app.formats.foreign.shapes import distinct_names, first_words
from evals_app.library.saving import mixes_users
from evals_app.models import Case, Suite
from evals_app.models.authored.suites import CASE
from fixtures_app.editing.editor import VersionedForm
from fixtures_app.editing.units import QuantityField

_MANY_TIMES = 50
_OF_USER = ("replay", "simulated_user")  # have fields of their own
_MESSAGE = re.compile(r"turns-(\d{1,6})-user", re.ASCII)


# Turns and checks are rows, which are validated separately.
_ROWS = {
    "turns": [{"user": "Hello"}],
    "final_assertions": [{"type": "contains", "value": "a word"}],
}


def _suites_to_choose(own: int | None) -> QuerySet[Suite]:
    """Return the active suites and the case's own, marked if another has the same name."""
    others = Suite.objects.filter(name=OuterRef("name")).exclude(pk=OuterRef("pk"))
    suites = Suite.objects.filter(Q(archived_at=None) | Q(pk=own)).order_by("name", "slug")
    return suites.only("name", "slug").annotate(has_namesake=Exists(others))


def _label_of_suite(suite: Any) -> str:
    return f"{suite.name} ({suite.slug})" if suite.has_namesake else str(suite.name)


class CaseForm(UserFields, SpecForm, VersionedForm):
    """The fields of a case itself."""

    mapping = CASE
    places = PLACES

    tags = TagsField(widget=UnfoldAdminTextInputWidget())
    context_params = ValueLines(key_label="Name")
    history = RecordLines(
        [
            LineColumn(
                "role", "Who", kind="select", choices=(("user", "User"), ("assistant", "Agent"))
            ),
            LineColumn("content", "Message", kind="area", placeholder="Text of the message"),
        ],
    )
    max_cost_usd = UsdInput(required=False, widget=UnfoldAdminDecimalFieldWidget())

    class Meta:
        model = Case
        fields = (*(name for name in CASE.names.values() if name not in _OF_USER), "suite")
        widgets = {"description": UnfoldAdminTextareaWidget(attrs={"rows": 2})}
        error_messages = {
            NON_FIELD_ERRORS: {"unique_together": "This suite already has a case with this name."}
        }
        labels = CASE.labels
        help_texts = CASE.help_texts | {
            "name": "",
            "tags": "Separated by commas: refunds, smoke.",
            "context_params": f"{CASE.help_texts['context_params']} {VALUE_HELP}",
            "trials": "Leave blank for the suite's number of trials.",
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial.update(initial_of(self.instance))
        if "name" in self.fields:
            self.fields["name"].required = False
            self.fields["name"].widget.attrs["placeholder"] = "Name, or blank for the first message"
        if "suite" in self.fields:
            field: Any = self.fields["suite"]
            field.queryset = _suites_to_choose(self.instance.suite_id)
            field.label_from_instance = _label_of_suite

    def clean(self) -> dict[str, Any]:
        note_choices(self.instance, changed=self.changed_data)
        self._name_by_message()
        self._ask_about_time()
        return super().clean()

    def _name_by_message(self) -> None:
        """Call a case without a name by the first words of its first message."""
        if "name" not in self.fields or self.has_error("name") or self.cleaned_data["name"]:
            return
        message = first_words(self._first_message())
        if not message:
            self.add_error("name", "Enter a name, or the first message.")
            return
        others = Case.objects.filter(suite=self.cleaned_data.get("suite"))
        names = others.exclude(pk=self.instance.pk).values_list("name", flat=True)
        self.cleaned_data["name"] = distinct_names([*names, message])[-1]

    def _first_message(self) -> str:
        rows = sorted(int(match[1]) for match in map(_MESSAGE.fullmatch, self.data) if match)
        texts = (self.data[f"turns-{n}-user"] for n in rows if f"turns-{n}-DELETE" not in self.data)
        return next(filter(str.strip, texts), "")

    def _ask_about_time(self) -> None:
        """Ask about a time limit without a unit that is far longer than replies may take."""
        timeout_s, field = self.cleaned_data.get("turn_timeout_s"), self.fields.get("max_time_ms")
        if timeout_s is None or not isinstance(field, QuantityField):
            return
        typed = self.data.get(self.add_prefix("max_time_ms"))
        problem = field.doubt(typed, long_s=_MANY_TIMES * timeout_s)
        if problem and not self.has_error("max_time_ms"):
            self.add_error("max_time_ms", problem)

    def clean_whole(self, cleaned: dict[str, Any]) -> None:
        columns = columns_of(cleaned)
        for name, value in columns.items():
            setattr(self.instance, name, value)
        self._refuse_mixed_users(cleaned.get("suite"))
        written = CASE.to_mapping(self.instance, cleaned | columns)
        self.read(written | _ROWS)

    def _refuse_mixed_users(self, suite: Suite | None) -> None:
        if suite is None or not {"suite", "user_side"} & {*self.changed_data}:
            return
        is_simulated = bool(self.instance.simulated_user)
        if mixes_users(suite, is_simulated=is_simulated, but=self.instance.pk or 0):
            self.add_error("user_side", MIXED_USERS)
