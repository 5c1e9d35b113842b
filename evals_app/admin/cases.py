"""The case editor: turns, the checks inside them, and checks on the whole conversation."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied
from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST
from pydantic import ValidationError
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.archiving import ArchivedSuiteFilter
from evals_app.admin.case_starting import chosen_template, fill_in, starts
from evals_app.admin.check_trying import last_reply, try_posted_check
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
from evals_app.admin.judge_choices import no_judge_for
from evals_app.admin.lines import Column, RecordLines, TagsField, TextLines
from evals_app.admin.money import UsdInput
from evals_app.admin.options_form import OwnText, Prose
from evals_app.admin.permissions import refused_upload, requires
from evals_app.admin.shown_files import FilesField
from evals_app.admin.spec_form import SpecForm
from evals_app.admin.starting import leave_dialog, result_url, try_start
from evals_app.admin.value_lines import VALUE_HELP, ValueLines
from evals_app.engine.agent_spec import OUTSIDE
from evals_app.engine.case_templates import left_over
from evals_app.engine.permits import FROZEN
from evals_app.engine.rehearsal import missed_by_expected
from evals_app.engine.suite import CaseSpec, LimitsSpec, SuiteSpec
from evals_app.formats.references import NO_STREAMING
from evals_app.models import Assertion, Case, Execution, Suite, Turn
from evals_app.models.suites import CASE, TURN
from evals_app.runs.rights import RUNNING
from fixtures_app.editing.duplicating import Duplicating
from fixtures_app.editing.editor import VersionedForm
from fixtures_app.editing.inputs import Select, TextArea
from fixtures_app.editing.json_field import JsonTextField
from fixtures_app.editing.rows import OrderedFormSet, RowForm, RowsInline

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
        kind=dict, required=False, widget=TextArea({"class": "ts-input ts-mono"})
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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
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

    def clean_config(self) -> dict[str, Any]:
        return self.cleaned_data["config"] or {}

    def clean_whole(self, cleaned: dict[str, Any]) -> None:
        self.read({"user": "Validated by the form.", **{name: cleaned[name] for name in _MORE}})

    def clean_expected(self) -> str | None:
        expected: str = self.cleaned_data["expected"]
        # Only files can expect an empty text; the form keeps it.
        return expected or ("" if self.initial.get("expected") == "" else None)


class TurnFormSet(OrderedFormSet):
    """The turns of a case, compared with their checks."""

    row_name = "turn"
    are_checks_compared = False

    def clean(self) -> None:
        super().clean()
        if not self.kept:
            raise forms.ValidationError("A conversation needs at least one turn.")

    def is_valid(self) -> bool:
        is_valid = bool(super().is_valid())
        for turn in self.rows:
            for nested in _checks_of(turn):
                # Unfold validates them too; checks of a removed turn must not prevent saving.
                nested.goes_with_owner = turn.is_removed
        # Called more than once, but errors must be added once.
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


def _compare_checks(turn: Any) -> None:
    own: list[CheckForm] = [check for checks in _checks_of(turn) for check in checks.kept]
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


class FinalCheckInline(CheckInline):
    """Checks on the whole conversation."""

    fk_name = "case"
    formset = FinalCheckFormSet
    page_model = Case
    verbose_name_plural = "Checks on the whole conversation"
    hint = "These checks see every reply and every tool call."


class TurnInline(RowsInline):
    """The turns, with their checks nested."""

    model, form, formset, page_model = Turn, TurnForm, TurnFormSet, Case
    inlines = [TurnCheckInline]
    template = "admin/evals_app/turns.html"
    row_template = "admin/evals_app/turn_row.html"
    list_class = "ts-turns"
    handle = "ts-turn-drag"
    add_label = "Add a turn"
    opens_with_row = True  # a conversation needs a turn

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        checks = Assertion.objects.order_by("position", "pk")
        return super().get_queryset(request).prefetch_related(Prefetch("assertions", checks))


def _suites_to_choose(own: int | None) -> QuerySet[Suite]:
    """Return the active suites and the case's own, marked if another has the same name."""
    others = Suite.objects.filter(name=OuterRef("name")).exclude(pk=OuterRef("pk"))
    suites = Suite.objects.filter(Q(archived_at=None) | Q(pk=own)).order_by("name", "slug")
    return suites.only("name", "slug").annotate(has_namesake=Exists(others))


def _label_of_suite(suite: Any) -> str:
    return f"{suite.name} ({suite.slug})" if suite.has_namesake else str(suite.name)


