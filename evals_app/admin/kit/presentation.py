"""How results are shown: a word and an icon for each state, numbers with their units."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.usage import total_cost
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.engine.statistics.retest import Finding
from evals_app.engine.statistics.scored_reasons import without_score
from evals_app.models import Agent, Execution, ReviewedVerdict, Run
from evals_app.reports.answers.comparison import CHANGES, VERDICTS
from evals_app.reports.answers.decided import WITH_PEOPLE
from evals_app.reports.answers.retests import TESTING, WORDS
from evals_app.reports.words.causes import CAUSE_WORDS
from evals_app.reports.words.coverage import SIMULATED
from evals_app.reports.words.figures import UNKNOWN, count, duration
from evals_app.reports.words.judges import has_script
from evals_app.reports.words.similarity import STAND_IN
from fixtures_app.editing.markup import badge_span, verdict_span


@dataclass(frozen=True, slots=True)
class Sign:
    """How a state is shown: never by colour alone. `tone` names the colours in review.css."""

    icon: str
    word: str
    tone: str


SIGNS = {
    "passed": Sign("check_circle", "Passed", "good"),
    "failed": Sign("cancel", "Failed", "bad"),
    "errored": Sign("error", "Errored", "warn"),
    "measured": Sign("straighten", "Measured", "calm"),
    "inconclusive": Sign("help", "Inconclusive", "warn"),
    "skipped": Sign("skip_next", "Skipped", "calm"),
    "cancelled": Sign("block", "Cancelled", "calm"),
    "not_run": Sign("pending", "Not run", "calm"),
    "queued": Sign("schedule", "Queued", "calm"),
    "running": Sign("play_circle", "Running", "busy"),
    "stopping": Sign("stop_circle", "Stopping", "busy"),
    "informational": Sign("info", "Informational", "calm"),
    "not_applicable": Sign("remove_circle", "Not applicable", "calm"),
    "ungraded": Sign("help", "Ungraded", "warn"),
    "error": Sign("error", "Check error", "warn"),
    "unknown": Sign("help", "Unknown", "warn"),
    "none": Sign("remove_circle", "No result yet", "calm"),
    "finished": Sign("task_alt", "Finished", "calm"),
    "stopped": Sign("stop_circle", "Stopped early", "warn"),
    "really_worse": Sign("trending_down", WORDS[Finding.REALLY_WORSE], "bad"),
    "really_better": Sign("trending_up", WORDS[Finding.REALLY_BETTER], "good"),
    "cannot_tell": Sign("help", WORDS[Finding.CANNOT_TELL], "calm"),
    "was_flaky": Sign("shuffle", WORDS[Finding.WAS_FLAKY], "warn"),
    "testing": Sign("play_circle", TESTING, "busy"),
    "scripted": Sign("theater_comedy", "Scripted", "note"),
    "simulated": Sign("smart_toy", "Simulated", "note"),
    "stand_in": Sign("straighten", STAND_IN, "warn"),
    # What happened to a case from one run to another, and to all cases together.
    "worse": Sign("trending_down", CHANGES[ChangeKind.WORSE].label, "bad"),
    "check_worse": Sign("trending_down", CHANGES[ChangeKind.CHECK_WORSE].label, "bad"),
    "flaky": Sign("shuffle", CHANGES[ChangeKind.FLAKY].label, "warn"),
    "better": Sign("trending_up", CHANGES[ChangeKind.BETTER].label, "good"),
    "check_better": Sign("trending_up", CHANGES[ChangeKind.CHECK_BETTER].label, "good"),
    "undecided": Sign("help", CHANGES[ChangeKind.UNDECIDED].label, "warn"),
    "changed": Sign("edit", CHANGES[ChangeKind.CHANGED].label, "calm"),
    "new": Sign("add_circle", CHANGES[ChangeKind.NEW].label, "calm"),
    "missing": Sign("remove_circle", CHANGES[ChangeKind.MISSING].label, "calm"),
    "fewer": Sign("trending_down", CHANGES[ChangeKind.FEWER].label, "calm"),
    "more": Sign("trending_up", CHANGES[ChangeKind.MORE].label, "calm"),
    "same": Sign("drag_handle", CHANGES[ChangeKind.SAME].label, "calm"),
    "no_clear_difference": Sign("balance", VERDICTS["no_clear_difference"], "calm"),
    "not_comparable": Sign("help", VERDICTS["not_comparable"], "warn"),
}

# Their reasons say what failed, so the cause adds nothing.
_SAID_BY_REASON = {"assertion", "limit", "case"}

SUMMARY_LABELS = {
    "overall_passed": "Overall",
    "prompt_tokens_passed": "Prompt tokens within the limit",
    "response_tokens_passed": "Response tokens within the limit",
    "time_passed": "Time within the limit",
    "response_criteria_passed": "Response criteria (judged checks)",
    "trajectory_criteria_passed": "Trajectory criteria (tools and retrieval)",
}


def badge(state: str, *, word: str = "") -> SafeString:
    """Return the icon and the word of a state."""
    sign = SIGNS[state]
    return badge_span(sign.tone, word or sign.word, icon=sign.icon)


def mark(state: str, *, word: str = "") -> SafeString:
    """Return the mark and the word of a state, quieter than a badge."""
    sign = SIGNS[state]
    return verdict_span(sign.tone, word or sign.word)


def people_badge(state: str, word: str = "") -> SafeString:
    """Return the badge of a verdict that includes the decisions of people."""
    return badge(state, word=f"{word or SIGNS[state].word} {WITH_PEOPLE}")


def headline(row: Execution | ReviewedVerdict) -> str:
    """Return what failed or broke in a conversation, in words; empty if nothing did."""
    reason, _ = without_score(row.reason)
    if not row.cause or (reason and row.cause in _SAID_BY_REASON):
        return reason
    return f"{CAUSE_WORDS[row.cause]}: {reason}" if reason else f"{CAUSE_WORDS[row.cause]}."


def verdict_state(passed: bool | None, *, otherwise: str) -> str:  # noqa: FBT001 - a verdict
    """Return the state of a verdict that may be missing."""
    if passed is None:
        return otherwise
    return "passed" if passed else "failed"


def run_state(run: Run) -> str:
    """Return the state of a run: its verdict once it has ended."""
    if run.is_open:
        return "stopping" if run.stop_reason else run.status
    return "cancelled" if run.status == Run.Status.CANCELLED else run.verdict


def execution_state(execution: Execution, *, run: Run) -> str:
    """Return the state of an execution; in a run that has ended, a queued one did not run."""
    if execution.verdict:
        return execution.verdict
    if execution.status == Execution.Status.QUEUED and not run.is_open:
        return "not_run"
    return execution.status


def scripted_badge(run: Run) -> SafeString | str:
    """Return the label of a run whose agent or judge is scripted, else nothing."""
    if run.is_scripted:
        return badge("scripted")
    return badge("scripted", word="Scripted judge") if has_scripted_judge(run) else ""


def simulated_badge(run: Run) -> SafeString | str:
    """Return the label of a run in which a model played the user, else nothing."""
    if not run.is_simulated:
        return ""
    sign = SIGNS["simulated"]
    return badge_span(sign.tone, sign.word, icon=sign.icon, hint=SIMULATED)


def execution_badges(execution: Execution) -> SafeString:
    """Return the labels of an execution; before it ends, a script is judged by the settings of its run."""
    is_scripted = execution.is_scripted or not execution.verdict
    scripted = scripted_badge(execution.run) if is_scripted else ""
    return _side_by_side([scripted, simulated_badge(execution.run)])


def has_scripted_judge(run: Run) -> bool:
    """Whether judged checks are scripted."""
    return has_script(run.judge)


def run_badges(run: Run) -> SafeString:
    """Return the badges of a run: its state and labels."""
    sign = SIGNS[run_state(run)]
    return format_html("{} {}", verdict_span(sign.tone, sign.word), run_labels(run))


def run_labels(run: Run) -> SafeString:
    """Return what to know about the verdict of a run: a script, a simulated user, people's decisions."""
    signs = made_badges(run)
    if run.reviewed and run.reviewed["verdict"] != run.verdict:
        signs.append(people_badge(run.reviewed["verdict"]))
    if run.is_similarity_stand_in:
        signs.append(badge("stand_in"))
    return _side_by_side(signs)


