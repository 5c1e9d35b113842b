"""The page of a suite in three parts, each with its own address: cases, results, settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from evals_app.admin.agents.copies import copy_case
from evals_app.admin.comparing.release_box import ReleaseBox, release_box
from evals_app.admin.history.highlights import highlight_lists
from evals_app.admin.history.trends import SuiteTrend, suite_trend
from evals_app.admin.kit.pages import may_view, page_context, viewers_of
from evals_app.admin.kit.presentation import SIGNS, plural, run_state
from evals_app.admin.regrading.regrade_dialog import regrade_label, regrade_url
from evals_app.admin.runs.run_changes import ChangeMark, change_marks
from evals_app.admin.starting.run_dialog import may_run
from evals_app.admin.suites.archiving import useless_action
from evals_app.admin.suites.case_edits import move_case
from evals_app.admin.suites.case_selection import (
    ACTIONS,
    Action,
    ActionRequest,
    allowed_actions,
    chosen_cases,
    size_of_run,
)
from evals_app.admin.suites.suite_cases import (
    PER_PAGE,
    STATES,
    VERDICTS,
    CaseList,
    CaseListFilter,
    known_tags,
    names_in_short,
)
from evals_app.engine.suites.suite_spec import COMPARING_CASES, COMPARING_EFFORTS
from evals_app.library.importing.rights import Rights
from evals_app.models import Case, Run, Schedule, Suite
from evals_app.reports.answers.decided import share_with_people
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.reading.suite_verdict import standing, with_last_runs, with_pass_rates
from evals_app.runs.starting.forecast import informing_judges
from fixtures_app.editing.markup import TemplateContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SUITES = Suite.objects.all()
LAST_RUNS = 20
LAST_ROWS = 60  # with retests, re-runs and gradings, which are below their runs
LAST_DECISIONS = 20
PROPOSING = (*RUNNING, "evals_app.change_suite", "evals_app.add_case")
_TEMPLATES = "admin/evals_app/suites"
_TITLES = {"results": "Results", "check": "Can this test fail?"}


@dataclass(frozen=True, slots=True)
class Tab:
    """A part of the page."""

    name: str
    title: str
    url: str


# Common to all parts


def suite_head(request: HttpRequest, suite: Suite, *, tab: str) -> dict[str, object]:
    """Return the context above every part: the verdict of the suite, its buttons, the other parts."""
    buttons, menu = _buttons(request, suite)
    return {
        "suite": suite,
        "tab": tab,
        "tabs": _tabs(request, suite),
        "buttons": buttons,
        "menu": menu,
        "case_add_url": _add_url(request, suite),
        "several_url": _several_url(request, suite),
        "propose_url": propose_url(request, suite),
        "release": None,
        **_schedules_of(request, suite),
        **(_results_of_note(request, suite) if request.user.has_perm("evals_app.view_run") else {}),
    }


def _buttons(
    request: HttpRequest, suite: Suite
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    pages: Any = admin.site.get_model_admin(Suite)  # of Unfold, which knows its buttons
    allowed = pages.get_actions_detail(request, suite.pk)
    shown = pages._get_actions_navigation(pages.actions_detail, allowed, str(suite.pk))  # noqa: SLF001 - Unfold has no other way
    useless = useless_action(suite)
    buttons = [item for item in shown if "items" not in item]
    menu = [
        item
        for part in shown
        for item in part.get("items", ())
        if not item["path"].endswith(f"/{useless}/")
    ]
    if url := _several_url(request, suite):
        menu.insert(0, {"title": "Add several cases", "icon": "upload_file", "path": url})
    last = getattr(suite, "verdict_run_id", None)  # of a page that shows results
    if last is not None and may_run(request):
        dialog = {"path": regrade_url(last), "icon": "change_circle", "dialog": True}
        menu.insert(0, {"title": regrade_label(last), **dialog})
    if request.user.has_perm("evals_app.view_run"):
        url = reverse("admin:evals_app_suite_email", args=[suite.pk])
        menu.append({"title": "E-mail me about its runs", "icon": "send", "path": url})
    url = reverse("admin:evals_app_suite_check", args=[suite.pk])
    menu.insert(0, {"title": "Can this test fail?", "icon": "fact_check", "path": url})
    url = reverse("admin:evals_app_suite_history", args=[suite.pk])
    menu.append({"title": "History of changes", "icon": "manage_history", "path": url})
    return buttons, menu


def part_context(
    request: HttpRequest, pk: int, *, tab: str, suites: QuerySet[Suite] = _SUITES
) -> tuple[Any, dict[str, Any]]:
    """Return a suite, and the context of one of its pages."""
    if not may_view(request, Suite):
        raise PermissionDenied
    rows = with_schedules(with_last_runs(suites.select_related("agent", "baseline")))
    suite = get_object_or_404(rows.defer("baseline__summary"), pk=pk)
    context = page_context(request, Suite, suite) | {"title": _TITLES.get(tab, suite.name)}
    return suite, context | suite_head(request, suite, tab=tab)


@require_GET
@viewers_of(Suite)
def judges(request: HttpRequest, pk: int) -> HttpResponse:
    """Return a note on judged checks that are only informational; loaded later, as it reads cases."""
    words = informing_judges(get_object_or_404(Suite, pk=pk), by=request.user.pk)
    return render(request, f"{_TEMPLATES}/judges.html", {"words": words})


# Results


@require_GET
@permission_required("evals_app.view_run", raise_exception=True)
def results(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the results of the last runs."""
    suite, context = part_context(request, pk, tab="results")
    runs = with_pass_rates(Run.objects.filter(suite=suite)).order_by("-pk")
    rows = list(runs.annotate(settled=F("settlement__head"))[: LAST_ROWS + 1])
    trend = suite_trend(suite)
    context |= {
        "trend": trend,
        "runs": _run_lines(rows[:LAST_ROWS], suite, trend),
        "decisions": suite.ship_decisions.order_by("-pk")[:LAST_DECISIONS],
        "has_more": len(rows) > LAST_ROWS or len(_top_rows(rows)) > LAST_RUNS,
        "runs_url": f"{reverse('admin:evals_app_run_changelist')}?suite_slug={suite.slug}",
    }
    return render(request, f"{_TEMPLATES}/results.html", context)


