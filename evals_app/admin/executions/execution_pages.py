"""The page of an execution: what changes during the conversation, its results, and links to others."""

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from evals_app.admin.comparing.side_by_side import read_number, side_by_side_url
from evals_app.admin.conversation.checks_box import checks_box
from evals_app.admin.conversation.execution_numbers import (
    JUDGE_NUMBERS,
    NOTHING,
    UNKNOWNS,
    execution_numbers,
)
from evals_app.admin.conversation.judgements import agreements_of
from evals_app.admin.conversation.origin import origin_of
from evals_app.admin.conversation.review_blocks import ExecutionReviews, people_verdict
from evals_app.admin.conversation.span_lines import spans_context
from evals_app.admin.conversation.transcripts import (
    final_lines,
    grade_state,
    judge_call,
    limit_lines,
    readable_trial,
    turn_lines,
    world_lines,
)
from evals_app.admin.conversation.user_side import user_context
from evals_app.admin.executions.case_making import CHANGE_CASE
from evals_app.admin.executions.forgetting import may_forget
from evals_app.admin.history.case_history import case_id_of, history_url, strip_of
from evals_app.admin.kit.pages import fragment_of, viewers_of
from evals_app.admin.kit.presentation import (
    SIGNS,
    SUMMARY_LABELS,
    execution_badges,
    execution_state,
    headline,
    verdict_state,
)
from evals_app.admin.regrading.regrade_dialog import regrade_url
from evals_app.admin.regrading.regrade_results import execution_context, note_steadiness
from evals_app.admin.runs.run_progress import running_line
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.record.trial import Trial
from evals_app.engine.verdicts.execution_verdict import NOT_GRADED, summarized_checks
from evals_app.library.making.case_making import ADD_CASE
from evals_app.models import Execution, GradeResult, Run, Transcript
from evals_app.reports.renderers.conversations import json_text
from evals_app.reports.words.causes import CAUSE_WORDS
from evals_app.reports.words.similarity import DIFFERENTLY, is_measured_differently
from evals_app.runs.reviews.reviewing import REVIEWING

WENT_WRONG = ("failed", "errored")
# In addresses: the conversation whose case is edited, and was edited.
CAME_FROM = "from"
BEFORE = "before"


@fragment_of(Execution)
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the page fragment that changes when the conversation ends."""
    execution = get_object_or_404(with_its_run(), pk=pk)
    is_open = execution_state(execution, run=execution.run) in {"queued", "running"}
    context = (_live_context if is_open else whole_context)(request, execution)
    return render(request, "admin/evals_app/conversation/live.html", context | {"is_poll": True})


@require_GET
@viewers_of(Execution)
def strip(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the last results of the case, including this one."""
    execution = get_object_or_404(with_its_run(), pk=pk)
    context = {"execution": execution, "marks": strip_of(execution)}
    return render(request, "admin/evals_app/history/strip.html", context)


@viewers_of(Execution)
def judge(request: HttpRequest, pk: int, grade: int) -> HttpResponse:
    """Return the judge's prompts and answers for a grade."""
    rows = GradeResult.objects.only("calls")
    row = get_object_or_404(rows, pk=grade, execution__id=pk)
    context = {"calls": list(map(judge_call, row.calls))}
    return render(request, "admin/evals_app/conversation/judge.html", context)


def whole_context(request: HttpRequest, execution: Execution) -> dict[str, object]:
    """Return what the page of an execution shows."""
    case_id = case_id_of(request, execution.run.suite_id, execution.case)
    may_rerun = may_run(request) and not execution.run.is_open
    may_regrade = may_rerun and execution.verdict
    is_passed = case_id is not None and execution.verdict == "passed"
    return _live_context(request, execution) | {
        **execution_context(execution),
        "neighbours": _neighbours(execution),
        "origin": origin_of(request, execution),
        "failure_place": _failure_place(execution),
        "previous_result": _previous_result(request, execution),
        "case_id": case_id,
        "can_add_checks": is_passed and request.user.has_perm(CHANGE_CASE),
        "history_url": history_url(execution.run.suite_slug, execution.case),
        "may_rerun": may_rerun and execution.run.gradings == 1,
        "regrade_url": regrade_url(execution.run_id, execution=execution.pk) if may_regrade else "",
        "may_forget": may_forget(request, execution),
        "show_history": False,
    }


