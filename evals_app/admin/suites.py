"""The page of a suite: its settings and default checks, its cases, and the way to run it."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_POST
from pydantic import ValidationError
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm
from unfold.views import ChangeList
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.archiving import ArchivedFilter, Archiving
from evals_app.admin.checks import ChecksEditor, DefaultCheckInline, note_choices
from evals_app.admin.choices import Choices
from evals_app.admin.copies import copy_case, copy_suite
from evals_app.admin.examples import load_examples
from evals_app.admin.exporting import (
    export_everything,
    export_fixture,
    may_export_everything,
    send,
)
from evals_app.admin.importing import import_page, sample_to_fill_in
from evals_app.admin.lines import TagsField
from evals_app.admin.money import UsdInput
from evals_app.admin.presentation import percent
from evals_app.admin.reference import check_reference
from evals_app.admin.standing import standing_text
from evals_app.admin.starting import (
    RunForm,
    leave_dialog,
    may_run,
    run_url,
    size_sentence,
    try_start,
)
from evals_app.admin.upload_rate import refused_upload
from evals_app.admin.words import refuse
from evals_app.engine.judging import kinship_warning
from evals_app.engine.suite import SuiteSpec
from evals_app.library import Rights
from evals_app.library.columns import suite_columns
from evals_app.library.downloads import Download, download, download_suite
from evals_app.models import Agent, Case, Run, Suite
from evals_app.models.agents import model_reference
from evals_app.runs.standing import standings, with_last_runs
from fixtures_app.admin.editor import VersionedForm

_NO_GATE = (
    "Only gates decide whether a run passes, and none is set: such a run could not fail. Fill in "
    f"one of these, or choose “{Suite.RunRule.ALL_CASES.label}”."
)
# Fields by the gates that they set.
_GATES = {
    "min_pass_rate": "gate_pass_rate",
    "min_score": "min_score",
    "max_p95_ms": "max_p95_ms",
    "max_cost_per_call_usd": "max_cost_per_call_usd",
    "max_cost_usd": "max_cost_usd",
}
MOST_CASES = 200  # each is a row with buttons; the list of cases has the rest, by pages


class SuiteForm(VersionedForm):
    """What holds for all cases of a suite; read by SuiteSpec."""

    tags = TagsField(
        label="Tags",
        widget=UnfoldAdminTextInputWidget(),
        help_text="Separated by commas. Every case of the suite has them too.",
    )

    max_cost_per_call_usd = UsdInput(
        label="A turn costs at most (USD)",
        required=False,
        widget=UnfoldAdminDecimalFieldWidget(),
        help_text="0.01: the agent's calls for a turn cost one cent or less, on average over all "
        "turns. Leave blank for no limit.",
    )
    max_cost_usd = UsdInput(
        label="The run costs at most (USD)",
        required=False,
        widget=UnfoldAdminDecimalFieldWidget(),
        help_text="5: agent and judge cost five dollars or less, together. Leave blank for no limit. It "
        "judges a run that has ended; a ceiling that stops one is set when it starts.",
    )

    kinship = ""  # said when it is saved

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if agent := self.fields.get("agent"):
            # Two agents may have one name: the same assistant as a model and as a script.
            choice: Any = agent
            choice.label_from_instance = lambda each: f"{each.name} ({each.slug})"

    class Meta:
        model = Suite
        fields = (
            "name",
            "slug",
            "agent",
            "description",
            "tags",
            "fixtures",
            "trials",
            "min_pass_rate",
            "pass_rule",
            "pass_threshold",
            "run_rule",
            "score_scale",
            "concurrency",
            "judge_model",
            "judge_prompt",
            "judge_context",
            "rubric",
            "rubric_weight",
            *_GATES.values(),
        )
        widgets = {
            "fixtures": Choices(),
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "judge_prompt": UnfoldAdminTextareaWidget(attrs={"rows": 4}),
            "judge_context": UnfoldAdminTextareaWidget(attrs={"rows": 4}),
            "rubric": UnfoldAdminTextareaWidget(
                attrs={"rows": 8, "placeholder": "- Says when the money arrives"}
            ),
        }
        labels = {
            "trials": "Trials of each case",
            "min_pass_rate": "Share of trials that must pass",
            "pass_rule": "A conversation passes when",
            "pass_threshold": "Score to reach",
            "run_rule": "A run passes when",
            "score_scale": "Show scores from",
            "concurrency": "Parallel conversations",
            "judge_prompt": "Advice to the judge",
            "judge_context": "Facts for the judge",
            "rubric": "Rubric",
            "rubric_weight": "Share of the rubric",
            "min_score": "Mean score at least",
            "gate_pass_rate": "Share of passed cases at least",
            "max_p95_ms": "95 % of replies within (ms)",
        }
        help_texts = {
            "slug": "Its name in files, on the command line and in REST. Past runs keep the old one.",
            "agent": "The agent under test.",
            "fixtures": "The data that each conversation gets its own copy of.",
            "min_pass_rate": "For example, 0.9 means nine out of ten trials must pass.",
            "min_score": "0.8: the mean score of the run is 0.8 or more. Leave blank for no limit.",
            "gate_pass_rate": "0.9: at least 90 % of the cases pass. Leave blank for no limit.",
            "max_p95_ms": "3000: of 100 replies, 95 come within 3 seconds. Leave blank for no limit.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        fixtures = cleaned.get("fixtures") or ()
        note_choices(self.instance, changed=self.changed_data, fixtures=fixtures)
        if any(name in self.errors for name in self.fields):
            return cleaned
        gates = {gate: cleaned[name] for gate, name in _GATES.items()}
        if cleaned["run_rule"] == Suite.RunRule.GATES and not any(
            limit is not None for limit in gates.values()
        ):
            self.add_error("gate_pass_rate", _NO_GATE)
            return cleaned
        same_judge = cleaned["judge_model"] == self.initial.get("judge_model")
        # The settings of a judge came with it from a file, and go with it.
        settings = self.instance.judge_settings if same_judge else {}
        plain = {
            name: cleaned[name]
            for name in SuiteSpec.model_fields
            if name in cleaned and name not in {"agent", "fixtures", "judge_model"}
        }
        written = plain | {
            "suite": cleaned["name"],
            "agent": cleaned["agent"].slug,
            "fixtures": [fixture.slug for fixture in cleaned["fixtures"]],
            "judge_model": model_reference(cleaned["judge_model"], settings),
            "gates": gates,
            "cases": [],
        }
        try:
            spec = SuiteSpec.model_validate(written)
        except ValidationError as error:
            fields = {name: name for name in self.fields} | {"suite": "name"}
            fields |= {f"gates.{gate}": name for gate, name in _GATES.items()}
            refuse(self, error, model=SuiteSpec, data=written, fields=fields)
            return cleaned
        for loc, message in spec.hollow():
            self.add_error(_GATES.get(str(loc[-1]), str(loc[-1])), message)
        self.kinship = _kinship(spec, cleaned["agent"])
        columns = suite_columns(spec)
        cleaned["judge_model"] = columns["judge_model"]
        self.instance.judge_settings = columns["judge_settings"]
        return cleaned


def _kinship(spec: SuiteSpec, agent: Agent) -> str:
    """Say that the judge which a suite names, or its rubric needs, is of the agent's family."""
    judge = spec.judge_model or (settings.EVALS_JUDGE_MODEL if spec.rubric_check else "")
    judge = agent.model if judge == "agent" else str(judge)
    return "" if judge.startswith("scripted/") else kinship_warning([judge], [agent.model])