@require_GET
@viewers_of(Suite)
@permission_required("evals_app.view_run", raise_exception=True)
def highlights(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the highlights of the last runs of a suite; a fragment of the results page."""
    suite = get_object_or_404(Suite.objects.only("slug"), pk=pk)
    return render(request, f"{_TEMPLATES}/notable.html", {"lists": highlight_lists(suite)})


# Cases


def cases(request: HttpRequest, pk: int) -> HttpResponse:
    """List the cases of a suite, or run an action on them."""
    if request.method == "POST":
        return _change_cases(request, pk)
    suite, context = part_context(request, pk, tab="cases")
    if not _sees_cases(request):
        return redirect("admin:evals_app_suite_change", suite.pk)
    actions = allowed_actions(request)
    cases = CaseList(
        suite,
        CaseListFilter.read(request.GET),
        changes=_changes(suite, context["release"]),
        page=request.GET.get("p", ""),
        may_read=request.user.has_perm("evals_app.view_execution"),
    )
    context |= {
        "list": cases,
        "actions": actions,
        "has_rare": any(action.is_rare for action in actions.values()),
        "may_change_case": request.user.has_perm("evals_app.change_case"),
        "verdicts": VERDICTS,
        "states": STATES,
        "query": request.GET.urlencode(),
        "earlier": _page_url(request, cases.page.number - 1),
        "later": _page_url(request, cases.page.number + 1),
    }
    return render(request, f"{_TEMPLATES}/cases.html", context)


def _changes(suite: Any, release: ReleaseBox | None) -> dict[str, ChangeMark]:
    """Return what the cases are in the last full run; an answer about another run says nothing."""
    return change_marks(release.changes) if release and suite.verdict_run_id else {}


def _change_cases(request: HttpRequest, pk: int) -> HttpResponse:
    if (name := request.POST.get("do", "")) in ACTIONS:
        return _act(request, pk, ACTIONS[name])
    return _move_one(request, pk)


def _act(request: HttpRequest, pk: int, action: Action) -> HttpResponse:
    """Run an action on the chosen cases, after its form if it has one."""
    if not (action.is_allowed(request) and _sees_cases(request)):
        raise PermissionDenied
    suite, context = part_context(request, pk, tab="cases")
    changes = _changes(suite, context["release"])
    matching = CaseList(suite, CaseListFilter.read(request.GET), changes=changes).matching
    cases = chosen_cases(request, suite, matching)
    back = f"{reverse('admin:evals_app_suite_cases', args=[pk])}?{request.GET.urlencode()}"
    names, count = names_in_short(cases)
    if not count:
        messages.warning(request, "Select at least one case.")
        return redirect(back)
    asked: Mapping[str, object] = {}
    if action.ask is not None:
        is_answered = "answered" in request.POST
        form = action.ask(suite, request.POST if is_answered else None, auto_id="ask_%s")
        if not (is_answered and form.is_valid()):
            context |= {
                "action": action,
                "heading": action.heading.format(plural(count, "case")),
                "form": form,
                "names": names,
                "count": count,
                "more": count - len(names),
                "back": back,
                "posted": _posted_selection(request),
            }
            if action is ACTIONS["run"]:
                context["size"] = size_of_run(request, suite, cases)
            return render(request, f"{_TEMPLATES}/ask.html", context)
        asked = form.cleaned_data
    return redirect(action.act(ActionRequest(request, suite, cases, asked)) or back)


def _move_one(request: HttpRequest, pk: int) -> HttpResponse:
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
        admin.site.get_model_admin(Case).log_addition(request, case, [{"added": {}}])
        messages.success(request, f"“{case}” was added at the end.")
    elif what:
        move_case(case, up=what == "up")
    else:
        raise Http404
    return redirect(_url_of_place(suite, case))


@require_GET
@permission_required(("evals_app.view_case", "evals_app.view_suite"), raise_exception=True)
def offer_tags(_request: HttpRequest) -> JsonResponse:
    """Return the tags of all cases and suites: those of a suite apply to its cases too."""
    tags = {*known_tags(Case.objects.all()), *known_tags(Suite.objects.all())}
    return JsonResponse({"tags": sorted(tags, key=str.casefold)})


def _posted_selection(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the posted selection, to be posted again with the answer."""
    names = ("do", "case", "everything")
    return [(name, value) for name in names for value in request.POST.getlist(name)]


def _page_url(request: HttpRequest, number: int) -> str:
    query = request.GET.copy()
    query["p"] = str(number)
    return f"?{query.urlencode()}"


def _url_of_place(suite: Suite, case: Case) -> str:
    """Return the address of the page of the list that contains a case."""
    earlier = Q(position__lt=case.position) | Q(position=case.position, pk__lte=case.pk)
    number = suite.cases.filter(earlier).count()
    page = (number - 1) // PER_PAGE + 1
    url = reverse("admin:evals_app_suite_cases", args=[suite.pk])
    return f"{url}{f'?p={page}' if page > 1 else ''}#case-{case.pk}"


def _sees_cases(request: HttpRequest) -> bool:
    may: Callable[[str], bool] = request.user.has_perm
    return may("evals_app.view_case") or may("evals_app.change_case")


def _tabs(request: HttpRequest, suite: Suite) -> list[Tab]:
    tabs = [("change", "settings", "Settings")]
    if request.user.has_perm("evals_app.view_run"):
        tabs.insert(0, ("results", "results", "Results"))
    if _sees_cases(request):
        tabs.insert(0, ("cases", "cases", "Cases"))
    return [
        Tab(name, title, reverse(f"admin:evals_app_suite_{page}", args=[suite.pk]))
        for page, name, title in tabs
    ]


def _several_url(request: HttpRequest, suite: Suite) -> str:
    """Return the page that adds cases from a spreadsheet; empty without the right to change suites."""
    if not Rights.of(request.user).may("change", "suite"):
        return ""
    return f"{reverse('admin:evals_app_suite_import')}?into={suite.slug}"


def propose_url(request: HttpRequest, suite: Suite) -> str:
    """Return the page that proposes cases from a text; empty without the rights for it."""
    if suite.archived_at or not request.user.has_perms(PROPOSING):
        return ""
    return reverse("admin:evals_app_suite_propose", args=[suite.pk])


def _add_url(request: HttpRequest, suite: Suite) -> str:
    if not request.user.has_perm("evals_app.add_case"):
        return ""
    return f"{reverse('admin:evals_app_case_add')}?suite={suite.pk}"


def with_schedules(suites: QuerySet[Suite]) -> QuerySet[Any]:
    """Note whether suites have schedules, so that those of most pages need not be read."""
    rows = Schedule.suites.through.objects.filter(suite=OuterRef("pk"))
    return suites.annotate(is_scheduled=Exists(rows))


def _schedules_of(request: HttpRequest, suite: Any) -> dict[str, object]:
    """Return the schedules of a suite, and where to add one, for people who may see and write them."""
    pages = admin.site.get_model_admin(Schedule)
    sees = pages.has_view_permission(request) and suite.is_scheduled
    rows = suite.schedules.order_by("next_at", "pk") if sees else ()
    is_free = suite.archived_at is None and not suite.is_scheduled
    is_offered = pages.has_add_permission(request) and is_free
    url = f"{reverse('admin:evals_app_schedule_add')}?suites={suite.pk}"
    return {"schedules": rows, "schedule_url": url if is_offered else ""}


def _results_of_note(request: HttpRequest, suite: Any) -> TemplateContext:
    """Return the verdict of a suite, whether it may ship, the current run, and its baseline."""
    wanted = {suite.verdict_run_id, suite.last_run_id, suite.baseline_id} - {None}
    is_open = Q(suite=suite, status__in=Run.OPEN)
    rows = {run.pk: run for run in with_pass_rates(Run.objects.filter(is_open | Q(pk__in=wanted)))}
    known = standing(suite, rows)
    last = known.verdict_run
    baseline = rows.get(suite.baseline_id)
    open_runs = [run for run in rows.values() if run.is_open]
    comparing = (*COMPARING_CASES, *COMPARING_EFFORTS)
    lacks_baseline = any(getattr(suite, name) is not None for name in comparing)
    return {
        "standing": known,
        "last": last,
        "last_rate": share_with_people(vars(last), last.reviewed) if last else "",
        "open_run": max(open_runs, key=lambda run: run.pk, default=None),
        "baseline": baseline,
        "release": release_box(request, suite, run=last or known.later, released=baseline),
        "lacks_baseline": lacks_baseline,
    }


def _parent(run: Any) -> int | None:
    """Return the run that a retest, a re-run or a grading belongs to."""
    parent: int | None = run.settled or run.grades_of_id or run.rerun_of_id
    return parent


def _top_rows(rows: Sequence[Any]) -> list[Any]:
    shown = {run.pk for run in rows}
    return [run for run in rows if _parent(run) not in shown]


def _run_lines(
    rows: Sequence[Any], suite: object, trend: SuiteTrend | None
) -> list[dict[str, Any]]:
    """Return the runs, the newest first, each followed by those that belong to it."""
    top = _top_rows(rows)[:LAST_RUNS]
    below: dict[int, list[Any]] = {}
    for run in rows:
        root = parent = _parent(run)
        while parent is not None:
            root = parent
            parent = next((_parent(row) for row in rows if row.pk == root), None)
        below.setdefault(root or 0, []).append(run)
    return [
        _run_line(run, suite, trend) | {"is_child": run is not first}
        for first in top
        for run in (first, *(row for row in below.get(first.pk, ()) if row is not first))
    ]


def _run_line(run: Any, suite: Any, trend: SuiteTrend | None) -> dict[str, object]:
    compare = reverse("admin:evals_app_run_compare")
    base = suite.baseline_id or suite.verdict_run_id
    is_comparable = base not in {None, run.pk} and run.verdict
    # With the released version, else the earlier of two.
    first, second = (base, run.pk) if suite.baseline_id else sorted([base or 0, run.pk])
    return {
        "run": run,
        "sign": SIGNS[run_state(run)],
        "rate": share_with_people(vars(run), run.reviewed) if run.verdict else "",
        "changes": trend.changes.get(run.pk) if trend else None,
        "same": trend.same_text(run.pk) if trend else "",
        "is_baseline": run.pk == suite.baseline_id,
        "compare_url": f"{compare}?run={first}&run={second}" if is_comparable else "",
    }
