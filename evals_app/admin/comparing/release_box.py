"""The box that answers “May we ship?” at the top of a page, with the next step of each reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from django.http import HttpRequest
from django.urls import reverse

from evals_app.admin.comparing.side_by_side import comparison_url
from evals_app.admin.kit.pages import sent_decision_url
from evals_app.admin.retests.retest_dialog import retest_url
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.verdicts.release_check import (
    CAN_ACCEPT,
    ReasonKind,
    ReleaseAnswer,
    ReleaseReason,
)
from evals_app.library.shipping import DECIDING
from evals_app.models import AcceptedFailure, Run, Suite
from evals_app.reports.answers.release import answer_word
from evals_app.runs.release import SuiteRelease, release_of
from evals_app.runs.reviews.review_tasks import SEEING

_TONES: Mapping[ReleaseAnswer, str] = {"yes": "good", "no": "bad", "not_yet": "warn"}


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """A reason or a note, with the button that leads to the next step; `url` may be empty.

    `accept_url` is that of the dialog that accepts its cases.
    """

    sentence: str
    detail: str
    button: str = ""
    url: str = ""
    is_dialog: bool = False
    accept: str = ""
    accept_url: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseBox:
    """The answer in a word and a sentence, more reasons, and what is said beside it.

    `decision` is what a person decided; `run` is set for those who may decide; `page_url` is the
    address of the page to send; `changes` has what happened to single cases.
    """

    word: str
    tone: str
    first: ReleaseLine
    others: tuple[ReleaseLine, ...]
    notes: tuple[ReleaseLine, ...]
    decision: str = ""
    run: Run | None = None
    accepted: Sequence[AcceptedFailure] = ()
    page_url: str = ""
    changes: Mapping[str, StrEnum] = field(default_factory=dict)


def release_box(request: HttpRequest, suite: Suite, *, run: Run | None = None) -> ReleaseBox | None:
    """Return the answer about a suite, or about one run of it; None for those who see no runs."""
    if not request.user.has_perm("evals_app.view_run"):
        return None
    return box_of(request, release_of(suite, run=run))


def box_of(request: HttpRequest, release: SuiteRelease) -> ReleaseBox:
    """Return the box of an answer, for people who see runs."""
    decided, may_decide = release.decision, release.run and request.user.has_perm(DECIDING)
    first, *others = (_line(request, release, reason) for reason in release.check.reasons)
    return ReleaseBox(
        answer_word(release.check),
        _TONES[release.check.answer],
        first,
        tuple(others),
        tuple(ReleaseLine(*release.words(note)) for note in release.check.notes),
        f"{decided.in_words}." if decided else "",
        release.run if may_decide and release.run and not release.run.is_open else None,
        release.accepted,
        sent_decision_url(release.run) if release.run and not release.run.is_open else "",
        release.check.changes,
    )


def _line(request: HttpRequest, release: SuiteRelease, reason: ReleaseReason) -> ReleaseLine:
    button, url = _step(request, release, reason)
    return ReleaseLine(
        *release.words(reason),
        button if url else "",
        url,
        is_dialog=button in _DIALOGS,
        **_acceptance(request, release, reason),
    )


def _acceptance(
    request: HttpRequest, release: SuiteRelease, reason: ReleaseReason
) -> dict[str, str]:
    may_accept = reason.kind in CAN_ACCEPT and request.user.has_perm(DECIDING)
    if release.run is None or not may_accept:
        return {}
    label = "Accept it" if reason.count == 1 else f"Accept these {len(reason.cases):,}"
    url = reverse("admin:evals_app_run_accept", args=[release.run.pk])
    return {"accept": label, "accept_url": url}


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


_DIALOGS = {"Run the suite", "Settle"}
_TO_RUN = {
    *(ReasonKind.NEVER_RUN, ReasonKind.CUT_SHORT, ReasonKind.PART_OF_SUITE),
    ReasonKind.OTHER_AGENT,
}
_TO_SETTLE = {ReasonKind.WORSE, ReasonKind.CHECK_WORSE}
_TO_COMPARE = {
    *(ReasonKind.REALLY_WORSE, ReasonKind.COLLAPSED, ReasonKind.NONE_WORSE),
    ReasonKind.NONE_REALLY_WORSE,
}
