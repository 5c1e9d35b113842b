"""May we ship? Reads what the answer about a run, or about a suite, depends on."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    Count,
    Exists,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.utils import timezone

from evals_app.engine.record.trial import Cause, Verdict
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
    Execution,
    GradeResult,
    Run,
    Settlement,
    ShipDecision,
    Suite,
    Yardstick,
)
from evals_app.models import Case as SuiteCase
from evals_app.reports.answers.release import (
    ReasonWords,
    answer_text,
    reason_words,
    release_json,
)
from evals_app.reports.answers.run_answers import Json
from evals_app.runs.ground.remembered import Remembered
from evals_app.runs.judges.calibration import agreements, labels_of
from evals_app.runs.reading.outcomes import case_outcomes, outcomes_of, parts_that_fit
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
    def base(self) -> Run | None:
        """The run that it was compared with; None if there is none, or if it is the run itself."""
        return _comparable(self.run, self.released)

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

    Without others it is about the last full run, else the last one, against the suite's baseline.
    """
    run, released = run or _last_run(suite), released or suite.baseline
    if run is None:
        return replace(never_run(suite), released=released)
    return releases_of([Candidate(suite, run, released)])[suite.pk]


def never_run(suite: Suite) -> SuiteRelease:
    """Return the answer about a suite of which nothing has run yet."""
    return SuiteRelease(suite, None, None, check_open(ReasonKind.NEVER_RUN))


def releases_of(candidates: Sequence["Candidate"]) -> dict[int, SuiteRelease]:
    """Answer about several suites, by suite, in a number of queries that does not grow with them."""
    if not candidates:
        return {}
    accepted, since = accepted_failures(candidates), since_ended(candidates)
    checks = _checks([of for of in candidates if not of.run.is_open], accepted, since)
    running = check_open(ReasonKind.RUNNING)
    return {
        suite.pk: SuiteRelease(
            suite,
            run,
            released,
            replace(
                checks.get(suite.pk, running),
                is_scripted=run.is_scripted,
                is_simulated=run.is_simulated,
            ),
            since[run.pk].decision,
            accepted.get(suite.pk, ()),
        )
        for suite, run, released in candidates
    }


def decision_on(run: Run) -> str:
    """Return the answer about a full run, in one line; empty for other runs."""
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
        return _comparable(self.run, self.released)


def _comparable(run: Run | None, released: Run | None) -> Run | None:
    """Return the released run, unless it is the run itself or only one of both is simulated."""
    if run is None or released is None or run == released:
        return None
    return released if released.is_simulated == run.is_simulated else None


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
    not_run: int = 0

    def with_cases(self, pairs: Sequence[CasePair], **of_cases: object) -> ReleaseFacts:
        """Return the whole facts; `of_cases` are the others that depend on the cases."""
        known = self._asdict() | {"settled": dict(self.settled), "accepted": dict(self.accepted)}
        return ReleaseFacts(pairs=pairs, **known | of_cases)


class SinceEnded(NamedTuple):
    """The newest decision of people on a run, and its retests, the oldest first, but for cancelled ones.

    `added` is how many cases its suite got that the run does not have.
    """

    decision: ShipDecision | None
    retests: tuple[Settlement, ...]
    added: int = 0


_DECIDED = (
    *("id", "suite_id", "run_id", "run_number", "shipped", "reason"),
    *("answered", "by_id", "by_name", "created_at"),
)
_RETESTED = ("id", "base_id", "head_id", "status", "cases")


def since_ended(candidates: Sequence[Candidate]) -> dict[int, SinceEnded]:
    """Return what happened to runs since they ended, by run, in one query."""
    runs = Run.objects.filter(pk__in=[of.run.pk for of in candidates]).annotate(
        decision=FilteredRelation("ship_decisions"),
        retest=FilteredRelation(
            "settlements_as_head",
            condition=~Q(settlements_as_head__status=Settlement.Status.CANCELLED),
        ),
        added=_cases_added(),
    )
    columns = [f"decision__{name}" for name in _DECIDED] + [f"retest__{name}" for name in _RETESTED]
    decisions: dict[int, ShipDecision] = {}
    retests: dict[int, dict[int, Settlement]] = {of.run.pk: {} for of in candidates}
    added: dict[int, int] = {}
    rows = runs.order_by("decision__pk", "retest__pk").values_list("pk", "added", *columns)
    for pk, count, *values in rows:
        added[pk] = count or 0
        decided, retested = values[: len(_DECIDED)], values[len(_DECIDED) :]
        if decided[0] is not None:
            decisions[pk] = ShipDecision(**dict(zip(_DECIDED, decided, strict=True)))
        if retested[0] is not None:
            row = Settlement(**dict(zip(_RETESTED, retested, strict=True)))
            retests[pk].setdefault(row.pk, row)
    return {
        pk: SinceEnded(decisions.get(pk), tuple(of.values()), added.get(pk, 0))
        for pk, of in retests.items()
    }


