"""The page of a suite: its settings and default checks, its cases, and the way to run it."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_POST
from unfold.decorators import action, display
from unfold.views import ChangeList
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.archiving import ArchivedFilter, Archiving
from evals_app.admin.checks import ChecksEditor, DefaultCheckInline, note_choices
from evals_app.admin.choices import Choices
from evals_app.admin.copies import Duplicating, copy_case, copy_suite
from evals_app.admin.examples import load_examples
from evals_app.admin.exporting import VIEWING_EVERYTHING, export_everything, export_fixture, send
from evals_app.admin.importing import import_page, sample_to_fill_in
from evals_app.admin.lines import TagsField
from evals_app.admin.money import UsdInput
from evals_app.admin.permissions import refused_upload, requires
from evals_app.admin.presentation import agent_label
from evals_app.admin.reference import check_reference
from evals_app.admin.run_choices import RunChoices
from evals_app.admin.run_suites import RunsSuites
from evals_app.admin.spec_form import SpecForm
from evals_app.admin.standing import standing_text
from evals_app.admin.starting import (
    RunForm,
    leave_dialog,
    runs_url,
    size_sentence,
    try_start_runs,
)
from evals_app.admin.trends import suite_trend
from evals_app.engine.judging import kinship_warning
from evals_app.engine.suite import SuiteSpec
from evals_app.library.downloads import download, download_suite
from evals_app.library.exporting import Form
from evals_app.library.rights import Rights
from evals_app.models import Agent, Case, Run, Suite
from evals_app.models.suites import SUITE
from evals_app.reports.figures import percent
from evals_app.runs.standing import standings, with_last_runs
from fixtures_app.editing.editor import VersionedForm

_NO_GATE = (
    "A run that passes by gates needs at least one gate, otherwise it could not fail. Fill in one of "
    f"these, or choose “{Suite.RunRule.ALL_CASES.label}”."
)
_GATES = [name for key, name in SUITE.names.items() if key.startswith("gates.")]
MOST_CASES = 200  # each is a row with buttons; the list of cases has the rest


class SuiteForm(SpecForm, VersionedForm):
    """The settings of a suite, validated by SuiteSpec."""

    mapping = SUITE

    tags = TagsField(widget=UnfoldAdminTextInputWidget())
    max_cost_per_call_usd = UsdInput(required=False, widget=UnfoldAdminDecimalFieldWidget())
    max_cost_usd = UsdInput(required=False, widget=UnfoldAdminDecimalFieldWidget())

    kinship = ""  # a warning to show after saving

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "agent" in self.fields:
            choice: Any = self.fields["agent"]
            choice.label_from_instance = agent_label

    class Meta:
        model = Suite
        fields = (*SUITE.names.values(), "agent", "fixtures")
        widgets = {
            "fixtures": Choices(),
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "judge_prompt": UnfoldAdminTextareaWidget(attrs={"rows": 4}),
            "judge_context": UnfoldAdminTextareaWidget(attrs={"rows": 4}),
            "rubric": UnfoldAdminTextareaWidget(
                attrs={"rows": 8, "placeholder": "- Says when the money arrives"}
            ),
        }
        labels = SUITE.labels
        help_texts = SUITE.help_texts | {
            "tags": f"Separated by commas. {SUITE.help_texts['tags']}",
            # Their choices explain themselves.
            "pass_rule": "",
            "run_rule": "",
        }

    def clean(self) -> dict[str, Any]:
        fixtures = self.cleaned_data.get("fixtures") or ()
        note_choices(self.instance, changed=self.changed_data, fixtures=fixtures)
        return super().clean()

    def clean_whole(self, cleaned: dict[str, Any]) -> None:
        if cleaned["run_rule"] == Suite.RunRule.GATES and all(
            cleaned[name] is None for name in _GATES
        ):
            self.add_error("gate_pass_rate", _NO_GATE)
            return
        same_judge = cleaned["judge_model"] == self.initial.get("judge_model")
        # The settings of a judge came from a file and belong to that judge.
        settings = self.instance.judge_settings if same_judge else {}
        written = SUITE.written(cleaned | {"judge_settings": settings}) | {
            "agent": cleaned["agent"].slug,
            "fixtures": [fixture.slug for fixture in cleaned["fixtures"]],
            "cases": [],
        }
        spec = self.read(written)
        if spec is None:
            return
        for loc, message in spec.hollow():
            self.add_error(SUITE.names[".".join(map(str, loc))], message)
        self.kinship = _kinship(spec, cleaned["agent"])
        columns = SUITE.values(spec)
        cleaned["judge_model"] = columns["judge_model"]
        self.instance.judge_settings = columns["judge_settings"]


def _kinship(spec: SuiteSpec, agent: Agent) -> str:
    """Return a warning if the judge's model is of the agent's family."""
    judge = spec.judge_model or (settings.EVALS_JUDGE_MODEL if spec.rubric_check else "")
    judge = agent.model if judge == "agent" else str(judge)
    return "" if judge.startswith("scripted/") else kinship_warning([judge], [agent.model])


def exports(
    name: str, title: str, icon: str, url_path: str, *, form: Form | None = None
) -> Callable[..., HttpResponse]:
    """Make a menu entry that downloads a suite: in a form with all it needs, or its file alone."""

    def export(self: Any, request: HttpRequest, object_id: str) -> HttpResponse:  # noqa: ARG001 - a method
        slug = get_object_or_404(Suite, pk=object_id).slug
        return send(
            request,
            lambda: download(slug, [slug], form=form) if form else download_suite(slug),
            otherwise=reverse("admin:evals_app_suite_change", args=[object_id]),
        )

    export.__name__ = name  # by which Unfold asks for the right
    right = "export" if form else "view"
    decorated: Callable[..., HttpResponse] = action(
        description=title, icon=icon, url_path=url_path, permissions=[right]
    )(export)
    return decorated


class SuiteList(ChangeList):
    """A page of the list, with the verdicts of its suites."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        has_run_links = request.user.has_perm("evals_app.view_run")
        for suite, standing in zip(self.result_list, standings(self.result_list), strict=True):
            suite.standing, suite.has_run_links = standing, has_run_links


