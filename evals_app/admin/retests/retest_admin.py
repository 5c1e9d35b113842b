"""Retests in the admin: the list, and the page of one."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from evals_app.admin.kit.permissions import ReadOnly
from evals_app.admin.retests.retest_dialog import result_in_words
from evals_app.admin.retests.views import live_context, settlement_badges, with_head
from evals_app.engine.llm.pricing import usd_text
from evals_app.models import Settlement
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.editing.times import moment


@admin.register(Settlement)
class SettlementAdmin(ReadOnly):
    """Retests: started on the page of a run, watched and read here."""

    list_display = ("name", "status_badge", "result", "cost", "when_started")
    paginator = InfinitePaginator
    change_form_template = "admin/evals_app/retests/page.html"
    when_empty = "A retest finds out whether a run is really worse. Open a run and press Retest."

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.has_perm("evals_app.view_run")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Settlement]:
        return with_head(super().get_queryset(request))

    @display(description="Retest")
    def name(self, settlement: Settlement) -> str:
        return f"{settlement.head.suite_name}: run {settlement.head_id} against run {settlement.base_id}"

    @display(description="Status")
    def status_badge(self, settlement: Settlement) -> SafeString:
        return settlement_badges(settlement)

    @display(description="Result")
    def result(self, settlement: Settlement) -> str:
        return result_in_words(settlement)

    @display(description="Cost ceiling")
    def cost(self, settlement: Settlement) -> str:
        return usd_text(settlement.max_cost_usd) if settlement.max_cost_usd else "no limit"

    @display(description="Started")
    def when_started(self, settlement: Settlement) -> str:
        return moment(settlement.created_at)

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        settlement: Settlement = context["original"]
        context |= live_context(request, settlement) | {
            "title": f"Retest {settlement.pk}",
            "show_history": False,
        }
        return super().render_change_form(request, context, *args, **kwargs)
