"""The pages that show how far judges agree with people, criterion by criterion."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_POST

from evals_app.admin.comparing.side_by_side import read_number
from evals_app.admin.kit.pages import form_data, page_context, person
from evals_app.admin.kit.presentation import badge, first_words, plural
from evals_app.admin.reviews.trust_answer import TrustAnswer, answer_on_page, answers_in_list
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.admin.starting.run_dialog import leave_dialog, may_run, runs_url
from evals_app.engine.graders import GRADERS
from evals_app.engine.statistics.agreement import Agreement, Kappa, Proportion
from evals_app.models import JudgeTally, Review, Yardstick
from evals_app.reports.answers.agreement import reasons_in_words
from evals_app.reports.answers.corrected import corrected_in_words, plan_in_words
from evals_app.reports.answers.forecasts import all_in_words
from evals_app.reports.words.figures import UNKNOWN, whole_percent
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.judges.calibration import (
    MAX_SHOWN,
    Calibration,
    calibrations_of,
    find_calibration,
    most_compared,
    newest_judged_run,
    versions,
)
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.regrading.relabelling import plan_relabelling, start_relabelling
from evals_app.runs.reviews.label_tasks import ask_for_labels
from evals_app.runs.reviews.review_tasks import CHECKING, SEEING, CannotCheckError
from evals_app.runs.starting.freeze import CannotStartError

PER_PAGE = 20
_SCALES = {
    "pass_fail": "pass or fail",
    "1-5": "a grade from 1 to 5",
    "0-10": "a grade from 0 to 10",
    "0-1": "a share from 0 to 1",
    "rubric": "the share of its bullets that are met",
    "": "a share",
}


class CalibrationLine(NamedTuple):
    """A criterion in the list, with its agreement."""

    yardstick: Yardstick
    criterion: str
    kind: str
    answer: TrustAnswer


class Figure(NamedTuple):
    """A number of a calibration, with its interval and what it is based on."""

    name: str
    value: str
    interval: str
    meaning: str


class Disagreement(NamedTuple):
    """An answer that a person and the judge graded differently."""

    case: str
    url: str
    person: SafeString
    judge: SafeString
    by: str
    reason: str
    judged: str


class TryForm(forms.Form):
    """What trying a new wording may cost."""

    max_cost_usd = CeilingField(required=False, help_text="Of each run. Leave blank for no limit.")


@require_GET
@permission_required(SEEING, raise_exception=True)
def list_criteria(request: HttpRequest) -> HttpResponse:
    """List what judges grade by, what people compared most first."""
    rows = most_compared()
    if judge := request.GET.get("judge", ""):
        rows = rows.filter(judge=judge)
    number = read_number(request.GET.get("p", "")) or 1
    page = list(rows[(number - 1) * PER_PAGE : number * PER_PAGE + 1])
    context = page_context(request, JudgeTally) | {
        "title": "Judges compared with people",
        "judge": judge,
        "lines": _lines(request, calibrations_of(page[:PER_PAGE])),
        "earlier": _page_url(request, number - 1) if number > 1 else "",
        "later": _page_url(request, number + 1) if len(page) > PER_PAGE else "",
    }
    return render(request, "admin/evals_app/reviews/judges/criteria.html", context)


@require_GET
@permission_required(SEEING, raise_exception=True)
def show_calibration(request: HttpRequest, digest: str) -> HttpResponse:
    """Show how one judge agrees with people on one criterion."""
    compared = _find_calibration(digest)
    yardstick, agreement = compared.yardstick, compared.agreement
    run = newest_judged_run(compared)
    context = page_context(request, JudgeTally) | {
        "title": "Judge and people",
        "calibration": compared,
        "yardstick": yardstick,
        "criterion": first_words(yardstick.criterion, most=160),
        "agreement": agreement,
        "kind": _kind(yardstick),
        "scale": _SCALES.get(yardstick.scale, yardstick.scale),
        "answer": answer_on_page(request, compared, run),
        "words": reasons_in_words(agreement, blind=compared.blind),
        "corrected": corrected_in_words(run.corrected, run.judged, run=run.run) if run else "",
        "plan": plan_in_words(run.plan, run=run.run) if run else "",
        "figures": list(_figures(agreement)),
        "disagreements": _disagreements(compared),
        "left_out": max(0, len(compared.disagreements) - MAX_SHOWN),
        "versions": [
            (line, line.yardstick.created_at < yardstick.created_at)
            for line in _lines(request, versions(compared))
        ],
        "may_try": bool(compared.answers) and may_run(request),
    }
    return render(request, "admin/evals_app/reviews/judges/calibration.html", context)


@require_POST
@permission_required(CHECKING, raise_exception=True)
def check_answers(request: HttpRequest, digest: str) -> HttpResponse:
    """Open the answers whose labels say most about a judge."""
    compared = _find_calibration(digest)
    try:
        task = ask_for_labels(compared, by=person(request))
    except CannotCheckError as error:
        messages.warning(request, str(error))
        return redirect("admin:evals_app_yardstick", digest)
    return redirect("admin:evals_app_reviewtask_next", task.pk)


@permission_required((*RUNNING, SEEING), raise_exception=True)
def try_wording(request: HttpRequest, digest: str) -> HttpResponse:
    """Ask, then grade the labelled answers again with the suite as it is now."""
    compared = _find_calibration(digest)
    form = TryForm(form_data(request), auto_id="try_%s")
    by = person(request)
    context: dict[str, object] = {"calibration": compared, "form": form}
    try:
        if form.is_valid():
            started = start_relabelling(compared, by=by, **form.cleaned_data)
            for problem in started.problems:
                messages.warning(request, problem)
            return leave_dialog(runs_url(started.runs))
        if not form.is_bound:
            context |= _price(compared, by=by.pk)
    except CannotStartError as error:
        context["problems"] = error.problems
    return render(request, "admin/evals_app/reviews/judges/try.html", context)


def _price(compared: Calibration, *, by: int | None) -> dict[str, object]:
    plan = plan_relabelling(compared, by=by)
    price = all_in_words(plan.forecasts, month_left_usd=month_left(by))
    some = f"{plan.answers:,} of the {plural(len(compared.answers), 'answer')} can be graded. "
    return {
        "price": f"{some if plan.answers < len(compared.answers) else ''}{price}",
        "problems": plan.problems,
    }


def _page_url(request: HttpRequest, number: int) -> str:
    query = request.GET.copy()
    query["p"] = str(number)
    return f"?{query.urlencode()}"


def _find_calibration(digest: str) -> Calibration:
    compared = find_calibration(digest)
    if compared is None:
        raise Http404("No judge graded by this criterion.")
    return compared


def _kind(yardstick: Yardstick) -> str:
    if yardstick.is_item:
        return "Bullet of a rubric"
    grader = GRADERS.get(yardstick.type)
    return grader.label if grader else yardstick.type


def _lines(request: HttpRequest, calibrations: Sequence[Calibration]) -> list[CalibrationLine]:
    answers = answers_in_list(request, calibrations)
    return [
        _line(known.yardstick, answer) for known, answer in zip(calibrations, answers, strict=True)
    ]


def _line(yardstick: Yardstick, answer: TrustAnswer) -> CalibrationLine:
    kind, criterion = _kind(yardstick), first_words(yardstick.criterion)
    # Some kinds have no other criterion.
    return CalibrationLine(yardstick, criterion, "" if kind == criterion else kind, answer)


def _share(rate: Proportion) -> str:
    return UNKNOWN if rate.share is None else whole_percent(rate.share)


def _interval(rate: Proportion) -> str:
    if rate.interval is None:
        return UNKNOWN
    low, high = map(whole_percent, rate.interval)
    return f"{low} to {high}"


def _figures(agreement: Agreement) -> Iterable[Figure]:
    verdict = "passed" if agreement.commoner_passes else "failed"
    rates = (
        ("Same verdict", agreement.same_verdict, "of all compared answers"),
        (f"Always “{verdict}” would reach", agreement.commoner, "of all compared answers"),
        ("Failures noticed (TNR)", agreement.failures_noticed, "of what people failed"),
        ("Passes noticed (TPR)", agreement.passes_noticed, "of what people passed"),
    )
    for name, rate, meaning in rates:
        numbers = f"{rate.count:,} of {rate.total:,}: {_share(rate)}" if rate.total else UNKNOWN
        yield Figure(name, numbers, _interval(rate), meaning)
    grades = agreement.on_scale
    kappas = [("Kappa of the verdicts", agreement.kappa)]
    if grades is not None:
        yield Figure(
            "Same grade", f"{grades.same:,} of {grades.n:,}", UNKNOWN, "of all with grades"
        )
        kappas.append(("Kappa of the grades, quadratic weights", grades.kappa))
    for name, kappa in kappas:
        yield _figure(name, kappa)


def _figure(name: str, kappa: Kappa | None) -> Figure:
    meaning = "0 is what chance alone would reach, 1 is full agreement"
    if kappa is None:
        return Figure(name, UNKNOWN, UNKNOWN, "needs 20 answers, not all with the same verdict")
    interval = "{:.2f} to {:.2f}".format(*kappa.interval) if kappa.interval else UNKNOWN
    return Figure(name, f"{kappa.value:.2f}", interval, meaning)


def _disagreements(compared: Calibration) -> list[Disagreement]:
    answers = compared.disagreements[:MAX_SHOWN]
    reviews = Review.objects.select_related("grade", "execution").defer(
        "grade__calls", "grade__evidence", "execution__summary", "execution__turn_ms"
    )
    by_key = reviews.in_bulk([answer.review for answer in answers])
    lines = []
    for answer in answers:
        review = by_key.get(answer.review)
        if review is None:
            continue
        url = reverse("admin:evals_app_execution_change", args=[answer.newest.execution])
        lines.append(
            Disagreement(
                case=answer.newest.place.case,
                url=f"{url}#grade-{answer.newest.grade}",
                person=badge("passed" if answer.label.person else "failed"),
                judge=badge("passed" if answer.label.judge else "failed"),
                by=review.by_name,
                reason=review.reason,
                judged=_judge_reason(review),
            )
        )
    return lines


def _judge_reason(review: Review) -> str:
    """Return the judge's reason; for a bullet, its critique."""
    if review.grade is None or review.item is None:
        return review.grade.reason if review.grade else ""
    items = review.grade.details.get("items")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping) and item.get("id") == review.item:
            return str(item.get("critique") or item.get("note") or "")
    return ""
