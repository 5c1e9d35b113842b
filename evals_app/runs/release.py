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
from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.statistics.comparison import CaseOutcome, CasePair, match_cases
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
        return SuiteRelease(suite, run, released, check_open(ReasonKind.NEVER_RUN))
    candidate = Candidate(suite, run, released)
    accepted = accepted_failures([candidate])
    check = _check(candidate, accepted)
    decision = ShipDecision.objects.filter(run=run).order_by("-pk").first()
    scripted = replace(check, is_scripted=run.is_scripted)
    return SuiteRelease(suite, run, released, scripted, decision, accepted.get(suite.pk, ()))


def decision_on(run: Run) -> str:
    """Return the answer about a whole run, in one line; empty for other runs."""
    return release_of(run.suite, run=run).sentence if run.is_whole and run.suite else ""


def _last_run(suite: Suite) -> Run | None:
    whole = Run.objects.suite_verdicts().filter(suite=suite).order_by("-pk").first()
    return whole or telling_runs().filter(suite=suite).order_by("-pk").first()


def check_open(why: ReasonKind) -> ReleaseCheck:
    """Return the answer where there is no result yet."""
    obstacles = [ReleaseReason(why)]
    return check_release(ReleaseFacts(pairs=(), has_base=False, obstacles=obstacles))


class Candidate(NamedTuple):
    """A run whose version may be shipped, its suite, and the run of the released version."""

    suite: Suite
    run: Run
    released: Run | None

    @property
    def base(self) -> Run | None:
        """The run to compare with; None if there is none, or if it is the run itself."""
        is_released = self.released is not None and self.released.pk == self.run.pk
        return None if is_released else self.released


def _check(candidate: Candidate, accepted: Mapping[int, Sequence[AcceptedFailure]]) -> ReleaseCheck:
    suite, run, _ = candidate
    if run.is_open:
        return check_open(ReasonKind.RUNNING)
    beside = facts_beside_cases([candidate], accepted)[suite.pk]._replace(
        gates=_gates(run),
        allowed_worse=suite.max_regressions or 0,
        judges=tuple(_judges(run, least=suite.min_judge_agreement)),
    )
    base = None if candidate.base is None else EndedRun.of(candidate.base)
    return _check_cases(EndedRun.of(run), base, beside)


class EndedRun(NamedTuple):
    """A run as it ended and as people reviewed it: with the same values it has the same cases."""

    pk: int
    finished_at: datetime | None
    reviewed: str

    @classmethod
    def of(cls, run: Run) -> "EndedRun":
        return cls(run.pk, run.finished_at, json.dumps(run.reviewed, sort_keys=True))


class FactsBesideCases(NamedTuple):
    """What a `ReleaseFacts` has beside its cases."""

    all_must_pass: bool
    settled: tuple[tuple[str, Finding], ...]
    accepted: tuple[tuple[str, Acceptance], ...]
    obstacles: tuple[ReleaseReason, ...]
    is_released: bool
    beside: tuple[ReleaseReason, ...]
    gates: tuple[GateResult, ...] = ()
    allowed_worse: int = 0
    judges: tuple[ComparedJudge, ...] = ()

    def with_cases(
        self, pairs: Sequence[CasePair], *, has_base: bool, not_run: int = 0
    ) -> ReleaseFacts:
        """Return the whole facts."""
        known = self._asdict() | {"settled": dict(self.settled), "accepted": dict(self.accepted)}
        return ReleaseFacts(pairs=pairs, has_base=has_base, not_run=not_run, **known)


