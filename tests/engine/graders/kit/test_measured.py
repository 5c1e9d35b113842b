import pytest

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.graders.rag import AnswerRelevancy
from evals_app.engine.record.aids import Aids
from evals_app.engine.record.grade import Evidence, GradeStatus
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause
from tests.engine.graders.makers import FakeMeasure, view_of

pytestmark = pytest.mark.anyio
CALL = JudgeCall(purpose="judge", model="local/judge-1", prompt="?", reply="{}")


@pytest.mark.parametrize(
    ("score", "cause", "status"),
    [
        pytest.param(0.5, None, GradeStatus.OK, id="a score"),
        pytest.param(None, None, GradeStatus.NOT_APPLICABLE, id="not applicable"),
        pytest.param(None, Cause.CASE, GradeStatus.UNGRADED, id="cannot be measured"),
    ],
)
async def test_what_was_measured_becomes_a_grade_without_a_verdict(
    score: float | None, cause: Cause | None, status: GradeStatus
) -> None:
    evidence = (Evidence("Hi", is_verified=True),)
    measure = FakeMeasure(
        score, cause=cause, evidence=evidence, details={"items": []}, calls=(CALL,)
    )

    grade = await AnswerRelevancy().grade_with(view_of("Hi"), Aids(measure=measure, key="k"))

    assert (grade.score, grade.passed, grade.status, grade.cause) == (score, None, status, cause)
    assert (grade.reason, grade.evidence) == ("Because.", evidence)
    assert (grade.details, grade.calls) == ({"items": []}, (CALL,))


async def test_without_a_model_there_is_nobody_to_ask() -> None:
    with pytest.raises(JudgeError, match="no judge model"):
        await AnswerRelevancy().grade_with(view_of("Hi"), Aids())
