"""Reads what is sent of a decision: the answer, what it rests on, and both replies of worse cases."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.utils import timezone

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import CaseOutcome, CasePair
from evals_app.engine.verdicts.release_check import MAX_NAMED, ReasonKind, ReleaseCheck
from evals_app.models import Execution, Run, Settlement, Snapshot
from evals_app.reports.answers.comparison import FIRST_NUMBERS
from evals_app.reports.answers.release import accepted_failure_json, ship_decision_json
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.renderers.sent_decision import (
    SentCase,
    SentCases,
    SentChanges,
    SentDecision,
    SentRun,
    SentSide,
)
from evals_app.reports.words.coverage import marks_of
from evals_app.runs.reading.compared_runs import CannotCompareError, Comparison, compare_runs
from evals_app.runs.reading.outcomes import differing_trials
from evals_app.runs.reading.run_readers import settlement_details, whole_executions
from evals_app.runs.release import SuiteRelease, decided_outcomes, release_of

MAX_WITH_REPLIES = 20  # cases

# About cases whose replies are worth reading, the gravest first.
_ABOUT_CASES = (
    *(ReasonKind.REALLY_WORSE, ReasonKind.COLLAPSED, ReasonKind.CASES_FAILED),
    *(ReasonKind.WORSE, ReasonKind.CHECK_WORSE, ReasonKind.ACCEPTED, ReasonKind.NONE_REALLY_WORSE),
)

# Returns the address of the page of a `run` or an `execution`.
Link = Callable[[str, int], str]


class CannotSendError(CannotError):
    """Nothing can be decided about a run, or another report of it cannot be made."""


class Shown(NamedTuple):
    """What a reader may see beside the answer: conversations, and values of prompts and settings."""

    replies: bool = False
    settings: bool = False


ANSWER_ALONE = Shown()
ALL_SHOWN = Shown(replies=True, settings=True)


def decision_on_run(run: Run, *, link: Link, shown: Shown) -> SentDecision:
    """Return the decision about a run.

    Raises:
        CannotSendError: it says nothing about a version.
    """
    if (problem := run.why_no_answer) or run.suite is None:
        raise CannotSendError(f"There is no decision about run {run.pk}. {problem}")
    return sent_decision(release_of(run.suite, run=run), link=link, shown=shown)


def sent_decision(release: SuiteRelease, *, link: Link, shown: Shown) -> SentDecision:
    """Return an answer with all that it rests on."""
    run, suite = release.run, release.suite
    sent = SentDecision(
        suite=suite.name,
        scale=suite.score_scale,
        check=release.check,
        written_at=timezone.now().isoformat(),
        run=None if run is None else _sent_run(run, link),
        decision=None if release.decision is None else ship_decision_json(release.decision),
        accepted=[accepted_failure_json(row) for row in release.accepted],
        shows_replies=shown.replies,
    )
    if run is None or run.is_open:
        return sent
    against = _against_an_earlier_version(release)
    base = against.released
    sent = replace(sent, cases=_cases(run, base, against.check, shown))
    if base is None:
        return sent
    role = "released" if suite.baseline_id == base.pk else ""
    if suite.baseline_id == run.pk:
        role = "released before"
    sent = replace(
        sent,
        base=_sent_run(base, link, role=role),
        settlements=_settlements(base, run),
    )
    try:
        comparison = compare_runs([base.pk, run.pk])
    except CannotCompareError as error:
        return replace(sent, why_not_compared=str(error))
    numbers = [row for row in comparison.matrix if row.label in FIRST_NUMBERS]
    return replace(sent, changes=_changes(comparison, shown), numbers=numbers)


def _against_an_earlier_version(release: SuiteRelease) -> SuiteRelease:
    """Return the answer against the released version; of that itself, against the one before."""
    run, released = release.run, release.released
    if run is None or released is None or released.pk != run.pk:
        return release
    before = run.baseline
    if before is None or before.pk == run.pk:
        return replace(release, released=None)
    return release_of(release.suite, run=run, released=before)


def _sent_run(run: Run, link: Link, *, role: str = "") -> SentRun:
    return SentRun(
        number=run.pk,
        agent=f"{run.agent_name}{marks_of(run)}",
        model=run.model,
        judge=run.judge,
        finished_at=run.finished_at.isoformat() if run.finished_at else None,
        url="" if run.from_file else link("run", run.pk),
        role=role,
        name=run.from_file,
    )


def _settlements(base: Run, head: Run) -> list[Json]:
    """Return the retests of two runs, the newest first."""
    rows = Settlement.objects.filter(base=base, head=head)
    rows = rows.exclude(status=Settlement.Status.CANCELLED).order_by("-pk")
    read = map(settlement_details, rows.values_list("pk", flat=True))
    return [settlement for settlement in read if settlement is not None]


def _changes(comparison: Comparison, shown: Shown) -> SentChanges:
    if not shown.settings:
        (head,) = comparison.without_values().heads
        return SentChanges(head.differences, shows_values=False)
    (head,) = comparison.heads
    before, after = (_prompt(run) for run in (comparison.base, head.run))
    return SentChanges(head.differences, None if before == after else (before, after))


def _prompt(run: Run) -> str:
    """Return the system prompt of the agent; the content may be of another version."""
    content = json.loads(Snapshot.objects.values_list("content", flat=True).get(pk=run.snapshot_id))
    return str(content.get("agent", {}).get("system_prompt") or "")


# Cases


_Conversations = Mapping[tuple[int, str], Json]  # by run and case


class _Spoken(NamedTuple):
    """A case that speaks against shipping, and why."""

    kind: ReasonKind
    pair: CasePair


def _cases(run: Run, base: Run | None, check: ReleaseCheck, shown: Shown) -> SentCases:
    found, total = _find_cases(run, base, check)
    first, rest = found[:MAX_WITH_REPLIES], found[MAX_WITH_REPLIES:]
    conversations = _conversations(run, base, first) if shown.replies else {}
    cases = [
        SentCase(
            pair.name,
            kind,
            _side(base, pair.base, conversations),
            _side(run, pair.head, conversations),
        )
        for kind, pair in first
    ]
    return SentCases(cases, [pair.name for _, pair in rest], total - len(found))


def _side(
    run: Run | None, outcome: CaseOutcome | None, conversations: _Conversations
) -> SentSide | None:
    if run is None or outcome is None:
        return None
    return SentSide(outcome, conversations.get((run.pk, outcome.name)))


def _find_cases(run: Run, base: Run | None, check: ReleaseCheck) -> tuple[list[_Spoken], int]:
    """Return the first cases that speak against shipping, and how many there are.

    Without a base these are all that failed, whether or not the suite asks that all pass.
    """
    reasons = {reason.kind: reason for reason in (*check.reasons, *check.notes)}
    about = [reasons[kind] for kind in _ABOUT_CASES if kind in reasons]
    if base is None and ReasonKind.CASES_FAILED not in reasons:
        known = {pair.name for reason in about for pair in reason.cases}
        outcomes = decided_outcomes(run.pk).values()
        failed = [
            _Spoken(ReasonKind.CASES_FAILED, CasePair(None, outcome))
            for outcome in outcomes
            if outcome.verdict is Verdict.FAILED and outcome.name not in known
        ]
    else:
        failed = []
    named = [_Spoken(reason.kind, pair) for reason in about for pair in reason.cases]
    total = sum(reason.count for reason in about) + len(failed)
    return [*failed[: MAX_WITH_REPLIES + MAX_NAMED], *named], total


def _conversations(run: Run, base: Run | None, cases: Sequence[_Spoken]) -> _Conversations:
    """Return one conversation of each case in each run: trials that differ, if there are any."""
    before = _trials(base, [pair.base.name for _, pair in cases if pair.base])
    after = _trials(run, [pair.head.name for _, pair in cases if pair.head])
    chosen: dict[int, tuple[int, str]] = {}
    for _, pair in cases:
        sides = [
            trials.get(outcome.name, ()) if outcome else ()
            for trials, outcome in ((before, pair.base), (after, pair.head))
        ]
        for execution in filter(None, differing_trials(*sides)):
            chosen[execution.pk] = (execution.run_id, execution.case)
    return {chosen[whole["id"]]: whole for whole in whole_executions(list(chosen))}


def _trials(run: Run | None, names: Sequence[str]) -> Mapping[str, list[Execution]]:
    if run is None:
        return {}
    trials: dict[str, list[Execution]] = {}
    rows = Execution.objects.filter(run=run, case__in=names).order_by("trial")
    for row in rows:
        trials.setdefault(row.case, []).append(row)
    return trials
