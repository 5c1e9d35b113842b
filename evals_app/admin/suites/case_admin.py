"""The case editor: its page, starting a case from a template, and running one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm

from evals_app.admin.agents.copies import copy_case, next_position
from evals_app.admin.bin.deleting import Deleting
from evals_app.admin.checks.check_form import title_of
from evals_app.admin.checks.check_rows import ChecksEditor
from evals_app.admin.comparing.side_by_side import read_number
from evals_app.admin.executions.execution_pages import CAME_FROM, result_after_edit
from evals_app.admin.history.case_history import history_url
from evals_app.admin.kit.permissions import refused_upload, requires
from evals_app.admin.people.saved_views import WithViews
from evals_app.admin.regrading.regrade_dialog import offer_to_try, try_context
from evals_app.admin.starting.run_dialog import leave_dialog, result_url, try_start
from evals_app.admin.suites.archiving import ArchivedSuiteFilter
from evals_app.admin.suites.case_form import CaseForm
from evals_app.admin.suites.case_turns import FinalCheckInline, TurnInline
from evals_app.admin.suites.case_user import USER_FIELDS, WRITTEN, side_of
from evals_app.admin.suites.case_warnings import warnings_of
from evals_app.admin.suites.last_result import last_result
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.suites.case_templates import TEMPLATES, CaseTemplate
from evals_app.engine.suites.suite_spec import LimitsSpec
from evals_app.models import Assertion, Case, DeletedObject, Suite, Turn
from evals_app.runs.ground.rights import RUNNING
from fixtures_app.editing.counting import count_of
from fixtures_app.editing.duplicating import Duplicating
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.editing.rows import prefill, read_position


@admin.register(Case)
class CaseAdmin(WithViews, Deleting, Duplicating, ChecksEditor):
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
        (None, {"fields": ["name"], "classes": ["is-title"]}),
        (None, {"fields": ["suite", "tags", "enabled"]}),
        ("User", {"fields": [*USER_FIELDS], "classes": ["ew-user-side"]}),
        ("Context", {"fields": ["description", "channel", "context_params", "clock", "history"]}),
        (
            "Limits and trials",
            {
                "fields": [
                    *(*LimitsSpec.model_fields, "turn_timeout_s"),
                    *("trials", "pass_threshold", "streaming"),
                ]
            },
        ),
    ]

    change_form_template = "admin/evals_app/suites/case_editor.html"
    change_form_outer_before_template = "admin/evals_app/suites/case_starts.html"

    class Media:
        css = {"all": ["evals_app/conversation/review.css", "evals_app/history/history.css"]}

    def get_formset_kwargs(
        self, request: HttpRequest, obj: Case, inline: Any, prefix: str
    ) -> dict[str, Any]:
        if isinstance(inline, TurnInline) and obj.pk is None:
            _fill_in(obj, request)
        return super().get_formset_kwargs(request, obj, inline, prefix)

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        # Without the right to change, columns are shown as they are.
        stored = {"fields": ["replay", "simulated_user"]}
        return [(title, stored if title == "User" else options) for title, options in fieldsets]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Case]:
        rows: QuerySet[Case] = super().get_queryset(request)
        return rows.select_related("suite__agent").annotate(
            turn_count=count_of(Turn.objects.all(), "case")
        )

    @display(description="Turns", ordering="turn_count")
    def turn_count(self, case: Any) -> int:
        count: int = case.turn_count
        return count

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Mapping[str, object] | None = None,
    ) -> HttpResponse:
        too_many = request.FILES and refused_upload(request, self.admin_site.each_context(request))
        if too_many:
            return too_many
        # Unfold offers these only for stored rows.
        offered = {"actions_submit_line": self.get_actions_submit_line(request, object_id)}
        context = {**offered, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        suite = context["original"].suite if context.get("original") else None
        context |= self.checks_context(request)
        context["open_sets"] = [
            part.name for part in context["adminform"] if part.name and _is_used(part)
        ]
        if chosen := suite or _suite_to_be(request):
            context |= self.suggested_names(chosen)
        if context.get("original") is None:
            context |= {"starts": _starts(request), "template": _chosen_template(request)}
        if suite is not None:
            defaults = suite.default_assertions.filter(enabled=True).order_by("position", "pk")
            context["suite_checks"] = [title_of(check) for check in defaults]
            context["suite_url"] = reverse("admin:evals_app_suite_change", args=[suite.pk])
            if request.user.has_perm("evals_app.view_run"):
                context["history_url"] = history_url(suite.slug, context["original"].name)
            if request.user.has_perm("evals_app.view_execution"):
                context |= _results(request, context)
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
        formsets: list[object],
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        super().save_related(request, form, formsets, change)
        for warning in warnings_of(form.instance, formsets):
            messages.warning(request, warning)
        if change:
            offer_to_try(request, form.instance.suite, case=form.instance)

    # Running

    has_run_permission = requires(*RUNNING)

    @action(description="Save and run", permissions=["run"])
    def save_and_run(self, request: HttpRequest, obj: Case) -> None:
        """Show the button; the run starts after turns and checks are saved."""

    def _start_run(self, request: HttpRequest, case: Case) -> HttpResponse | None:
        """Start the run after "Save and run"."""
        if f"{self.opts.app_label}_{self.opts.model_name}_save_and_run" not in request.POST:
            return None
        if not self.has_run_permission(request, case):
            raise PermissionDenied
        return redirect(_try_out(case, request))

    def response_change(self, request: HttpRequest, obj: Case) -> HttpResponse:
        return self._start_run(request, obj) or super().response_change(request, obj)

    def response_add(
        self, request: HttpRequest, obj: Case, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self._start_run(request, obj) or super().response_add(
            request, obj, post_url_continue
        )

    def response_post_save_add(self, request: HttpRequest, obj: Case) -> HttpResponseRedirect:
        """Continue with the suite: its next case, or its first run."""
        return redirect("admin:evals_app_suite_cases", obj.suite_id)

    def response_post_save_change(self, request: HttpRequest, obj: Case) -> HttpResponseRedirect:
        """Return to where a person came from: a conversation, a filtered list, or the suite."""
        if "_changelist_filters" in request.GET:
            return super().response_post_save_change(request, obj)
        if (seen := _came_from(request)) is not None:
            return redirect("admin:evals_app_execution_change", seen)
        return redirect("admin:evals_app_suite_cases", obj.suite_id)

    def url_after_deleting(self, request: HttpRequest, deleted: DeletedObject) -> str:
        """Return the page of the suite, or the list that a person has filtered."""
        if "_changelist_filters" in request.GET or not request.user.has_perm(
            "evals_app.view_suite"
        ):
            return super().url_after_deleting(request, deleted)
        return reverse("admin:evals_app_suite_cases", args=[deleted.suite_id])

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
    make_copy = staticmethod(copy_case)


def _is_used(part: Any) -> bool:
    """Return whether any field of a part of the page is set or wrong."""
    if USER_FIELDS[0] in part.fields:
        return side_of(part.form.instance) != WRITTEN or any(map(part.form.errors.get, USER_FIELDS))
    names = [name for name in part.fields if isinstance(name, str)]
    columns: dict[str, Any] = {name: Case._meta.get_field(name) for name in names}  # noqa: SLF001 - the documented API of models
    row = part.form.instance
    is_set = any(getattr(row, name) != column.get_default() for name, column in columns.items())
    return is_set or any(name in part.form.errors for name in columns)


def _suite_to_be(request: HttpRequest) -> Suite | None:
    """Return the suite that a new case is to belong to, if the address or the form states one."""
    key = read_position(request.POST.get("suite") or request.GET.get("suite"))
    return Suite.objects.select_related("agent").filter(pk=key).first() if key else None


def _came_from(request: HttpRequest) -> int | None:
    """Return the conversation whose case a person edits, if they came from one."""
    seen = read_number(request.GET.get(CAME_FROM, ""))
    return seen if request.user.has_perm("evals_app.view_execution") else None


def _try_out(case: Case, request: HttpRequest) -> str:
    """Run a case; return the URL of its result, or of the case if the run did not start."""
    seen = _came_from(request)
    if run := try_start(request, case.suite, names=[case.name], is_tryout=True):
        return result_url(run, request) if seen is None else result_after_edit(run, seen)
    url = reverse("admin:evals_app_case_change", args=[case.pk])
    return url if seen is None else f"{url}?{CAME_FROM}={seen}"


def _results(request: HttpRequest, context: TemplateContext) -> TemplateContext:
    """Return the newest result of a case, and the button that tries its checks on the last full run."""
    case: Case = context["original"]
    last = last_result(case)
    if last is None:
        return {}
    last.point_out(inline.formset for inline in context["inline_admin_formsets"])
    return {"last_result": last, **try_context(request, last.to_try, case=case)}


# Starting a case from a template: nothing is stored until the page is saved.


@dataclass(frozen=True, slots=True)
class CaseStart:
    """A way to start a case, as a link on the page of a new one."""

    title: str
    about: str
    query: str
    is_chosen: bool


def _starts(request: HttpRequest) -> list[CaseStart]:
    """Return the templates to choose from, an empty case first."""
    chosen = request.GET.get("template", "")
    ways = [("", "Blank", "An empty conversation")]
    ways += [(slug, template.title, template.about) for slug, template in TEMPLATES.items()]
    links = []
    for slug, title, about in ways:
        query = request.GET.copy()
        query["template"] = slug
        links.append(CaseStart(title, about, query.urlencode(), slug == chosen))
    return links


def _chosen_template(request: HttpRequest) -> CaseTemplate | None:
    """Return the template that a new page starts with; None: an empty case."""
    return TEMPLATES.get(request.GET.get("template", "")) if request.method == "GET" else None


def _fill_in(case: Case, request: HttpRequest) -> None:
    """Give a new case the turns and checks of the chosen template, for the agent of its suite."""
    template = _chosen_template(request)
    if template is None:
        return
    suite = _suite_to_be(request)
    spec = template.fill(None if suite is None else suite.agent.abilities.tools)
    turns = []
    for position, turn in enumerate(spec.turns):
        row = Turn(position=position, **Turn.columns_of(turn))
        prefill(row, list(_checks(turn.assertions or ())))
        turns.append(row)
    prefill(case, [*turns, *_checks(spec.final_assertions)])


def _checks(specs: Iterable[AssertionSpec]) -> Iterable[Assertion]:
    for position, spec in enumerate(specs):
        yield Assertion(position=position, **Assertion.columns_of(spec))
