"""What the page of a set shows about its daily import: what the last times brought, and what grew."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from evals_app.admin.kit.pages import ask, person
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.statistics.agreement import Proportion
from evals_app.engine.statistics.growth import Growth
from evals_app.models import (
    ConversationImport,
    ConversationSet,
    DailyImport,
    DueImport,
    GroupRise,
    NoteGroup,
    Run,
)
from evals_app.reports.words.figures import count_text
from evals_app.reports.words.shares import rate_text
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.recorded.daily_imports import (
    IMPORTING,
    import_now,
    last_times,
    pause,
    problems_of,
    remove_daily_import,
    runs_of,
)
from evals_app.runs.recorded.growing_groups import ALL
from fixtures_app.editing.times import day_and_time

GROWTH_SIGNS = {
    Growth.GREW: ("bad", "More than before"),
    Growth.NOT_SHOWN: ("calm", "No rise beyond chance"),
    Growth.TOO_FEW: ("calm", "Too few to tell"),
}


class TimeLine(NamedTuple):
    """What one time brought, and what its grading found."""

    due: DueImport
    files: list[str]
    runs: list[Run]
    graded: str


class GroupLine(NamedTuple):
    """How often a group was found last, and before."""

    group: NoteGroup
    now: str
    before: str
    tone: str
    word: str
    rise: GroupRise | None


def daily_context(target: ConversationSet) -> dict[str, object]:
    """Return what the page of a set shows about its daily import."""
    rows = DailyImport.objects.select_related("owner", "suite", "conversation_set__span_inbox")
    row = rows.filter(conversation_set=target).first()
    if row is None:
        return {"daily": None}
    times = last_times(row)
    runs = runs_of(times)
    return {
        "daily": row,
        "daily_problems": list(problems_of(row)),
        "daily_next": day_and_time(row.next_at, row.rhythm.zone) if row.next_at else "",
        "daily_grades": _grading_text(row),
        "daily_times": [_time_line(due, runs.get(due.pk, [])) for due in times],
        "daily_is_busy": any(due.state != DueImport.State.ENDED for due in times),
        "daily_groups": list(_group_lines(row)),
    }


def _grading_text(row: DailyImport) -> str:
    if row.suite is None:
        return ""
    how_many = f"At most {row.count:,}" if row.count else "All"
    limit = "" if row.max_cost_usd is None else f", for at most {usd_text(row.max_cost_usd)}"
    return f"{how_many} of the new conversations are graded by {row.suite.name}{limit} each time."


def _time_line(due: DueImport, runs: list[Run]) -> TimeLine:
    failed, graded = due.topics.get(ALL, (0, 0))
    return TimeLine(
        due,
        [_brought(row) for row in due.imports.all()],
        runs,
        f"failed: {rate_text(Proportion(failed, graded))}" if graded else "",
    )


def _brought(row: ConversationImport) -> str:
    if row.failure:
        is_named = row.failure.startswith(row.file_name)
        return row.failure if is_named else f"{row.file_name}: {row.failure}"
    if row.finished_at is None:
        return f"{row.file_name} is being imported."
    parts = [f"{row.added:,} new"]
    parts += [f"{row.known:,} here already"] if row.known else []
    parts += [f"{row.changed:,} changed and left"] if row.changed else []
    parts += [count_text(len(row.problems), "problem")] if row.problems else []
    return f"{row.file_name}: {', '.join(parts)}"


def _group_lines(row: DailyImport) -> Iterator[GroupLine]:
    """Yield the groups that were counted last, those that grew first."""
    last = row.times.exclude(groups={}).order_by("-due_at").first()
    found: Mapping[str, Any] = last.groups if last else {}
    known = NoteGroup.objects.filter(pk__in=map(int, found), removed_at=None).in_bulk()
    rises = {rise.group_id: rise for rise in GroupRise.objects.current().filter(group__in=known)}
    for pk in sorted(known, key=lambda pk: (pk not in rises, known[pk].name)):
        counts = found[str(pk)]
        tone, word = GROWTH_SIGNS[Growth(counts["growth"])]
        yield GroupLine(
            known[pk],
            rate_text(Proportion(*counts["topics"][ALL])),
            rate_text(Proportion(*counts["before"])),
            tone,
            word,
            rises.get(pk),
        )


def _find(pk: int) -> DailyImport:
    rows = DailyImport.objects.select_related("conversation_set", "owner")
    return get_object_or_404(rows, conversation_set=pk)


def _back(pk: int) -> str:
    return f"{reverse('admin:evals_app_conversationset_change', args=[pk])}#every-day"


@require_POST
@permission_required(IMPORTING, raise_exception=True)
def change_daily_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Pause or continue a daily import, or look for new files now."""
    row, by = _find(pk), person(request)
    if row.is_graded and not by.has_perms(RUNNING) and request.POST.get("action") != "pause":
        messages.error(request, "It grades: that takes the right to start runs.")
    elif request.POST.get("action") == "now":
        import_now(row, by=by)
        messages.success(request, "A worker looks for new files. This page shows what it finds.")
    else:
        pause(row, is_paused=request.POST.get("action") == "pause", by=by)
    return redirect(_back(pk))


@permission_required(IMPORTING, raise_exception=True)
def ask_to_remove_daily_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then stop importing for good."""
    row = _find(pk)
    if request.method != "POST":
        return ask(
            request,
            title="Stop importing every day?",
            text="Its results are removed. Conversations, runs and files stay.",
            submit="Remove",
            dismiss="Keep it",
        )
    remove_daily_import(row, by=person(request))
    messages.success(request, "The daily import was removed.")
    return leave_dialog(_back(pk))