class CaseForm(SpecForm, VersionedForm):
    """The head of a case."""

    mapping = CASE

    tags = TagsField(widget=UnfoldAdminTextInputWidget())
    context_params = ValueLines(key_label="Name")
    history = RecordLines(
        [
            Column(
                "role", "Who", kind="select", choices=(("user", "User"), ("assistant", "Agent"))
            ),
            Column("content", "Message", kind="area", placeholder="Text of the message"),
        ],
    )
    max_cost_usd = UsdInput(required=False, widget=UnfoldAdminDecimalFieldWidget())

    class Meta:
        model = Case
        fields = (*CASE.names.values(), "suite")
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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "suite" in self.fields:
            field: Any = self.fields["suite"]
            field.queryset = _suites_to_choose(self.instance.suite_id)
            field.label_from_instance = _label_of_suite

    def clean(self) -> dict[str, Any]:
        note_choices(self.instance, changed=self.changed_data)
        return super().clean()

    def clean_whole(self, cleaned: dict[str, Any]) -> None:
        self.read(CASE.written(cleaned) | {"turns": [{"user": "Rows are validated separately."}]})


@admin.register(Case)
class CaseAdmin(Duplicating, ChecksEditor):
    """Cases: one conversation each."""

    form = CaseForm
    inlines = [TurnInline, FinalCheckInline]
    list_display = ["name", "suite", "show_tags", "turn_count", "updated_at"]
    list_select_related = ["suite"]
    list_filter = ["suite", ArchivedSuiteFilter]
    search_fields = ["name", "description", "tags", "suite__name"]
    ordering = ["suite", "position", "pk"]
    when_empty = (
        "A case is one conversation: what the user says, and checks on the replies. It belongs to a "
        "suite."
    )
    actions_detail = ["open_suite", "run_now", "duplicate"]
    actions_submit_line = ["save_and_run"]
    fieldsets = [
        (None, {"fields": ["name", ("suite", "tags"), "enabled"]}),
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
                "fields": [*LimitsSpec.model_fields, "turn_timeout_s", "trials", "streaming"],
                "classes": ["collapse"],
            },
        ),
    ]

    change_form_template = "admin/evals_app/case_editor.html"
    change_form_outer_before_template = "admin/evals_app/case_starts.html"

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        template = chosen_template(request)
        return initial if template is None else initial | {"name": template.title}

    def get_formset_kwargs(
        self, request: HttpRequest, obj: Case, inline: Any, prefix: str
    ) -> dict[str, Any]:
        if isinstance(inline, TurnInline) and obj.pk is None:
            fill_in(obj, request)
        kwargs: dict[str, Any] = super().get_formset_kwargs(request, obj, inline, prefix)
        return kwargs

    def get_queryset(self, request: HttpRequest) -> QuerySet[Case]:
        rows: QuerySet[Case] = super().get_queryset(request)
        return rows.select_related("suite__agent").annotate(turn_count=Count("turns"))

    @display(description="Turns", ordering="turn_count")
    def turn_count(self, case: Any) -> int:
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
        # Unfold offers these only for stored rows.
        offered = {"actions_submit_line": self.get_actions_submit_line(request, object_id)}
        context = {**offered, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        suite = context["original"].suite if context.get("original") else None
        context |= self.checks_context(request)
        if chosen := suite or _suite_to_be(request):
            context |= self.offered(chosen)
        if context.get("original") is None:
            context |= {"starts": starts(request), "template": chosen_template(request)}
        if suite is not None:
            defaults = suite.default_assertions.filter(enabled=True).order_by("position", "pk")
            context["suite_checks"] = [title_of(check) for check in defaults]
            context["suite_url"] = reverse("admin:evals_app_suite_change", args=[suite.pk])
            if request.user.has_perm("evals_app.view_execution"):
                context |= _results(context["original"])
                context["tried_case"] = context["original"]
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Case, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        if not change or "suite" in form.changed_data:
            obj.position = next_position(obj.suite)
        super().save_model(request, obj, form, change)

    def save_related(
        self,
        request: HttpRequest,
        form: Any,
        formsets: list[Any],
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        super().save_related(request, form, formsets, change)
        for warning in _warnings(form.instance, formsets):
            messages.warning(request, warning)

    # Trying checks

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("try/", wrap(require_POST(try_posted_check)), name="evals_app_case_try"),
            path(
                "<int:pk>/last-reply/", wrap(require_GET(last_reply)), name="evals_app_case_reply"
            ),
            *super().get_urls(),
        ]

    # Running

    has_run_permission = requires(*RUNNING)

    @action(description="Save and run", permissions=["run"])
    def save_and_run(self, request: HttpRequest, obj: Case) -> None:
        """Show the button; the run starts after turns and checks are saved."""

    def _saved(self, request: HttpRequest, case: Case) -> HttpResponse | None:
        """Start the run after "Save and run"."""
        if f"{self.opts.app_label}_{self.opts.model_name}_save_and_run" not in request.POST:
            return None
        if not self.has_run_permission(request, case):
            raise PermissionDenied
        return redirect(_try_out(case, request))

    def response_change(self, request: HttpRequest, obj: Case) -> HttpResponse:
        return self._saved(request, obj) or super().response_change(request, obj)

    def response_add(
        self, request: HttpRequest, obj: Case, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self._saved(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_post_save_add(self, request: HttpRequest, obj: Case) -> HttpResponse:
        """Go on with the suite: its next case, or its first run."""
        return redirect("admin:evals_app_suite_cases", obj.suite_id)

    def response_post_save_change(self, request: HttpRequest, obj: Case) -> HttpResponse:
        """Return to the suite, or to the list that a person has filtered."""
        if "_changelist_filters" in request.GET:
            return super().response_post_save_change(request, obj)
        return redirect("admin:evals_app_suite_cases", obj.suite_id)

    @action(
        description="Run now",
        icon="play_arrow",
        url_path="run-now",
        permissions=["run"],
        dialog={
            "title": "Run this case now?",
            "description": "Runs the saved version with its agent, once per trial. This does not "
            "change the verdict of the suite.",
            "form_submit_text": "Run now",
        },
    )
    def run_now(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        case = get_object_or_404(Case.objects.select_related("suite"), pk=object_id)
        return leave_dialog(_try_out(case, request))

    # Its suite

    has_suite_permission = requires("evals_app.view_suite")

    @action(description="Suite", icon="checklist", url_path="suite", permissions=["suite"])
    def open_suite(self, request: HttpRequest, object_id: str) -> HttpResponse:
        case = get_object_or_404(Case.objects.only("suite"), pk=object_id)
        return redirect("admin:evals_app_suite_cases", case.suite_id)

    # Copying

    has_copy_permission = requires("evals_app.add_case", "evals_app.view_case")
    copied = staticmethod(copy_case)


def _suite_to_be(request: HttpRequest) -> Suite | None:
    """Return the suite that a new case is to belong to, if the address or the form states one."""
    key = request.POST.get("suite") or request.GET.get("suite", "")
    if not (key.isascii() and key.isdecimal()):
        return None
    return Suite.objects.select_related("agent").filter(pk=key).first()


def _try_out(case: Case, request: HttpRequest) -> str:
    """Run a case; return the URL of its result, or of the case if the run did not start."""
    if run := try_start(request, case.suite, names=[case.name], is_tryout=True):
        return result_url(run, request)
    return reverse("admin:evals_app_case_change", args=[case.pk])


def _results(case: Case) -> dict[str, Any]:
    """Return how many results a case has, and their URL."""
    results = Execution.objects.filter(case=case.name, run__suite_slug=case.suite.slug)
    query = urlencode({"case": case.name, "suite_slug": case.suite.slug})
    address = reverse("admin:evals_app_execution_changelist")
    return {"result_count": results.count(), "results_url": f"{address}?{query}"}


def _warnings(case: Case, formsets: list[Any]) -> Iterator[str]:
    """Yield warnings about what was saved."""
    turns, final = formsets
    for number, turn in enumerate(turns.kept, 1):
        if (turn.cleaned_data["expected"] or "").isspace():
            yield f"Turn {number}: the expected answer contains only spaces."
        for checks in _checks_of(turn):
            yield from _warnings_of(checks, f"Turn {number}, check")
    yield from _warnings_of(final, "Final check")
    if case.streaming and case.suite.agent.driver in OUTSIDE:
        yield f"Streaming: {NO_STREAMING}"
    if (spec := _saved_spec(case.pk)) is not None:
        yield from _warnings_of_whole(spec, spec.cases[0])
        if problem := no_judge_for(spec, case):
            yield f"This case cannot run yet. {problem}"


def _warnings_of_whole(suite: SuiteSpec, case: CaseSpec) -> Iterator[str]:
    """Yield warnings about the case as a whole, with the checks of its suite."""
    for number, turn in enumerate(case.turns, 1):
        for _, message in missed_by_expected(turn.expected, suite.assertions_for(turn)):
            yield f"Turn {number}, expected answer: {message}"
    if heavy := suite.swamping(case):
        yield (
            f"The check “{heavy.label}” has so much weight that it alone determines the score. Give the"
            " others more weight, or remove them."
        )
    for placeholder in left_over(case):
        yield f"Replace “{placeholder}”: this text comes from the template."
    if suite.asserts_nothing(case):
        yield (
            "This case cannot pass: nothing in it decides. Add a check with a weight above 0, and with a "
            "threshold if its kind only measures; or set a limit."
        )


def _saved_spec(pk: int) -> SuiteSpec | None:
    """Return a case in its suite, or None if a kind of check no longer exists."""
    whole = Case.objects.select_related("suite__agent").prefetch_related(
        "turns__assertions", "final_assertions", "suite__default_assertions", "suite__fixtures"
    )
    case = whole.get(pk=pk)
    # Without its other cases: a suite may have thousands.
    suite = case.suite.written_head() | {"cases": [case.written()]}
    try:
        # A check that is no longer permitted still counts.
        return SuiteSpec.model_validate(suite, context=FROZEN)
    except ValidationError:
        return None  # the page reports it


def _warnings_of(checks: CheckFormSet, where: str) -> Iterator[str]:
    for number, check in enumerate(checks.kept, 1):
        for warning in check.warnings():
            yield f"{where} {number}: {warning}"
