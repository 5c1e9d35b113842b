"""What graders share whose question a judge answers with several small verdicts."""

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal

from evals_app.engine.basics.errors import NO_JUDGE, JudgeError
from evals_app.engine.graders.kit.base import AidedGrader
from evals_app.engine.record.aids import Aids, RagQuestion, StepsQuestion
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.view import View


class MeasuredGrader(AidedGrader):
    """A grader that hands a question to the judge; a `threshold` decides, none only informs."""

    family: ClassVar[Literal["judged"]] = "judged"
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    only_scores: ClassVar[bool] = True

    @abstractmethod
    def question(self, view: View, *, key: str) -> RagQuestion | StepsQuestion:
        """Return what the judge is asked."""

    async def grade_with(self, view: View, aids: Aids) -> Grade:
        if aids.measure is None:
            raise JudgeError(NO_JUDGE)
        question = self.question(view, key=aids.key)
        if isinstance(question, StepsQuestion):
            question = replace(question, passing=aids.threshold)
        measured = await aids.measure(question)
        if measured.score is not None:
            grade = Grade.of_score(measured.score, measured.reason).but(highest=measured.highest)
        elif measured.cause is not None:
            grade = Grade.without_result(measured.cause, measured.reason)
        else:
            grade = Grade.not_applicable(measured.reason)
        return grade.but(evidence=measured.evidence, details=measured.details, calls=measured.calls)