def _cases_added() -> Subquery:
    """Count the cases that the suite of a run got since, and that the run does not have by name."""
    same = CaseResult.objects.filter(run=OuterRef(OuterRef("pk")), name=OuterRef("name"))
    suite, began = OuterRef("suite"), OuterRef("created_at")
    cases = SuiteCase.objects.filter(suite=suite, enabled=True, created_at__gt=began)
    counted = cases.exclude(Exists(same)).order_by().values("suite").annotate(count=Count("pk"))
    return Subquery(counted.values("count"))


def facts_beside_cases(
    candidates: Sequence[Candidate],
    accepted: Mapping[int, Sequence[AcceptedFailure]],
    since: Mapping[int, SinceEnded],
) -> dict[int, FactsBesideCases]:
    """Return what is known beside the cases, by suite, without judges and what a whole suite asks.

    `accepted` has the failures that people accepted, by suite.
    """
    ran = _cases_run([of.run for of in candidates])
    return {
        of.suite.pk: FactsBesideCases(
            all_must_pass=of.suite.run_rule == Suite.RunRule.ALL_CASES,
            settled=tuple(_findings(since[of.run.pk].retests, base=of.base).items()),
            accepted=tuple(
                (row.case, Acceptance(row.reason, row.by_name, row.until))
                for row in accepted.get(of.suite.pk, ())
            ),
            obstacles=tuple(_obstacles(of.run, ran=ran.get(of.run.pk, 0))),
            is_released=of.released is not None and of.released.pk == of.run.pk,
            beside=tuple(_notes(of.suite, of.run)),
            not_run=since[of.run.pk].added,
        )
        for of in candidates
    }


class _Asked(NamedTuple):
    """What the answer about a suite depends on."""

    run: EndedRun
    base: EndedRun | None
    beside: FactsBesideCases


# People look at the same runs again and again, and a run may be large.
_known_checks: Remembered[_Asked, ReleaseCheck] = Remembered(500)


def _checks(
    candidates: Sequence[Candidate],
    accepted: Mapping[int, Sequence[AcceptedFailure]],
    since: Mapping[int, SinceEnded],
) -> dict[int, ReleaseCheck]:
    """Return the answers about runs that have ended, by suite."""
    beside, judges = facts_beside_cases(candidates, accepted, since), _judges(candidates)
    asked: dict[_Asked, Candidate] = {}
    for of in candidates:
        facts = beside[of.suite.pk]._replace(
            gates=_gates(of.run),
            allowed_worse=of.suite.max_regressions or 0,
            judges=tuple(judges.get(of.suite.pk, ())),
        )
        base = None if of.base is None else EndedRun.of(of.base)
        asked[_Asked(EndedRun.of(of.run), base, facts)] = of
    known = _known_checks.of(asked)
    sizes = {key: of.run.case_count or 0 for key, of in asked.items() if key not in known}
    for part in parts_that_fit(sizes):
        read = dict(_check_cases([(key, asked[key]) for key in part]))
        _known_checks.keep(read)
        known |= read
    return {of.suite.pk: known[key] for key, of in asked.items()}


def _check_cases(
    asked: Sequence[tuple[_Asked, Candidate]],
) -> Iterator[tuple[_Asked, ReleaseCheck]]:
    bases = [of.base.pk for _, of in asked if of.base is not None]
    plain = [of.run.pk for _, of in asked if not of.run.reviewed]
    outcomes = outcomes_of([*bases, *plain])
    heads = {
        of.run.pk: decided_outcomes(of.run.pk) if of.run.reviewed else outcomes[of.run.pk]
        for _, of in asked
    }
    judge_failed = _failed_judges(
        pk for pk, head in heads.items() if any(case.is_open for case in head.values())
    )
    for key, of in asked:
        before = {} if of.base is None else outcomes[of.base.pk]
        facts = key.beside.with_cases(
            list(match_cases(before, heads[of.run.pk])),
            has_base=of.base is not None,
            judge_failed=of.run.pk in judge_failed,
        )
        yield key, check_release(facts)


def _failed_judges(runs: Iterable[int]) -> set[int]:
    """Return those of these runs in which a judge could not grade a conversation."""
    if not (wanted := list(runs)):
        return set()
    rows = Execution.objects.filter(run__in=wanted, verdict=Verdict.ERRORED, cause=Cause.JUDGE)
    return set(rows.order_by().values_list("run", flat=True).distinct())


def decided_outcomes(pk: int) -> Mapping[str, CaseOutcome]:
    """Return the outcomes of a run that has ended, as people decided them."""
    run = Run.objects.get(pk=pk)
    try:
        return outcomes_with_people(run)
    except UndecidableError:  # another version made it
        return case_outcomes(run)


def _gates(run: Run) -> tuple[GateResult, ...]:
    # Lists leave out summaries, which may be large, but for some of their values.
    known: Any = vars(run)
    recorded = known["gates"] if "gates" in known else run.summary.get("gates")
    return tuple(GateResult(**gate) for gate in run.reviewed.get("gates") or recorded or ())


_known_cases_run: Remembered[EndedRun, int] = Remembered(1000)


