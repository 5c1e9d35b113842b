"""Graders that ask a judge."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from textwrap import shorten
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from evals_app.engine.graders.kit.base import JudgedGrader
from evals_app.engine.graders.kit.checklist import Checklist, read_checklist, without_comments
from evals_app.engine.record.aids import (
    ITEMS_A_CALL,
    ChecklistAnswer,
    ChecklistQuestion,
    Judge,
    JudgeAnswer,
    JudgeQuestion,
    Scale,
    TickedItem,
)
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import ModelSpec, Prose, read_model
from evals_app.engine.statistics.rates import at_least
from fixtures_app.ground.quoting import cut_middle, in_quotes
from fixtures_app.ground.strict_json import JsonObject

_MIN_PASSING = 3  # of 5: partially meets the criteria
_ALIKE = 0.25  # votes whose scores differ by no more agree
_SCATTERED = 0.5  # votes whose scores differ by this much are unreliable together
_LABEL_CHARS = 60
# pydantic describes the keys of a dict in a way that OpenAPI 3.0 does not support.
_ANCHOR = {"type": "string", "minLength": 1, "maxLength": 2000}
_ANCHORS = {
    "type": "object",
    "properties": dict.fromkeys("54321", _ANCHOR),
    "additionalProperties": False,
}
_MAX_JURORS = 5
_NAMED = 3  # missed bullets in a reason


class VotingGrader(JudgedGrader):
    """A judged grader that may ask several times, or several models."""

    votes: Annotated[
        Literal[1, 3, 5],
        Field(
            title="Votes",
            description="How often the judge is asked. The majority decides; on a scale, the median.",
            json_schema_extra={"advanced": True},
        ),
    ] = 1
    jury: list[Annotated[str, AfterValidator(lambda name: str(read_model(name)))]] = Field(
        default_factory=list,
        title="Jury",
        description="3 or 5 models that are asked instead of the judge, one vote each.",
        examples=["anthropic/claude-haiku-5-5"],
        json_schema_extra={"advanced": True},
    )

    @model_validator(mode="after")
    def _is_odd(self) -> Self:
        if not self.jury:
            return self
        if self.votes != 1:
            raise ValueError("Each model of a jury has one vote. Remove either votes or jury.")
        if len(self.jury) % 2 == 0 or len(self.jury) > _MAX_JURORS:
            raise ValueError(
                f"A jury has 1, 3 or 5 models so that votes cannot be tied; this one has {len(self.jury)}."
            )
        if len(set(self.jury)) < len(self.jury):
            twice, _ = Counter(self.jury).most_common(1)[0]
            raise ValueError(
                f"The jury lists {twice} twice. To ask one model several times, use votes."
            )
        return self

    def jurors(self) -> Sequence[ModelSpec]:
        return [read_model(name) for name in self.jury]

    def asks(self) -> int:
        return len(self.jury) or self.votes


class LlmJudge(VotingGrader):
    """Pass when a judge finds that the reply meets the criteria.

    A model reads the conversation, the agent's system prompt and the expected answer. It lists what
    the criteria require, decides for each requirement whether it is met and why, and answers on the
    scale:

    * `pass_fail`: passes with score 1 if everything is met, and fails with score 0 otherwise
    * `1-5`: 5 fully meets the criteria, 3 partially, 1 not at all. Passes from 3, or with a
      `threshold`, when the score (answer - 1) / 4 reaches it. Describe in `anchors` what the grades
      mean to you: without them, judges disagree about 2, 3 and 4
    * `0-1`: tenths. Passes when the score reaches the `threshold`; without one it only informs

    A judge whose answer contradicts its own list is asked again: with no requirement met the score is
    below the middle and does not pass, and the highest score needs every requirement. So is one that
    finds something met without a quote, unless the criteria forbid it ("promises no refund") or set a
    condition for it ("if asked, ..."). With `votes` or a `jury` of models,
    `pass_fail` takes the majority and stops asking as soon as it is certain; the other scales take
    the median. The check is not graded if votes are tied, or if the judge refuses, cannot decide, or
    twice contradicts itself or answers off the scale (with several votes: more than half of them).
    That is an error of the judge, not a failure of the agent.

    The rules of a scripted judge answer with a bare verdict: `pass`, `4`, `cannot_grade`.
    """

    label: ClassVar[str] = "A judge finds the criteria met"
    in_words: ClassVar[str] = "The reply is polite and says when the parcel arrives."
    calls: ClassVar[str] = "1 per vote"
    named_by: ClassVar[tuple[str, ...]] = ("Struere", "Agentura", "Lobu", "Evolvable")
    example: ClassVar[dict[str, object]] = {
        "criteria": "Names the order's status and the expected delivery date",
    }

    criteria: Annotated[
        Prose,
        Field(
            title="Criteria",
            description="What the reply must achieve. Be as specific as you can.",
            json_schema_extra={"rows": 3},
        ),
    ]
    scale: Annotated[
        Literal["pass_fail", "1-5", "0-1"],
        Field(
            title="Scale",
            description="How the judge answers.",
            json_schema_extra={
                "words": {
                    "pass_fail": "Pass or fail",
                    "1-5": "A grade from 1 to 5",
                    "0-1": "A share from 0 to 1",
                }
            },
        ),
    ] = "pass_fail"
    anchors: Annotated[
        dict[
            Literal["5", "4", "3", "2", "1"], Annotated[str, Field(min_length=1, max_length=2000)]
        ],
        WithJsonSchema(_ANCHORS),
        Field(
            title="What the grades mean",
            description="On the scale 1-5: what 5, 4, 3, 2 and 1 mean, in your own words.",
            json_schema_extra={"advanced": True},
        ),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_the_scale(self) -> Self:
        if self.anchors and self.scale != "1-5":
            raise ValueError(
                f"Anchors describe the grades of the scale 1-5; this check has the scale {self.scale}."
            )
        return self

    async def judge(self, view: View, judge: Judge, *, key: str, threshold: float | None) -> Grade:
        question = JudgeQuestion(
            criteria=self.criteria,
            scale=self.scale,
            view=view,
            key=key,
            reference=view.expected_text,
            votes=self.votes,
            anchors={int(grade): words for grade, words in self.anchors.items()},
            passing=None if self.scale == "pass_fail" else threshold,
        )
        answer = await judge(question)
        passed = self._passes(answer, threshold)
        return _grade(answer, self.scale, passed=passed, threshold=threshold)

    def _passes(self, answer: JudgeAnswer, threshold: float | None) -> bool | None:
        """Decide by the scale; a score from 0 to 1 is left to be compared with its threshold."""
        if self.scale == "pass_fail":
            return answer.raw == "pass"
        if self.scale == "0-1":
            return None
        if threshold is None:
            return float(answer.raw) >= _MIN_PASSING
        return at_least(answer.score, threshold)

    def decides(self, threshold: float | None) -> bool:
        return self.scale != "0-1" or threshold is not None

    def obeys_threshold(self) -> bool:
        return self.scale != "pass_fail"

    def summary(self) -> str:
        return f"Judge: {shorten(self.criteria, _LABEL_CHARS, placeholder=' …')}"

    def advice(self) -> list[str]:
        if self.scale != "1-5" or self.anchors:
            return []
        words = (
            "On the scale 1-5, judges disagree about what 2, 3 and 4 mean. Use the scale pass_fail, or"
            " describe each grade in anchors."
        )
        return [words]


class Rubric(VotingGrader):
    """Pass when enough bullets of a rubric are met.

    Each top-level bullet of the Markdown is judged separately: met, missed, or not applicable.
    Nested bullets belong to their parent; headings and paragraphs give the judge context. Score:
    bullets met / bullets that apply. The check passes when the score reaches the `threshold`; without
    one it only informs. If no bullet applies, the check is not applicable.

    Only a bullet worded as a condition ("If the order is late, ...") can be not applicable. A bullet
    is met only if the judge's quote comes from the agent or from its tools; only a bullet that forbids
    something, or sets a condition, is met without one. If the judge skips a bullet, gives it two
    verdicts or breaks these rules, it is asked again; a bullet that is then still open is undecided,
    neither met nor missed. If that could change the outcome, or there is no `threshold`, the rubric
    is not graded, which is an error of the judge.

    Up to 40 bullets are judged in one call. With `votes` or a `jury` of models, the majority decides
    each bullet, and every vote after the first sees the bullets in a different order.

    Markdown without bullets, or whose bullets define scores from 0 to 1, is judged as a whole, in
    tenths from 0 to 1, or 0.25 and 0.75 if the bullets name them.

    The rules of a scripted judge answer with one word for all bullets (`pass`, `fail`,
    `not_applicable`, `cannot_grade`), or by their numbers: `{"1": "pass", "2": "fail"}`.
    """

    label: ClassVar[str] = "A judge finds the rubric met"
    in_words: ClassVar[str] = "Of five points on a list, a judge ticks those that the reply meets."
    calls: ClassVar[str] = "1 per 40 bullets and vote"
    named_by: ClassVar[tuple[str, ...]] = ("Lobu",)
    only_scores: ClassVar[bool] = True
    example: ClassVar[dict[str, object]] = {
        "criteria": "# Refund\n\n- Names the amount\n- Says when the money arrives\n\n"
        "## Tone\n\n- Apologises once\n",
    }

    criteria: Annotated[
        str,
        Field(
            min_length=1,
            max_length=50_000,
            title="Rubric",
            description="Markdown. Each bullet is one thing that the reply must achieve.",
            json_schema_extra={"rows": 8},
        ),
    ]

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        if not without_comments(self.criteria).strip():
            raise ValueError("A rubric needs text outside its comments.")
        _ = self.checklist  # its limits
        return self

    @cached_property
    def checklist(self) -> Checklist:
        return read_checklist(self.criteria)

    async def judge(self, view: View, judge: Judge, *, key: str, threshold: float | None) -> Grade:
        if not self.checklist.items:
            question = JudgeQuestion(
                *(self.criteria, "0-1", view, key, view.expected_text),
                votes=self.votes,
                passing=threshold,
            )
            return _grade(await judge(question), "0-1", passed=None, threshold=threshold)
        answer = await judge.tick_off(
            ChecklistQuestion(
                items=self.checklist.items,
                remarks=self.checklist.remarks,
                view=view,
                key=key,
                reference=view.expected_text,
                votes=self.votes,
            )
        )
        return self._grade_ticks(answer)

    def _grade_ticks(self, answer: ChecklistAnswer) -> Grade:
        by_id = {item.id: item for item in answer.items}
        ticks = [(item.text, by_id.get(item.id, _SILENT)) for item in self.checklist.items]
        counts = Counter(tick.verdict for _, tick in ticks)
        applicable = len(ticks) - counts["not_applicable"]
        details: JsonObject = {
            "scale": "rubric",
            "met": counts["pass"],
            "applicable": applicable,
            "undecided": counts[None],
            "items": [_item(number, *tick) for number, tick in enumerate(ticks, 1)],
            "flags": list(answer.flags),
        }
        if answer.voters:
            details["voters"] = list(answer.voters)
        evidence = tuple(
            replace(tick.evidence, bears_on=cut_middle(text))
            for text, tick in ticks
            if tick.evidence is not None
        )
        kept: dict[str, object] = {"evidence": evidence, "details": details, "calls": answer.calls}
        if not applicable:
            return Grade.not_applicable(
                "No bullet of the rubric applies to this conversation."
            ).but(**kept)
        highest = (counts["pass"] + counts[None]) / applicable if counts[None] else None
        grade = Grade.of_score(counts["pass"] / applicable, _reason(ticks, counts))
        return grade.but(highest=highest, **kept)

    def asks(self) -> int:
        return super().asks() * max(1, -(-len(self.checklist.items) // ITEMS_A_CALL))

    def summary(self) -> str:
        count = len(self.checklist.items)
        if not count:
            return f"Rubric: {shorten(self.criteria, _LABEL_CHARS, placeholder=' …')}"
        return f"Rubric of {count} bullet{'' if count == 1 else 's'}"


_SILENT = TickedItem(0, None)


def _item(number: int, text: str, tick: TickedItem) -> JsonObject:
    """Return a bullet as the review page shows it."""
    item: JsonObject = {"id": number, "text": text, "verdict": tick.verdict}
    item["critique"] = tick.critique
    if tick.evidence is not None:
        item["evidence"] = asdict(tick.evidence)
    if tick.votes:
        item["votes"] = list(tick.votes)
    return item


def _reason(ticks: Sequence[tuple[str, TickedItem]], counts: Counter[Any]) -> str:
    """Describe what was met and missed; the counts are ours, the words the judge's."""
    parts = [
        _count(counts["pass"], applicable=len(ticks) - counts["not_applicable"], total=len(ticks))
    ]
    missed = [tick for tick in ticks if tick[1].verdict == "fail"]
    if missed:
        parts.append(f"Missed: {_quote_ticks(missed)}.")
    is_open = [tick for tick in ticks if tick[1].verdict is None]
    if is_open:
        parts.append(f"The judge could not decide {_quote_ticks(is_open)}.")
    return " ".join(parts)


