"""A transcript for the review page: what was said, with each grade under what it judges."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.safestring import SafeString
from pydantic import ValidationError

from evals_app.admin.judgements import Judgement, judgement, other_details, quote_line
from evals_app.admin.presentation import (
    UNKNOWN,
    badge,
    count,
    duration,
    first_words,
    json_text,
    percent,
    plural,
    score_text,
    verdict_state,
)
from evals_app.engine.grading import LIMIT_LABELS, SUSPICION
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.trial import ShownFile, ToolCall, Trial, TurnRecord
from evals_app.models import Execution, GradeResult, Transcript

OPEN_TURNS = 20  # a longer conversation opens folded
LONG_EXPECTED = 400  # characters; a longer expected answer is folded
# How a reason begins that the engine put its score in front of, which has two places or more.
_ROUNDED = 0.0051
_COMPARED = re.compile(r"(\d\.\d+)(?:, needs \d+\.\d+)?: ")


@dataclass(frozen=True, slots=True)
class GradeLine:
    """A grade to show."""

    id: int
    badge: SafeString
    label: str
    reason: str
    facts: tuple[str, ...]
    evidence: tuple[dict[str, Any], ...]
    details: str
    is_judged: bool
    needs_attention: bool
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class CallLine:
    """A tool call to show, folded."""

    name: str
    args: str
    args_short: str
    result: str
    error: str
    duration: str
    chunks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MessageLine:
    """Something the agent said, and the tools it called along with that."""

    text: str
    calls: tuple[CallLine, ...]


@dataclass(frozen=True, slots=True)
class TurnLine:
    """An exchange to show; `was_held` False: only its grades exist."""

    number: int
    was_held: bool
    user: str
    opening: str
    messages: tuple[MessageLine, ...]
    expected: str | None
    error: str
    facts: tuple[str, ...]
    retries: tuple[str, ...]
    grades: tuple[GradeLine, ...]
    is_open: bool
    files: tuple[ShownFile, ...] = ()

    @property
    def is_expected_long(self) -> bool:
        return len(self.expected or "") > LONG_EXPECTED

    @property
    def missed(self) -> int:
        return sum(grade.needs_attention for grade in self.grades)


@dataclass(frozen=True, slots=True)
class LimitLine:
    """A limit of the case, with what was measured; both are shown even when none is set."""

    label: str
    limit: str
    actual: str
    badge: SafeString
    reason: str


def readable_trial(stored: Transcript | None) -> Trial | None:
    """Read what was said; None too where another version wrote it in a way that this one cannot."""
    try:
        return None if stored is None else Trial.from_json(stored.trial)
    except ValidationError:
        return None


def turn_lines(
    trial: Trial | None, grades: Sequence[GradeResult], *, scale: str
) -> tuple[TurnLine, ...]:
    """Give every turn that was held, and those that were not but have grades."""
    by_turn: dict[int, list[GradeResult]] = {}
    for grade in grades:
        if grade.turn is not None:
            by_turn.setdefault(grade.turn, []).append(grade)
    held = trial.turns if trial else ()
    planned = trial.planned_turns if trial else 0
    last = max([len(held), *by_turn, planned if held else 0])
    is_short = last <= OPEN_TURNS
    lines: list[TurnLine] = []
    found_trouble = False
    for number in range(1, last + 1):
        record = held[number - 1] if number <= len(held) else None
        below = tuple(grade_line(grade, scale=scale) for grade in by_turn.get(number, []))
        is_trouble = any(each.needs_attention for each in below) or bool(record and record.error)
        # Of a long conversation only the first turn that went wrong is open.
        is_open = is_short or (is_trouble and not found_trouble)
        found_trouble |= is_trouble
        lines.append(_turn_line(number, record, below, is_open=is_open))
    return tuple(lines)


def _turn_line(
    number: int, record: TurnRecord | None, grades: tuple[GradeLine, ...], *, is_open: bool
) -> TurnLine:
    if record is None:
        return TurnLine(
            number=number,
            was_held=False,
            user="",
            opening="This turn did not run.",
            messages=(),
            expected=None,
            error="",
            facts=(),
            retries=(),
            grades=grades,
            is_open=is_open,
        )
    return TurnLine(
        number=number,
        was_held=True,
        user=record.user,
        files=record.files,
        opening=first_words(record.user),
        messages=tuple(
            MessageLine(each.text, tuple(_call_line(call) for call in each.tool_calls))
            for each in record.messages
        ),
        expected=record.expected,
        error=record.error or "",
        facts=_turn_facts(record),
        retries=tuple(
            f"{each.error} Waited {duration(each.waited_ms)}." for each in record.attempts
        ),
        grades=grades,
        is_open=is_open,
    )


def _turn_facts(record: TurnRecord) -> tuple[str, ...]:
    usage = record.usage
    facts = [duration(record.latency_ms)]
    if record.first_token_ms is not None:
        facts.append(f"first token after {duration(record.first_token_ms)}")
    if usage.prompt_tokens is None and usage.response_tokens is None:
        facts.append("tokens not reported")
    else:
        facts.append(
            f"{count(usage.prompt_tokens)} prompt + {count(usage.response_tokens)} response tokens"
        )
    if usage.cache_read:
        facts.append(f"{count(usage.cache_read)} of them read from the cache")
    facts.append(f"cost {usd_text(record.cost_usd)}")
    if record.waited_ms:
        facts.append(f"waited {duration(record.waited_ms)} for the provider")
    if record.model:
        facts.append(record.model)
    return (*facts, *record.notes)


def judge_call_cost(call: Mapping[str, Any]) -> str:
    """Write what a call of a judge cost; results of an older version do not tell."""
    usd = call.get("cost_usd")
    return usd_text(None if usd is None else Decimal(usd))


def _call_line(call: ToolCall) -> CallLine:
    args = ", ".join(f"{name}={json_text(value)}" for name, value in call.args.items())
    return CallLine(
        name=call.name,
        args=json_text(call.args),
        args_short=first_words(args, most=60) if args else "",
        result="" if call.result is None else json_text(call.result),
        error=call.error or "",
        duration=duration(call.duration_ms),
        chunks=tuple((chunk.id, chunk.text) for chunk in call.chunks),
    )


def grade_line(grade: GradeResult, *, scale: str) -> GradeLine:
    """Give a grade to show."""
    state = grade_state(grade)
    facts, reason = _compared(grade, scale=scale)
    if grade.weight == 0:
        facts.append("shown only, weight 0")
    elif "share" in grade.details:
        facts.append(f"{percent(grade.weight)} of the score")
    elif grade.weight != 1:
        facts.append(f"weight {grade.weight:g}")
    judged = judgement(grade)
    details = other_details(grade)
    return GradeLine(
        id=grade.pk,
        badge=badge(state),
        label=grade.label,
        # Where it is suspicious, a warning below says so.
        reason=reason.removesuffix(f" {SUSPICION}") if judged.warnings else reason,
        facts=(*facts, *judged.facts),
        # Where each item has its own, they would stand there twice.
        evidence=()
        if any(each.quote for each in judged.items)
        else tuple(map(quote_line, grade.evidence)),
        details=json_text(details) if details else "",
        is_judged=grade.family == "judged",
        needs_attention=state in {"failed", "ungraded", "error"},
        judgement=judged,
    )


def _compared(grade: GradeResult, *, scale: str) -> tuple[list[str], str]:
    """Return score and needed score in the suite's scale, and the reason without them.

    Where both would look alike though one is below the other, only the reason has them, in full.
    """
    score, needed = (score_text(each, scale=scale) for each in (grade.score, grade.threshold))
    begins = _COMPARED.match(grade.reason)
    if begins and (grade.score is None or abs(float(begins[1]) - grade.score) > _ROUNDED):
        begins = None  # another number
    if begins and score == needed and grade.passed is False:
        return [], grade.reason
    facts = []
    if grade.score is not None:
        facts.append(f"score {score}")
    if grade.threshold is not None:
        facts.append(f"needs {needed}")
    return facts, grade.reason[begins.end() :] if begins else grade.reason


def grade_state(grade: GradeResult) -> str:
    """Name the state of a grade."""
    if grade.status != "ok":
        return grade.status
    return verdict_state(grade.passed, otherwise="informational")


def final_lines(grades: Sequence[GradeResult], *, scale: str) -> tuple[GradeLine, ...]:
    """Give the grades of the whole conversation."""
    return tuple(
        grade_line(grade, scale=scale)
        for grade in grades
        if grade.turn is None and grade.family != "limit"
    )


def limit_lines(execution: Execution, grades: Sequence[GradeResult]) -> tuple[LimitLine, ...]:
    """Give each limit with its actual value, whether or not it is set."""
    actuals = {
        "max_prompt_tokens": execution.prompt_tokens,
        "max_response_tokens": execution.response_tokens,
        # Rounded up, as in the reason of its grade.
        "max_time_ms": None if execution.time_ms is None else math.ceil(execution.time_ms),
        "max_cost_usd": execution.cost_usd,
        "max_tool_calls": execution.tool_calls,
    }
    graded = {grade.type: grade for grade in grades if grade.family == "limit"}
    lines = []
    for name, label in LIMIT_LABELS.items():
        grade = graded.get(name)
        # What could not be graded at all says so in its reason and has no numbers.
        is_known = grade is not None and "limit" in grade.details
        written: Any = usd_text if name == "max_cost_usd" else count
        limit = written(grade.details["limit"]) if grade and is_known else UNKNOWN
        state = "no_limit" if grade is None else grade_state(grade)
        lines.append(
            LimitLine(
                label=label,
                limit=limit,
                actual=written(actuals[name]),
                badge=badge(state),
                reason=grade.reason if grade else "",
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
    """Give the difference between the world before and after."""
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


def _relation(row: dict[str, Any]) -> str:
    return f"{row['from']} → {row['type']} → {row['to']}"


def _changed_fields(
    before: dict[str, Any], after: dict[str, Any]
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
