"""The case editor: turns, the checks inside them, and checks on the whole conversation."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied
from django.db.models import Count, Exists, Model, OuterRef, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from pydantic import ValidationError
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.archiving import ArchivedSuiteFilter
from evals_app.admin.checks import (
    NEEDED,
    CheckForm,
    CheckFormSet,
    CheckInline,
    ChecksEditor,
    FinalCheckFormSet,
    changed_on,
    inventory_of_case,
    note_choices,
    title_of,
)
from evals_app.admin.copies import copy_case, next_position
from evals_app.admin.lines import (
    VALUE_HELP,
    Column,
    RecordLines,
    TagsField,
    TextLines,
    ValueLines,
)
from evals_app.admin.money import UsdInput
from evals_app.admin.options_form import OwnText, Prose
from evals_app.admin.shown_files import FilesField
from evals_app.admin.starting import leave_dialog, may_run, result_url, try_start
from evals_app.admin.upload_rate import refused_upload
from evals_app.admin.words import refuse
from evals_app.engine.agent_spec import OUTSIDE
from evals_app.engine.permits import FROZEN
from evals_app.engine.rehearsal import missed_by_expected
from evals_app.engine.suite import CaseSpec, SuiteSpec, TurnSpec
from evals_app.formats.streaming import NO_STREAMING
from evals_app.models import Assertion, Case, Execution, Suite, Turn
from evals_app.models.suites import LIMITS
from fixtures_app.admin.editor import VersionedForm
from fixtures_app.admin.inputs import Select, TextArea
from fixtures_app.admin.json_field import JsonTextField
from fixtures_app.admin.rows import OrderedFormSet, RowForm, RowsInline

_MORE = ("files", "context", "retrieval_context", "config")  # of a turn, folded away


class TurnForm(RowForm):
    """One user message and what is expected of the answer."""

    user = Prose(label="User message", widget=TextArea)
    expected = OwnText(
        label="Expected answer",
        required=False,
        widget=TextArea,
        help_text="The agent never sees it; checks and judges compare with it.",
    )

    files = FilesField()  # type: ignore[assignment]  # of a form it is what was uploaded
    context = TextLines(
        kind="area",
        label="Facts for judges",
        help_text="What a judge may rely on in this turn. The agent never sees it.",
    )
    retrieval_context = TextLines(
        kind="area",
        label="Knowledge that the reply is to rest on",
        help_text="Passages, best first. Blank: what the agent's tools found.",
    )
    config = JsonTextField(
        kind=dict,
        required=False,
        label="Data for checks by code",
        help_text='JSON, for example {"currency": "EUR"}.',
        widget=TextArea({"class": "ts-input ts-mono"}),
    )

    class Meta:
        model = Turn
        fields = ("user", "expected", "checks", "position", *_MORE)
        labels = {"checks": "Checks after this turn"}
        widgets = {"checks": Select}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.is_added:
            # Whatever the suite checks holds for a new turn too, until somebody decides otherwise.
            self.initial["checks"] = Turn.Checks.BOTH

    @property
    def more_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _MORE]

    @property
    def has_more(self) -> bool:
        """Whether anything beside message and expected answer is given, or wrong."""
        if self.is_bound:
            return any(name in self.errors or self.cleaned_data.get(name) for name in _MORE)
        return any(self.initial.get(name) for name in _MORE)

    def clean_retrieval_context(self) -> list[str] | None:
        passages: list[str] = self.cleaned_data["retrieval_context"]
        # Files can say that nothing is retrieved; a form keeps that, and cannot say it.
        return passages or ([] if self.initial.get("retrieval_context") == [] else None)

    def clean_config(self) -> dict[str, Any]:
        return self.cleaned_data["config"] or {}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if any(name in self.errors for name in _MORE):
            return cleaned
        written = {"user": "The form checks it.", **{name: cleaned[name] for name in _MORE}}
        try:
            TurnSpec.model_validate(written)
        except ValidationError as error:
            refuse(self, error, model=TurnSpec, data=written, fields={n: n for n in _MORE})
        return cleaned

    def clean_expected(self) -> str | None:
        expected: str = self.cleaned_data["expected"]
        # Files can say that an empty text is expected; a form keeps that, and cannot say it.
        return expected or ("" if self.initial.get("expected") == "" else None)


class TurnFormSet(OrderedFormSet):
    """The turns of a case, with what only holds between a turn and its checks."""

    row_name = "turn"
    are_checks_compared = False

    def clean(self) -> None:
        super().clean()
        if not self.kept:
            message = "A conversation needs at least one turn."
            raise forms.ValidationError(message)

    def is_valid(self) -> bool:
        is_valid = bool(super().is_valid())
        for turn in self.rows:
            for nested in _checks_of(turn):
                # Unfold validates them too; what goes with its turn must not stop the save.
                nested.goes_with_owner = turn.is_removed
        # Asked more than once; an error that is added twice would be shown twice.
        if self.is_bound and not self.are_checks_compared:
            self.are_checks_compared = True
            case: Case = self.instance
            inventory = inventory_of_case(case)
            for turn in self.kept:
                _compare_checks(turn)
                for checks in _checks_of(turn):
                    for check in checks.kept:
                        check.compare_names(inventory, is_new="suite" in changed_on(case))
            return bool(super().is_valid())
        return is_valid


def _checks_of(turn: RowForm) -> Iterator[CheckFormSet]:
    for nested in getattr(turn, "nested_formsets", []):
        yield nested.formset


def _compare_checks(turn: Any) -> None:  # noqa: ANN401 - a TurnForm that Unfold gave formsets
    own: list[CheckForm] = [check for checks in _checks_of(turn) for check in checks.kept]
    if own and turn.cleaned_data.get("checks") == Turn.Checks.SUITE:
        turn.add_error(
            "checks",
            "This turn has checks of its own, which would be ignored: choose another setting, or"
            " remove them.",
        )
    expected = turn.cleaned_data.get("expected")
    # An empty text may be what is expected, an empty context is none.
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


class FinalCheckInline(CheckInline):
    """Checks on the whole conversation."""

    fk_name = "case"
    formset = FinalCheckFormSet
    page_model = Case
    verbose_name_plural = "Checks on the whole conversation"
    hint = "They see every reply and every tool call."


class TurnInline(RowsInline):
    """The turns; Unfold nests one level below them."""

    model, form, formset, page_model = Turn, TurnForm, TurnFormSet, Case
    inlines = [TurnCheckInline]
    template = "admin/evals_app/turns.html"
    row_template = "admin/evals_app/turn_row.html"
    list_class = "ts-turns"
    handle = "ts-turn-drag"
    add_label = "Add a turn"
    opens_with_row = True  # a conversation without a turn is none

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        checks = Assertion.objects.order_by("position", "pk")
        return super().get_queryset(request).prefetch_related(Prefetch("assertions", checks))


def _suites_to_choose(own: int | None) -> QuerySet[Suite]:
    """Return the suites in use, and the case's own; each knows whether another has its name."""
    others = Suite.objects.filter(name=OuterRef("name")).exclude(pk=OuterRef("pk"))
    suites = Suite.objects.filter(Q(archived_at=None) | Q(pk=own)).order_by("name", "slug")
    return suites.only("name", "slug").annotate(has_namesake=Exists(others))