def _live_context(request: HttpRequest, execution: Execution) -> dict[str, object]:
    """Return what changes during the conversation."""
    run = execution.run
    state = execution_state(execution, run=run)
    context = {
        "execution": execution,
        "run": run,
        "state": state,
        "sign": SIGNS[state],
        "labels": execution_badges(execution),
        "headline": headline(execution),
        "cause": CAUSE_WORDS.get(execution.cause, ""),
        "is_open": state in {"queued", "running"},
    }
    if state == "running":
        return context | {"running": running_line(execution)}
    if state in {"queued", "skipped", "not_run"}:
        return context
    return context | _review(request, execution)


def with_its_run() -> QuerySet[Execution]:
    """Return executions with what their pages show of their runs."""
    rows = Execution.objects.select_related("run__grades_of", "run__suite", "source", "reviewed")
    left_out = ("turn_ms", "run__summary", "run__grades_of__summary")
    return rows.defer(*left_out, "source__turn_ms", "source__summary")


def _review(request: HttpRequest, execution: Execution) -> dict[str, object]:
    """Return the conversation, its grades and its numbers, and what may be said about them."""
    reviews = ExecutionReviews.of(execution, request.user)
    is_finished = bool(execution.verdict)
    may = request.user.has_perm
    scale = execution.run.score_scale
    stored = Transcript.objects.of(execution)
    trial = readable_trial(stored)
    # A judge's prompts are long: loaded only on request.
    rows = GradeResult.objects.filter(execution=execution).select_related("yardstick")
    grades = list(rows.defer("calls").order_by("position", "pk"))
    known = agreements_of(grades)
    note_steadiness(execution, grades)
    turns = turn_lines(trial, grades, scale=scale, known=known, reviews=reviews)
    final = final_lines(grades, scale=scale, known=known, reviews=reviews)
    limits = limit_lines(execution, grades, reviews=reviews)
    pruned_at = execution.content_removed_at or (execution.run.grades_of or execution.run).pruned_at
    is_pruned = stored is None and pruned_at is not None
    is_unreadable = stored is not None and trial is None
    return {
        "can_make_case": is_finished and trial and trial.turns and may(ADD_CASE),
        "may_review": is_finished and trial and may(REVIEWING),
        "execution_block": reviews.of_execution() if is_finished else None,
        **people_verdict(execution),
        "is_pruned": is_pruned,
        "pruned_at": pruned_at,
        "is_unreadable": is_unreadable,
        "trial": trial,
        "turns": turns,
        "is_long": any(not turn.is_open for turn in turns),
        "is_silent": not (is_pruned or is_unreadable or any(turn.messages for turn in turns)),
        "history": trial.history if trial else (),
        "limits": limits,
        "checks": checks_box(turns, final, limits),
        "summary": _summary(execution, grades),
        "failure_reason": execution.summary.get("response_criteria_failure_reason"),
        **_numbers(execution, trial, scale=scale),
        **user_context(trial, execution.run),
        **spans_context(trial),
        "world": world_lines(trial.world_changes if trial else {}),
        "journal": json_text(list(trial.world_journal)) if trial and trial.world_journal else "",
        "context_params": json_text(trial.context_params) if trial and trial.context_params else "",
    }


def _numbers(execution: Execution, trial: Trial | None, *, scale: str) -> dict[str, object]:
    """Return the known numbers, and the names of the unknown ones."""
    numbers = execution_numbers(execution, trial, scale=scale)
    # Similarity may use tokens though the run has no judge.
    if not (execution.run.judge or execution.judge_prompt_tokens or execution.judge_cost_usd):
        numbers = [pair for pair in numbers if pair[0] not in JUDGE_NUMBERS]
    if execution.source_id is not None:
        # The note at the top lists the numbers that are not its own.
        numbers = [pair for pair in numbers if pair[0] != "Cost"]
    return {
        "numbers": [(name, value) for name, value in numbers if value not in UNKNOWNS | NOTHING],
        "unknown_numbers": [name for name, value in numbers if value in UNKNOWNS],
    }


def _summary(execution: Execution, grades: Iterable[GradeResult]) -> list[tuple[str, str, str]]:
    if not execution.summary:
        return []
    states = {
        key: _summary_state(execution.summary.get(key), summarized_checks(key, grades))
        for key in SUMMARY_LABELS
    }
    # In the summary an errored execution has merely not passed.
    states["overall_passed"] = execution.verdict or states["overall_passed"]
    signs = [(label, SIGNS[states[key]]) for key, label in SUMMARY_LABELS.items() if states[key]]
    return [(label, sign.tone, sign.word) for label, sign in signs]


