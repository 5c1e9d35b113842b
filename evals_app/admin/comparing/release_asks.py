"""The answers about several suites as a list: those that need someone come first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from evals_app.admin.comparing.release_box import NextStep, ReleaseBox, box_of
from evals_app.engine.verdicts.release_check import ReasonKind, ReleaseAnswer
from evals_app.models import Run
from evals_app.reports.answers.release import ANSWERS
from evals_app.runs.release import SuiteRelease

MAX_OPEN = 6  # more are folded

_ORDER: Mapping[ReleaseAnswer, int] = {"no": 0, "not_yet": 1, "yes": 2}


@dataclass(frozen=True, slots=True)
class ReleaseAsk:
    """The answer about a suite: its word, sentence and details, and the one next step."""

    release: SuiteRelease
    run: Run
    box: ReleaseBox

    @property
    def word(self) -> str:
        return ANSWERS[self.release.check.answer]

    @property
    def needs_someone(self) -> bool:
        """Whether no one has decided on the run yet."""
        return needs_someone(self.release)

    @property
    def details(self) -> str:
        """What is behind the sentence, and what people decided."""
        decided = self.box.decision
        if not decided and self.needs_someone and self.release.check.answer != "not_yet":
            decided = "No one has decided yet."
        return " ".join(filter(None, [self.box.first.detail, decided]))

    @property
    def step(self) -> NextStep | None:
        """The next step: to ship what may be shipped, else that of the reason that is shown."""
        if self.box.run is None or self.release.check.answer != "yes" or not self.needs_someone:
            return self.box.first.step
        url = reverse("admin:evals_app_run_decide", args=[self.run.pk, "shipped"])
        return NextStep("Mark as shipped", url, is_dialog=True)


@dataclass(frozen=True, slots=True)
class ReleaseAsks:
    """The answers about suites that have run: shown, folded, and what needs no one any more."""

    shown: Sequence[ReleaseAsk]
    folded: Sequence[ReleaseAsk]
    settled: Sequence[ReleaseAsk]  # may ship, and people know
    waiting: int  # for someone


def release_asks(request: HttpRequest, releases: Iterable[SuiteRelease]) -> ReleaseAsks:
    """Return the answers about suites, those that need someone first."""
    asks = [
        ReleaseAsk(release, release.run, box_of(request, release))
        for release in releases
        if release.run is not None
    ]
    asks.sort(key=lambda ask: (not ask.needs_someone, _ORDER[ask.release.check.answer]))
    is_settled = [not ask.needs_someone and ask.release.check.answer == "yes" for ask in asks]
    asked = [ask for ask, settled in zip(asks, is_settled, strict=True) if not settled]
    return ReleaseAsks(
        asked[:MAX_OPEN],
        asked[MAX_OPEN:],
        [ask for ask, settled in zip(asks, is_settled, strict=True) if settled],
        sum(ask.needs_someone for ask in asked),
    )


def needs_someone(release: SuiteRelease) -> bool:
    """Whether a suite has run, and no one has decided what that means."""
    is_released = release.check.reasons[0].kind is ReasonKind.RELEASED
    return release.run is not None and release.decision is None and not is_released