def _label_of_suite(suite: Any) -> str:  # noqa: ANN401 - annotated
    return f"{suite.name} ({suite.slug})" if suite.has_namesake else str(suite.name)


class CaseForm(VersionedForm):
    """The head of a case."""

    tags = TagsField(
        label="Tags",
        widget=UnfoldAdminTextInputWidget(),
        help_text="Separated by commas, for example refunds, smoke. A run may ask for one of them.",
    )
    context_params = ValueLines(
        key_label="Name",
        value_label="Value",
        label="Context parameters",
        help_text="What {{threadContext.params.NAME}} in the agent's prompt stands for. "
        + VALUE_HELP,
    )
    history = RecordLines(
        [
            Column(
                "role",
                "Who",
                kind="select",
                choices=(("user", "User"), ("assistant", "Agent")),
            ),
            Column("content", "Message", kind="area", placeholder="What was said"),
        ],
        label="Said before",
        help_text="Messages before the first turn. The agent knows them; nothing checks them.",
    )

    max_cost_usd = UsdInput(
        label="Highest cost (USD)",
        required=False,
        widget=UnfoldAdminDecimalFieldWidget(),
        help_text="What the agent's calls cost, all turns. Blank: not checked.",
    )

    class Meta:
        model = Case
        fields = (
            "name",
            "suite",
            "description",
            "tags",
            "channel",
            "context_params",
            "clock",
            *LIMITS,
            "turn_timeout_s",
            "streaming",
            "trials",
            "history",
        )
        widgets = {"description": UnfoldAdminTextareaWidget(attrs={"rows": 2})}
        error_messages = {
            NON_FIELD_ERRORS: {
                "unique_together": "This suite has another case of that name; results go by name."
            }
        }
        labels = {
            "max_prompt_tokens": "Most tokens sent",
            "max_response_tokens": "Most tokens answered",
            "max_time_ms": "Longest time (ms)",
            "max_tool_calls": "Most tool calls",
            "turn_timeout_s": "Longest wait for a reply (s)",
        }
        help_texts = {
            "max_prompt_tokens": "Of all turns together. Blank: not checked.",
            "max_response_tokens": "Of all turns together. Blank: not checked.",
            "max_time_ms": "The agent's own time, all turns. Blank: not checked.",
            "max_tool_calls": "Blank: not checked.",
            "turn_timeout_s": "A turn that takes longer fails.",
            "streaming": "Calls the model in streaming mode and notes the time to the first word.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "suite" in self.fields:
            field: Any = self.fields["suite"]
            field.queryset = _suites_to_choose(self.instance.suite_id)
            field.label_from_instance = _label_of_suite

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        note_choices(self.instance, changed=self.changed_data)
        if any(name in self.errors for name in self.fields):
            return cleaned
        written = {
            "name": cleaned["name"],
            "description": cleaned["description"],
            "tags": cleaned["tags"],
            "channel": cleaned["channel"] or None,
            "context_params": cleaned["context_params"],
            "clock": cleaned["clock"] or None,
            "limits": {limit: cleaned[limit] for limit in LIMITS},
            "turn_timeout_s": cleaned["turn_timeout_s"],
            "streaming": cleaned["streaming"],
            "trials": cleaned["trials"],
            "history": cleaned["history"],
            "turns": [{"user": "The rows check themselves."}],
        }
        try:
            CaseSpec.model_validate(written)
        except ValidationError as error:
            fields = {name: name for name in written if name in self.fields}
            fields |= {f"limits.{limit}": limit for limit in LIMITS}
            refuse(self, error, model=CaseSpec, data=written, fields=fields)
        return cleaned


@admin.register(Case)
class CaseAdmin(ChecksEditor):
    """Cases: one conversation each."""

    form = CaseForm
    inlines = [TurnInline, FinalCheckInline]
    list_display = ["name", "suite", "show_tags", "turn_count", "updated_at"]
    list_select_related = ["suite"]
    list_filter = ["suite", ArchivedSuiteFilter]
    search_fields = ["name", "description", "tags", "suite__name"]
    ordering = ["suite", "position", "pk"]
    when_empty = (
        "A case is one conversation: what the user says, and what must hold of the "
        "answers. It belongs to a suite."
    )
    actions_detail = ["open_suite", "run_now", "duplicate"]
    actions_submit_line = ["save_and_run"]
    fieldsets = [
        (None, {"fields": ["name", "suite", "tags"]}),
        (
            "Context",
            {
                "fields": ["description", "channel", "context_params", "clock", "history"],
                "classes": ["collapse"],
            },
        ),
        (
            "Limits and trials",
            {
                "fields": [
                    *LIMITS,
                    "turn_timeout_s",
                    "trials",
                    "streaming",
                ],
                "classes": ["collapse"],
            },
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Case]:
        rows: QuerySet[Case] = super().get_queryset(request)
        return rows.select_related("suite__agent").annotate(turn_count=Count("turns"))

    @display(description="Turns", ordering="turn_count")
    def turn_count(self, case: Any) -> int:  # noqa: ANN401 - annotated in get_queryset
        count: int = case.turn_count
        return count

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        too_many = request.FILES and refused_upload(request, self.admin_site.each_context(request))
        if too_many:
            return too_many
        # Unfold offers these only for what is stored already.
        offered = {"actions_submit_line": self.get_actions_submit_line(request, object_id)}
        context = {**offered, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        suite = context["original"].suite if context.get("original") else None
        context |= self.checks_context(request)
        if suite is not None:
            context |= self.offered(suite)
            defaults = suite.default_assertions.filter(enabled=True).order_by("position", "pk")
            context["suite_checks"] = [title_of(each) for each in defaults]
            context["suite_url"] = reverse("admin:evals_app_suite_change", args=[suite.pk])
            if request.user.has_perm("evals_app.view_execution"):
                context |= _results(context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Case, form: Any, change: bool) -> None:  # noqa: ANN401, FBT001 - Django's signature
        if not change or "suite" in form.changed_data:
            obj.position = next_position(obj.suite)
        super().save_model(request, obj, form, change)

    def save_related(
        self,
        request: HttpRequest,
        form: Any,  # noqa: ANN401 - CaseForm
        formsets: list[Any],
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        super().save_related(request, form, formsets, change)
        for warning in _warnings(form.instance, formsets):
            messages.warning(request, warning)

    # Running

    def has_run_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        # Named "run", without a dot: a dotted one Unfold looks up in the database during system
        # checks, and the first `migrate` of a new database would fail.
        return may_run(request)

    @action(description="Save and run", permissions=["run"])
    def save_and_run(self, request: HttpRequest, obj: Case) -> None:
        """Offer the button; the run starts once turns and checks are saved too."""

    def _saved(self, request: HttpRequest, case: Case) -> HttpResponse | None:
        """Start the run that "Save and run" asks for."""
        if f"{self.opts.app_label}_{self.opts.model_name}_save_and_run" not in request.POST:
            return None
        if not self.has_run_permission(request, case):
            raise PermissionDenied
        run = try_start(request, case.suite, names=[case.name], is_tryout=True)
        case_url = reverse("admin:evals_app_case_change", args=[case.pk])
        return redirect(result_url(run, request) if run else case_url)

    def response_change(self, request: HttpRequest, obj: Case) -> HttpResponse:
        return self._saved(request, obj) or super().response_change(request, obj)

    def response_add(
        self, request: HttpRequest, obj: Case, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self._saved(request, obj) or super().response_add(request, obj, post_url_continue)

    @action(
        description="Run now",
        icon="play_arrow",
        url_path="run-now",
        permissions=["run"],
        dialog={
            "title": "Run this case now?",
            "description": "The saved version is held with its agent, as often as its trials say. "
            "Such a run does not change the verdict of the suite.",
            "form_submit_text": "Run now",
        },
    )
    def run_now(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        case = get_object_or_404(Case.objects.select_related("suite"), pk=object_id)
        run = try_start(request, case.suite, names=[case.name], is_tryout=True)
        case_url = reverse("admin:evals_app_case_change", args=[case.pk])
        return leave_dialog(result_url(run, request) if run else case_url)

    # Its suite

    def has_suite_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        return request.user.has_perm("evals_app.view_suite")

    @action(description="Suite", icon="checklist", url_path="suite", permissions=["suite"])
    def open_suite(self, request: HttpRequest, object_id: str) -> HttpResponse:
        case = get_object_or_404(Case.objects.only("suite"), pk=object_id)
        return redirect("admin:evals_app_suite_change", case.suite_id)

    # Copying

    def has_copy_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        return self.has_add_permission(request) and self.has_view_permission(request)

    @action(
        description="Duplicate",
        icon="content_copy",
        url_path="duplicate",
        permissions=["copy"],
        dialog={
            "title": "Duplicate this case?",
            "description": "The saved version is copied to the end of its suite.",
            "form_submit_text": "Duplicate",
        },
    )
    def duplicate(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        copied = copy_case(get_object_or_404(Case.objects.select_related("suite"), pk=object_id))
        self.log_addition(request, copied, [{"added": {}}])
        messages.success(request, f"This is the copy: “{copied}”.")
        return leave_dialog(reverse("admin:evals_app_case_change", args=[copied.pk]))


def _results(case: Case) -> dict[str, Any]:
    """Say how many results a case has, and where they are listed."""
    results = Execution.objects.filter(case=case.name, run__suite_slug=case.suite.slug)
    query = urlencode({"case": case.name, "suite_slug": case.suite.slug})
    address = reverse("admin:evals_app_execution_changelist")
    return {"result_count": results.count(), "results_url": f"{address}?{query}"}


def _warnings(case: Case, formsets: list[Any]) -> Iterator[str]:
    """Name what was saved and is hardly meant."""
    turns, final = formsets
    for number, turn in enumerate(turns.kept, 1):
        if (turn.cleaned_data["expected"] or "").isspace():
            yield f"Turn {number}: the expected answer is nothing but spaces."
        for checks in _checks_of(turn):
            yield from _warnings_of(checks, f"Turn {number}, check")
    yield from _warnings_of(final, "Final check")
    if case.streaming and case.suite.agent.driver in OUTSIDE:
        yield f"Streaming: {NO_STREAMING}"
    if (spec := _saved_spec(case.pk)) is not None:
        yield from _warnings_of_whole(spec, spec.cases[0])


def _warnings_of_whole(suite: SuiteSpec, case: CaseSpec) -> Iterator[str]:
    """Name what only shows between the parts of a case, the suite's checks among them."""
    for number, turn in enumerate(case.turns, 1):
        for _, message in missed_by_expected(turn.expected, suite.assertions_for(turn)):
            yield f"Turn {number}, expected answer: {message}"
    if heavy := suite.swamping(case):
        yield (
            f"The check “{heavy.label}” weighs so much that the score goes by it alone. Give the"
            " others more weight, or leave them out."
        )
    if suite.asserts_nothing(case):
        yield "Nothing is checked in this case: no check with a weight, no limit. It cannot pass."


def _saved_spec(pk: int) -> SuiteSpec | None:
    """Return a case in its suite; None where it holds a check of a kind that no longer exists."""
    whole = Case.objects.select_related("suite__agent").prefetch_related(
        "turns__assertions", "final_assertions", "suite__default_assertions", "suite__fixtures"
    )
    case = whole.get(pk=pk)
    # Alone: a suite may have thousands.
    suite = case.suite.written_head() | {"cases": [case.written()]}
    try:
        # What the operator no longer permits is a check all the same.
        return SuiteSpec.model_validate(suite, context=FROZEN)
    except ValidationError:
        return None  # the page says so


def _warnings_of(checks: CheckFormSet, where: str) -> Iterator[str]:
    for number, check in enumerate(checks.kept, 1):
        for warning in check.warnings():
            yield f"{where} {number}: {warning}"
