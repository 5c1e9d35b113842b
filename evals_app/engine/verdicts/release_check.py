"""May we ship? The answer about a run of a suite, with its reasons: decided here and nowhere else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Literal, NamedTuple

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.statistics.comparison import (
    BY_CHANCE_UNSEEN,
    CaseOutcome,
    CasePair,
    ChangeKind,
)
from evals_app.engine.statistics.rates import fisher_exact
from evals_app.engine.statistics.retest import Finding
from evals_app.engine.statistics.trust import Standing, standing_of
from evals_app.engine.verdicts.gates import GateResult

MAX_NAMED = 20  # cases of a reason
MAX_MARKED = 1000  # cases that the answer says the same about

ReleaseAnswer = Literal["yes", "no", "not_yet"]


class ReasonKind(StrEnum):
    """Why the answer is what it is, the gravest first."""

    # No
    REALLY_WORSE = "really_worse"  # a retest found it
    COLLAPSED = "collapsed"  # worse by more than chance explains, so no retest is needed
    GATE_MISSED = "gate_missed"
    CASES_FAILED = "cases_failed"  # where all cases must pass
    NONE_PASSED = "none_passed"
    # Not yet
    NEVER_RUN = "never_run"
    RUNNING = "running"
    NO_RESULTS = "no_results"  # of its cases, as in runs that another version made
    CUT_SHORT = "cut_short"  # it did not run all of its cases
    PART_OF_SUITE = "part_of_suite"  # it was started with some of them
    OTHER_AGENT = "other_agent"  # it tested another agent or model than the suite's
    JUDGE_NOT_TRUSTED = "judge_not_trusted"
    NOT_GRADED = "not_graded"
    WORSE = "worse"
    CHECK_WORSE = "check_worse"
    NOT_RUN = "not_run"  # cases of the suite, or of a topic, that the run does not have
    GATE_UNDECIDED = "gate_undecided"
    ONLY_MEASURED = "only_measured"
    # Yes
    ACCEPTED = "accepted"  # cases that fail, which a person accepted
    NONE_REALLY_WORSE = "none_really_worse"
    NONE_WORSE = "none_worse"
    RELEASED = "released"  # it is the released version
    FIRST_RUN = "first_run"
    NONE_COMPARED = "none_compared"
    # Beside the answer
    CHECKS_LOST = "checks_lost"  # when the suite was imported
    AGENT_EDITED = "agent_edited"  # after the run
    LESS_OFTEN = "less_often"
    UNSTEADY = "unsteady"
    FAIL_AS_BEFORE = "fail_as_before"
    NEW = "new"
    REMOVED = "removed"
    EDITED = "edited"
    RENAMED = "renamed"


_KINDS = list(ReasonKind)
NO_KINDS = frozenset(_KINDS[: _KINDS.index(ReasonKind.NEVER_RUN)])
# Reasons about cases that a person may accept.
CAN_ACCEPT = frozenset(
    {
        *(ReasonKind.REALLY_WORSE, ReasonKind.COLLAPSED, ReasonKind.CASES_FAILED),
        *(ReasonKind.WORSE, ReasonKind.CHECK_WORSE),
    }
)
# Both versions are known to differ, only not how certainly: a pipeline stops.
_STOP = frozenset({ReasonKind.WORSE, ReasonKind.CHECK_WORSE})


class Acceptance(NamedTuple):
    """Why a person accepted that a case fails: their reason, their name, and until when.

    Without a day, it counts until the case passes again.
    """

    reason: str
    by: str
    until: date | None = None


@dataclass(frozen=True, slots=True)
class ReleaseReason:
    """A reason with what it is about: `count` cases, the first of them in `cases`.

    `total` is of how many; `gate` is set for reasons about gates, `accepted` for accepted cases: one
    for each in `cases`. A reason about judges has the one that agrees with people least, and counts
    the answers. `is_of_judge`: a judge could not grade, so that grading again may help.
    """

    kind: ReasonKind
    count: int = 0
    total: int = 0
    cases: tuple[CasePair, ...] = ()
    gate: GateResult | None = None
    judge: "ComparedJudge | None" = None
    accepted: tuple[Acceptance, ...] = ()
    is_of_judge: bool = False


class ComparedJudge(NamedTuple):
    """A criterion whose judge decided in the run, and how that judge agrees with people."""

    digest: str
    criterion: str
    agreement: Agreement
    least: float | None = None  # that the suite asks for

    @property
    def standing(self) -> Standing:
        return standing_of(self.agreement, least=self.least)


@dataclass(frozen=True, slots=True)
class ReleaseCheck:
    """The answer, the reasons for it, the gravest first, and what is said beside it.

    `changes` has what happened to single cases, by their names.
    """

    answer: ReleaseAnswer
    reasons: tuple[ReleaseReason, ...]
    notes: tuple[ReleaseReason, ...] = ()
    better: int = 0  # cases
    is_scripted: bool = False  # the agent, or the judge, is a script
    is_simulated: bool = False  # a model played the user
    changes: Mapping[str, StrEnum] = field(default_factory=dict, compare=False, repr=False)

    @property
    def exit_code(self) -> int:
        """0: yes; 1: no, or something got worse; 3: undecided."""
        if self.answer == "yes":
            return 0
        return 1 if self.answer == "no" or self.reasons[0].kind in _STOP else 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """What is known about a run, and its comparison with the released version.

    `pairs` has all cases of both runs; without a released version only those of the run. `settled`
    has what a retest found, by the name of the case; so has `accepted` the failures that a person
    accepted. `obstacles`, and notes `beside` the answer, are known without looking at cases: the run
    is of a part of the suite, of another agent, and so on. `judges` are those that decided in the run,
    if people graded the same criteria. `not_run` counts cases that the answer is about and that the run
    does not have. `judge_failed`: it could not grade some conversations of the run.
    """

    pairs: Sequence[CasePair]
    has_base: bool
    gates: Sequence[GateResult] = ()
    all_must_pass: bool = True
    allowed_worse: int = 0
    settled: Mapping[str, Finding] = field(default_factory=dict)
    accepted: Mapping[str, Acceptance] = field(default_factory=dict)
    obstacles: Sequence[ReleaseReason] = ()
    beside: Sequence[ReleaseReason] = ()
    is_released: bool = False
    judges: Sequence[ComparedJudge] = ()
    not_run: int = 0
    judge_failed: bool = False


def check_release(facts: ReleaseFacts) -> ReleaseCheck:
    """Answer whether the version that a run tested may be shipped."""
    if any(reason.kind in _NO_RESULT for reason in facts.obstacles):
        return ReleaseCheck("not_yet", tuple(facts.obstacles))
    if facts.is_released and not facts.not_run:
        return ReleaseCheck("yes", (_as_released(facts),), tuple(facts.beside))
    found = _sort_cases(facts)
    reasons = sorted(_reasons(facts, found), key=lambda reason: _KINDS.index(reason.kind))
    allowed = (ReasonKind.WORSE,) if _is_within_allowance(facts, found) else ()
    accepted = tuple(_accepted_failures(facts, found))
    notes = (*facts.beside, *_reasons_about(found, (*allowed, *_NOTES)))
    better = len(found.get(ChangeKind.BETTER, ()))
    kinds = {reason.kind for reason in reasons}
    changes = _changes(found)
    if kinds:
        answer: ReleaseAnswer = "no" if kinds & NO_KINDS else "not_yet"
        beside = (*accepted, *notes)
        return ReleaseCheck(answer, tuple(reasons), beside, better, changes=changes)
    why = (*accepted, _why_yes(facts, found))
    return ReleaseCheck("yes", why, notes, better, changes=changes)


_NO_RESULT = {ReasonKind.NEVER_RUN, ReasonKind.RUNNING}
_Groups = dict[StrEnum, list[CasePair]]  # cases by reason, or by change
_NOTES = (
    *(ReasonKind.LESS_OFTEN, ReasonKind.UNSTEADY, ReasonKind.FAIL_AS_BEFORE),
    *(ReasonKind.NEW, ReasonKind.REMOVED, ReasonKind.EDITED, ReasonKind.RENAMED),
)


# What a case is since the released version, the gravest first.
_CHANGES = (
    *(ReasonKind.REALLY_WORSE, ReasonKind.COLLAPSED, ReasonKind.WORSE, ReasonKind.CHECK_WORSE),
    *(ReasonKind.NONE_REALLY_WORSE, ReasonKind.ACCEPTED, ReasonKind.UNSTEADY),
    *(ReasonKind.FAIL_AS_BEFORE, ReasonKind.LESS_OFTEN, ReasonKind.NEW, ReasonKind.EDITED),
    ChangeKind.BETTER,
)


def _changes(found: _Groups) -> dict[str, StrEnum]:
    """Return what the cases are since the released version, by their names."""
    return {
        pair.name: kind for kind in reversed(_CHANGES) for pair in found.get(kind, ())[:MAX_MARKED]
    }


def _sort_cases(facts: ReleaseFacts) -> _Groups:
    """Return the cases by what speaks for or against shipping them."""
    groups: _Groups = {}
    for pair in facts.pairs:
        for kind in _kinds_of(pair, facts):
            groups.setdefault(kind, []).append(pair)
    return groups


def _kinds_of(pair: CasePair, facts: ReleaseFacts) -> Iterator[StrEnum]:
    """Return the reasons and notes that a case gives; none for one that passed as before."""
    head = pair.head
    if not facts.has_base:
        if head is not None and head.verdict is Verdict.FAILED:
            yield _unless_accepted(pair, facts, ReasonKind.CASES_FAILED)
        return
    change = pair.change
    if change in _WHAT_CHANGED:
        yield _WHAT_CHANGED[change]
    if pair.base is not None and head is not None and pair.base.name != head.name:
        yield ReasonKind.RENAMED
    if change.is_worse:
        yield _unless_accepted(pair, facts, _how_worse(pair, facts))
    elif head is not None and head.verdict is Verdict.FAILED:
        yield _unless_accepted(pair, facts, _FAILING.get(change, ReasonKind.FAIL_AS_BEFORE))
    elif change is ChangeKind.FEWER:
        yield ReasonKind.LESS_OFTEN
    elif change is ChangeKind.BETTER:
        yield ChangeKind.BETTER


_WHAT_CHANGED = {
    ChangeKind.NEW: ReasonKind.NEW,
    ChangeKind.MISSING: ReasonKind.REMOVED,
    ChangeKind.CHANGED: ReasonKind.EDITED,
}
# What a case that fails says if it did not get worse.
_FAILING = {
    ChangeKind.NEW: ReasonKind.CASES_FAILED,
    ChangeKind.CHANGED: ReasonKind.CASES_FAILED,
    ChangeKind.UNDECIDED: ReasonKind.CASES_FAILED,
    ChangeKind.FLAKY: ReasonKind.UNSTEADY,
}


def _unless_accepted(pair: CasePair, facts: ReleaseFacts, kind: ReasonKind) -> ReasonKind:
    return ReasonKind.ACCEPTED if pair.name in facts.accepted else kind


def _how_worse(pair: CasePair, facts: ReleaseFacts) -> ReasonKind:
    """Return how certain it is that a case got worse; `pair` is in both runs."""
    finding = facts.settled.get(pair.name)
    if finding is not None:
        is_real = finding is Finding.REALLY_WORSE
        return ReasonKind.REALLY_WORSE if is_real else ReasonKind.NONE_REALLY_WORSE
    if pair.change is ChangeKind.CHECK_WORSE:
        return ReasonKind.CHECK_WORSE
    return ReasonKind.COLLAPSED if _has_collapsed(pair.base, pair.head) else ReasonKind.WORSE


def _has_collapsed(base: CaseOutcome | None, head: CaseOutcome | None) -> bool:
    """Whether fresh trials could not change the answer, because this many fail."""
    if base is None or head is None:
        return False
    chance = fisher_exact(head.passed, head.graded_count, base.passed, base.graded_count)
    return chance <= BY_CHANCE_UNSEEN


def _reasons(facts: ReleaseFacts, found: _Groups) -> Iterator[ReleaseReason]:
    """Return all reasons not to ship."""
    yield from facts.obstacles
    heads = [pair.head for pair in facts.pairs if pair.head is not None]
    if facts.not_run:
        yield ReleaseReason(ReasonKind.NOT_RUN, facts.not_run, len(heads) + facts.not_run)
    if facts.is_released:  # it is not worse than itself
        return
    yield from _reasons_about(found, (ReasonKind.REALLY_WORSE, ReasonKind.COLLAPSED))
    if not _is_within_allowance(facts, found):
        yield from _reasons_about(found, (ReasonKind.WORSE,))
    yield from _reasons_about(found, (ReasonKind.CHECK_WORSE,))
    if facts.all_must_pass:
        for reason in _reasons_about(found, (ReasonKind.CASES_FAILED,)):
            yield ReleaseReason(reason.kind, reason.count, _decided(facts), reason.cases)
    yield from _reasons_of_gates(facts.gates)
    yield from _reasons_of_results(heads, facts)
    doubted = [judge for judge in facts.judges if judge.standing.is_distrusted]
    if doubted:
        worst = min(doubted, key=lambda judge: judge.agreement.same_verdict.share or 0)
        same = worst.agreement.same_verdict
        yield ReleaseReason(ReasonKind.JUDGE_NOT_TRUSTED, same.count, same.total, judge=worst)


def _reasons_of_results(
    heads: Sequence[CaseOutcome], facts: ReleaseFacts
) -> Iterator[ReleaseReason]:
    """Return what is missing in the results of the run."""
    open_cases = sum(head.is_open for head in heads)
    if open_cases:
        kind, is_of_judge = ReasonKind.NOT_GRADED, facts.judge_failed
        yield ReleaseReason(kind, open_cases, len(heads), is_of_judge=is_of_judge)
    elif not heads:
        if not facts.not_run:
            yield ReleaseReason(ReasonKind.NO_RESULTS)
    elif all(head.verdict is Verdict.MEASURED for head in heads) and not facts.gates:
        yield ReleaseReason(ReasonKind.ONLY_MEASURED, len(heads), len(heads))
    elif not any(head.passed or head.verdict is Verdict.MEASURED for head in heads):
        yield ReleaseReason(ReasonKind.NONE_PASSED, len(heads), len(heads))


def _reasons_of_gates(gates: Sequence[GateResult]) -> Iterator[ReleaseReason]:
    """Return the gates that are not met; cases that got worse are reasons of their own."""
    for gate in gates:
        if gate.name == "max_regressions" or gate.passed or not gate.is_applied:
            continue
        kind = ReasonKind.GATE_UNDECIDED if gate.passed is None else ReasonKind.GATE_MISSED
        yield ReleaseReason(kind, gate=gate)


def _accepted_failures(facts: ReleaseFacts, found: _Groups) -> Iterator[ReleaseReason]:
    for reason in _reasons_about(found, (ReasonKind.ACCEPTED,)):
        known = tuple(facts.accepted[pair.name] for pair in reason.cases)
        yield replace(reason, accepted=known)


def _why_yes(facts: ReleaseFacts, found: _Groups) -> ReleaseReason:
    """Return what speaks for shipping, accepted failures aside."""
    if reason := next(_reasons_about(found, (ReasonKind.NONE_REALLY_WORSE,)), None):
        return reason
    left_out = {*_WHAT_CHANGED, ChangeKind.UNDECIDED}
    compared = sum(pair.change not in left_out for pair in facts.pairs)
    if others := compared - sum(
        pair.change.is_worse for pair in found.get(ReasonKind.ACCEPTED, ())
    ):
        return ReleaseReason(ReasonKind.NONE_WORSE, others)
    heads = [pair.head for pair in facts.pairs if pair.head is not None]
    passed = sum(head.verdict is Verdict.PASSED for head in heads)
    kind = ReasonKind.NONE_COMPARED if facts.has_base else ReasonKind.FIRST_RUN
    return ReleaseReason(kind, passed, sum(head.is_decided for head in heads))


def _as_released(facts: ReleaseFacts) -> ReleaseReason:
    """Return that it is the released version, with its cases that fail."""
    failed = [pair for pair in facts.pairs if pair.head and pair.head.verdict is Verdict.FAILED]
    shown = tuple(failed[:MAX_NAMED])
    return ReleaseReason(ReasonKind.RELEASED, len(failed), _decided(facts), shown)


def _decided(facts: ReleaseFacts) -> int:
    return sum(pair.head is not None and pair.head.is_decided for pair in facts.pairs)


def _reasons_about(found: _Groups, kinds: Sequence[ReasonKind]) -> Iterator[ReleaseReason]:
    for kind in kinds:
        if pairs := found.get(kind):
            yield ReleaseReason(kind, len(pairs), cases=tuple(pairs[:MAX_NAMED]))


def _is_within_allowance(facts: ReleaseFacts, found: _Groups) -> bool:
    """Whether no more cases got worse than the suite allows; they are noted beside the answer."""
    return len(found.get(ReasonKind.WORSE, ())) <= facts.allowed_worse
