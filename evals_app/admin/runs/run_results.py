"""The results of a run that has ended: its headline in cases, numbers, gates, causes and cases."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.text import capfirst

from evals_app.admin.kit.presentation import SIGNS, between, verdict_state
from evals_app.admin.runs.run_cases import (
    MAX_CASES,
    case_groups,
    count_cases,
    each_k,
    first_cases,
)
from evals_app.admin.runs.run_causes import WrongConversations, causes
from evals_app.admin.runs.run_changes import change_marks
from evals_app.admin.runs.run_counts import case_counts
from evals_app.admin.runs.run_trials import trials_by_case
from evals_app.admin.starting.reruns import rerun_buttons
from evals_app.engine.judging import kinship_warning
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.usage import total_cost
from evals_app.models import Run
from evals_app.reports.answers.decided import WITH_PEOPLE
from evals_app.reports.answers.losses import TITLE, loss_lines, losses_note
from evals_app.reports.answers.run_json import AT_LEAST
from evals_app.reports.words.figures import UNKNOWN, count, duration, score_text
from evals_app.reports.words.gates import gate_condition, gate_texts, gate_word, is_applied
from evals_app.reports.words.judges import has_script, judges_in
from evals_app.reports.words.shares import share_of_cases
from evals_app.reports.words.sums import in_run, of_agent, sums
from fixtures_app.editing.markup import TemplateContext


@dataclass(frozen=True, slots=True)
class GateLine:
    """A gate as a condition, with the measured value."""

    sentence: str
    actual: str
    tone: str
    word: str
    reason: str
    people: str = ""


def results(run: Run, *, changes: Mapping[str, StrEnum] | None = None) -> TemplateContext:
    """Collect what the page of a run that has ended shows.

    `changes` has what the answer to “May we ship?” says about single cases.
    """
    cases = first_cases(run)
    counts = count_cases(run, cases)
    has_trials = counts["most_trials"] > 1
    names = {case.name for case in cases}
    wrong = None
    if counts["cases"] > MAX_CASES:
        wrong = WrongConversations.first_of(run)
        names |= wrong.names
    trials = trials_by_case(run, names)
    marks = change_marks(changes or {})
    groups = case_groups(run, cases, trials, marks)
    gates = _gate_lines(run, scale=run.score_scale)
    return {
        "counted": case_counts(run, counts),
        "rerun_buttons": rerun_buttons(run, counts),
        "numbers": _numbers(run, scale=run.score_scale),
        "gates": gates,
        "gates_in_short": _gates_in_short(gates),
        "notes": run.summary.get("notes", []),
        **losses_context(run),
        "causes": causes(run, wrong or WrongConversations.among(trials), trials, marks),
        "case_count": counts["cases"],
        "case_groups": groups,
        "cases_more": max(0, counts["cases"] - MAX_CASES),
        "has_trials": has_trials,
        # Repeated gradings of one conversation do not predict new conversations.
        "has_odds": has_trials and run.gradings == 1,
        "has_judge": bool(run.judge),
        "has_scores": any(case.score is not None and 0 < case.score < 1 for case in cases),
        "first_numbers": _first_numbers(run),
    }


def losses_context(run: Run) -> TemplateContext:
    """Return what was left out of the files of the suite: a sentence, if checks were, and a list."""
    if not run.losses:
        return {}
    count_lost = len(run.losses["parts"]) + run.losses["more"]
    return {
        "losses_note": losses_note(run.losses),
        "losses_title": f"{TITLE} ({count_lost:,})",
        "losses": loss_lines(run.losses),
    }


def _numbers(run: Run, *, scale: str) -> list[tuple[str, str]]:
    summary = run.summary
    kinds = ("prompt_tokens", "response_tokens", "cost_usd")
    totals = [f"{who}_{kind}" for who in ("agent", "judge") for kind in kinds]
    ceiling = f"{usd_text(run.spent_usd)} of at most {usd_text(run.max_cost_usd)}"
    asked = "as recorded" if run.is_of_real_conversations else in_run(run.grades_of_id)
    rates = _K_RATES if run.gradings == 1 else ()
    return [
        ("Score", score_text(run.score, scale=scale)),
        (
            f"{capfirst(run.unit)}s passed",
            share_of_cases(summary, bounds=summary.get("pass_rate_interval")),
        ),
        *_numbers_with_people(run.reviewed, scale=scale),
        *((label, shown) for label, name in rates if (shown := each_k(summary.get(name, ())))),
        (of_agent("Turn latency, median", asked), duration(summary.get("median_ms"))),
        (of_agent("Turn latency, p95", asked), duration(summary.get("p95_ms"))),
        *sums(
            {name: getattr(run, name) for name in totals},
            summary.get(AT_LEAST, {}),
            asked=asked,
        ),
        *([] if run.max_cost_usd is None else [("Spent", ceiling)]),
        ("Duration", between(run.started_at, run.finished_at)),
    ]


def _first_numbers(run: Run) -> list[tuple[str, str, str]]:
    """Return the numbers that most people look for: what is before one, the number, what is after."""
    spent = [run.judge_cost_usd] if run.grades_again else [run.agent_cost_usd, run.judge_cost_usd]
    tokens = [
        *(run.judge_prompt_tokens, run.judge_response_tokens),
        *(() if run.grades_again else (run.agent_prompt_tokens, run.agent_response_tokens)),
    ]
    known = [number for number in tokens if number is not None]
    total = sum(known) if len(known) == len(tokens) else None
    shown = [
        ("", usd_text(total_cost(spent)), ""),
        ("", between(run.started_at, run.finished_at), ""),
        ("95 % of replies within", duration(run.summary.get("p95_ms")), ""),
        ("", count(total), "tokens"),
    ]
    return [part for part in shown if part[1] not in {UNKNOWN, "unknown"}]


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


def _gates_in_short(gates: Sequence[GateLine]) -> str:
    """Count the gates that are met, of those that apply: `3 of 4 met, 1 not applied`."""
    words = Counter(gate.word for gate in gates)
    left_out = words["Not applied"]
    met = f"{words['Met']:,} of {len(gates) - left_out:,} met" if len(gates) > left_out else ""
    return ", ".join(filter(None, [met, f"{left_out:,} not applied" if left_out else ""]))


def gate_line(
    gate: Mapping[str, Any], *, scale: str, reviewed: Mapping[str, object] | None = None
) -> GateLine:
    """Write a gate as a sentence; `reviewed` is the same with the decisions of people."""
    _, actual = gate_texts(gate, scale=scale)
    people = ""
    if reviewed and (reviewed["actual"], reviewed["passed"]) != (gate["actual"], gate["passed"]):
        _, others = gate_texts(reviewed, scale=scale)
        people = f"{capfirst(WITH_PEOPLE)}: {gate_word(reviewed)}, {others}."
    state = verdict_state(gate["passed"], otherwise="unknown")
    return GateLine(
        sentence=capfirst(gate_condition(gate, scale=scale)),
        actual=actual,
        tone=SIGNS[state].tone if is_applied(gate) else "calm",
        word="Not met" if gate["passed"] is False else gate_word(gate).capitalize(),
        reason=gate.get("reason", ""),
        people=people,
    )


def snapshot_settings(run: Run) -> dict[str, str]:
    """Return the settings that only the snapshot has, and a warning if judge and agent are of one family."""
    fixtures = json.loads(run.snapshot.content).get("fixtures", [])
    judges = [judge for judge in judges_in(run.judge) if not has_script(judge)]
    return {
        "fixtures": ", ".join(fixture["name"] for fixture in fixtures) or "none",
        "kinship": kinship_warning(judges, [run.model]),
    }