class SuiteList(ChangeList):
    """A page of the list, with how its suites stand."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        has_run_links = request.user.has_perm("evals_app.view_run")
        for suite, standing in zip(self.result_list, standings(self.result_list), strict=True):
            suite.standing, suite.has_run_links = standing, has_run_links


@admin.register(Suite)
class SuiteAdmin(Archiving, ChecksEditor):
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
        "A suite is a set of cases for one agent: conversations, and what must hold of "
        "the answers. It needs an agent first."
    )
    prepopulated_fields = {"slug": ["name"]}
    change_form_outer_before_template = "admin/evals_app/suite_cases.html"
    actions_list = ["open_import"]
    actions_detail = [
        "run",
        {
            "title": "More",
            "items": [
                *(
                    "history_of_runs",
                    "export_suite",
                    "export_bundle",
                    "export_struere",
                    "export_table",
                    "duplicate",
                ),
                *("archive_one", "restore_one"),
            ],
        },
    ]
    fieldsets = [
        (None, {"fields": ["name", "slug", "agent", "fixtures", "tags", "description"]}),
        ("Trials", {"fields": ["trials", "min_pass_rate", "concurrency"]}),
        (
            "What passes",
            {
                "fields": ["pass_rule", "pass_threshold", "score_scale"],
                "classes": ["collapse"],
            },
        ),
        (
            "Gates of a run",
            {"fields": ["run_rule", *_GATES.values()]},
        ),
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
    def case_count(self, suite: Any) -> int:  # noqa: ANN401 - annotated in get_queryset
        count: int = suite.case_count
        return count

    @display(description="Last verdict")
    def last_verdict(self, suite: Any) -> SafeString:  # noqa: ANN401 - see SuiteList
        return standing_text(suite.standing, has_links=suite.has_run_links)

    @display(description="Cases passed")
    def pass_rate(self, suite: Any) -> str:  # noqa: ANN401 - see SuiteList
        run = suite.standing.verdict_run
        return percent(run.pass_rate) if run else ""

    # The page

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Suite | None = None
    ) -> dict[str, list[str]]:
        # Files and past runs know a suite by its slug; it does not follow a new name by itself.
        return {} if obj else self.prepopulated_fields

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context |= self.checks_context(request)
        suite = context.get("original")
        if suite is not None:
            context |= self.offered(suite)
        if suite is not None and self.has_runs_permission(request):
            context["standing"] = standing_text(*standings([suite]))
            going_on = Run.objects.filter(suite=suite, status__in=Run.OPEN).defer("summary")
            context["open_run"] = going_on.order_by("-pk").first()
        if suite is not None and request.user.has_perm("evals_app.view_case"):
            cases = suite.cases.order_by("position", "pk").annotate(turn_count=Count("turns"))
            case_count = suite.cases.count()
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
        return format_html("The suite “{}” was added. It needs cases now.", suite)

    def save_model(self, request: HttpRequest, obj: Suite, form: SuiteForm, change: bool) -> None:  # noqa: FBT001 - Django's signature
        super().save_model(request, obj, form, change)
        if form.kinship:
            messages.warning(request, form.kinship)

    # Its cases

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path(
                "<int:pk>/cases/",
                wrap(require_POST(self.arrange_cases)),
                name="evals_app_suite_cases",
            ),
            path(
                "<int:pk>/run-size/",
                wrap(require_GET(self.run_size)),
                name="evals_app_suite_run_size",
            ),
            path("import/", wrap(self.import_files), name="evals_app_suite_import"),
            path(
                "import/sample/",
                wrap(require_GET(sample_to_fill_in)),
                name="evals_app_suite_import_sample",
            ),
            path(
                "export/", wrap(require_GET(export_everything)), name="evals_app_export_everything"
            ),
            path(
                "export/fixture/<slug:slug>/",
                wrap(require_GET(export_fixture)),
                name="evals_app_export_fixture",
            ),
            path(
                "checks/<slug:kind>/",
                wrap(require_GET(check_reference)),
                name="evals_app_check_reference",
            ),
            path(
                "load-examples/",
                wrap(require_POST(load_examples)),
                name="evals_app_suite_load_examples",
            ),
            *super().get_urls(),
        ]

    def import_files(self, request: HttpRequest) -> HttpResponse:
        """Import files of any kind; most hold suites."""
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

    def has_run_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        # Named "run", without a dot: see CaseAdmin.
        return may_run(request)

    def run_size(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Say how many conversations the dialog would start."""
        if not self.has_run_permission(request):
            raise PermissionDenied
        sentence = size_sentence(get_object_or_404(Suite, pk=pk), request.GET)
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
        run = try_start(request, suite, **form.chosen())
        suite_url = reverse("admin:evals_app_suite_change", args=[suite.pk])
        return leave_dialog(run_url(run) if run else suite_url)

    def has_runs_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        return request.user.has_perm("evals_app.view_run")

    @action(description="Past runs", icon="history", url_path="runs", permissions=["runs"])
    def history_of_runs(self, request: HttpRequest, object_id: str) -> HttpResponse:
        suite = get_object_or_404(Suite, pk=object_id)
        url = reverse("admin:evals_app_run_changelist")
        return redirect(f"{url}?{urlencode({'suite_slug': suite.slug})}")

    # Exporting and copying

    def has_export_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        # As in REST: what a suite needs goes along, or is named as left out.
        return may_export_everything(request)

    @action(description="Export YAML", icon="download", url_path="export", permissions=["view"])
    def export_suite(self, request: HttpRequest, object_id: str) -> HttpResponse:
        suite = get_object_or_404(Suite, pk=object_id)
        return self._send(request, suite, lambda: download_suite(suite.slug))

    @action(
        description="Export all it needs",
        icon="folder_zip",
        url_path="export-all",
        permissions=["export"],
    )
    def export_bundle(self, request: HttpRequest, object_id: str) -> HttpResponse:
        suite = get_object_or_404(Suite, pk=object_id)
        return self._send(request, suite, lambda: download(suite.slug, [suite.slug]))

    @action(
        description="Export for Struere",
        icon="swap_horiz",
        url_path="export-struere",
        permissions=["export"],
    )
    def export_struere(self, request: HttpRequest, object_id: str) -> HttpResponse:
        suite = get_object_or_404(Suite, pk=object_id)
        return self._send(
            request, suite, lambda: download(suite.slug, [suite.slug], form="struere")
        )

    @action(
        description="Export spreadsheet",
        icon="table",
        url_path="export-table",
        permissions=["export"],
    )
    def export_table(self, request: HttpRequest, object_id: str) -> HttpResponse:
        suite = get_object_or_404(Suite, pk=object_id)
        return self._send(request, suite, lambda: download(suite.slug, [suite.slug], form="xlsx"))

    def _send(
        self, request: HttpRequest, suite: Suite, write: Callable[[], Download]
    ) -> HttpResponse:
        return send(
            request, write, otherwise=reverse("admin:evals_app_suite_change", args=[suite.pk])
        )

    def has_copy_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        may_add_cases = request.user.has_perm("evals_app.add_case")
        return may_add_cases and self.has_add_permission(request)

    @action(
        description="Duplicate",
        icon="content_copy",
        url_path="duplicate",
        permissions=["copy"],
        dialog={
            "title": "Duplicate this suite?",
            "description": "The saved version is copied, with its cases and checks.",
            "form_submit_text": "Duplicate",
        },
    )
    def duplicate(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        copied = copy_suite(get_object_or_404(Suite, pk=object_id))
        self.log_addition(request, copied, [{"added": {}}])
        messages.success(request, f"This is the copy: “{copied}”.")
        return leave_dialog(reverse("admin:evals_app_suite_change", args=[copied.pk]))


def move_case(case: Case, *, up: bool) -> None:
    """Let a case change places with its neighbour."""
    with transaction.atomic():
        cases = list(
            Case.objects.select_for_update()
            .filter(suite=case.suite_id)
            .order_by("position", "pk")
            .only("position")
        )
        place = next(number for number, each in enumerate(cases) if each.pk == case.pk)
        other = place - 1 if up else place + 1
        if 0 <= other < len(cases):
            cases[place], cases[other] = cases[other], cases[place]
        moved = [each for number, each in enumerate(cases) if each.position != number]
        for number, each in enumerate(cases):
            each.position = number
        Case.objects.bulk_update(moved, ["position"])
