"""The page “Can this test fail?” of a suite."""

from collections import Counter
from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET
from pydantic import ValidationError

from evals_app.admin.kit.pages import viewers_of
from evals_app.admin.suites.suite_pages import part_context
from evals_app.engine.verdicts.can_fail import ONLY_FORBIDS, Idle, ProbedCheck, ProbedSuite
from evals_app.engine.verdicts.probes import PROBES
from evals_app.library.probing import probe_stored, short_budget
from evals_app.models import Suite
from evals_app.reports.words.figures import score_text
from fixtures_app.ground.spec_errors import messages_of

_SHOWN = 200  # rows of a table
_MEANING = {
    "blind": "They pass every answer that ought to fail them, so they prove nothing.",
    "weak": "They notice some wrong answers, but pass others.",
}


@require_GET
@viewers_of(Suite)
def can_fail(request: HttpRequest, pk: int) -> HttpResponse:
    """Try the checks of a suite on answers that ought to fail, and show which of them pass."""
    suite, context = part_context(request, pk, tab="check", suites=Suite.objects.with_everything())
    try:
        context |= _results(suite, probe_stored(suite, is_over=short_budget()))
    except ValidationError as error:
        context["problem"] = messages_of(error)[0]
    return render(request, "admin/evals_app/suites/can_fail.html", context)


def _results(suite: Suite, probed: ProbedSuite) -> dict[str, object]:
    pages = {case.name: case.pk for case in suite.cases.all()}  # loaded already
    cases = sorted(probed.cases, key=lambda case: not case.nothing.passed)
    return {
        "counts": probed.counts,
        "warning": ONLY_FORBIDS if probed.only_forbids else "",
        "left": probed.left,
        "tables": [
            {
                "title": f"{sight.capitalize()} checks",
                "key": sight,
                "meaning": meaning,
                "lines": [_check(one, pages) for one in probed.of(sight)[:_SHOWN]],  # type: ignore[arg-type]
            }
            for sight, meaning in _MEANING.items()
        ],
        "not_tried": Counter(one.why for one in probed.of("not_tried")).most_common(),
        "cases": [
            {
                "name": case.name,
                "url": _url(pages.get(case.name)),
                "ends": [_end(suite, case.nothing), _end(suite, case.refusal)],
            }
            for case in cases[:_SHOWN]
        ],
        "passed_by_ok": sum(case.nothing.passed is True for case in cases),
        "passed_by_refusal": sum(case.refusal.passed is True for case in cases),
        "case_count": len(cases),
    }


def _check(one: ProbedCheck, pages: Mapping[str, int]) -> dict[str, object]:
    return {
        "label": one.check.label,
        "case": one.case,
        "turn": one.turn,
        "url": _url(pages.get(one.case)),
        "why": one.why,
        "passed": [PROBES[name] for name in one.passed],
    }


def _url(pk: int | None) -> str:
    return reverse("admin:evals_app_case_change", args=[pk]) if pk else ""


def _end(suite: Suite, idle: Idle) -> dict[str, str]:
    words = {True: "Passes", False: "Fails", None: "Open"}[idle.passed]
    score = "" if idle.score is None else score_text(idle.score, scale=suite.score_scale)
    return {"words": words, "score": score}
