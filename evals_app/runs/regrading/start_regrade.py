"""Regrade the stored conversations of a run: only new questions to judges cost money.

It is a run like any other: leases, ceilings, reports and the end of a run are the same. Each of its
executions refers to the one whose conversation it grades (`Execution.source`).
"""

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Coalesce
from pydantic import ValidationError

from evals_app.engine.preparing.needs import Needs
from evals_app.engine.preparing.obstacles import Obstacles
from evals_app.engine.preparing.text_comparison import TextComparison
from evals_app.engine.specs.base_spec import ModelSpec, read_model
from evals_app.engine.suites.suite_spec import AssertionSpec, SuiteSpec
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec, conversation_digest, read_case
from evals_app.models import Execution, Run, Suite, Transcript
from evals_app.reports.words.judges import judges_text
from evals_app.reports.words.regrading import left_out_in_words
from evals_app.runs.money.ceilings import is_paid, tightest_limit
from evals_app.runs.regrading.general_checks import (
    conversations_of,
    freeze_conversations,
    in_view_of,
    read_general_checks,
)
from evals_app.runs.starting.freeze import (
    AT_ONCE,
    CannotStartError,
    Frozen,
    complete_head,
    find_local_model,
    read_suite,
)
from evals_app.runs.starting.preparing import PlannedExecution
from evals_app.runs.starting.select import RunPart
from evals_app.runs.starting.site_obstacles import obstacles_now
from evals_app.runs.starting.start_run import create_run
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.ground.words import near

Version = Literal["current", "as_it_was"]

MAX_TRIALS = 100  # gradings of one conversation
MAX_NAMED = 100  # cases that are noted as left out, of each kind


@dataclass
class RegradePlan:
    """What to grade again, and by which checks and judges.

    `left_out` has the names of cases that cannot be graded: `changed` (the agent would see another
    conversation today), `gone` (the suite no longer has them), `pruned` (their transcripts were
    removed), `unanswered` (real conversations without any reply). `unused` are checks of the suite that do not apply to real conversations. `check` is one
    that is tried, in place of those of the suite.
    """

    run: Run
    version: Version
    trials: int
    judge: str
    head: SnapshotSpec
    judges: str  # see reports/words/judges.py
    suite: Suite | None = None  # whose run it is
    check: AssertionSpec | None = None
    frozen: Frozen | None = None  # None: the snapshot of the run, as it is
    left_out: dict[str, list[str]] = field(default_factory=dict)
    unanswered: set[str] = field(default_factory=set)
    unused: list[str] = field(default_factory=list)
    planned: list[PlannedExecution] = field(default_factory=list)

    @property
    def is_general(self) -> bool:
        """Whether checks grade what was said, whatever the suite has as cases."""
        is_current = self.version == "current"
        return is_current and (self.run.is_of_real_conversations or self.check is not None)

    @property
    def reuses_answers(self) -> bool:
        """Whether identical questions to judges reuse stored answers; not to measure noise."""
        return self.trials == 1

    @property
    def share(self) -> float:
        """The share of the conversations that were read for this plan."""
        return 1.0 if self.frozen is None else self.frozen.share

    def contents(self, positions: Collection[int]) -> dict[int, str]:
        """Return cases as they are graded, by their place."""
        if self.frozen is None:
            rows = self.run.snapshot.cases.filter(position__in=positions)
            return dict(rows.values_list("position", "content"))
        cases = enumerate(self.frozen)
        return {position: case.content for position, case in cases if position in positions}

    def to_json(self) -> dict[str, Any]:
        """Return how the run grades again, as its row keeps it."""
        return {
            "suite": self.version,
            "judge": self.judge,
            "trials": self.trials,
            "reuses_answers": self.reuses_answers,
            "regraded": self.run.pk if self.run.grades_again else None,
            "left_out": {
                why: {"count": len(names), "names": names[:MAX_NAMED]}
                for why, names in self.left_out.items()
            },
            "unused_checks": self.unused,
        }


class NothingToGradeError(CannotStartError):
    """None of the chosen conversations can be graded; `left_out` says which, and why."""

    def __init__(self, regrading: RegradePlan) -> None:
        reasons = left_out_in_words(regrading.to_json()["left_out"])
        run = regrading.run
        again = "" if run.is_of_real_conversations else " again"
        super().__init__(
            " ".join([f"No conversation of run {run.pk} can be graded{again}.", *reasons])
        )
        self.left_out = regrading.left_out


