"""Settlements in the admin: the list, the page of one, the dialogs that start and cancel one."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from evals_app.admin.comparing.retest_dialog import RetestForm
from evals_app.admin.kit.permissions import ReadOnly
from evals_app.admin.kit.presentation import badge, run_badges, scripted_badge
from evals_app.admin.starting.run_dialog import leave_dialog, may_run
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.statistics.retest import LOOKS
from evals_app.models import Run, Settlement
from evals_app.reports.answers.retests import headline, warnings
from evals_app.runs.ending.cancel import cancel_settlement
from evals_app.runs.reading.run_readers import settlement_details
from evals_app.runs.retests.rounds import start_settlement
from evals_app.runs.starting.freeze import CannotStartError
from fixtures_app.editing.times import moment

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CASES_ON_A_PAGE = 100


@admin.register(Settlement)
class SettlementAdmin(ReadOnly):
    """Settlements: started on the page of a run, watched and read here."""

    list_display = ("name", "status_badge", "result", "cost", "when_started")
    list_select_related = ("head",)
    paginator = InfinitePaginator
    change_form_template = "admin/evals_app/retests/page.html"
    when_empty = (
        "A settlement finds out whether a run is really worse. Open a run and press Settle it."
    )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("evals_app.view_run")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Settlement]:
        # There may be many cases.
        return super().get_queryset(request).defer("cases", "head__summary")

    @display(description="Settlement")
    def name(self, settlement: Settlement) -> str:
        return f"{settlement.head.suite_name}: run {settlement.head_id} against run {settlement.base_id}"

    @display(description="Status")
    def status_badge(self, settlement: Settlement) -> SafeString:
        return _badges(settlement)

    @display(description="Result")
    def result(self, settlement: Settlement) -> str:
        if settlement.is_open:
            return f"Look {settlement.look} of {len(LOOKS)}"
        columns = ("status", "with_better", "really_worse", "really_better", "was_flaky")
        row = {column: getattr(settlement, column) for column in (*columns, "cannot_tell")}
        return headline(row, [])

    @display(description="Cost ceiling")
    def cost(self, settlement: Settlement) -> str:
        return usd_text(settlement.max_cost_usd) if settlement.max_cost_usd else "no limit"

    @display(description="Started")
    def when_started(self, settlement: Settlement) -> str:
        return moment(settlement.created_at)

    # The page

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("start/<int:pk>/", view(self.start), name="evals_app_settlement_start"),
            path("start/<int:pk>/price/", view(self.price), name="evals_app_settlement_price"),
            path("<int:pk>/live/", never_cache(self.live), name="evals_app_settlement_live"),
            path("<int:pk>/cancel/", view(self.cancel), name="evals_app_settlement_cancel"),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **kwargs: object
    ) -> HttpResponse:
        settlement: Settlement = context["original"]
        context |= _live_context(request, settlement) | {
            "title": f"Settlement {settlement.pk}",
            "show_history": False,
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Settlement | None:
        if not object_id.isdecimal():
            return None
        rows = Settlement.objects.select_related("head", "created_by").defer(
            "cases", "head__summary"
        )
        return rows.filter(pk=object_id).first()

    def live(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the part of the page that changes; it polls while the settlement is open."""
        if refused := self.refused_refresh(request):
            return refused
        rows = Settlement.objects.select_related("head", "created_by").defer(
            "cases", "head__summary"
        )
        context = _live_context(request, get_object_or_404(rows, pk=pk)) | {"is_poll": True}
        return render(request, "admin/evals_app/retests/live.html", context)

    # The dialogs

    def start(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for the earlier run and a ceiling, then settle the run."""
        if not may_run(request):
            raise PermissionDenied
        form = RetestForm(
            _head(pk),
            base=request.GET.get("base", ""),
            data=request.POST if request.method == "POST" else None,
        )
        if form.is_valid():
            try:
                settlement = start_settlement(
                    form.plan(),
                    max_cost_usd=form.cleaned_data["max_cost_usd"],
                    by=cast("User", request.user),  # admin_view() requires signing in
                )
            except CannotStartError as exc:
                form.add_error(None, list(exc.problems))
            else:
                return leave_dialog(page_url(settlement.pk))
        context = {
            "form": form,
            "price_url": reverse("admin:evals_app_settlement_price", args=[pk]),
        }
        return render(request, "admin/evals_app/retests/start.html", context)

    def price(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return what the dialog would start, and its price."""
        if not may_run(request):
            raise PermissionDenied
        form = RetestForm(_head(pk), base=request.GET.get("base", ""), data=request.GET)
        sentence = form.price_sentence if form.is_valid() else "Choose one of the runs."
        return HttpResponse(sentence, content_type="text/plain")

    def cancel(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask, then cancel the settlement and its runs."""
        if not may_run(request):
            raise PermissionDenied
        settlement = get_object_or_404(Settlement.objects.defer("cases"), pk=pk)
        if request.method != "POST":
            dialog = {
                "title": "Cancel this settlement?",
                "text": "Its runs are cancelled. What is certain by now stays.",
                "submit": "Cancel settlement",
                "dismiss": "Keep running",
            }
            return render(request, "admin/evals_app/kit/dialog.html", {"dialog": dialog})
        if cancel_settlement(settlement):
            messages.success(request, f"Settlement {pk} was cancelled.")
        else:
            messages.info(request, f"Settlement {pk} has already ended.")
        return leave_dialog(page_url(pk))


def page_url(pk: int) -> str:
    """Return the URL of a settlement's page."""
    return reverse("admin:evals_app_settlement_change", args=[pk])


def _badges(settlement: Settlement) -> SafeString:
    signs = [badge(settlement.status), scripted_badge(settlement.head)]
    return format_html_join(" ", "{}", ((sign,) for sign in signs if sign))


def _head(pk: int) -> Run:
    return get_object_or_404(Run.objects.select_related("suite", "snapshot"), pk=pk)


def _live_context(request: HttpRequest, settlement: Settlement) -> dict[str, Any]:
    details = settlement_details(settlement.pk) or {}
    cases = details["cases"]
    for case in cases:
        case["badge"] = badge(case["finding"] or "testing")
    runs = list(settlement.runs.order_by("pk").defer("summary"))
    return {
        "settlement": settlement,
        "details": details,
        "badges": _badges(settlement),
        "notes": warnings(details),
        "page": Paginator(cases, CASES_ON_A_PAGE).get_page(request.GET.get("p")),
        "runs": [
            {"run": run, "badges": run_badges(run), "cost": usd_text(run.spent_usd)} for run in runs
        ],
        "spent": usd_text(sum((run.spent_usd for run in runs), Decimal(0))),
        "ceiling": usd_text(settlement.max_cost_usd) if settlement.max_cost_usd else "",
        "may_cancel": settlement.is_open and may_run(request),
    }