@admin.register(Suite)
class SuiteAdmin(RunsSuites, Archiving, Duplicating, ChecksEditor):
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
        css = {"all": ["evals_app/review.css"]}  # badges

    when_empty = (
        "A suite is a set of cases for one agent: conversations, and checks on the replies. Add an "
        "agent first."
    )
    prepopulated_fields = {"slug": ["name"]}
    change_form_outer_before_template = "admin/evals_app/suite_cases.html"
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
        ("Gates", {"fields": ["run_rule", *_GATES]}),
        (
            "Judge",
            {"fields": ["judge_model", "judge_prompt", "judge_context"], "classes": ["collapse"]},
        ),
        ("Rubric", {"fields": ["rubric", "rubric_weight"], "classes": ["collapse"]}),
    ]

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Suite]:
        rows: QuerySet[Suite] = super().get_queryset(request)
        rows = rows.select_related("agent")
        return with_last_runs(rows.annotate(case_count=Count("cases")))

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
        return percent(run.pass_rate) if run else ""

    # The page

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context |= self.checks_context(request)
        suite = context.get("original")
        if suite is not None:
            context |= self.offered(suite)
        if suite is not None and self.has_runs_permission(request):
            context["standing"] = standing_text(*standings([suite]))
            context["trend"] = suite_trend(suite)
            context |= _runs_of_note(suite)
        if suite is not None and request.user.has_perm("evals_app.view_case"):
            cases = suite.cases.order_by("position", "pk").annotate(turn_count=Count("turns"))
            case_count = suite.case_count
            add_url = reverse("admin:evals_app_case_add")
            context |= {
                "cases": list(cases[:MOST_CASES]),
                "case_count": case_count,
                "cases_more": max(0, case_count - MOST_CASES),
                "cases_url": reverse("admin:evals_app_suite_cases", args=[suite.pk]),
                "case_list_url": reverse("admin:evals_app_case_changelist")
                + f"?suite__id__exact={suite.pk}"
                + ("&archived=all" if suite.archived_at else ""),
                "case_add_url": f"{add_url}?suite={suite.pk}",
                "may_add_case": request.user.has_perm("evals_app.add_case"),
                "may_change_case": request.user.has_perm("evals_app.change_case"),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(
        self, request: HttpRequest, obj: Suite, post_url_continue: str | None = None
    ) -> HttpResponse:
        if {"_continue", "_addanother", "_popup"} & request.POST.keys():
            return super().response_add(request, obj, post_url_continue)
        # The next step is its first case, not the list of suites.
        messages.success(request, self._welcome(obj))
        return redirect("admin:evals_app_suite_change", obj.pk)

    def _welcome(self, suite: Suite) -> SafeString:
        return format_html("The suite “{}” was added. Now add its cases.", suite)

    def save_model(self, request: HttpRequest, obj: Suite, form: SuiteForm, change: bool) -> None:  # noqa: FBT001 - Django's signature
        super().save_model(request, obj, form, change)
        if form.kinship:
            messages.warning(request, form.kinship)

    # Its cases

    def get_urls(self) -> list[URLPattern]:
        pages: list[tuple[str, Callable[..., HttpResponse], str]] = [
            ("<int:pk>/cases/", require_POST(self.arrange_cases), "suite_cases"),
            ("<int:pk>/run-size/", require_GET(self.run_size), "suite_run_size"),
            ("import/", self.import_files, "suite_import"),
            ("import/sample/", require_GET(sample_to_fill_in), "suite_import_sample"),
            ("export/", require_GET(export_everything), "export_everything"),
            ("export/fixture/<slug:slug>/", require_GET(export_fixture), "export_fixture"),
            ("checks/<slug:kind>/", require_GET(check_reference), "check_reference"),
            ("load-examples/", require_POST(load_examples), "suite_load_examples"),
        ]
        wrap = self.admin_site.admin_view
        urls = [path(route, wrap(view), name=f"evals_app_{name}") for route, view, name in pages]
        return [*urls, *super().get_urls()]

    def import_files(self, request: HttpRequest) -> HttpResponse:
        """Import files of any kind."""
        context = self.admin_site.each_context(request) | {"opts": self.opts}
        too_many = request.method == "POST" and refused_upload(request, context)
        return too_many or import_page(request, context)

    def arrange_cases(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Move a case up or down, or copy one: `up`, `down` or `copy` names its key."""
        what = next((key for key in ("up", "down", "copy") if key in request.POST), "")
        permission = "add_case" if what == "copy" else "change_case"
        if not request.user.has_perm(f"evals_app.{permission}"):
            raise PermissionDenied
        suite = get_object_or_404(Suite, pk=pk)
        key = request.POST.get(what, "")
        case = get_object_or_404(suite.cases, pk=key if key.isascii() and key.isdecimal() else 0)
        if what == "copy":
            case = copy_case(case)
            messages.success(request, f"“{case}” was added at the end.")
        else:
            move_case(case, up=what == "up")
        url = reverse("admin:evals_app_suite_change", args=[suite.pk])
        return redirect(f"{url}#case-{case.pk}")

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
        suite_url = reverse("admin:evals_app_suite_change", args=[suite.pk])
        return leave_dialog(runs_url(runs) if runs else suite_url)

    has_runs_permission = requires("evals_app.view_run")

    @action(description="Past runs", icon="history", url_path="runs", permissions=["runs"])
    def history_of_runs(self, request: HttpRequest, object_id: str) -> HttpResponse:
        suite = get_object_or_404(Suite, pk=object_id)
        url = reverse("admin:evals_app_run_changelist")
        return redirect(f"{url}?{urlencode({'suite_slug': suite.slug})}")

    # Exporting and copying

    # As in REST: what a suite needs is exported with it, or listed as left out.
    has_export_permission = requires(*VIEWING_EVERYTHING)

    export_suite = exports("export_suite", "Export YAML", "download", "export")
    export_bundle = exports(
        "export_bundle", "Export with dependencies", "folder_zip", "export-all", form="native"
    )
    export_struere = exports(
        "export_struere", "Export for Struere", "swap_horiz", "export-struere", form="struere"
    )
    export_table = exports(
        "export_table", "Export spreadsheet", "table", "export-table", form="xlsx"
    )

    has_copy_permission = requires("evals_app.add_suite", "evals_app.add_case")
    copied = staticmethod(copy_suite)


def _runs_of_note(suite: Suite) -> dict[str, Any]:
    """Return the run that goes on and the baseline, and whether a gate lacks one."""
    is_open = Q(suite=suite, status__in=Run.OPEN)
    runs = Run.objects.filter(is_open | Q(pk=suite.baseline_id)).defer("summary").order_by("-pk")
    rows = list(runs)
    return {
        "open_run": next((run for run in rows if run.is_open), None),
        "baseline": next((run for run in rows if run.pk == suite.baseline_id), None),
        "lacks_baseline": (suite.max_regressions, suite.max_score_drop) != (None, None),
    }


def move_case(case: Case, *, up: bool) -> None:
    """Swap a case with its neighbour."""
    with transaction.atomic():
        cases = list(
            Case.objects.select_for_update()
            .filter(suite=case.suite_id)
            .order_by("position", "pk")
            .only("position")
        )
        place = next(number for number, other in enumerate(cases) if other.pk == case.pk)
        other = place - 1 if up else place + 1
        if 0 <= other < len(cases):
            cases[place], cases[other] = cases[other], cases[place]
        moved = [row for number, row in enumerate(cases) if row.position != number]
        for number, row in enumerate(cases):
            row.position = number
        Case.objects.bulk_update(moved, ["position"])