def made_badges(run: Run) -> list[SafeString | str]:
    """Return the labels of a run that something else took part in than a real agent and written words."""
    return [scripted_badge(run), simulated_badge(run)]


def _side_by_side(signs: Iterable[SafeString | str]) -> SafeString:
    return format_html_join(" ", "{}", ((sign,) for sign in signs if sign))


def tokens(prompt: int | None, response: int | None) -> str:
    """Write how many tokens a model received and returned."""
    if prompt is None and response is None:
        return "unknown"
    return f"{count(prompt)} prompt + {count(response)} response"


def costs(agent: Decimal | None, judge: Decimal | None) -> list[tuple[str, str]]:
    """Return the costs of agent, judge and both, with labels."""
    return [
        ("Agent cost", usd_text(agent)),
        ("Judge cost", usd_text(judge)),
        ("Cost", usd_text(total_cost([agent, judge]))),
    ]


def between(start: datetime | None, end: datetime | None) -> str:
    """Write how long something took, or has taken so far."""
    if start is None or end is None:
        return UNKNOWN
    return duration(max(0.0, (end - start).total_seconds() * 1000))


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Write a number of things: 1 case, 2 cases."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def agent_label(agent: Agent) -> str:
    """Return name and slug: two agents may share a name, one as a model, one as a script."""
    return f"{agent.name} ({agent.slug})"


def first_words(text: str, *, most: int = 90) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[:most].rstrip()}…"
