"""Graders that ask a judge."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from evals_app.engine.graders.base import JudgedGrader
from evals_app.engine.graders.quoting import shortened
from evals_app.engine.trial import Cause, Grade, Judge, JudgeAnswer, JudgeQuestion, Scale, View

_LEAST_PASSING = 3  # of 5: partially meets the criteria


class LlmJudge(JudgedGrader):
    """Pass when a judge finds that the reply meets the criteria.

    A model reads the conversation, the resolved system prompt and the reference, and answers on
    the scale:

    * `1-5`: 5 fully meets the criteria, 3 partially, 1 not at all; passes from 3, or if a
      `threshold` is set, when the score (answer - 1) / 4 reaches it
    * `0-1`: tenths; passes when the score reaches the `threshold`, without one it is shown only
    * `pass_fail`: score 1 or 0; the reason says why it failed

    A judge that refuses, answers off the scale twice or cannot decide gives no grade: that is an
    error of the judge, not a failure of the agent.
    """

    label: ClassVar[str] = "A judge finds criteria met"
    example: ClassVar[dict[str, Any]] = {
        "criteria": "Names the order's status and the expected delivery date",
        "scale": "pass_fail",
    }

    criteria: Annotated[
        str,
        Field(
            min_length=1,
            title="Criteria",
            description="What the reply must achieve; the more specific, the better.",
            json_schema_extra={"rows": 3},
        ),
    ]
    scale: Annotated[Scale, Field(title="Scale", description="How the judge answers.")] = "1-5"

    async def judge(self, view: View, judge: Judge, *, key: str, threshold: float | None) -> Grade:
        question = JudgeQuestion(
            criteria=self.criteria,
            scale=self.scale,
            view=view,
            key=key,
            reference=view.expected_text,
        )
        answer = await judge(question)
        passed = self._passes(answer, threshold)
        return Grade(
            min(1.0, max(0.0, answer.score)),
            passed,
            answer.critique or f"The judge answered {answer.raw} on the scale {self.scale}.",
            cause=Cause.ASSERTION if passed is False else None,
            evidence=answer.evidence,
            details={"raw": answer.raw, "scale": self.scale, "flags": list(answer.flags)},
            calls=answer.calls,
        )

    def _passes(self, answer: JudgeAnswer, threshold: float | None) -> bool | None:
        if self.scale == "pass_fail":
            return answer.raw == "pass"
        if threshold is not None:
            return answer.score >= threshold
        return float(answer.raw) >= _LEAST_PASSING if self.scale == "1-5" else None

    def decides(self, threshold: float | None) -> bool:
        return self.scale != "0-1" or threshold is not None

    def summary(self) -> str:
        return f"Judge: {shortened(' '.join(self.criteria.split()), 200)}"