def regrade(
    run: Run,
    *,
    by: User | None = None,
    max_cost_usd: Decimal | None = None,
    group: UUID | None = None,
    idempotency_key: str | None = None,
    progress: Callable[[int], object] | None = None,
    **choices: Any,
) -> Run:
    """Start a run that grades conversations of another one again, as `plan_regrade` finds out.

    `progress` is called with the number of conversations that were just read or written; each is
    both.
    """
    limit: dict[str, Any] = {"max_cost_usd": max_cost_usd, "by": by.pk if by else None}
    with plan_regrade(run, progress=progress, **limit, **choices) as regrading:
        frozen = regrading.frozen
        return create_run(
            run.snapshot if frozen is None else frozen.snapshot(),
            head=regrading.head,
            plan=in_view_of(regrading.planned, progress),
            total=len(regrading.planned),
            complete=None if frozen is None else frozen.complete,
            concurrency=regrading.head.suite.concurrency,
            suite=regrading.suite,
            conversation_set=run.conversation_set,
            group=group,
            idempotency_key=idempotency_key,
            judge=regrading.judges,
            replaced_model=run.replaced_model,
            overrides=run.overrides,
            losses=run.losses,
            is_simulated=run.is_simulated,
            is_tryout=run.is_tryout or regrading.check is not None,
            created_by=by,
            max_cost_usd=max_cost_usd,
            baseline=run.baseline,
            grades_of=run.grades_of or run,
            regrading=regrading.to_json(),
        )


@contextmanager
def plan_regrade(
    run: Run,
    *,
    suite: Version = "current",
    by_suite: Suite | None = None,
    check: AssertionSpec | None = None,
    cases: Collection[str] | None = None,
    executions: Collection[int] | QuerySet[Any, int] | None = None,
    trials: int = 1,
    judge: str = "",
    max_cost_usd: Decimal | None = None,
    by: int | None = None,
    share: float = 1.0,
    progress: Callable[[int], object] | None = None,
) -> Iterator[RegradePlan]:
    """Find out what would be graded again, of a run that has ended.

    The suite's checks are those of today or those of the run, for real conversations the general
    ones of `by_suite`, or the one `check`; `judge` replaces the run's judge, but not one that a
    check names itself.
    `cases` are names, `executions` keys of the run's own. Grading each conversation in several
    `trials` shows how steady the judge is. The executions may be a `share` of those that
    are meant, which is enough for a forecast, but not for a run.

    Raises:
        CannotStartError: there is nothing to grade, or something is missing.
    """
    _refuse(run, trials=trials)
    old = _read_snapshot(run)
    chosen = _find_executions(run, cases=cases, executions=executions)
    other = _read_judge(judge)
    of_suite = by_suite or run.suite
    regrading = RegradePlan(run, suite, trials, judge, old, run.judge, of_suite, check)
    names = set() if regrading.is_general else _names_of(chosen)
    with Frozen(RunPart(names=names, with_disabled=_has_disabled(run.suite, names))) as frozen:
        needs, obstacles = Needs(), obstacles_now()
        spec = _read_checks(regrading, chosen, needs, obstacles, frozen)
        if regrading.is_general:
            rows = in_view_of(conversations_of(chosen), progress)
            regrading.unanswered = freeze_conversations(frozen, rows, spec.assertions)
        frozen.share = share
        _plan(regrading, chosen, frozen)
        if suite == "current" or other is not None:
            if other is not None:
                spec = spec.model_copy(update={"judge_model": other})
            frozen.head = regrading.head.model_copy(update={"suite": spec})
            comparison = TextComparison(obstacles, find_local_model)
            complete_head(
                of_suite, frozen, needs, comparison, paid=(), max_cost_usd=max_cost_usd, by=by
            )
            regrading.frozen, regrading.head = frozen, frozen.head
            regrading.judges = judges_text(frozen.judges)
        else:
            _refuse_at_ceiling(old, by=by)
        yield regrading


def _read_checks(
    regrading: RegradePlan,
    chosen: QuerySet[Execution],
    needs: Needs,
    obstacles: Obstacles,
    frozen: Frozen,
) -> SuiteSpec:
    """Return the suite whose checks apply; put its cases into `frozen`."""
    run = regrading.run
    if regrading.version != "current":
        _read_stored(run, regrading.head, frozen, needs)
        return regrading.head.suite
    suite = _suite_of(run, regrading.suite)
    if not regrading.is_general:
        return read_suite(suite, frozen, needs, obstacles, most_cases=None)
    general = read_general_checks(suite, needs, chosen=chosen, only=regrading.check)
    regrading.unused = general.unused
    regrading.head = regrading.head.model_copy(update=general.test_data)
    return general.suite


def _refuse(run: Run, *, trials: int) -> None:
    if run.is_open:
        raise CannotStartError(f"Run {run.pk} has not ended yet.")
    if not 1 <= trials <= MAX_TRIALS:
        problem = f"Each conversation can be graded 1 to {MAX_TRIALS} times, not {trials}."
        raise CannotStartError(problem)


def _refuse_at_ceiling(old: SnapshotSpec, *, by: int | None) -> None:
    month = tightest_limit(by)
    if month and month.is_used_up and is_paid(old.providers):
        raise CannotStartError(month.why_refused)


