"""The history of a case: its page, and the strip of its last results on the page of an execution."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from evals_app.admin.comparing.comparison_page import PartLine, part_line
from evals_app.admin.comparing.side_by_side import read_number, side_by_side_url
from evals_app.admin.kit.pages import may_view, page_context, viewers_of
from evals_app.admin.kit.presentation import SIGNS, badge, plural
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.library.importing.rights import Rights
from evals_app.models import Case, CaseResult, Execution, Run, Suite
from evals_app.models.people.activity import COMMAND_LINE
from evals_app.reports.answers.comparison import outcome_text
from evals_app.reports.words.figures import score_text
from evals_app.runs.reading.case_history import (
    COUNTED,
    CaseEdit,
    HistoryEntry,
    OfSuite,
    PartChange,
    entries_of,
    executions_of,
    is_same_case,
    most_telling,
)
from fixtures_app.editing.times import moment

PER_PAGE = 20
_MARKS = 10  # of a strip
_LATER = 4  # of them, at most


def history_url(suite_slug: str, case: str, **more: str | int) -> str:
    """Return the address of the history of a case."""
    query = urlencode({"suite": suite_slug, "case": case, **more})
    return f"{reverse('admin:evals_app_run_case_history')}?{query}"


# The page


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A case in one run, and what was changed since the run before."""

    entry: HistoryEntry
    badge: SafeString
    passed: str
    score: str
    change: SafeString | str
    execution: Execution | None
    side_by_side: str
    parts: tuple[PartLine, ...]
    is_unexplained: bool  # another verdict although nothing was changed


@require_GET
@viewers_of(Run)
def case_history(request: HttpRequest) -> HttpResponse:
    """Show how a case did from run to run, and what was changed in between."""
    context = _page(request)
    suite = Suite.objects.only("name").filter(pk=context["suite"].pk).first()
    context = page_context(request, Suite if suite else Run, suite) | context
    return render(request, "admin/evals_app/history/page.html", context)


def _page(request: HttpRequest) -> dict[str, Any]:
    slug, name = (request.GET.get(key, "").replace("\0", "") for key in ("suite", "case"))
    before = read_number(request.GET.get("before", ""))
    with_all = request.GET.get("all") == "true"
    if (suite := OfSuite.find(slug)) is None:
        raise Http404(f"There is no suite {slug[:40]}.")
    results = suite.results().filter(name=name)
    results = results if with_all else results.filter(COUNTED)
    if before is not None:
        results = results.filter(run__id__lt=before)
    rows = list(results[: PER_PAGE + 1])
    entries = entries_of(suite, rows)[:PER_PAGE]
    if not Rights.of(request.user).may_see_everything():
        entries = [entry.without_values() for entry in entries]
    case_id = case_id_of(request, suite.pk, name)
    if not (entries or case_id):
        raise Http404(f"There is no case {name[:40]} in suite {slug}.")
    chosen = {"all": "true"} if with_all else {}
    return {
        "title": name,
        "suite": suite,
        "case_id": case_id,
        "lines": list(map(_line, entries)),
        "is_older": before is not None,
        "with_all": with_all,
        "newest_url": history_url(slug, name, **chosen),
        "older_url": history_url(slug, name, before=entries[-1].run.pk, **chosen)
        if len(rows) > PER_PAGE
        else "",
        "all_url": history_url(slug, name, **({} if with_all else {"all": "true"})),
    }


def case_id_of(request: HttpRequest, suite_id: int | None, name: str) -> int | None:
    """Return the case as it is now, if it exists and the person may see it."""
    if suite_id is None or not may_view(request, Case):
        return None
    return Case.objects.filter(suite=suite_id, name=name).values_list("pk", flat=True).first()


def _line(entry: HistoryEntry) -> HistoryLine:
    result, run = entry.result, entry.run
    graded = result.passed + result.failed
    has_changed = entry.change not in {None, ChangeKind.SAME, ChangeKind.CHANGED}
    return HistoryLine(
        entry=entry,
        badge=badge(result.verdict or "none"),
        passed=f"{result.passed:,} of {plural(graded, 'trial')} passed" if graded > 1 else "",
        score=score_text(result.score, scale=run.score_scale) if result.score is not None else "",
        change=badge(entry.change) if entry.change and has_changed else "",
        execution=most_telling(entry.executions),
        side_by_side=side_by_side_url(result.name, runs=[entry.before.run_id, run.pk])
        if entry.before
        else "",
        parts=tuple(map(_part, entry.parts or ())),
        is_unexplained=has_changed and entry.parts == () and entry.is_same_case is True,
    )


def _part(changed: PartChange) -> PartLine:
    return part_line(changed.what, note=_edited_by(changed.edits))


def _edited_by(edits: Iterable[CaseEdit]) -> SafeString | str:
    """Write who edited something: `Edited by ada, 22 Nov 2026, 19:03; by grace, ...`."""
    people = [
        ("the command line" if edit.by == COMMAND_LINE else edit.by, moment(edit.at))
        for edit in edits
    ]
    return format_html("Edited by {}", format_html_join("; ", "{}, {}", people)) if people else ""


# The strip


@dataclass(frozen=True, slots=True)
class ResultMark:
    """The result of a case in one run of a strip; `is_edited`: its content differs from the run before."""

    run: Run
    word: str
    tone: str
    text: str
    execution: Execution | None
    is_this: bool
    is_edited: bool


def strip_of(execution: Execution) -> list[ResultMark]:
    """Return the results of the case in the runs around that of an execution, the oldest first."""
    this = execution.run
    results = OfSuite(this.suite_id, this.suite_slug).results().filter(name=execution.case)
    later = list(results.filter(COUNTED, run__gt=this.pk).order_by("run_id")[:_LATER])
    # This run is always shown.
    earlier = results.filter(COUNTED | Q(run=this.pk), run__lte=this.pk)[: _MARKS - len(later)]
    rows = [*reversed(earlier), *later]
    trials = executions_of(rows)
    return [
        ResultMark(
            run=row.run,
            word=SIGNS[row.verdict or "none"].word,
            tone=SIGNS[row.verdict or "none"].tone,
            text=outcome_text(row.outcome, scale=row.run.score_scale),
            execution=most_telling(trials[row.run_id]),
            is_this=row.run_id == this.pk,
            is_edited=_is_edited(before, row),
        )
        for before, row in zip([None, *rows], rows, strict=False)
    ]


def _is_edited(before: CaseResult | None, after: CaseResult) -> bool:
    return before is not None and is_same_case(before, after) is False
