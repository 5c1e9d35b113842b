"""May we ship? Reads what the answer about a run, or about a suite, depends on."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import CaseOutcome, match_cases
from evals_app.engine.statistics.retest import Finding, SuspectState
from evals_app.engine.verdicts.gates import GateResult
from evals_app.engine.verdicts.release_check import (
    Acceptance,
    ComparedJudge,
    ReasonKind,
    ReleaseCheck,
    ReleaseFacts,
    ReleaseReason,
    check_release,
)
from evals_app.models import (
    AcceptedFailure,
    CaseResult,
    GradeResult,
    Review,
    Run,
    Settlement,
    ShipDecision,
    Suite,
    Yardstick,
)
from evals_app.models.judging.reviews import IS_LABEL
from evals_app.reports.answers.release import (
    ReasonWords,
    answer_text,
    reason_words,
    release_json,
)
from evals_app.reports.answers.run_answers import Json
from evals_app.runs.judges.calibration import agreements
from evals_app.runs.reading.outcomes import case_outcomes, outcomes_of
from evals_app.runs.reading.suite_verdict import telling_runs
from evals_app.runs.reviews.decisions import UndecidableError, outcomes_with_people
from fixtures_app.ground.quoting import cut_middle


@dataclass(frozen=True, slots=True)
class SuiteRelease:
    """The answer about a suite, with the run that it is about and that of the released version."""

    suite: Suite
    run: Run | None
    released: Run | None
    check: ReleaseCheck
    decision: ShipDecision | None = None  # a person's, on the run
    accepted: Sequence[AcceptedFailure] = ()

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        return answer_text(self.check, scale=self.suite.score_scale)

    def words(self, reason: ReleaseReason) -> ReasonWords:
        """Return a reason, or a note, in words."""
        return reason_words(reason, self.check, scale=self.suite.score_scale)

    def to_json(self) -> Json:
        return release_json(
            self.check,
            suite=self.suite.slug,
            run=None if self.run is None else self.run.pk,
            released=None if self.released is None else self.released.pk,
            decision=self.decision,
            accepted=self.accepted,
            scale=self.suite.score_scale,
        )


def release_of(
    suite: Suite, *, run: Run | None = None, released: Run | None = None
) -> SuiteRelease:
    """Answer whether what a suite tests may be shipped.

    Without others it is about the last whole run, else the last one, against the suite's baseline.
    """
    run, released = run or _last_run(suite), released or suite.baseline
    if run is None:
        return SuiteRelease(suite, run, released, _check_open(ReasonKind.NEVER_RUN))
    accepted = accepted_failures(suite, run)
    check = _check(suite, run, released, accepted)
    decision = ShipDecision.objects.filter(run=run).order_by("-pk").first()
    scripted = replace(check, is_scripted=run.is_scripted)
    return SuiteRelease(suite, run, released, scripted, decision, accepted)


def decision_on(run: Run) -> str:
    """Return the answer about a whole run, in one line; empty for other runs."""
    return release_of(run.suite, run=run).sentence if run.is_whole and run.suite else ""


def _last_run(suite: Suite) -> Run | None:
    whole = Run.objects.suite_verdicts().filter(suite=suite).order_by("-pk").first()
    return whole or telling_runs().filter(suite=suite).order_by("-pk").first()


def _check_open(why: ReasonKind) -> ReleaseCheck:
    obstacles = [ReleaseReason(why)]
    return check_release(ReleaseFacts(pairs=(), has_base=False, obstacles=obstacles))


def _check(
    suite: Suite, run: Run, base: Run | None, accepted: Sequence[AcceptedFailure]
) -> ReleaseCheck:
    if run.is_open:
        return _check_open(ReasonKind.RUNNING)
    is_released = base is not None and base.pk == run.pk
    compared = None if is_released else base
    beside = _FactsBesideCases(
        gates=_gates(run),
        all_must_pass=suite.run_rule == Suite.RunRule.ALL_CASES,
        allowed_worse=suite.max_regressions or 0,
        settled=() if compared is None else tuple(_findings(compared, run).items()),
        accepted=tuple(
            (row.case, Acceptance(row.reason, row.by_name, row.until)) for row in accepted
        ),
        obstacles=tuple(_obstacles(run)),
        is_released=is_released,
        beside=tuple(_notes(suite, run)),
        judges=tuple(_judges(run, least=suite.min_judge_agreement)),
    )
    return _check_cases(
        _EndedRun.of(run), None if compared is None else _EndedRun.of(compared), beside
    )


class _EndedRun(NamedTuple):
    """A run as it ended and as people reviewed it: with the same values it has the same cases."""

    pk: int
    finished_at: datetime | None
    reviewed: str

    @classmethod
    def of(cls, run: Run) -> "_EndedRun":
        return cls(run.pk, run.finished_at, json.dumps(run.reviewed, sort_keys=True))


class _FactsBesideCases(NamedTuple):
    """What a `ReleaseFacts` has beside its cases."""

    gates: tuple[GateResult, ...]
    all_must_pass: bool
    allowed_worse: int
    settled: tuple[tuple[str, Finding], ...]
    accepted: tuple[tuple[str, Acceptance], ...]
    obstacles: tuple[ReleaseReason, ...]
    is_released: bool
    beside: tuple[ReleaseReason, ...]
    judges: tuple[ComparedJudge, ...]


@lru_cache(maxsize=500)  # people look at the same runs again and again, and a run may be large
def _check_cases(run: _EndedRun, base: _EndedRun | None, beside: _FactsBesideCases) -> ReleaseCheck:
    known = beside._asdict() | {
        "settled": dict(beside.settled),
        "accepted": dict(beside.accepted),
    }
    before = {} if base is None else outcomes_of([base.pk])[base.pk]
    pairs = list(match_cases(before, _outcomes(run.pk)))
    return check_release(ReleaseFacts(pairs=pairs, has_base=base is not None, **known))


def _outcomes(pk: int) -> Mapping[str, CaseOutcome]:
    run = Run.objects.get(pk=pk)
    try:
        return outcomes_with_people(run)
    except UndecidableError:  # another version made it
        return case_outcomes(run)


def _gates(run: Run) -> tuple[GateResult, ...]:
    decided = run.reviewed.get("gates") or run.summary.get("gates", ())
    return tuple(GateResult(**gate) for gate in decided)


def _obstacles(run: Run) -> Iterator[ReleaseReason]:
    """Return why a run says too little about the version to ship, whatever its cases did."""
    if run.cancelled + run.not_run:
        ran = run.executions.exclude(verdict="").values("case").distinct().count()
        yield ReleaseReason(ReasonKind.CUT_SHORT, ran, run.case_count or ran)
    elif not run.has_all_cases and run.case_count and run.suite_case_count:
        yield ReleaseReason(ReasonKind.PART_OF_SUITE, run.case_count, run.suite_case_count)
    elif not run.is_whole and not run.grades_again:
        yield ReleaseReason(ReasonKind.OTHER_AGENT)


def _notes(suite: Suite, run: Run) -> Iterator[ReleaseReason]:
    """Return what is said beside the answer, whatever the cases did."""
    if lost := run.losses.get("checks_lost"):
        yield ReleaseReason(ReasonKind.CHECKS_LOST, lost, lost + run.losses["checks_read"])
    if suite.agent.updated_at > run.created_at:
        yield ReleaseReason(ReasonKind.AGENT_EDITED)


def accepted_failures(suite: Suite, run: Run) -> list[AcceptedFailure]:
    """Return the failures that people accepted and that still count for a run, oldest first.

    One counts no longer once its case has passed in a later whole run, was edited or removed.
    """
    today = timezone.now().date()
    rows = AcceptedFailure.objects.filter(suite=suite, withdrawn_at=None).order_by("pk")
    rows_now = {row.case: row for row in rows if not row.is_over(today)}
    if not rows_now:
        return []
    whole = Run.objects.suite_verdicts().filter(suite=suite, pk__lt=run.pk)
    results = CaseResult.objects.filter(Q(run=run) | Q(run__in=whole), name__in=rows_now)
    same, passed = set(), set()
    for pk, name, digest, verdict in results.values_list("run", "name", "digest", "verdict"):
        if pk == run.pk and digest == rows_now[name].digest:
            same.add(name)
        elif pk > rows_now[name].run_number and verdict == Verdict.PASSED:
            passed.add(name)
    return [rows_now[name] for name in rows_now if name in same - passed]


def _findings(base: Run, head: Run) -> Mapping[str, Finding]:
    """Return what retests of two runs found, the newest last; cases still open have no finding."""
    found: dict[str, Finding] = {}
    rows = Settlement.objects.filter(base=base, head=head).order_by("pk")
    for settlement in rows.exclude(status=Settlement.Status.CANCELLED):
        is_over = settlement.status == Settlement.Status.FINISHED
        found |= {
            suspect.name: suspect.finding
            for suspect in settlement.read_cases()
            if is_over or suspect.state is not SuspectState.OPEN
        }
    return found


def _judges(run: Run, *, least: float | None) -> Iterator[ComparedJudge]:
    """Return the judges that decided in a run, wherever people graded by the same criteria."""
    graded = GradeResult.objects.filter(execution__run=run, yardstick=OuterRef("pk"), weight__gt=0)
    reviewed = Review.objects.filter(IS_LABEL, yardstick=OuterRef("pk"))
    rows = Yardstick.objects.filter(Exists(reviewed), Exists(graded)).order_by("pk")
    criteria = dict(rows.values_list("digest", "criterion"))
    known = agreements(criteria)
    for digest, criterion in criteria.items():
        if digest in known:
            yield ComparedJudge(digest, cut_middle(criterion, 80), known[digest], least)
