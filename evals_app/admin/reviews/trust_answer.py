"""May this judge decide? The answer at the top of its page, with the next step."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse

from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.statistics.agreement import MIN_LABELS
from evals_app.engine.statistics.trust import Standing, standing_of
from evals_app.models import Assertion, Suite
from evals_app.reports.answers.agreement import standing_in_words
from evals_app.runs.judges.calibration import Calibration, JudgedRun
from evals_app.runs.reviews.review_tasks import CHECKING

_TONES = {
    **dict.fromkeys((Standing.NOT_COMPARED, Standing.TOO_FEW, Standing.ONE_SIDED), "warn"),
    **dict.fromkeys((Standing.WORSE, Standing.NO_BETTER, Standing.TOO_RARELY), "bad"),
    Standing.MAY_DECIDE: "good",
}


@dataclass(frozen=True, slots=True)
class TrustAnswer:
    """The answer in a sentence, why, and the next steps.

    `button` leads to `url`, if there is one. `check` is the button that asks for answers to check.
    """

    tone: str
    sentence: str
    why: str
    button: str = ""
    url: str = ""
    check: str = ""


def answers_in_list(request: HttpRequest, calibrations: Sequence[Calibration]) -> list[TrustAnswer]:
    """Return the answers about judges as lists show them, by their labels alone."""
    slugs = [known.newest.place.suite for known in calibrations if known.newest]
    asked = dict(Suite.objects.filter(slug__in=slugs).values_list("slug", "min_judge_agreement"))
    return [
        _answer_in_list(
            request, known, asked.get(known.newest.place.suite) if known.newest else None
        )
        for known in calibrations
    ]


def _answer_in_list(
    request: HttpRequest, compared: Calibration, least: float | None
) -> TrustAnswer:
    sentence, *why = standing_in_words(compared.agreement, least=least)
    standing = standing_of(compared.agreement, least=least)
    url = reverse("admin:evals_app_yardstick", args=[compared.yardstick.digest])
    return TrustAnswer(
        _TONES[standing],
        sentence,
        " ".join(why),
        *(("Where they differ", f"{url}#differ-title") if standing.is_distrusted else ("", "")),
        check=_check(request, compared, 0),
    )


def answer_on_page(
    request: HttpRequest, compared: Calibration, run: JudgedRun | None
) -> TrustAnswer:
    """Return the answer about a judge; `run` is its newest with labels."""
    suite = Suite.objects.filter(slug=run.place.suite).first() if run else None
    least = suite.min_judge_agreement if suite else None
    standing = standing_of(compared.agreement, least=least)
    sentence, *why = standing_in_words(compared.agreement, least=least)
    button = url = ""
    if suite and run and request.user.has_perm("evals_app.view_suite"):
        if standing.is_distrusted:
            button, url = "Change the criterion", _written_at(compared, run, suite)
        elif standing.is_trusted and not run.decides:
            if least is None:
                button, url = "Let it decide", _written_at(compared, run, suite)
                why.append("Its check has the weight 0, so it only informs.")
            else:
                page = reverse("admin:evals_app_suite_run", args=[suite.pk])
                button, url = "Run the suite", page if may_run(request) else ""
                why.append("It only informed so far: it decides from the next run on.")
    check = _check(request, compared, run.plan.count if run else 0)
    return TrustAnswer(_TONES[standing], sentence, " ".join(why), button, url, check)


def _check(request: HttpRequest, compared: Calibration, planned: int) -> str:
    """Return the button that asks for answers to check; empty if none are needed."""
    more = compared.agreement.n
    count = planned or max(0, MIN_LABELS - more)
    if not count or not request.user.has_perms(CHECKING):
        return ""
    return f"Check {plural(count, 'more answer' if more else 'answer')}"


def _written_at(compared: Calibration, run: JudgedRun, suite: Suite) -> str:
    """Return the page on which a criterion is written: that of its case, else that of the suite."""
    place = run.place
    of_case = Q(case__suite=suite, case__name=place.case)
    of_turn = Q(turn__case__suite=suite, turn__case__name=place.case)
    checks = Assertion.objects.filter(of_case | of_turn, type=compared.yardstick.type)
    for case, of, options in checks.values_list("case", "turn__case", "options"):
        if options.get("criteria", "") in {"", compared.yardstick.criterion}:
            return reverse("admin:evals_app_case_change", args=[case or of])
    return reverse("admin:evals_app_suite_change", args=[suite.pk])
