"""Suites in the admin: the list, the settings and default checks, and the way to run one."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_POST
from unfold.decorators import action, display
from unfold.views import ChangeList

from evals_app.admin.agents.copies import copy_suite
from evals_app.admin.checks.check_inputs import inputs_of_check, inputs_of_kind
from evals_app.admin.checks.check_rows import ChecksEditor, DefaultCheckInline
from evals_app.admin.checks.reference import check_reference
from evals_app.admin.history.suite_verdict import standing_text
from evals_app.admin.importing.examples import examples_to_remove, load_examples
from evals_app.admin.importing.exporting import export_everything, export_fixture
from evals_app.admin.importing.first_sheet import read_first_sheet
from evals_app.admin.importing.import_page import import_page, sample_to_fill_in
from evals_app.admin.kit.permissions import refused_upload, requires
from evals_app.admin.kit.tag_choices import offer_tags
from evals_app.admin.people.mail_wishes import mail_about_suite
from evals_app.admin.regrading.regrade_dialog import offer_to_try
from evals_app.admin.starting.run_choices import RunChoices
from evals_app.admin.starting.run_dialog import (
    RunForm,
    leave_dialog,
    runs_url,
    size_sentence,
    try_start_runs,
)
from evals_app.admin.starting.run_suites import RunsSuites
from evals_app.admin.suites.archiving import ArchivedFilter, Archiving
from evals_app.admin.suites.suite_exports import ExportsSuites
from evals_app.admin.suites.suite_form import GATES, SuiteForm
from evals_app.admin.suites.suite_pages import SuitePages, with_schedules
from evals_app.library.importing.rights import Rights
from evals_app.models import Suite
from evals_app.reports.words.shares import share_of_cases
from evals_app.runs.reading.suite_verdict import standings, with_last_runs
from fixtures_app.editing.duplicating import Duplicating

if TYPE_CHECKING:
    from collections.abc import Callable


class SuiteList(ChangeList):
    """A page of the list, with the verdicts of its suites."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        has_run_links = request.user.has_perm("evals_app.view_run")
        for suite, standing in zip(self.result_list, standings(self.result_list), strict=True):
            suite.standing, suite.has_run_links = standing, has_run_links

    def url_for_result(self, result: Any) -> str:
        return reverse("admin:evals_app_suite_cases", args=[result.pk])