def _summary_state(passed: bool | None, grades: Iterable[GradeResult]) -> str:  # noqa: FBT001
    """Return the state of a part; a part that was only not graded has the word of its grade."""
    states = sorted(map(grade_state, grades), reverse=True)
    unknown = next((state for state in states if state in NOT_GRADED), None)
    if passed is False and unknown and "failed" not in states:
        return unknown
    return verdict_state(passed, otherwise="")


# Links to other executions


def result_after_edit(run: Run, before: int) -> str:
    """Return the URL of a run's first conversation, beside the one that a person came from."""
    first = run.executions.earliest("position", "trial")
    return f"{reverse('admin:evals_app_execution_change', args=[first.pk])}?{BEFORE}={before}"


def _neighbours(execution: Execution) -> dict[str, Execution | None]:
    """Return the executions before and after in the run, and the next one that went wrong."""
    siblings = Execution.objects.filter(run=execution.run_id)
    here = {"position": execution.position}
    # The range of positions alone says where in the index to begin.
    after = siblings.filter(
        Q(position__gt=execution.position) | Q(trial__gt=execution.trial, **here),
        position__gte=execution.position,
    ).order_by("position", "trial")
    before = siblings.filter(
        Q(position__lt=execution.position) | Q(trial__lt=execution.trial, **here),
        position__lte=execution.position,
    ).order_by("-position", "-trial")
    wanted = [before, after, after.filter(verdict__in=WENT_WRONG)]
    columns = ("pk", "case", "position", "trial", "verdict")
    # One query, each part of which takes the first row of an index.
    nearest = Execution.objects.filter(
        reduce(or_, (Q(pk=Subquery(rows.values("pk")[:1])) for rows in wanted))
    ).only(*columns)
    place = (execution.position, execution.trial)
    rows = sorted(nearest, key=lambda row: (row.position, row.trial))
    later = [row for row in rows if (row.position, row.trial) > place]
    return {
        "previous": next((row for row in rows if row not in later), None),
        "next": next(iter(later), None),
        "next_failure": next((row for row in later if row.verdict in WENT_WRONG), None),
    }


def _failure_place(execution: Execution) -> str:
    """Return which of the run's failures this is: "Failure 2 of 7"; "" if it is none, or the only one."""
    total = execution.run.failed + execution.run.errored
    if execution.verdict not in WENT_WRONG or total < 2:  # noqa: PLR2004 - the only one needs no number
        return ""
    here = Q(position__lt=execution.position) | Q(trial__lte=execution.trial)
    wrong = Execution.objects.filter(here, run=execution.run_id, verdict__in=WENT_WRONG)
    number = wrong.filter(position__lte=execution.position).count()
    return f"Failure {number:,} of {total:,}"


def _previous_result(request: HttpRequest, execution: Execution) -> dict[str, object] | None:
    """Return the result to compare with: the one that a person came from, else that of the last full run."""
    run: Run = execution.run
    if run.grades_again:
        return None  # another note shows the verdict of the same conversation
    earlier = Execution.objects.filter(
        run__suite_slug=run.suite_slug,
        run_id__lt=execution.run_id,
        status=Execution.Status.FINISHED,
    )
    compared = ("agent_slug", "agent_name", "model", "similarity")
    columns = (
        "case",
        "verdict",
        "trial",
        "cause",
        "reason",
        *(f"run__{name}" for name in compared),
    )
    earlier = earlier.select_related("run").only(*columns)
    came_from = read_number(request.GET.get(BEFORE, ""))
    previous = earlier.filter(pk=came_from).first() if came_from else None
    is_edited = previous is not None
    if previous is None:
        whole = earlier.filter(case=execution.case, run__is_whole=True)
        previous = whole.order_by("-run_id", "trial").first()
    if previous is None:
        return None
    return {
        "pk": previous.pk,
        "run_id": previous.run_id,
        "side_by_side": side_by_side_url(
            execution.case,
            runs=[previous.run_id, execution.run_id],
            trials=[previous.trial, execution.trial],
        ),
        "label": "Before the edit" if is_edited else "Before",
        "sign": SIGNS[previous.verdict],
        "headline": headline(previous) if is_edited else "",
        "differs": ", ".join(_differences(previous.run, run)),
    }


def _differences(before: Run, run: Run) -> Iterator[str]:
    """Return why the results of two runs cannot be compared directly."""
    if before.agent_slug != run.agent_slug:
        yield f"agent {before.agent_name}"
    if before.model != run.model:
        yield f"model {before.model or 'none'}"
    if is_measured_differently(before.similarity, run.similarity):
        yield DIFFERENTLY