def _count(met: int, *, applicable: int, total: int) -> str:
    """Describe how many bullets are met, and that others did not apply."""
    are = "is" if met == 1 else "are"
    if applicable == total:
        return f"{met} of {total} bullet{'' if total == 1 else 's'} {are} met."
    only = f"Only {applicable} of {total} bullets applied"
    if applicable == 1:
        return f"{only}; it is {'met' if met else 'not met'}."
    return f"{only}; {met} of them {are} met."


def _quote_ticks(ticks: Sequence[tuple[str, TickedItem]]) -> str:
    """Quote some bullets with the judge's critique."""
    bullets = [
        in_quotes(text.splitlines()[0])
        + (f" ({cut_middle(tick.critique.rstrip('.'))})" if tick.critique else "")
        for text, tick in ticks[:_NAMED]
    ]
    more = f" and {len(ticks) - _NAMED} more" if len(ticks) > _NAMED else ""
    return f"{'; '.join(bullets)}{more}"


def _grade(
    answer: JudgeAnswer, scale: Scale, *, passed: bool | None, threshold: float | None
) -> Grade:
    flags = list(answer.flags)
    details: dict[str, object] = {"raw": answer.raw, "scale": scale, "flags": flags}
    if answer.requirements:
        listed = enumerate(answer.requirements, 1)
        details["items"] = [entry.as_item(number) for number, entry in listed]
    if answer.votes:
        details["votes"] = [asdict(vote) for vote in answer.votes]
        details["agreement"] = _agreeing(answer) / len(answer.votes)
        flags += ["scattered"] if _is_scattered(answer) else []
    parts = [_on_scale(answer, scale, threshold), _votes(answer), answer.critique]
    return Grade(
        min(1.0, max(0.0, answer.score)),
        passed,
        " ".join(filter(None, parts)) or f"The judge answered {answer.raw} on the scale {scale}.",
        cause=Cause.ASSERTION if passed is False else None,
        evidence=answer.evidence,
        details=details,
        calls=answer.calls,
    )