def facts_beside_cases(
    candidates: Sequence[Candidate], accepted: Mapping[int, Sequence[AcceptedFailure]]
) -> dict[int, FactsBesideCases]:
    """Return what is known beside the cases, by suite, without judges and what a whole suite asks.

    `accepted` has the failures that people accepted, by suite.
    """
    found = _findings(candidates)
    return {
        suite.pk: FactsBesideCases(
            all_must_pass=suite.run_rule == Suite.RunRule.ALL_CASES,
            settled=tuple(found.get(suite.pk, {}).items()),
            accepted=tuple(
                (row.case, Acceptance(row.reason, row.by_name, row.until))
                for row in accepted.get(suite.pk, ())
            ),
            obstacles=tuple(_obstacles(run)),
            is_released=released is not None and released.pk == run.pk,
            beside=tuple(_notes(suite, run)),
        )
        for suite, run, released in candidates
    }


@lru_cache(maxsize=500)  # people look at the same runs again and again, and a run may be large
def _check_cases(run: EndedRun, base: EndedRun | None, beside: FactsBesideCases) -> ReleaseCheck:
    before = {} if base is None else outcomes_of([base.pk])[base.pk]
    pairs = list(match_cases(before, decided_outcomes(run.pk)))
    return check_release(beside.with_cases(pairs, has_base=base is not None))


def decided_outcomes(pk: int) -> Mapping[str, CaseOutcome]:
    """Return the outcomes of a run that has ended, as people decided them."""
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


def accepted_failures(candidates: Sequence[Candidate]) -> dict[int, list[AcceptedFailure]]:
    """Return the failures that people accepted and that still count, by suite, oldest first.

    One counts no longer once its case has passed in a later whole run, was edited or removed.
    """
    today, runs = timezone.now().date(), {suite.pk: run.pk for suite, run, _ in candidates}
    rows = AcceptedFailure.objects.filter(suite__in=runs, withdrawn_at=None).order_by("pk")
    rows_now = {(row.suite_id, row.case): row for row in rows if not row.is_over(today)}
    if not rows_now:
        return {}
    suites = {suite for suite, _ in rows_now}
    whole = Run.objects.suite_verdicts().filter(suite__in=suites)
    of_runs = Q(run__in=[runs[suite] for suite in suites]) | Q(run__in=whole)
    results = CaseResult.objects.filter(of_runs, name__in={case for _, case in rows_now})
    same, passed = set(), set()
    columns = ("run__suite", "run", "name", "digest", "verdict")
    for suite, pk, name, digest, verdict in results.values_list(*columns):
        row = rows_now.get((suite, name))
        if row is None:
            continue
        if pk == runs[suite] and digest == row.digest:
            same.add((suite, name))
        elif row.run_number < pk < runs[suite] and verdict == Verdict.PASSED:
            passed.add((suite, name))
    counting: dict[int, list[AcceptedFailure]] = {}
    for key, row in rows_now.items():
        if key in same - passed:
            counting.setdefault(row.suite_id, []).append(row)
    return counting


def _findings(candidates: Sequence[Candidate]) -> dict[int, dict[str, Finding]]:
    """Return by suite what retests found, the newest last; cases still open have no finding."""
    suites = {(base.pk, of.run.pk): of.suite.pk for of in candidates if (base := of.base)}
    if not suites:
        return {}
    bases, heads = zip(*suites, strict=True)
    found: dict[int, dict[str, Finding]] = {}
    rows = Settlement.objects.filter(base__in=bases, head__in=heads).order_by("pk")
    for settlement in rows.exclude(status=Settlement.Status.CANCELLED):
        suite = suites.get((settlement.base_id, settlement.head_id))
        if suite is None:
            continue
        is_over = settlement.status == Settlement.Status.FINISHED
        found.setdefault(suite, {}).update(
            (suspect.name, suspect.finding)
            for suspect in settlement.read_cases()
            if is_over or suspect.state is not SuspectState.OPEN
        )
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
            yield compared_judge(digest, criterion, known[digest], least=least)


def compared_judge(
    digest: str, criterion: str, agreement: Agreement, *, least: float | None
) -> ComparedJudge:
    """Return the judge of a criterion; `least` is the agreement that its suite asks for."""
    return ComparedJudge(digest, cut_middle(criterion, 80), agreement, least)
