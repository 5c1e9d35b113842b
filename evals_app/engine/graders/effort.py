"""Graders of the time and money that a reply takes."""

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from evals_app.engine.graders.kit.base import PlainGrader, failed_by_agent, unanswered_turn
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause, TurnRecord, time_of
from evals_app.engine.record.usage import total_cost
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import MAX_INTEGER, MILLISECONDS, Usd
from fixtures_app.ground.quoting import seconds

_MAX_CONVERSATION_MS = 1_500_000  # longer ones are abandoned


class Latency(PlainGrader):
    """Pass when the agent answers in time.

    Score 1 or 0. On a turn, that turn's time counts; in a final check, the time of all turns together.
    Waiting for a busy provider does not count. A turn in which the agent fails is never in time,
    however fast it failed.
    """

    label: ClassVar[str] = "Reply arrives in time"
    in_words: ClassVar[str] = "The agent answers within 3 seconds."
    family: ClassVar[Literal["effort"]] = "effort"
    named_by: ClassVar[tuple[str, ...]] = ("Agentura",)
    example: ClassVar[dict[str, object]] = {"max_ms": 3000}

    max_ms: Annotated[
        int,
        Field(
            gt=0,
            le=MAX_INTEGER,
            title="Maximum time (ms)",
            description="The limit itself still passes.",
            json_schema_extra=MILLISECONDS,
        ),
    ]

    def grade(self, view: View) -> Grade:
        if (failed := unanswered_turn(view.turns)) is not None:
            return failed.but(score=0.0)
        if (taken_ms := time_of(view.turns)) is None:
            return unknown_time(view.turns)
        reason = f"{_subject(view)} took {_time_text(taken_ms, self.max_ms)}; the limit is {seconds(self.max_ms)}."
        graded = Grade.hit if taken_ms <= self.max_ms else Grade.miss
        return graded(reason, actual_ms=taken_ms)

    def cannot_fail(self) -> str | None:
        if self.max_ms < _MAX_CONVERSATION_MS:
            return None
        return (
            f"No conversation takes longer than {seconds(_MAX_CONVERSATION_MS)}, so every reply is in"
            " time. Set a smaller limit."
        )

    def only_forbids(self) -> bool:
        return True

    def summary(self) -> str:
        return f"Takes at most {seconds(self.max_ms)}"


class Cost(PlainGrader):
    """Pass when the agent's model calls cost no more than the limit.

    Score 1 or 0. On a turn, that turn's calls count; in a final check, those of all turns. The cost of
    judges is not included. If the cost is unknown, the check is not graded.
    """

    label: ClassVar[str] = "Reply stays within a cost limit"
    in_words: ClassVar[str] = "The answer costs at most 1 cent."
    family: ClassVar[Literal["effort"]] = "effort"
    named_by: ClassVar[tuple[str, ...]] = ("Agentura",)
    example: ClassVar[dict[str, object]] = {"max_usd": 0.01}

    max_usd: Annotated[
        Usd, Field(title="Maximum cost (USD)", description="The limit itself still passes.")
    ]

    def grade(self, view: View) -> Grade:
        cost_usd = total_cost([turn.cost_usd for turn in view.turns])
        if cost_usd is None:
            unknown = unknown_cost(view.turns)
            return unknown if unknown.passed is None else unknown.but(score=0.0)
        # To the last digit: a cost slightly above the limit must not look equal to it.
        shown, limit = (usd_text(amount, is_exact=True) for amount in (cost_usd, self.max_usd))
        reason = f"{_subject(view)} cost {shown}; the limit is {limit}."
        graded = Grade.hit if cost_usd <= self.max_usd else Grade.miss
        return graded(reason, actual_usd=float(cost_usd))

    def only_forbids(self) -> bool:
        return True

    def summary(self) -> str:
        return f"Costs at most {usd_text(self.max_usd, is_exact=True)}"


def _time_text(ms: float, most: int) -> str:
    """Write a time rounded up; one slightly above the limit must not look equal to it."""
    if not most < ms < most + 1:
        return seconds(math.ceil(ms))
    return f"{ms / 1000:,.6f}".rstrip("0") + " s"


def _subject(view: View) -> str:
    return "The conversation" if view.turn is None else "The turn"


def unknown_time(turns: Sequence[TurnRecord]) -> Grade:
    """Return the grade where it is unknown how long some of these turns took."""
    silent = [turn.index for turn in turns if turn.latency_ms is None]
    of = f"turn {silent[0]}" if silent else "the conversation"
    return Grade.without_result(Cause.CASE, f"It is unknown how long {of} took.")


def unknown_cost(turns: Sequence[TurnRecord]) -> Grade:
    """Return the grade where the cost of some of these turns is unknown."""
    for turn in turns:
        if turn.cost_usd is None and None not in {turn.usage.input_uncached, turn.usage.output}:
            model = turn.model or "the agent's model"
            reason = f"The cost is unknown, because no price covers the usage of {model}."
            return Grade.without_result(
                Cause.CASE, f"{reason} Add the price on the provider's page."
            )
    return unknown_usage(turns, "Cost")


def unknown_usage(turns: Sequence[TurnRecord], label: str) -> Grade:
    """Return the grade where some of these turns report no tokens; `label` begins the sentence."""
    silent = [turn for turn in turns if None in {turn.usage.input_uncached, turn.usage.output}]
    if all(turn.error for turn in silent):
        # The cost of a failed call is never reported; the failure is the agent's.
        reason = f"{label}: unknown. Turn {silent[0].index} failed: {silent[0].error}"
        return failed_by_agent(reason)
    reason = f"{label}: the agent reports no usage."
    if label == "Cost":
        reason = (
            "The cost is unknown: the agent reports no usage and no cost of its own"
            " (estimated_cost_usd)."
        )
    return Grade.without_result(Cause.CASE, reason)
