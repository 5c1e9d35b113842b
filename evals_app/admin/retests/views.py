"""The page of a retest, and the dialogs that start and cancel one."""

from decimal import Decimal

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from evals_app.admin.kit.pages import ask, form_data, fragment_of, person, sent_decision_url
from evals_app.admin.kit.presentation import badge, made_badges, run_badges
from evals_app.admin.retests.retest_dialog import RetestForm
from evals_app.admin.starting.run_dialog import leave_dialog, may_run
from evals_app.engine.llm.pricing import usd_text
from evals_app.models import Run, Settlement
from evals_app.reports.answers.retests import warnings
from evals_app.runs.ending.cancel import cancel_settlement
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.reading.run_readers import settlement_details
from evals_app.runs.retests.rounds import start_settlement
from evals_app.runs.starting.freeze import CannotStartError

CASES_ON_A_PAGE = 100
_TEMPLATES = "admin/evals_app/retests"


@fragment_of(Settlement)
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the part of the page that changes; it polls while the retest is open."""
    settlement = get_object_or_404(with_head(Settlement.objects.all()), pk=pk)
    context = live_context(request, settlement) | {"is_poll": True}
    return render(request, f"{_TEMPLATES}/live.html", context)


def with_head(settlements: QuerySet[Settlement]) -> QuerySet[Settlement]:
    """Return retests with what pages show of their later run, without their many cases."""
    return settlements.select_related("head__suite", "created_by").defer("cases", "head__summary")


def live_context(request: HttpRequest, settlement: Settlement) -> dict[str, object]:
    """Return what changes during a retest, and what can be done with it."""
    details = settlement_details(settlement.pk) or {}
    cases = details["cases"]
    for case in cases:
        case["badge"] = badge(case["finding"] or "testing")
    runs = list(settlement.runs.order_by("pk").defer("summary"))
    return {
        "settlement": settlement,
        "details": details,
        "badges": settlement_badges(settlement),
        "notes": warnings(details),
        "page": Paginator(cases, CASES_ON_A_PAGE).get_page(request.GET.get("p")),
        "runs": [
            {"run": run, "badges": run_badges(run), "cost": usd_text(run.spent_usd)} for run in runs
        ],
        "spent": usd_text(sum((run.spent_usd for run in runs), Decimal(0))),
        "ceiling": usd_text(settlement.max_cost_usd) if settlement.max_cost_usd else "",
        "may_cancel": settlement.is_open and may_run(request),
        "decision_url": _decision_url(settlement),
    }


def _decision_url(settlement: Settlement) -> str:
    """Return the address of the decision to send; empty if the retest is not part of it."""
    head = settlement.head
    if settlement.is_open or head.suite is None or not head.is_whole:
        return ""
    compared = {head.suite.baseline_id, head.baseline_id}
    return sent_decision_url(head) if settlement.base_id in compared else ""


def settlement_badges(settlement: Settlement) -> SafeString:
    """Return the badges of a retest, side by side."""
    signs = [badge(settlement.status), *made_badges(settlement.head)]
    return format_html_join(" ", "{}", ((sign,) for sign in signs if sign))


# The dialogs


@permission_required(RUNNING, raise_exception=True)
def ask_to_settle(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for the earlier run and a ceiling, then settle the run."""
    form = RetestForm(_head(pk), base=request.GET.get("base", ""), data=form_data(request))
    if form.is_valid():
        ceiling = form.cleaned_data["max_cost_usd"]
        try:
            settlement = start_settlement(form.plan(), max_cost_usd=ceiling, by=person(request))
        except CannotStartError as exc:
            form.add_error(None, list(exc.problems))
        else:
            return leave_dialog(_page_url(settlement.pk))
    price_url = reverse("admin:evals_app_settlement_price", args=[pk])
    return render(request, f"{_TEMPLATES}/start.html", {"form": form, "price_url": price_url})


@permission_required(RUNNING, raise_exception=True)
def price(request: HttpRequest, pk: int) -> HttpResponse:
    """Return what the dialog would start, and its price."""
    form = RetestForm(_head(pk), base=request.GET.get("base", ""), data=request.GET)
    sentence = form.price_sentence if form.is_valid() else "Choose one of the runs."
    return HttpResponse(sentence, content_type="text/plain")


@permission_required(RUNNING, raise_exception=True)
def ask_to_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then cancel the retest and its runs."""
    settlement = get_object_or_404(Settlement.objects.defer("cases"), pk=pk)
    if request.method != "POST":
        return ask(
            request,
            title="Cancel this retest?",
            text="Its runs are cancelled. What is certain by now stays.",
            submit="Cancel retest",
            dismiss="Keep running",
        )
    if cancel_settlement(settlement, by=person(request)):
        messages.success(request, f"Retest {pk} was cancelled.")
    else:
        messages.info(request, f"Retest {pk} has already ended.")
    return leave_dialog(_page_url(pk))


def _page_url(pk: int) -> str:
    return reverse("admin:evals_app_settlement_change", args=[pk])


def _head(pk: int) -> Run:
    return get_object_or_404(Run.objects.select_related("suite", "snapshot"), pk=pk)