def _read_snapshot(run: Run) -> SnapshotSpec:
    try:
        return SnapshotSpec.read(run.snapshot.content)
    except ValidationError as exc:
        problem = f"Run {run.pk} was made by another version of Evalwell; start its suite instead."
        raise CannotStartError(problem) from exc


def _read_judge(written: str) -> ModelSpec | None:
    if not written:
        return None
    try:
        return read_model(written)
    except ValidationError as exc:
        raise CannotStartError(*messages_of(exc)) from exc


def _suite_of(run: Run, suite: Suite | None) -> Suite:
    if suite is None:
        problem = (
            f"Suite {run.suite_slug} was deleted; its conversations can only be graded by the checks"
            f" of run {run.pk}."
        )
        raise CannotStartError(problem)
    return suite


def _names_of(chosen: QuerySet[Execution]) -> set[str]:
    return set(chosen.order_by().values_list("case", flat=True).distinct())


def _has_disabled(suite: Suite | None, names: Collection[str]) -> bool:
    """Whether one of these cases is disabled by now."""
    if suite is None:
        return False
    disabled = suite.cases.filter(enabled=False).values_list("name", flat=True)
    return not set(disabled).isdisjoint(names)


def _read_stored(run: Run, old: SnapshotSpec, frozen: Frozen, needs: Needs) -> None:
    """Read the cases of the run's snapshot, and what all checks need."""
    for check in (*old.suite.assertions, old.suite.rubric_check):
        if check is not None:
            needs.add(check)
    contents = run.snapshot.cases.order_by("position").values_list("content", flat=True)
    for content in contents.iterator(AT_ONCE):
        case = read_case(content)
        for check in case.assertions():
            needs.add(check)
        frozen.add(case, trials=0)


def _find_executions(
    run: Run,
    *,
    cases: Collection[str] | None,
    executions: Collection[int] | QuerySet[Any, int] | None,
) -> QuerySet[Execution]:
    """Return the executions that were asked for and have a result."""
    ended = run.executions.filter(status=Execution.Status.FINISHED)
    if cases is not None:
        known = _names_of(ended)
        problems = [
            f"Run {run.pk} has no case {name!r} with a result.{near(name, known)}"
            for name in cases
            if name not in known
        ]
        if problems or not cases:
            raise CannotStartError(*(problems or ["Choose at least one case."]))
        ended = ended.filter(case__in=cases)
    if executions is not None:
        ended = ended.filter(pk__in=executions)
    if not ended.exists():
        raise CannotStartError(f"Run {run.pk} has no conversation that ended.")
    return ended


def _plan(regrading: RegradePlan, chosen: QuerySet[Execution], frozen: Frozen) -> None:
    """Find the place of each conversation among the cases, and what keeps others from being graded."""
    run, trials = regrading.run, regrading.trials
    may_differ = regrading.version == "current" and not regrading.is_general
    before = _conversations(run) if may_differ else {}
    places = {
        case.name: (n, conversation_digest(case.content) if may_differ else "")
        for n, case in enumerate(frozen)
    }
    stored = Transcript.objects.filter(pk=OuterRef("conversation"))
    rows = chosen.annotate(
        conversation=Coalesce(F("source"), F("pk")), number=Coalesce(F("source__trial"), F("trial"))
    ).annotate(has_transcript=Exists(stored))
    left_out: dict[str, dict[str, None]] = {}
    seen: set[int] = set()  # a run may have graded each conversation several times
    columns = ("case", "number", "conversation", "has_transcript")
    for case, trial, source, has_transcript in rows.order_by("position", "trial").values_list(
        *columns
    ):
        if source in seen:
            continue
        seen.add(source)
        place, digest = places.get(case, (None, ""))
        why = "unanswered" if case in regrading.unanswered else ""
        why = why or _why_not(
            place, digest, before.get(case, digest), has_transcript=has_transcript
        )
        if why or place is None:
            left_out.setdefault(why, {})[case] = None
            continue
        first = (trial - 1) * trials
        regrading.planned += [
            PlannedExecution(case, place, first + again, source) for again in range(1, trials + 1)
        ]
    regrading.left_out = {why: list(names) for why, names in left_out.items()}
    frozen.executions = len(regrading.planned)
    if not regrading.planned:
        raise NothingToGradeError(regrading)


def _why_not(place: int | None, now: str, then: str, *, has_transcript: bool) -> str:
    if place is None:
        return "gone"
    if now != then:
        return "changed"
    return "" if has_transcript else "pruned"


def _conversations(run: Run) -> dict[str, str]:
    """Return a digest of what the agent saw of each case, by name."""
    rows = run.snapshot.cases.values_list("content", flat=True)
    return {
        json.loads(content)["name"]: conversation_digest(content)
        for content in rows.iterator(AT_ONCE)
    }
