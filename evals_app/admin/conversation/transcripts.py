"""A transcript for the review page: messages, with each grade under what it judges."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.safestring import SafeString

from evals_app.admin.conversation.judgements import (
    Agreements,
    Judgement,
    judgement,
    other_details,
    quote_line,
)
from evals_app.admin.conversation.review_blocks import ExecutionReviews, ReviewBlock
from evals_app.admin.kit.presentation import (
    SIGNS,
    Sign,
    badge,
    first_words,
    plural,
    tokens,
    verdict_state,
)
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.trial import ToolCall, Trial, TurnRecord
from evals_app.engine.statistics.scored_reasons import without_score
from evals_app.engine.verdicts.grading import SUSPICION
from evals_app.engine.verdicts.limits import LIMITS
from evals_app.models import Execution, GradeResult, Transcript
from evals_app.reports.renderers.conversations import json_text
from evals_app.reports.words.figures import UNKNOWN, count, duration, percent, score_text
from evals_app.reports.words.word_differences import ComparedTexts, word_differences

OPEN_TURNS = 20  # longer conversations are folded at first
_ROUNDED = 0.0051  # the score at the end of a reason has two places or more


@dataclass(frozen=True, slots=True)
class GradeLine:
    """A grade to show."""

    grade: GradeResult
    sign: Sign
    badge: SafeString
    reason: str
    facts: tuple[str, ...]
    evidence: tuple[dict[str, Any], ...]
    details: str
    needs_attention: bool
    judgement: Judgement
    people: ReviewBlock | None = None


@dataclass(frozen=True, slots=True)
class CallLine:
    """A tool call to show, folded."""

    call: ToolCall
    args: str
    args_short: str
    result: str
    duration: str


@dataclass(frozen=True, slots=True)
class MessageLine:
    """A message of the agent, with its tool calls."""

    text: str
    calls: tuple[CallLine, ...]
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class TurnLine:
    """An exchange to show; one that did not run has only grades."""

    number: int
    grades: tuple[GradeLine, ...]
    is_open: bool
    record: TurnRecord | None = None
    opening: str = "This turn did not run."
    messages: tuple[MessageLine, ...] = ()
    facts: tuple[str, ...] = ()
    retries: tuple[str, ...] = ()
    wording: ComparedTexts | None = None  # the reply and what was expected, if that was written

    @property
    def missed_checks(self) -> int:
        return sum(grade.needs_attention for grade in self.grades)


@dataclass(frozen=True, slots=True)
class LimitLine:
    """A limit of the case and its actual value, shown even if no limit is set."""

    label: str
    limit: str
    actual: str
    sign: Sign
    reason: str
    people: ReviewBlock | None = None

    @property
    def needs_attention(self) -> bool:
        return self.sign.word != SIGNS["passed"].word


def readable_trial(stored: Transcript | None) -> Trial | None:
    """Read a transcript; None if there is none, or another version wrote it."""
    return None if stored is None else stored.to_trial()


def turn_lines(
    trial: Trial | None,
    grades: Sequence[GradeResult],
    *,
    scale: str,
    known: Agreements,
    reviews: ExecutionReviews | None = None,
) -> tuple[TurnLine, ...]:
    """Return every turn that ran, and others that have grades."""
    by_turn: dict[int, list[GradeResult]] = {}
    for grade in grades:
        if grade.turn is not None:
            by_turn.setdefault(grade.turn, []).append(grade)
    records = trial.turns if trial else ()
    planned = trial.planned_turns if trial else 0
    last = max([len(records), *by_turn, planned if records else 0])
    is_short = last <= OPEN_TURNS
    lines: list[TurnLine] = []
    has_trouble = False
    for number in range(1, last + 1):
        record = records[number - 1] if number <= len(records) else None
        below = tuple(
            grade_line(grade, scale=scale, known=known, reviews=reviews)
            for grade in by_turn.get(number, [])
        )
        is_trouble = any(grade.needs_attention for grade in below) or bool(record and record.error)
        # Of a long conversation only the first turn that went wrong is open.
        is_open = is_short or (is_trouble and not has_trouble)
        has_trouble |= is_trouble
        lines.append(_turn_line(number, record, below, is_open=is_open))
    return tuple(lines)


def _turn_line(
    number: int, record: TurnRecord | None, grades: tuple[GradeLine, ...], *, is_open: bool
) -> TurnLine:
    if record is None:
        return TurnLine(number, grades, is_open)
    return TurnLine(
        number,
        grades,
        is_open,
        record=record,
        opening=first_words(record.user),
        messages=tuple(
            MessageLine(
                message.text,
                tuple(_call_line(call) for call in message.tool_calls),
                message.reasoning,
            )
            for message in record.messages
        ),
        facts=_turn_facts(record),
        retries=tuple(
            f"{attempt.error} Waited {duration(attempt.waited_ms)}." for attempt in record.attempts
        ),
        wording=None
        if record.expected is None
        else word_differences(record.reply, record.expected),
    )


def _turn_facts(record: TurnRecord) -> tuple[str, ...]:
    usage = record.usage
    facts = ["time unknown" if record.latency_ms is None else duration(record.latency_ms)]
    if record.first_token_ms is not None:
        facts.append(f"first token after {duration(record.first_token_ms)}")
    if usage.prompt_tokens is None and usage.response_tokens is None:
        facts.append("tokens not reported")
    else:
        facts.append(f"{tokens(usage.prompt_tokens, usage.response_tokens)} tokens")
    if usage.cache_read:
        facts.append(f"{count(usage.cache_read)} of them read from the cache")
    if record.cost_usd != 0:
        facts.append(f"cost {usd_text(record.cost_usd)}")
    if record.waited_ms:
        facts.append(f"waited {duration(record.waited_ms)} for its turn at the provider")
    if record.model:
        facts.append(record.model)
    return (*facts, *record.notes)


def judge_call(call: dict[str, Any]) -> dict[str, Any]:
    """Return a judge call with its numbers in words; results of older versions lack some numbers."""
    usage, usd = call.get("usage") or {}, call.get("cost_usd")
    return call | {
        "took": duration(call.get("latency_ms")),
        "tokens": f"{tokens(usage.get('input_uncached'), usage.get('output'))} tokens",
        "cost": usd_text(None if usd is None else Decimal(usd)),
    }


def _call_line(call: ToolCall) -> CallLine:
    args = ", ".join(f"{name}={json_text(value)}" for name, value in call.args.items())
    return CallLine(
        call=call,
        args=json_text(call.args),
        args_short=first_words(args, most=60) if args else "",
        result="" if call.result is None else json_text(call.result),
        duration=duration(call.duration_ms),
    )


def grade_line(
    grade: GradeResult, *, scale: str, known: Agreements, reviews: ExecutionReviews | None = None
) -> GradeLine:
    """Return a grade to show, with its reviews; `known` has the agreement of judges with people."""
    state = grade_state(grade)
    facts, reason = _score_and_reason(grade, scale=scale)
    if grade.weight == 0:
        facts.append("weight 0, shown only")
    elif "share" in grade.details:
        facts.append(f"{percent(grade.weight)} of the score")
    elif grade.weight != 1:
        facts.append(f"weight {grade.weight:g}")
    people = reviews.blocks_of(grade) if reviews else None
    judged = judgement(grade, known, people.items) if people else judgement(grade, known)
    details = other_details(grade)
    return GradeLine(
        grade=grade,
        sign=SIGNS[state],
        badge=badge(state),
        # A warning below explains what is suspicious.
        reason=reason.removesuffix(f" {SUSPICION}") if judged.warnings else reason,
        facts=(*facts, *judged.facts),
        # Items have their own evidence.
        evidence=()
        if any(item.quote for item in judged.items)
        else tuple(map(quote_line, grade.evidence)),
        details=json_text(details) if details else "",
        needs_attention=state in {"failed", "ungraded", "error"},
        judgement=judged,
        people=people.whole if people else None,
    )


def _score_and_reason(grade: GradeResult, *, scale: str) -> tuple[list[str], str]:
    """Return score and threshold on the suite's scale, and the reason without them.

    Where rounding would make both look equal, only the reason has them, in full.
    """
    score, needed = (score_text(value, scale=scale) for value in (grade.score, grade.threshold))
    short, written = without_score(grade.reason)
    if written is None or grade.score is None or abs(written - grade.score) > _ROUNDED:
        short = grade.reason
    elif score == needed and grade.passed is False:
        return [], grade.reason
    facts = []
    if grade.score is not None:
        facts.append(f"score {score}")
    if grade.threshold is not None:
        facts.append(f"needs {needed}")
    return facts, short


def grade_state(grade: GradeResult) -> str:
    """Return the state of a grade."""
    if grade.status != "ok":
        return grade.status
    return verdict_state(grade.passed, otherwise="informational")


def final_lines(
    grades: Sequence[GradeResult],
    *,
    scale: str,
    known: Agreements,
    reviews: ExecutionReviews | None = None,
) -> tuple[GradeLine, ...]:
    """Return the grades of the whole conversation."""
    return tuple(
        grade_line(grade, scale=scale, known=known, reviews=reviews)
        for grade in grades
        if grade.turn is None and grade.family != "limit"
    )


def limit_lines(
    execution: Execution, grades: Sequence[GradeResult], *, reviews: ExecutionReviews | None = None
) -> tuple[LimitLine, ...]:
    """Return each limit that is set, with its actual value."""
    graded = {grade.type: grade for grade in grades if grade.family == "limit"}
    lines = []
    for limit in LIMITS:
        if (grade := graded.get(limit.key)) is None:
            continue
        # An ungraded limit has a reason and no numbers.
        is_known = "limit" in grade.details
        written: Any = usd_text if limit.key == "max_cost_usd" else count
        bound = written(grade.details["limit"]) if is_known else UNKNOWN
        actual = getattr(execution, limit.column)
        # Rounded up, as in the reason of its grade.
        actual = math.ceil(actual) if isinstance(actual, float) else actual
        lines.append(
            LimitLine(
                label=limit.label,
                limit=bound,
                actual=written(actual),
                sign=SIGNS[grade_state(grade)],
                reason=grade.reason,
                people=reviews.blocks_of(grade).whole if reviews else None,
            )
        )
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class ChangedEntity:
    """An entity that the agent changed, field by field."""

    id: str
    type: str
    fields: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class WorldLines:
    """What the conversation changed in its world."""

    created: tuple[tuple[str, str, str], ...]
    updated: tuple[ChangedEntity, ...]
    deleted: tuple[tuple[str, str, str], ...]
    linked: tuple[str, ...]
    unlinked: tuple[str, ...]

    @property
    def total(self) -> int:
        kinds = (self.created, self.updated, self.deleted, self.linked, self.unlinked)
        return sum(map(len, kinds))

    @property
    def title(self) -> str:
        return plural(self.total, "change")


def world_lines(changes: dict[str, Any]) -> WorldLines:
    """Return the difference between the world before and after."""
    return WorldLines(
        created=tuple(_entity(row) for row in changes.get("created", [])),
        updated=tuple(
            ChangedEntity(row["id"], row["type"], _changed_fields(row["before"], row["after"]))
            for row in changes.get("updated", [])
        ),
        deleted=tuple(_entity(row) for row in changes.get("deleted", [])),
        linked=tuple(_relation(row) for row in changes.get("relations_created", [])),
        unlinked=tuple(_relation(row) for row in changes.get("relations_deleted", [])),
    )


def _entity(row: dict[str, Any]) -> tuple[str, str, str]:
    shown = {"status": row["status"], "data": row["data"]}
    return row["id"], row["type"], json_text(shown)


def _relation(row: Mapping[str, object]) -> str:
    return f"{row['from']} → {row['type']} → {row['to']}"


def _changed_fields(
    before: dict[str, object], after: dict[str, object]
) -> tuple[tuple[str, str, str], ...]:
    old, new = _flat(before), _flat(after)
    names = dict.fromkeys([*old, *new])
    return tuple(
        (name, old.get(name, UNKNOWN), new.get(name, UNKNOWN))
        for name in names
        if old.get(name) != new.get(name)
    )


def _flat(row: dict[str, Any]) -> dict[str, str]:
    fields = {name: json_text(value) for name, value in row["data"].items()}
    return {"status": row["status"], **fields}