@admin.register(Suite)
class SuiteAdmin(Archiving, SuitePages, RunsSuites, ExportsSuites, Duplicating, ChecksEditor):
    """Suites: cases for one agent, with defaults."""

    form = SuiteForm
    inlines = [DefaultCheckInline]
    list_display = [
        *("name", "agent", "case_count", "last_verdict", "pass_rate", "show_tags", "updated_at")
    ]
    list_select_related = ["agent"]
    list_filter = ["agent", ArchivedFilter]
    search_fields = ["name", "slug", "description"]
    ordering = ["name"]

    class Media:
        css = {"all": ["evals_app/conversation/review.css", "evals_app/suites/suite.css"]}

    when_empty = (
        "A suite is a set of cases for one agent: conversations, and checks on the replies. Add an "
        "agent first."
    )
    prepopulated_fields = {"slug": ["name"]}
    change_form_template = "admin/evals_app/suites/settings.html"
    change_form_outer_before_template = "admin/evals_app/suites/head.html"
    actions_list = ["run_some", "open_import"]
    actions = ["run_ticked", *Archiving.actions]
    actions_detail = [
        "run",
        {
            "title": "More",
            "items": [
                *("history_of_runs", "export_suite", "export_bundle", "export_struere"),
                *("export_table", "duplicate", "archive_one", "restore_one"),
            ],
        },
    ]
    fieldsets = [
        (None, {"fields": ["name", "slug", "agent", "fixtures", "tags", "description"]}),
        ("Trials", {"fields": ["trials", "min_pass_rate", "stop_when_decided", "concurrency"]}),
        (
            "Pass criteria",
            {
                "fields": ["pass_rule", "pass_threshold", "score_scale"],
                "classes": ["collapse"],
            },
        ),
        ("Gates", {"fields": ["run_rule", *GATES]}),
        (
            "Judge",
            {"fields": ["judge_model", "judge_prompt", "judge_context"], "classes": ["collapse"]},
        ),
        ("Rubric", {"fields": ["rubric", "rubric_weight"], "classes": ["collapse"]}),
    ]

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        fieldsets: list[Any] = super().get_fieldsets(request, obj)
        if obj is not None:
            return fieldsets
        # Everything but the first section has a default that suits a first run.
        (_, first), *rest = fieldsets
        asked = [name for name in first["fields"] if name != "description"]
        folded = [("Description", {"fields": ["description"]}), *rest]
        return [
            (None, {"fields": asked}),
            *((title, {**options, "classes": ["collapse"]}) for title, options in folded),
        ]

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Suite]:
        rows: QuerySet[Suite] = super().get_queryset(request)
        rows = rows.select_related("agent")
        return with_schedules(with_last_runs(rows.annotate(case_count=Count("cases"))))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return SuiteList

    @display(description="Cases", ordering="case_count")
    def case_count(self, suite: Any) -> int:
        count: int = suite.case_count
        return count

    @display(description="Last verdict")
    def last_verdict(self, suite: Any) -> SafeString:
        return standing_text(suite.standing, has_links=suite.has_run_links)

    @display(description="Cases passed")
    def pass_rate(self, suite: Any) -> str:
        run = suite.standing.verdict_run
        return share_of_cases(vars(run)) if run else ""

    # The page

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context |= self.checks_context(request)
        if (suite := context.get("original")) is not None:
            context |= self.suggested_names(suite) | self.head(request, suite, tab="settings")
            context["actions_detail"] = []  # the head has them
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(
        self, request: HttpRequest, obj: Suite, post_url_continue: str | None = None
    ) -> HttpResponse:
        if {"_continue", "_addanother", "_popup"} & request.POST.keys():
            return super().response_add(request, obj, post_url_continue)
        # The next step is its first case, not the list of suites.
        messages.success(request, self._welcome(obj))
        return redirect("admin:evals_app_suite_cases", obj.pk)

    def _welcome(self, suite: Suite) -> SafeString:
        return format_html("The suite “{}” was added. Now add its cases.", suite)

    def save_related(
        self,
        request: HttpRequest,
        form: Any,
        formsets: list[Any],
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        super().save_related(request, form, formsets, change)
        if change:
            offer_to_try(request, form.instance)

    def save_model(self, request: HttpRequest, obj: Suite, form: SuiteForm, change: bool) -> None:  # noqa: FBT001 - Django's signature
        super().save_model(request, obj, form, change)
        if form.kinship:
            messages.warning(request, form.kinship)

    # Its cases

    def get_urls(self) -> list[URLPattern]:
        pages: list[tuple[str, Callable[..., HttpResponse], str]] = [
            ("<int:pk>/run-size/", require_GET(self.run_size), "suite_run_size"),
            ("<int:pk>/email/", mail_about_suite, "suite_email"),
            ("import/", self.import_files, "suite_import"),
            ("import/sample/", require_GET(sample_to_fill_in), "suite_import_sample"),
            ("import/first-sheet/", require_POST(read_first_sheet), "first_sheet"),
            ("export/", require_GET(export_everything), "export_everything"),
            ("export/fixture/<slug:slug>/", require_GET(export_fixture), "export_fixture"),
            ("checks/<slug:kind>/", require_GET(check_reference), "check_reference"),
            ("tags/", require_GET(offer_tags), "tags"),
            ("checks/<slug:kind>/inputs/", require_GET(inputs_of_kind), "check_kind_inputs"),
            ("checks/stored/<int:pk>/", require_GET(inputs_of_check), "check_inputs"),
            ("load-examples/", require_POST(load_examples), "suite_load_examples"),
            ("remove-examples/", examples_to_remove, "suite_remove_examples"),
        ]
        wrap = self.admin_site.admin_view
        urls = [path(route, wrap(view), name=f"evals_app_{name}") for route, view, name in pages]
        return [*urls, *super().get_urls()]

    def import_files(self, request: HttpRequest) -> HttpResponse:
        """Import files of any kind."""
        context = self.admin_site.each_context(request) | {"opts": self.opts}
        too_many = request.method == "POST" and refused_upload(request, context)
        return too_many or import_page(request, context)

    def has_import_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        return Rights.of(request.user).may_import()

    @action(
        description="Import files", icon="upload_file", url_path="choose", permissions=["import"]
    )
    def open_import(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:evals_app_suite_import")

    # Running

    def run_size(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return how many conversations the dialog would start."""
        if not self.has_run_permission(request):
            raise PermissionDenied
        form = RunChoices(request.GET)
        form.offer(request)
        sentence = size_sentence([get_object_or_404(Suite, pk=pk)], form, by=request.user.pk)
        return HttpResponse(sentence, content_type="text/plain")

    @action(
        description="Run",
        icon="play_arrow",
        url_path="run",
        permissions=["run"],
        dialog={
            "title": "Run this suite?",
            "description": "Runs the saved cases with the agent. Calls to models may cost money.",
            "form_submit_text": "Run",
            "form_class": RunForm,
        },
    )
    def run(self, request: HttpRequest, form: RunForm, object_id: str) -> HttpResponse:
        suite = get_object_or_404(Suite, pk=object_id)
        runs = try_start_runs(request, [suite], form)
        suite_url = reverse("admin:evals_app_suite_cases", args=[suite.pk])
        return leave_dialog(runs_url(runs) if runs else suite_url)

    has_runs_permission = requires("evals_app.view_run")

    @action(description="Past runs", icon="history", url_path="runs", permissions=["runs"])
    def history_of_runs(self, request: HttpRequest, object_id: str) -> HttpResponse:
        suite = get_object_or_404(Suite, pk=object_id)
        url = reverse("admin:evals_app_run_changelist")
        return redirect(f"{url}?{urlencode({'suite_slug': suite.slug})}")

    # Copying

    has_copy_permission = requires("evals_app.add_suite", "evals_app.add_case")
    make_copy = staticmethod(copy_suite)
