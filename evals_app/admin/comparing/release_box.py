"""The box that answers “May we ship?” at the top of a page, with the next step of each reason."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from evals_app.admin.comparing.side_by_side import comparison_url
from evals_app.admin.retests.retest_dialog import retest_url
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.verdicts.release_check import ReasonKind, ReleaseAnswer, ReleaseReason
from evals_app.models import Run, Suite
from evals_app.reports.answers.release import answer_word
from evals_app.runs.release import SuiteRelease, release_of
from evals_app.runs.reviews.review_tasks import SEEING

_TONES: Mapping[ReleaseAnswer, str] = {"yes": "good", "no": "bad", "not_yet": "warn"}


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """A reason or a note, with the button that leads to the next step; `url` may be empty."""

    sentence: str
    detail: str
    button: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseBox:
    """The answer in a word and a sentence, more reasons, and what is said beside it."""

    word: str
    tone: str
    first: ReleaseLine
    others: tuple[ReleaseLine, ...]
    notes: tuple[ReleaseLine, ...]


def release_box(request: HttpRequest, suite: Suite, *, run: Run | None = None) -> ReleaseBox | None:
    """Return the answer about a suite, or about one run of it; None for those who see no runs."""
    if not request.user.has_perm("evals_app.view_run"):
        return None
    release = release_of(suite, run=run)
    first, *others = (_line(request, release, reason) for reason in release.check.reasons)
    return ReleaseBox(
        answer_word(release.check),
        _TONES[release.check.answer],
        first,
        tuple(others),
        tuple(ReleaseLine(*release.words(note)) for note in release.check.notes),
    )


def _line(request: HttpRequest, release: SuiteRelease, reason: ReleaseReason) -> ReleaseLine:
    button, url = _step(request, release, reason)
    return ReleaseLine(*release.words(reason), button if url else "", url)


def _step(request: HttpRequest, release: SuiteRelease, reason: ReleaseReason) -> tuple[str, str]:
    """Return the button that resolves a reason, and its address; empty if there is none."""
    run, base = release.run, release.released
    if run is None or reason.kind in _TO_RUN:
        url = reverse("admin:evals_app_suite_run", args=[release.suite.pk])
        return "Run the suite", url if may_run(request) else ""
    page = reverse("admin:evals_app_run_change", args=[run.pk])
    if base is not None and base.pk != run.pk:
        if reason.kind in _TO_SETTLE:
            return "Settle", retest_url(request, run, base=base)
        if reason.kind in _TO_COMPARE:
            return "Read the cases", comparison_url([base.pk, run.pk])
    if reason.judge is not None:
        url = reverse("admin:evals_app_yardstick", args=[reason.judge.digest])
        return "Look at the judge", url if request.user.has_perm(SEEING) else ""
    is_there = request.path.startswith(page.removesuffix("change/"))
    return "Open the run", "" if is_there else page


_TO_RUN = {
    *(ReasonKind.NEVER_RUN, ReasonKind.CUT_SHORT, ReasonKind.PART_OF_SUITE),
    ReasonKind.OTHER_AGENT,
}
_TO_SETTLE = {ReasonKind.WORSE, ReasonKind.CHECK_WORSE}
_TO_COMPARE = {
    *(ReasonKind.REALLY_WORSE, ReasonKind.COLLAPSED, ReasonKind.NONE_WORSE),
    ReasonKind.NONE_REALLY_WORSE,
}
