"""The box that answers “May we ship?” at the top of a page, with the next step of each reason."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from evals_app.admin.comparing.side_by_side import comparison_url
from evals_app.admin.kit.pages import sent_decision_url
from evals_app.admin.retests.retest_dialog import retest_url
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.suites.suite_spec import COMPARING_CASES, COMPARING_EFFORTS
from evals_app.engine.verdicts.release_check import (
    CAN_ACCEPT,
    ReasonKind,
    ReleaseAnswer,
    ReleaseReason,
)
from evals_app.library.baselines import why_no_baseline
from evals_app.library.shipping import DECIDING
from evals_app.models import AcceptedFailure, Run, Suite
from evals_app.reports.answers.release import answer_word
from evals_app.runs.release import SuiteRelease, release_of
from evals_app.runs.reviews.review_tasks import CHECKING, SEEING

_TONES: Mapping[ReleaseAnswer, str] = {"yes": "good", "no": "bad", "not_yet": "warn"}


class NextStep(NamedTuple):
    """The button that resolves a reason; it only leads there if `is_way` is set."""

    label: str
    url: str
    is_dialog: bool = False
    is_post: bool = False
    is_way: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """A reason or a note, with the next step if there is one.

    `accept_url` is that of the dialog that accepts its cases, `cases_url` the list of them.
    """

    sentence: str
    detail: str
    step: NextStep | None = None
    accept: str = ""
    accept_url: str = ""
    cases_url: str = ""


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

    @property
    def step(self) -> NextStep | None:
        """The one to take: of the gravest reason that a step resolves, else of the first with any."""
        steps = [line.step for line in (self.first, *self.others) if line.step]
        return next((step for step in steps if not step.is_way), next(iter(steps), None))


def release_box(
    request: HttpRequest, suite: Suite, *, run: Run | None = None, released: Run | None = None
) -> ReleaseBox | None:
    """Return the answer about a suite, or about one run of it; None for those who see no runs."""
    if not request.user.has_perm("evals_app.view_run"):
        return None
    return box_of(request, release_of(suite, run=run, released=released))


def box_of(request: HttpRequest, release: SuiteRelease) -> ReleaseBox:
    """Return the box of an answer, for people who see runs."""
    decided, may_decide = release.decision, release.run and request.user.has_perm(DECIDING)
    first, *others = _lines(request, release)
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


def _lines(request: HttpRequest, release: SuiteRelease) -> Iterator[ReleaseLine]:
    """Return the reasons; a step that resolves several is with the first of them."""
    offered = set()
    for reason in release.check.reasons:
        step = _step(request, release, reason)
        is_new = step not in offered
        offered.add(step)
        yield ReleaseLine(
            *release.words(reason),
            step if is_new else None,
            cases_url=_cases_url(request, release, reason),
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


def _cases_url(request: HttpRequest, release: SuiteRelease, reason: ReleaseReason) -> str:
    """Return the list of the cases that got worse, which is about the last full run of a suite."""
    last = getattr(release.suite, "verdict_run_id", None)
    is_listed = release.run is not None and release.run.pk == last
    may_see = request.user.has_perm("evals_app.view_case")
    if not (reason.kind in _WORSE and is_listed and may_see):
        return ""
    url = reverse("admin:evals_app_suite_cases", args=[release.suite.pk])
    return f"{url}?change=worse"


def _step(request: HttpRequest, release: SuiteRelease, reason: ReleaseReason) -> NextStep | None:
    """Return the step that resolves a reason, for someone with the right; else the way to its cases."""
    run = release.run
    if run is None or reason.kind in _TO_RUN:
        return _to_run(request, release.suite)
    return _to_resolve(request, release, run, reason) or _to_read(request, release, run, reason)


def _to_run(request: HttpRequest, suite: Suite) -> NextStep | None:
    url = reverse("admin:evals_app_suite_run", args=[suite.pk])
    return NextStep("Run the suite", url, is_dialog=True) if may_run(request) else None


def _to_resolve(
    request: HttpRequest, release: SuiteRelease, run: Run, reason: ReleaseReason
) -> NextStep | None:
    if reason.kind in _TO_SETTLE and release.base is not None:
        url = retest_url(request, run, base=release.base)
        return NextStep("Retest", url, is_dialog=True) if url else None
    if reason.kind is ReasonKind.NOT_GRADED:
        if not (reason.is_of_judge and run.pruned_at is None):
            return _to_run(request, release.suite)
        url = reverse("admin:evals_app_run_regrade", args=[run.pk])
        return NextStep("Grade again", url, is_dialog=True) if may_run(request) else None
    if reason.judge is not None and request.user.has_perm(SEEING):
        url = reverse("admin:evals_app_yardstick", args=[reason.judge.digest])
        return NextStep("Look at the judge", url)
    if reason.kind is ReasonKind.ONLY_MEASURED and _may_trust(request, release.suite, run):
        url = reverse("admin:evals_app_reviewtask_start", args=[run.pk])
        return NextStep("Check grades", url, is_dialog=True)
    if _lacks_released(release, reason) and may_run(request) and not why_no_baseline(run):
        url = reverse("admin:evals_app_run_baseline", args=[run.pk])
        return NextStep("Use as released version", url, is_post=True)
    return None


def _may_trust(request: HttpRequest, suite: Suite, run: Run) -> bool:
    """Whether the judges of a run decide nothing until a person, such as this one, compares them."""
    is_asked = suite.min_judge_agreement is not None and run.judge
    return bool(is_asked) and request.user.has_perms(CHECKING)


def _lacks_released(release: SuiteRelease, reason: ReleaseReason) -> bool:
    """Whether all that a reason says is that nothing can be compared with a released version."""
    gate = reason.gate
    is_open = (
        gate is not None
        and gate.is_undecided
        and gate.name in (*COMPARING_CASES, *COMPARING_EFFORTS)
    )
    is_first = reason.kind in {ReasonKind.FIRST_RUN, ReasonKind.NONE_COMPARED}
    return is_first or (is_open and release.released is None)


def _to_read(
    request: HttpRequest, release: SuiteRelease, run: Run, reason: ReleaseReason
) -> NextStep | None:
    if release.base is not None and reason.kind in _TO_COMPARE:
        return NextStep("Read the cases", comparison_url([release.base.pk, run.pk]), is_way=True)
    page = reverse("admin:evals_app_run_change", args=[run.pk])
    is_there = request.path.startswith(page.removesuffix("change/"))
    return None if is_there else NextStep("Open the run", page, is_way=True)


_WORSE = {
    *(ReasonKind.REALLY_WORSE, ReasonKind.COLLAPSED),
    *(ReasonKind.WORSE, ReasonKind.CHECK_WORSE),
}
_TO_RUN = {
    *(ReasonKind.NEVER_RUN, ReasonKind.CUT_SHORT, ReasonKind.PART_OF_SUITE),
    *(ReasonKind.OTHER_AGENT, ReasonKind.NOT_RUN, ReasonKind.NO_RESULTS),
}
_TO_SETTLE = {ReasonKind.WORSE, ReasonKind.CHECK_WORSE}
_TO_COMPARE = {
    *(ReasonKind.REALLY_WORSE, ReasonKind.COLLAPSED, *_TO_SETTLE),
    *(ReasonKind.NONE_WORSE, ReasonKind.NONE_REALLY_WORSE),
}