def _cases_run(runs: Sequence[Run]) -> dict[int, int]:
    """Count by run the cases with a verdict, of those that were stopped before their end."""
    stopped = {EndedRun.of(run): run.pk for run in runs if _is_cut_short(run)}
    known = _known_cases_run.of(stopped)
    if new := {key: pk for key, pk in stopped.items() if key not in known}:
        rows = Execution.objects.filter(run__in=new.values()).exclude(verdict="").order_by()
        cases = rows.values_list("run").annotate(cases=Count("case", distinct=True))
        counts = dict.fromkeys(new.values(), 0) | dict(cases)
        read = {key: counts[pk] for key, pk in new.items()}
        _known_cases_run.keep(read)
        known |= read
    return {pk: known[key] for key, pk in stopped.items()}


def _is_cut_short(run: Run) -> bool:
    return bool(run.cancelled + run.not_run)


def _obstacles(run: Run, *, ran: int) -> Iterator[ReleaseReason]:
    """Return why a run says too little about the version to ship, whatever its cases did."""
    if _is_cut_short(run):
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

    One counts from the run after which it was accepted, until its case has passed in a later whole
    run, was edited or removed.
    """
    today, runs = timezone.now().date(), {suite.pk: run.pk for suite, run, _ in candidates}
    if not runs:
        return {}
    rows = AcceptedFailure.objects.filter(suite__in=runs, withdrawn_at=None).order_by("pk")
    rows_now = {
        (row.suite_id, row.case): row
        for row in _with_results(rows, runs)
        if not row.is_over(today) and row.run_number <= runs[row.suite_id]
    }
    counting: dict[int, list[AcceptedFailure]] = {}
    for row in rows_now.values():
        if row.is_same and not row.has_passed:
            counting.setdefault(row.suite_id, []).append(row)
    return counting


def _with_results(rows: QuerySet[AcceptedFailure], runs: Mapping[int, int]) -> QuerySet[Any]:
    """Note whether a run, by suite, has the case with the same content, and whether it passed before."""
    tested = Case(*(When(suite=suite, then=pk) for suite, pk in runs.items()))
    results = CaseResult.objects.filter(name=OuterRef("case"))
    whole = Run.objects.suite_verdicts().filter(
        suite=OuterRef(OuterRef("suite")), pk__gt=OuterRef(OuterRef("run_number"))
    )
    before = results.filter(run__in=whole.values("pk"), run__lt=OuterRef("tested"))
    return rows.annotate(tested=tested).annotate(
        is_same=Exists(results.filter(run=OuterRef("tested"), digest=OuterRef("digest"))),
        has_passed=Exists(before.filter(verdict=Verdict.PASSED)),
    )


def _findings(retests: Sequence[Settlement], *, base: Run | None) -> dict[str, Finding]:
    """Return what retests against a run found, the newest last; cases still open have no finding."""
    found: dict[str, Finding] = {}
    for retest in retests:
        if base is None or retest.base_id != base.pk:
            continue
        is_over = retest.status == Settlement.Status.FINISHED
        found |= {
            suspect.name: suspect.finding
            for suspect in retest.read_cases()
            if is_over or suspect.state is not SuspectState.OPEN
        }
    return found


# The keys of criteria that decided in a run.
_known_judged: Remembered[EndedRun, frozenset[int]] = Remembered(1000)


def _judges(candidates: Sequence[Candidate]) -> dict[int, list[ComparedJudge]]:
    """Return by suite the judges that decided in its run, wherever people graded by the same criteria."""
    judged = _judged_in([of.run for of in candidates])
    wanted = {key for keys in judged.values() for key in keys}
    labels = labels_of(Yardstick.objects.filter(pk__in=wanted)) if wanted else {}
    known = agreements(labels.values())
    return {
        suite.pk: [
            compared_judge(
                row.digest, row.criterion, known[row.digest], least=suite.min_judge_agreement
            )
            for key, row in labels.items()
            if key in judged[run.pk] and row.digest in known
        ]
        for suite, run, _ in candidates
    }


def _judged_in(runs: Sequence[Run]) -> dict[int, frozenset[int]]:
    """Return by run which criteria decided in it."""
    keys = {EndedRun.of(run): run.pk for run in runs}
    known = _known_judged.of(keys)
    if new := {key: pk for key, pk in keys.items() if key not in known}:
        decided = GradeResult.objects.filter(
            execution__run__in=new.values(), yardstick__isnull=False, weight__gt=0
        ).order_by()
        by_run: dict[int, set[int]] = {pk: set() for pk in new.values()}
        for pk, yardstick in decided.values_list("execution__run", "yardstick").distinct():
            by_run[pk].add(yardstick)
        read = {key: frozenset(by_run[pk]) for key, pk in new.items()}
        _known_judged.keep(read)
        known |= read
    return {pk: known[key] for key, pk in keys.items()}


def compared_judge(
    digest: str, criterion: str, agreement: Agreement, *, least: float | None
) -> ComparedJudge:
    """Return the judge of a criterion; `least` is the agreement that its suite asks for."""
    return ComparedJudge(digest, cut_middle(criterion, 80), agreement, least)
