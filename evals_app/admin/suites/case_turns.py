"""The turns of a case in its editor, with the checks inside them and the final ones."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest

from evals_app.admin.checks.check_rows import (
    NEEDED,
    CheckFormSet,
    CheckInline,
    FinalCheckFormSet,
    changed_on,
    inventory_of_case,
)
from evals_app.admin.checks.options_form import OwnText, Prose
from evals_app.admin.conversation.file_field import FilesField
from evals_app.admin.kit.lines import TextLines
from evals_app.admin.kit.spec_form import SpecForm
from evals_app.admin.suites.case_user import refuse_without_end
from evals_app.engine.suites.case_templates import to_replace
from evals_app.engine.suites.user_spec import USUAL_TURNS
from evals_app.models import Assertion, Case, Turn
from evals_app.models.authored.suites import TURN
from fixtures_app.editing.inputs import Select, TextArea
from fixtures_app.editing.json_field import JsonTextField
from fixtures_app.editing.rows import OrderedFormSet, RowForm, RowsInline

if TYPE_CHECKING:
    from evals_app.admin.checks.check_form import CheckForm

_CHECKS = [
    (Turn.Checks.BOTH, "These, and those of the suite"),
    (Turn.Checks.OWN, "Only these"),
    (Turn.Checks.SUITE, "Only those of the suite"),
]
_MORE = ("files", "context", "retrieval_context", "config")  # of a turn, folded away


class TurnForm(SpecForm, RowForm):
    """One user message and what is expected of the answer."""

    mapping = TURN
    whole = _MORE

    user = Prose(widget=TextArea)
    expected = OwnText(required=False, widget=TextArea)
    files = FilesField()  # type: ignore[assignment]  # of a form it is what was uploaded
    context = TextLines(kind="area", label=TURN.labels["context"])
    retrieval_context = TextLines(kind="area", label=TURN.labels["retrieval_context"])
    config = JsonTextField(
        kind=dict, required=False, widget=TextArea({"class": "ew-input ew-mono"})
    )

    class Meta:
        model = Turn
        fields = ("user", "expected", "checks", "position", *_MORE)
        labels = TURN.labels | {"checks": "Checks after this turn"}
        help_texts = TURN.help_texts | {
            "user": "",
            "config": 'JSON, for example {"currency": "EUR"}.',
        }
        widgets = {"checks": Select}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        checks: Any = self.fields["checks"]
        checks.choices = _CHECKS
        if self.is_added:
            # A new turn has the checks of its suite by default.
            self.initial["checks"] = Turn.Checks.BOTH

    @property
    def more_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _MORE]

    @property
    def has_more(self) -> bool:
        """Whether any other field is filled in or wrong."""
        if self.is_bound:
            return any(name in self.errors or self.cleaned_data.get(name) for name in _MORE)
        return any(self.initial.get(name) for name in _MORE)

    def clean_retrieval_context(self) -> list[str] | None:
        passages: list[str] = self.cleaned_data["retrieval_context"]
        # Only files can set an empty list; the form keeps it.
        return passages or ([] if self.initial.get("retrieval_context") == [] else None)

    def clean_config(self) -> dict[str, object]:
        return self.cleaned_data["config"] or {}

    def clean_whole(self, cleaned: dict[str, object]) -> None:
        self.read({"user": "Validated by the form.", **{name: cleaned[name] for name in _MORE}})

    def clean_user(self) -> str:
        return _without_placeholders(self.cleaned_data["user"])

    def clean_expected(self) -> str | None:
        expected = _without_placeholders(self.cleaned_data["expected"])
        # Only files can expect an empty text; the form keeps it.
        return expected or ("" if self.initial.get("expected") == "" else None)


def _without_placeholders(text: str) -> str:
    """Return a text without placeholders of a template; they would be sent to the agent."""
    if problem := to_replace(text):
        raise forms.ValidationError(problem)
    return text


class TurnFormSet(OrderedFormSet):
    """The turns of a case, compared with their checks."""

    row_name = "turn"
    are_checks_compared = False

    def clean(self) -> None:
        super().clean()
        if not self.kept_rows:
            raise forms.ValidationError("A conversation needs at least one turn.")
        most = self.instance.simulated_user.get("max_turns", USUAL_TURNS)
        if self.instance.simulated_user and len(self.kept_rows) >= most:
            raise forms.ValidationError(
                f"A model plays the user after these turns, and the conversation has at most {most}."
                " Remove some, or allow more turns."
            )

    def is_valid(self) -> bool:
        is_valid = bool(super().is_valid())
        for turn in self.rows:
            for nested in checks_of(turn):
                # Unfold validates them too; checks of a removed turn must not prevent saving.
                nested.goes_with_owner = turn.is_removed
        # Called more than once, but errors must be added once.
        if self.is_bound and not self.are_checks_compared:
            self.are_checks_compared = True
            case: Case = self.instance
            inventory = inventory_of_case(case)
            for turn in self.kept_rows:
                _compare_checks(turn)
                for checks in checks_of(turn):
                    for check in checks.kept_rows:
                        check.compare_names(inventory, is_new="suite" in changed_on(case))
            return bool(super().is_valid())
        return is_valid


def checks_of(turn: RowForm) -> Iterator[CheckFormSet]:
    """Yield the checks of a turn, as one formset."""
    for nested in getattr(turn, "nested_formsets", []):
        yield nested.formset


def _compare_checks(turn: Any) -> None:
    own: list[CheckForm] = [check for checks in checks_of(turn) for check in checks.kept_rows]
    if own and turn.cleaned_data.get("checks") == Turn.Checks.SUITE:
        turn.add_error(
            "checks",
            "This turn has its own checks, which would be ignored. Choose another setting, or remove"
            " them.",
        )
    expected = turn.cleaned_data.get("expected")
    # An empty text may be expected, but an empty context is missing.
    gives = frozenset(name for name in NEEDED if turn.cleaned_data.get(name) not in (None, []))
    for check in own:
        if need := check.lacks(gives):
            give = f"give the turn {NEEDED[need]}."
            check.complain_of_value(
                f"Fill this in, or {give}" if check.takes_value else give.capitalize()
            )
        elif check.lacks() == "expected" and check.spec:
            problem = check.spec.grader.expected_problem(expected)
            if problem:
                check.complain_of_value(problem)


class TurnCheckInline(CheckInline):
    """Checks after a turn."""

    fk_name = "turn"
    page_model = Case


class EndingCheckFormSet(FinalCheckFormSet):
    """Final checks, one of which must end the conversation of a simulated user."""

    def clean(self) -> None:
        super().clean()
        refuse_without_end(self)


class FinalCheckInline(CheckInline):
    """Checks on the whole conversation."""

    fk_name = "case"
    formset = EndingCheckFormSet
    page_model = Case
    verbose_name_plural = "Checks on the whole conversation"
    hint = "These checks see every reply and every tool call."


class TurnInline(RowsInline):
    """The turns, with their checks nested."""

    model, form, formset, page_model = Turn, TurnForm, TurnFormSet, Case
    inlines = [TurnCheckInline]
    template = "admin/evals_app/suites/turns.html"
    row_template = "admin/evals_app/suites/turn_row.html"
    list_class = "ew-turns"
    handle = "ew-turn-drag"
    add_label = "Add a turn"
    opens_with_row = True  # a conversation needs a turn

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        checks = Assertion.objects.order_by("position", "pk")
        return super().get_queryset(request).prefetch_related(Prefetch("assertions", checks))
