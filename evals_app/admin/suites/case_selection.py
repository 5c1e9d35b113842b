"""What people do with chosen cases of a suite: run, tag, disable, move, copy and delete them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from pydantic import TypeAdapter, ValidationError
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.bin.deleting import offer_to_restore
from evals_app.admin.kit.lines import OFFERS_TAGS, TagsField
from evals_app.admin.kit.pages import person
from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_dialog import run_url, try_start
from evals_app.admin.suites.case_edits import (
    add_tags,
    copy_cases,
    move_cases,
    place_cases,
    remove_tags,
    set_enabled,
)
from evals_app.admin.suites.case_undo import keep_edit, report_edit, values_of
from evals_app.engine.basics.errors import CannotError
from evals_app.engine.specs.base_spec import Name
from evals_app.library.changes.edits import note_cases, note_edit
from evals_app.library.deleting.written import delete_cases
from evals_app.models import BulkEdit, Case, Suite
from evals_app.reports.answers.forecasts import in_words
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.starting.forecast import forecast
from evals_app.runs.starting.freeze import CannotStartError
from fixtures_app.ground.spec_errors import messages_of

MAX_KEYS = 1000  # a page has fewer
_TAGS: TypeAdapter[list[str]] = TypeAdapter(list[Name])


class ActionForm(forms.Form):
    """The form that an action shows first; this one asks nothing."""

    def __init__(self, suite: Suite, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.suite = suite


class TagsForm(ActionForm):
    """Asks for tags."""

    tags = TagsField(
        label="Tags",
        widget=UnfoldAdminTextInputWidget(OFFERS_TAGS),
        help_text="Separated by commas, for example refunds, smoke.",
    )

    def clean_tags(self) -> list[str]:
        tags: list[str] = self.cleaned_data["tags"]
        if not tags:
            raise forms.ValidationError("Enter at least one tag.")
        try:
            return _TAGS.validate_python(tags)
        except ValidationError as exc:
            raise forms.ValidationError(messages_of(exc)) from exc


class PlaceForm(ActionForm):
    """Asks for a place in the suite."""

    place = forms.IntegerField(
        label="Position",
        min_value=1,
        max_value=10_000_000,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="1 is the first case of the suite.",
    )


class IntoForm(ActionForm):
    """Asks for a suite."""

    into = forms.ModelChoiceField(
        Suite.objects.none(),
        label="Suite",
        widget=UnfoldAdminSelectWidget(),
        empty_label="Choose a suite",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice: Any = self.fields["into"]
        choice.queryset = self.suite_choices().order_by("name", "slug")
        choice.label_from_instance = lambda suite: f"{suite.name} ({suite.slug})"

    def suite_choices(self) -> QuerySet[Suite]:
        return Suite.objects.current()


class IntoOtherForm(IntoForm):
    """Asks for another suite."""

    def suite_choices(self) -> QuerySet[Suite]:
        return super().suite_choices().exclude(pk=self.suite.pk)


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """An action in progress: the person, the cases, and the answers of its form."""

    request: HttpRequest
    suite: Suite
    cases: QuerySet[Case]
    asked: Mapping[str, Any]


def _run(doing: ActionRequest) -> str | None:
    names = frozenset(doing.cases.values_list("name", flat=True))
    run = try_start(doing.request, doing.suite, names=names)
    return run_url(run) if run else None


def _tag(doing: ActionRequest) -> None:
    tags = doing.asked["tags"]
    what = f"Added {_quote_tags(tags)}"
    _act_and_note(doing, what, lambda: add_tags(doing.cases, tags), "tags")


def _untag(doing: ActionRequest) -> None:
    tags = doing.asked["tags"]
    what = f"Removed {_quote_tags(tags)}"
    _act_and_note(doing, what, lambda: remove_tags(doing.cases, tags), "tags")


def _enable(doing: ActionRequest) -> None:
    _act_and_note(doing, "Enabled", lambda: set_enabled(doing.cases, enabled=True), "enabled")


def _disable(doing: ActionRequest) -> None:
    _act_and_note(doing, "Disabled", lambda: set_enabled(doing.cases, enabled=False), "enabled")


def _place(doing: ActionRequest) -> None:
    place = doing.asked["place"]
    keys = list(doing.cases.values_list("pk", flat=True))
    what = f"Moved to position {place:,}"
    with transaction.atomic():
        before = values_of(doing.suite.cases.all(), ["position"])
        place_cases(doing.suite, keys, at=place)
        edit = keep_edit(doing.suite, what, fields=["position"], before=before)
    report_edit(doing.request, what, len(keys), edit)


def _copy(doing: ActionRequest) -> None:
    into = doing.asked["into"]
    what = f"Copied to “{into}”"
    try:
        _copy_and_note(doing, what, into)
    except CannotError as error:
        messages.error(doing.request, str(error))


def _copy_and_note(doing: ActionRequest, what: str, into: Suite) -> None:
    with transaction.atomic():
        copies = copy_cases(doing.cases, into)
        sentence = f"Copied {plural(len(copies), 'case')} from suite “{doing.suite}”."
        note_edit(into, user=doing.request.user, note=sentence)
        added: list[object] = [[pk, [], []] for pk in copies]
        edit = BulkEdit.objects.create(suite=into, what=what, changed=added)
    may_undo = doing.request.user.has_perms(["evals_app.change_case", "evals_app.delete_case"])
    report_edit(doing.request, what, len(copies), edit if may_undo else None)


def _move(doing: ActionRequest) -> None:
    into = doing.asked["into"]
    what = f"Moved to suite “{into}”"
    try:
        _act_and_note(doing, what, lambda: move_cases(doing.cases, into), "suite_id", "position")
    except CannotError as error:
        messages.error(doing.request, str(error))


def _delete(doing: ActionRequest) -> None:
    keys = list(doing.cases.values_list("pk", flat=True))
    offer_to_restore(doing.request, [delete_cases(doing.suite, keys, by=person(doing.request))])


def _act_and_note(doing: ActionRequest, what: str, act: Callable[[], int], *fields: str) -> None:
    """Act on these fields of the cases, record it in their history, and offer to undo it."""
    cases = list(doing.cases.only("suite", "name"))  # now: afterwards they may no longer match
    with transaction.atomic():
        before = values_of(doing.cases, fields)
        changed = act()
        note_cases(what, doing.suite, cases, by=person(doing.request))
        edit = keep_edit(doing.suite, what, fields=fields, before=before)
    report_edit(doing.request, what, changed, edit)


def _quote_tags(tags: Sequence[str]) -> str:
    return f"{'tag' if len(tags) == 1 else 'tags'} {', '.join(f'“{tag}”' for tag in tags)}"


@dataclass(frozen=True, slots=True)
class Action:
    """A button above the list of cases; `ask` is the form of what it asks first."""

    title: str
    icon: str
    needs: Sequence[str]
    act: Callable[[ActionRequest], str | None]
    heading: str = ""
    text: str = ""
    button: str = ""
    ask: type[ActionForm] | None = None
    is_danger: bool = False
    is_rare: bool = False  # in the menu

    def is_allowed(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perms(self.needs))


_CHANGE = ("evals_app.change_case",)
ACTIONS: dict[str, Action] = {
    "run": Action(
        *("Run these", "play_arrow", RUNNING, _run, "Run {}"),
        text="Runs the saved cases that are enabled. Unless they are all cases of the suite, the verdict"
        " of the suite does not change. Calls to models may cost money.",
        button="Run",
        ask=ActionForm,
    ),
    "tag": Action(
        *("Add tags", "new_label", _CHANGE, _tag, "Add tags to {}"), button="Add", ask=TagsForm
    ),
    "disable": Action("Disable", "toggle_off", _CHANGE, _disable),
    "enable": Action("Enable", "toggle_on", _CHANGE, _enable),
    "untag": Action(
        *("Remove tags", "label_off", _CHANGE, _untag, "Remove tags from {}"),
        button="Remove",
        ask=TagsForm,
        is_rare=True,
    ),
    "place": Action(
        *("Change position", "swap_vert", _CHANGE, _place, "Change the position of {}"),
        text="They stay in their order, one after the other.",
        button="Move",
        ask=PlaceForm,
        is_rare=True,
    ),
    "move": Action(
        *("Move to a suite", "drive_file_move", _CHANGE, _move, "Move {} to another suite"),
        text="They are added at its end. Their earlier results stay with this suite.",
        button="Move",
        ask=IntoOtherForm,
        is_rare=True,
    ),
    "copy": Action(
        *("Copy to a suite", "content_copy", ("evals_app.add_case",), _copy, "Copy {} to a suite"),
        text="They are added at its end. Where a name is taken, the copy gets another one.",
        button="Copy",
        ask=IntoForm,
        is_rare=True,
    ),
    "delete": Action(
        *("Delete", "delete", ("evals_app.delete_case",), _delete, "Delete {}?"),
        text="Their turns and checks are deleted too. Results of earlier runs are kept. You can restore"
        " them later.",
        button="Delete",
        ask=ActionForm,
        is_danger=True,
        is_rare=True,
    ),
}


def allowed_actions(request: HttpRequest) -> dict[str, Action]:
    """Return the actions that a person may do, by their names."""
    return {name: action for name, action in ACTIONS.items() if action.is_allowed(request)}


def chosen_cases(request: HttpRequest, suite: Suite, matching: QuerySet[Case]) -> QuerySet[Case]:
    """Return the cases that a page chose: ticked ones, or all that match its filter."""
    if request.POST.get("everything"):
        return matching
    keys = [int(key) for key in request.POST.getlist("case") if key.isascii() and key.isdecimal()]
    return suite.cases.filter(pk__in=keys[:MAX_KEYS]).order_by("position", "pk")


def size_of_run(request: HttpRequest, suite: Suite, cases: QuerySet[Case]) -> str:
    """Return the size and price of a run of these cases, or why it cannot start."""
    names = frozenset(cases.values_list("name", flat=True))
    try:
        expected = forecast(suite, by=request.user.pk, names=names)
    except CannotStartError as error:
        return f"The run cannot start. {error}"
    return in_words(expected, month_left_usd=month_left(request.user.pk))
