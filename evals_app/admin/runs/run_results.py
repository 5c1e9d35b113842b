"""The results of a run: its numbers, gates, failures by cause, and cases."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, Q, Window
from django.db.models.functions import RowNumber
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from evals_app.admin.kit.presentation import (
    CAUSES,
    SIGNS,
    badge,
    between,
    execution_state,
    people_badge,
    plural,
    verdict_state,
)
from evals_app.admin.starting.reruns import counts_to_rerun, rerun_buttons
from evals_app.engine.graders import GRADERS
from evals_app.engine.judging import kinship_warning
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.trial import Cause, Verdict
from evals_app.engine.record.usage import Usage, total_usage
from evals_app.engine.statistics.deciding import case_verdict
from evals_app.models import CaseResult, Execution, GradeResult, Run
from evals_app.reports.answers.decided import WITH_PEOPLE
from evals_app.reports.answers.losses import TITLE, loss_lines, losses_note
from evals_app.reports.answers.run_json import AT_LEAST
from evals_app.reports.words.figures import (
    UNKNOWN,
    decided_after,
    duration,
    interval,
    percent,
    score_text,
    token_sum,
)
from evals_app.reports.words.gates import gate_texts, gate_word, is_applied
from evals_app.reports.words.judges import has_script, judges_in
from evals_app.reports.words.shares import share_of_cases, share_of_trials
from evals_app.reports.words.sums import of_agent, sums

MAX_OF_A_CAUSE = 50
MAX_CASES = 200
_JUDGE_TOKENS = ("judge_prompt_tokens", "judge_response_tokens")
WENT_WRONG = ("failed", "errored")


@dataclass(frozen=True, slots=True)
class GateLine:
    """A gate as a sentence, with the measured value."""

    sentence: str
    actual: str
    badge: SafeString
    reason: str
    people: str = ""


@dataclass(frozen=True, slots=True)
class CheckGroup:
    """Executions that the same kind of check decided, by reason; no kind if none did."""

    kind: str
    reasons: tuple[tuple[str, tuple[Execution, ...]], ...]  # each with its executions

    @property
    def total(self) -> int:
        return sum(len(rows) for _, rows in self.reasons)


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """Executions that went wrong for the same cause; only the first ones are shown."""

    cause: str
    title: str
    badge: SafeString
    total: int
    checks: tuple[CheckGroup, ...]  # the most frequent first

    @property
    def more(self) -> int:
        return self.total - sum(check.total for check in self.checks)


@dataclass(frozen=True, slots=True)
class TrialMark:
    """One trial of a case, as a link."""

    pk: int
    badge: SafeString
    label: str
    passed: bool


@dataclass(frozen=True, slots=True)
class CaseResultLine:
    """A case over its trials."""

    name: str
    badge: SafeString
    people: SafeString | str  # the badge of another verdict with the decisions of people
    trials: tuple[TrialMark, ...]
    pass_rate: str
    interval: str
    score: str
    deviation: str
    pass_at_k: str
    pass_hat_k: str
    judge_tokens: str

    @property
    def opens(self) -> int | None:
        """The execution that a click on the case opens: the first that did not pass, if any."""
        wrong = (trial.pk for trial in self.trials if not trial.passed)
        return next(wrong, self.trials[0].pk if self.trials else None)


def results(run: Run) -> dict[str, Any]:
    """Collect what the page of a run that has ended shows."""
    scale = run.score_scale
    cases = run.case_results.order_by("position")
    counts = case_counts(run)
    has_trials = counts["most_trials"] > 1
    return {
        "headline": headline(run, counts),
        "rerun_buttons": rerun_buttons(run, counts),
        "numbers": _numbers(run, scale=scale),
        "gates": _gate_lines(run, scale=scale),
        "notes": run.summary.get("notes", []),
        **losses_context(run),
        "causes": causes(run),
        "cases": _case_lines(run, cases[:MAX_CASES], scale=scale),
        "cases_more": max(0, counts["cases"] - MAX_CASES),
        "has_trials": has_trials,
        # Repeated gradings of one conversation do not predict new conversations.
        "has_odds": has_trials and run.gradings == 1,
        "has_judge": bool(run.judge),
    }


def losses_context(run: Run) -> dict[str, Any]:
    """Return what was left out of the files of the suite: a sentence, if checks were, and a list."""
    if not run.losses:
        return {}
    count = len(run.losses["parts"]) + run.losses["more"]
    return {
        "losses_note": losses_note(run.losses),
        "losses_title": f"{TITLE} ({count:,})",
        "losses": loss_lines(run.losses),
    }


def _numbers(run: Run, *, scale: str) -> list[tuple[str, str]]:
    summary = run.summary
    kinds = ("prompt_tokens", "response_tokens", "cost_usd")
    totals = [f"{who}_{kind}" for who in ("agent", "judge") for kind in kinds]
    ceiling = f"{usd_text(run.spent_usd)} of at most {usd_text(run.max_cost_usd)}"
    before = run.grades_of_id
    rates = _K_RATES if run.gradings == 1 else ()
    return [
        ("Score", score_text(run.score, scale=scale)),
        ("Cases passed", share_of_cases(summary, bounds=summary.get("pass_rate_interval"))),
        *_numbers_with_people(run.reviewed, scale=scale),
        *((label, shown) for label, name in rates if (shown := _each_k(summary.get(name, ())))),
        (of_agent("Turn latency, median", before), duration(summary.get("median_ms"))),
        (of_agent("Turn latency, p95", before), duration(summary.get("p95_ms"))),
        *sums(
            {name: getattr(run, name) for name in totals},
            summary.get(AT_LEAST, {}),
            grades_of=before,
        ),
        *([] if run.max_cost_usd is None else [("Spent", ceiling)]),
        ("Duration", between(run.started_at, run.finished_at)),
    ]


def _numbers_with_people(reviewed: Mapping[str, Any], *, scale: str) -> list[tuple[str, str]]:
    if not reviewed:
        return []
    return [
        (f"Score {WITH_PEOPLE}", score_text(reviewed["score"], scale=scale)),
        (f"Cases passed {WITH_PEOPLE}", share_of_cases(reviewed)),
    ]


_K_RATES = (
    ("At least one of k trials passes (pass@k)", "pass_at_k"),
    ("All k trials pass (pass^k)", "pass_hat_k"),
)


def _gate_lines(run: Run, *, scale: str) -> list[GateLine]:
    people = {gate["name"]: gate for gate in run.reviewed.get("gates", [])}
    return [
        gate_line(gate, scale=scale, reviewed=people.get(gate["name"]))
        for gate in run.summary.get("gates", [])
    ]


def gate_line(
    gate: Mapping[str, Any], *, scale: str, reviewed: Mapping[str, Any] | None = None
) -> GateLine:
    """Write a gate as a sentence; `reviewed` is the same with the decisions of people."""
    sentence, actual = gate_texts(gate, scale=scale)
    people = ""
    if reviewed and (reviewed["actual"], reviewed["passed"]) != (gate["actual"], gate["passed"]):
        _, others = gate_texts(reviewed, scale=scale)
        people = f"{capfirst(WITH_PEOPLE)}: {gate_word(reviewed)}, {others}."
    return GateLine(
        sentence=sentence,
        actual=actual,
        badge=badge(
            verdict_state(gate["passed"], otherwise="unknown"),
            word=gate_word(gate).capitalize(),
        ),
        reason=gate.get("reason", ""),
        people=people,
    )


def causes(run: Run) -> list[CauseGroup]:
    """Group what went wrong by cause: failures first, in each group the first cases."""
    rows = (
        run.executions.filter(verdict__in=WENT_WRONG)
        .annotate(
            number=Window(RowNumber(), partition_by=[F("cause")], order_by=["position", "trial"]),
            in_all=Window(Count("pk"), partition_by=[F("cause")]),
        )
        .filter(number__lte=MAX_OF_A_CAUSE)
        .select_related("reviewed")
        .only("run", "case", "trial", "verdict", "cause", "reason", "reviewed__verdict")
        .order_by("cause", "number")
    )
    grouped: dict[Cause, list[Execution]] = {}
    totals: dict[Cause, int] = {}
    row: Any
    for row in rows:
        grouped.setdefault(Cause(row.cause), []).append(row)
        totals[Cause(row.cause)] = row.in_all
        row.people = people_badge(people.verdict) if (people := _people(row)) else ""
    kinds = _deciding_kinds(grouped.get(Cause.ASSERTION, ()))
    # Failures are about the agent, errors about the evaluation.
    order = sorted(grouped, key=lambda cause: (cause.is_error, -list(Cause).index(cause)))
    return [
        CauseGroup(
            cause=cause,
            title=CAUSES[cause],
            badge=badge(grouped[cause][0].verdict),
            total=totals[cause],
            checks=_by_check(grouped[cause], kinds),
        )
        for cause in order
    ]


def _deciding_kinds(rows: Sequence[Execution]) -> dict[int, str]:
    """Return the kind of the check whose reason became that of each execution, by its key."""
    if not rows:
        return {}
    grades = GradeResult.objects.filter(execution__in=rows, reason__in={row.reason for row in rows})
    reasons = {row.pk: row.reason for row in rows}
    return {
        execution: GRADERS[kind].label
        for execution, kind, reason in grades.values_list("execution", "type", "reason")
        if reasons[execution] == reason and kind in GRADERS
    }


def _by_check(rows: Iterable[Execution], kinds: Mapping[int, str]) -> tuple[CheckGroup, ...]:
    by_kind: dict[str, list[Execution]] = {}
    for row in rows:
        by_kind.setdefault(kinds.get(row.pk, ""), []).append(row)
    groups = [CheckGroup(kind, _by_reason(same)) for kind, same in by_kind.items()]
    return tuple(sorted(groups, key=lambda group: -group.total))


def _by_reason(rows: Iterable[Execution]) -> tuple[tuple[str, tuple[Execution, ...]], ...]:
    """Group executions by reason, in order of the first case."""
    by_reason: dict[str, list[Execution]] = {}
    for row in rows:
        by_reason.setdefault(row.reason, []).append(row)
    return tuple((reason, tuple(same)) for reason, same in by_reason.items())


def _case_lines(run: Run, cases: Iterable[CaseResult], *, scale: str) -> list[CaseResultLine]:
    cases = list(cases)
    trials: dict[str, list[TrialMark]] = {}
    ended: dict[str, list[Execution]] = {}
    names = [case.name for case in cases]
    rows = run.executions.filter(case__in=names).order_by("position", "trial")
    columns = ("run", "case", "trial", "verdict", "status", *_JUDGE_TOKENS)
    for row in rows.select_related("reviewed").only(*columns, "reviewed__verdict"):
        if row.verdict:
            ended.setdefault(row.case, []).append(row)
        state = execution_state(row, run=run)
        label = f"{row.case}, trial {row.trial}: {SIGNS[state].word}"
        sign = badge(state)
        if (people := _people(row)) and people.verdict != row.verdict:
            label += f", {SIGNS[people.verdict].word.lower()} {WITH_PEOPLE}"
            sign = format_html("{} {}", sign, people_badge(people.verdict))
        passed = row.verdict in {Verdict.PASSED, Verdict.MEASURED}
        trials.setdefault(row.case, []).append(TrialMark(row.pk, sign, label, passed))
    return [
        CaseResultLine(
            name=case.name,
            badge=badge(case.verdict or "not_run"),
            people=_people_of_case(case, ended.get(case.name, ()), run.reviewed),
            trials=tuple(trials.get(case.name, ())),
            pass_rate=share_of_trials(vars(case)),
            interval=_interval(case),
            score=score_text(case.score, scale=scale),
            deviation=_deviation(case.deviation, scale=scale),
            pass_at_k=_each_k(case.pass_at_k),
            pass_hat_k=_each_k(case.pass_hat_k),
            judge_tokens=_judge_tokens(ended.get(case.name, ())),
        )
        for case in cases
    ]


def _people(execution: Execution) -> Any:
    """Return the result of an execution with the decisions of people, if there is one."""
    return getattr(execution, "reviewed", None)


def _people_of_case(
    case: CaseResult, trials: Sequence[Execution], reviewed: Mapping[str, Any]
) -> SafeString | str:
    """Return the badge of another verdict that the decisions of people give a case."""
    if not any(map(_people, trials)) or not reviewed:
        return ""
    verdicts = [(_people(row) or row).verdict for row in trials]
    counts = map(verdicts.count, Verdict)
    verdict = case_verdict(*counts, min_pass_rate=reviewed["min_pass_rate"])
    return people_badge(verdict) if verdict is not None and verdict != case.verdict else ""


def _judge_tokens(trials: Sequence[Execution]) -> str:
    if not trials:
        return UNKNOWN
    used = total_usage(
        [Usage(row.judge_prompt_tokens, row.judge_response_tokens) for row in trials]
    )
    return token_sum(used.prompt_tokens, used.response_tokens)


def _interval(case: CaseResult) -> str:
    if case.interval_low is None or case.interval_high is None:
        return decided_after(case.trials, case.skipped)
    return interval((case.interval_low, case.interval_high))


def _deviation(value: float | None, *, scale: str) -> str:
    if value is None:
        return ""
    return f"± {4 * value:.1f}" if scale == "1-5" else f"± {value:.2f}"


def _each_k(values: Sequence[float]) -> str:
    """Write pass@k for every k, or for first, middle and last of many."""
    if len(values) < 2:  # noqa: PLR2004 - one trial has no k
        return ""
    chosen = list(range(1, len(values) + 1))
    if len(values) > 4:  # noqa: PLR2004 - more do not fit a cell
        chosen = sorted({1, (len(values) + 1) // 2, len(values)})
    return ", ".join(f"k={k}:\u00a0{percent(values[k - 1])}" for k in chosen)


def snapshot_settings(run: Run) -> dict[str, str]:
    """Return the settings that only the snapshot has, and a warning if judge and agent are of one family."""
    fixtures = json.loads(run.snapshot.content).get("fixtures", [])
    judges = [judge for judge in judges_in(run.judge) if not has_script(judge)]
    return {
        "fixtures": ", ".join(fixture["name"] for fixture in fixtures) or "none",
        "kinship": kinship_warning(judges, [run.model]),
    }


def case_counts(run: Run) -> Mapping[str, int]:
    """Count the cases of a run by outcome, in one query."""
    counts = run.case_results.aggregate(
        cases=Count("pk"),
        most_trials=Max("trials"),
        cases_failed=Count("pk", filter=Q(verdict=Verdict.FAILED)),
        cases_undecided=Count("pk", filter=Q(verdict__in=["", Verdict.ERRORED])),
        cases_measured=Count("pk", filter=Q(verdict=Verdict.MEASURED)),
        **counts_to_rerun(),
    )
    return {name: number or 0 for name, number in counts.items()}


def headline(run: Run, counts: Mapping[str, int]) -> str:
    """Return in one sentence why the run has its verdict."""
    total, failed = counts["cases"], counts["cases_failed"]
    undecided = counts["cases_undecided"]
    gates = run.summary.get("gates", [])
    missed = sum(gate["passed"] is False for gate in gates)
    not_applied = sum(not is_applied(gate) for gate in gates)
    open_gates = sum(gate["passed"] is None for gate in gates) - not_applied
    parts = []
    if failed:
        parts.append(f"{failed:,} of {plural(total, 'case')} failed")
    if undecided:
        parts.append(f"{plural(undecided, 'case')} could not be decided")
    if measured := counts["cases_measured"]:
        parts.append(f"{measured:,} of {plural(total, 'case')} only measured")
        if passed := total - failed - undecided - measured:
            parts.append(f"{passed:,} passed")
    if not parts:
        parts.append("the case passed" if total == 1 else f"all {total:,} cases passed")
    if missed:
        parts.append(f"{plural(missed, 'gate')} missed")
    if open_gates:
        parts.append(f"{plural(open_gates, 'gate')} undecided")
    if not_applied:
        parts.append(f"{plural(not_applied, 'gate')} not applied")
    if gates and not missed + open_gates + not_applied:
        parts.append("every gate was met")
    sentence = ", ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."