def _on_scale(answer: JudgeAnswer, scale: Scale, threshold: float | None) -> str:
    """Write the grade and what is needed: 3 of 5, needs 4."""
    if isinstance(answer.raw, str) or scale != "1-5":
        return ""
    least = float(_MIN_PASSING) if threshold is None else 1 + 4 * threshold
    # Where only whole grades are given, the next one is needed.
    least = least if answer.votes else math.ceil(round(least, 6))
    return f"{_number(answer.raw)} of 5, needs {_number(least)}."


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _votes(answer: JudgeAnswer) -> str:
    """Write how far votes agree: 2 of 3 votes agree (4, 5, 1)."""
    if not answer.votes:
        return ""
    grades = ("no grade" if vote.raw is None else vote.raw for vote in answer.votes)
    opinions = ", ".join(raw if isinstance(raw, str) else _number(raw) for raw in grades)
    agree = "agrees" if _agreeing(answer) == 1 else "agree"
    return f"{_agreeing(answer)} of {len(answer.votes)} votes {agree} ({opinions})."


def _agreeing(answer: JudgeAnswer) -> int:
    """Count the votes that are near the outcome."""
    scores = (vote.score for vote in answer.votes if vote.score is not None)
    return sum(abs(score - answer.score) <= _ALIKE for score in scores)


def _is_scattered(answer: JudgeAnswer) -> bool:
    """Return whether the grades of votes are far apart; for pass and fail the count of votes is enough."""
    scores = [vote.score for vote in answer.votes if vote.score is not None]
    is_graded = not isinstance(answer.raw, str)
    return is_graded and bool(scores) and max(scores) - min(scores) >= _SCATTERED
