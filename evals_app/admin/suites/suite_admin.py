"""Suites in the admin: the list, the settings and default checks, and the way to run one."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from unfold.decorators import action
from unfold.views import ChangeList

from evals_app.admin.agents.copies import copy_suite
from evals_app.admin.bin.deleting import Deleting
from evals_app.admin.checks.check_rows import ChecksEditor, DefaultCheckInline
from evals_app.admin.importing.exporting import VIEWING_EVERYTHING, sees_providers, send
from evals_app.admin.kit.permissions import requires
from evals_app.admin.people.saved_views import WithViews
from evals_app.admin.regrading.regrade_dialog import offer_to_try
from evals_app.admin.starting.run_dialog import (
    RUN_LABEL,
    RunForm,
    leave_dialog,
    runs_url,
    try_start_runs,
)
from evals_app.admin.starting.run_suites import RUNNING_SUITES, run_suites_url
from evals_app.admin.suites.archiving import ArchivedFilter, Archiving
from evals_app.admin.suites.suite_form import GATES, SuiteForm
from evals_app.admin.suites.suite_list import (
    SuiteList,
    SuiteTagFilter,
    last_cell,
    passed_cell,
    suite_cell,
    verdict_cell,
)
from evals_app.admin.suites.suite_pages import suite_head, with_schedules
from evals_app.library.exporting.downloads import download, download_suite
from evals_app.library.exporting.file_export import Form
from evals_app.library.importing.rights import Rights
from evals_app.models import Case, Suite
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.reading.suite_verdict import with_last_runs
from fixtures_app.editing.counting import count_of
from fixtures_app.editing.duplicating import Duplicating
from fixtures_app.editing.markup import TemplateContext


def _exports(
    name: str, title: str, icon: str, url_path: str, *, form: Form | None = None
) -> Callable[..., HttpResponse]:
    """Make a menu entry that downloads a suite: with all it needs, or its file alone."""

    def export(self: object, request: HttpRequest, object_id: str) -> HttpResponse:  # noqa: ARG001 - a method
        slug = get_object_or_404(Suite, pk=object_id).slug
        return send(
            request,
            lambda: (
                download(slug, [slug], form=form, has_providers=sees_providers(request))
                if form
                else download_suite(slug)
            ),
            otherwise=reverse("admin:evals_app_suite_change", args=[object_id]),
        )

    export.__name__ = name  # Unfold asks for the right by it
    right = "export" if form else "view"
    decorated: Callable[..., HttpResponse] = action(
        description=title, icon=icon, url_path=url_path, permissions=[right]
    )(export)
    return decorated


@admin.register(Suite)
class SuiteAdmin(WithViews, Archiving, Deleting, Duplicating, ChecksEditor):
    """Suites: cases for one agent, with defaults."""

    form = SuiteForm
    inlines = [DefaultCheckInline]
    list_display = [suite_cell, verdict_cell, last_cell, passed_cell, "show_tags", "updated_at"]
    list_select_related = ["agent"]
    list_filter = ["agent", SuiteTagFilter, ArchivedFilter]
    search_fields = ["name", "slug", "description", "tags", "agent__name"]
    ordering = ["name"]

    class Media:
        css = {"all": ["evals_app/conversation/review.css", "evals_app/suites/suite.css"]}

    when_empty = (
        "A suite is a set of cases for one agent: conversations, and checks on the replies. Add an "
        "agent first."
    )
    prepopulated_fields = {"slug": ["name"]}
    opens_windows = True
    change_form_template = "admin/evals_app/suites/settings.html"
    change_form_outer_before_template = "admin/evals_app/suites/head.html"
    actions_list = ["run_some", "open_import"]
    actions: Any = ["run_ticked", *Archiving.actions, *Deleting.actions]
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
        ("We may ship if", {"fields": ["run_rule", *GATES]}),
        (
            "Judge",
            {"fields": ["judge_model", "judge_prompt", "judge_context"], "classes": ["collapse"]},
        ),
        ("Rubric", {"fields": ["rubric", "rubric_weight"], "classes": ["collapse"]}),
    ]

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        fieldsets = super().get_fieldsets(request, obj)
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
        rows = rows.select_related("agent").annotate(
            case_count=count_of(Case.objects.all(), "suite")
        )
        return with_schedules(with_last_runs(rows))

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return SuiteList

    # The page

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        context |= self.checks_context(request)
        if (suite := context.get("original")) is not None:
            context |= self.suggested_names(suite) | suite_head(request, suite, tab="settings")
            context |= {"title": "Settings", "actions_detail": []}  # the head has them
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(
        self, request: HttpRequest, obj: Suite, post_url_continue: str | None = None
    ) -> HttpResponse:
        if {"_continue", "_addanother", "_popup"} & request.POST.keys():
            return super().response_add(request, obj, post_url_continue)
        # The next step is its first case, not the list of suites.
        messages.success(request, self._welcome(obj))
        if "agent" in request.GET and request.user.has_perm("evals_app.add_case"):
            # From the page of its agent, people go on with its first case.
            return redirect(f"{reverse('admin:evals_app_case_add')}?{urlencode({'suite': obj.pk})}")
        return redirect("admin:evals_app_suite_cases", obj.pk)

    def _welcome(self, suite: Suite) -> SafeString:
        return format_html("The suite “{}” was added. Now add its cases.", suite)

    def save_related(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Sequence[object],
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        super().save_related(request, form, formsets, change)
        if change:
            offer_to_try(request, form.instance)

    def save_model(self, request: HttpRequest, obj: Suite, form: SuiteForm, change: bool) -> None:  # noqa: FBT001 - Django's signature
        super().save_model(request, obj, form, change)
        if form.kinship:
            messages.warning(request, form.kinship)

    # Importing

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

    has_run_permission = requires(*RUNNING)
    has_suites_permission = requires(*RUNNING_SUITES)

    @action(
        description="Run suites", icon="play_arrow", url_path="run-some", permissions=["suites"]
    )
    def run_some(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:evals_app_suite_run_suites")

    @admin.action(description="Run", permissions=["suites"])
    def run_ticked(self, request: HttpRequest, queryset: QuerySet[Suite]) -> HttpResponse:
        return redirect(run_suites_url(queryset))

    @action(
        description="Run",
        icon="play_arrow",
        url_path="run",
        permissions=["run"],
        dialog={
            "title": "Run this suite?",
            "description": "Runs the saved cases. Calls to models may cost money.",
            "form_submit_text": RUN_LABEL,
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

    # Exporting

    # As in REST: what a suite needs is exported with it, or listed as left out.
    has_export_permission = requires(*VIEWING_EVERYTHING)

    export_suite = _exports("export_suite", "Export YAML", "download", "export")
    export_bundle = _exports(
        "export_bundle", "Export with dependencies", "folder_zip", "export-all", form="native"
    )
    export_struere = _exports(
        "export_struere", "Export for Struere", "swap_horiz", "export-struere", form="struere"
    )
    export_table = _exports(
        "export_table", "Export spreadsheet", "table", "export-table", form="xlsx"
    )
