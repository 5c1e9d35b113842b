"""G-Eval: a judge grades by evaluation steps."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from evals_app.engine.graders.kit.base import Need
from evals_app.engine.graders.kit.measured import MeasuredGrader
from evals_app.engine.record.aids import Aids, Scale, ShownField, StepsQuestion
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from fixtures_app.ground.quoting import cut_middle

_NEEDS: dict[ShownField, Need] = {"expected_output": "expected", "context": "context"}


def _answer_alone() -> list[ShownField]:
    return ["actual_output"]


class GEval(MeasuredGrader):
    """Pass when a judge who follows evaluation steps grades the reply high enough (G-Eval).

    Without `evaluation_steps`, three or four steps are written from the criteria, once. They are
    stored, can be read and edited under Evaluation steps, and are used by every later run. The judge
    sees only the fields listed in `evaluation_params`. If a turn lacks one of them, the check is
    refused, or skipped if it is one of the suite's.

    The judge grades from 1 to 5, or with the `scale` 0-10 from 0 to 10. Score: (E - 1) / 4, or E / 10,
    where E is the expected grade: the mean of all grades, weighted by their probabilities if the API
    reports them; otherwise the mean of the `votes`, or the single grade. With `strict_mode` the judge
    answers pass or fail, which is the verdict; the score is then 1 or 0. Otherwise a `threshold`
    decides; without one the score only informs.
    """

    label: ClassVar[str] = "A judge grades by steps"
    in_words: ClassVar[str] = "A judge grades from 1 to 5 how clear the reply is."
    calls: ClassVar[str] = "1 per vote; 1 more, once, to write the steps"
    reads_text: ClassVar[bool] = True
    example: ClassVar[dict[str, object]] = {
        "criteria": "The answer explains every step in words that a beginner understands.",
        "evaluation_steps": [
            "List the steps that the answer names.",
            "Find words that a beginner does not know and that are not explained.",
            "Grade from 1 to 5: the fewer such words, the higher.",
        ],
        "evaluation_params": ["actual_output", "input"],
    }

    criteria: Annotated[
        str,
        Field(
            title="Criteria",
            description="What makes a good reply. Optional if there are evaluation steps.",
            max_length=20_000,
            json_schema_extra={"rows": 3},
        ),
    ] = ""
    evaluation_steps: list[Annotated[str, Field(min_length=1, max_length=2000)]] = Field(
        default_factory=list,
        max_length=20,
        title="Evaluation steps",
        description="What the judge does, in order. Leave blank to have them written from the criteria.",
    )
    evaluation_params: list[ShownField] = Field(
        default_factory=_answer_alone,
        title="What the judge sees",
        description="The reply is required.",
        json_schema_extra={
            "words": {
                "actual_output": "The reply",
                "input": "The user message",
                "expected_output": "The expected answer",
                "context": "The turn's facts for judges",
                "retrieval_context": "What was retrieved",
            }
        },
    )
    strict_mode: Annotated[
        bool,
        Field(
            title="Pass or fail",
            description="Instead of a grade on the scale.",
            json_schema_extra={"advanced": True},
        ),
    ] = False
    scale: Annotated[
        Literal["1-5", "0-10"],
        Field(
            title="Scale",
            description="The grades the judge may give. With 0-10, thresholds mean the same as in DeepEval.",
            json_schema_extra={
                "advanced": True,
                "words": {"1-5": "From 1 to 5", "0-10": "From 0 to 10"},
            },
        ),
    ] = "1-5"
    votes: Annotated[
        Literal[1, 3, 5],
        Field(
            title="Votes",
            description="How often the judge is asked, unless the API reports log probabilities.",
            json_schema_extra={"advanced": True},
        ),
    ] = 1

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if not self.criteria.strip() and not self.evaluation_steps:
            raise ValueError("Write criteria, evaluation steps, or both.")
        if "actual_output" not in self.evaluation_params:
            raise ValueError(
                "evaluation_params must include actual_output, because the reply is what is graded."
            )
        if len(set(self.evaluation_params)) < len(self.evaluation_params):
            raise ValueError("evaluation_params names a field twice.")
        return self

    def question(self, view: View, *, key: str) -> StepsQuestion:
        return StepsQuestion(
            view=view,
            key=key,
            criteria=self.criteria.strip(),
            steps=tuple(self.evaluation_steps),
            shown=tuple(self.evaluation_params),
            scale=self.scale_asked,
            votes=self.votes,
        )

    @property
    def scale_asked(self) -> Scale:
        return "pass_fail" if self.strict_mode else self.scale

    async def grade_with(self, view: View, aids: Aids) -> Grade:
        grade = await super().grade_with(view, aids)
        if not self.strict_mode or grade.score is None:
            return grade
        passed = grade.score == 1
        return grade.but(passed=passed, cause=None if passed else Cause.ASSERTION)

    def decides(self, threshold: float | None) -> bool:
        return self.strict_mode or super().decides(threshold)

    def cannot_fail(self) -> str | None:
        if self.criteria.strip() or any(step.strip() for step in self.evaluation_steps):
            return None
        return (
            "The steps are blank, so every reply meets them. Write what the judge should look at."
        )

    def needs(self) -> frozenset[Need]:
        return frozenset(_NEEDS[name] for name in self.evaluation_params if name in _NEEDS)

    def asks(self) -> int:
        return self.votes

    def summary(self) -> str:
        text = self.criteria or " ".join(self.evaluation_steps)
        return f"By steps: {cut_middle(' '.join(text.split()), 200)}"
