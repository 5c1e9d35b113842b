from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.errors import JudgeError
from evals_app.engine.graders.judged import LlmJudge
from evals_app.engine.suite import AssertionSpec
from evals_app.engine.trial import Cause, Evidence, JudgeAnswer, JudgeCall, JudgeQuestion
from tests.engine.graders.makers import view_of

pytestmark = pytest.mark.anyio
CALL = JudgeCall(purpose="judge", model="scripted/judge", prompt="?", reply="4")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class FakeJudge:
    """Gives one answer and remembers what it was asked."""

    def __init__(self, raw: float | str, score: float, **fields: Any) -> None:
        self.answer = JudgeAnswer(raw, score, **{"critique": "Because.", **fields})
        self.asked: list[JudgeQuestion] = []

    async def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
        self.asked.append(question)
        return self.answer


@pytest.mark.parametrize(
    ("scale", "raw", "score", "threshold", "passed"),
    [
        pytest.param("1-5", 3, 0.5, None, True, id="3 of 5 passes"),
        pytest.param("1-5", 2, 0.25, None, False, id="2 of 5 fails"),
        pytest.param("1-5", 3, 0.5, 0.75, False, id="a threshold of its own"),
        pytest.param("1-5", 4, 0.75, 0.75, True, id="the threshold is included"),
        pytest.param("1-5", 2, 0.25, 0.0, True, id="a threshold of 0"),
        pytest.param("pass_fail", "pass", 1.0, None, True, id="pass"),
        pytest.param("pass_fail", "fail", 0.0, None, False, id="fail"),
        pytest.param("pass_fail", "fail", 0.0, 0.0, False, id="the verdict decides, no threshold"),
        pytest.param("0-1", 0.7, 0.7, None, None, id="informational"),
        pytest.param("0-1", 0.7, 0.7, 0.7, True, id="reached"),
        pytest.param("0-1", 0.7, 0.7, 0.8, False, id="not reached"),
    ],
)
async def test_the_scale_says_what_passes(
    *, scale: str, raw: float | str, score: float, threshold: float | None, passed: bool | None
) -> None:
    grader = LlmJudge.model_validate({"criteria": "Is polite", "scale": scale})

    grade = await grader.judge(view_of("Hi"), FakeJudge(raw, score), key="k", threshold=threshold)

    assert (grade.score, grade.passed) == (score, passed)
    assert grade.cause is (Cause.ASSERTION if passed is False else None)


async def test_the_judge_is_asked_about_what_the_view_shows() -> None:
    judge, view = FakeJudge(4, 0.75), view_of("Hi", expected="Hello")

    await LlmJudge(criteria="Is polite").judge(view, judge, key="0/1", threshold=None)

    assert judge.asked == [JudgeQuestion("Is polite", "1-5", view, key="0/1", reference="Hello")]


async def test_what_the_judge_found_is_kept() -> None:
    evidence = (Evidence("Hi", turn=1, is_verified=True),)
    judge = FakeJudge(4, 0.75, evidence=evidence, flags=("injection",), calls=(CALL,))

    grade = await LlmJudge(criteria="x").judge(view_of("Hi"), judge, key="k", threshold=None)

    assert grade.reason == "Because."
    assert grade.evidence == evidence
    assert grade.details == {"raw": 4, "scale": "1-5", "flags": ["injection"]}
    assert grade.calls == (CALL,)


async def test_a_judge_without_a_verdict_is_left_to_the_caller() -> None:
    async def judge(question: JudgeQuestion) -> JudgeAnswer:
        raise JudgeError("refused", calls=(CALL,))

    with pytest.raises(JudgeError):
        await LlmJudge(criteria="x").judge(view_of(), judge, key="k", threshold=None)


@pytest.mark.parametrize(
    ("kind", "options", "scale"),
    [
        pytest.param("llm_judge", {}, "1-5", id="default"),
        pytest.param("llm-rubric", {}, "pass_fail", id="alias"),
        pytest.param("llm_rubric", {}, "pass_fail", id="alias with underscore"),
        pytest.param("llm-rubric", {"scale": "0-1"}, "0-1", id="what is written wins"),
    ],
)
def test_the_alias_brings_its_scale(kind: str, options: dict[str, str], scale: str) -> None:
    spec = AssertionSpec.model_validate({"type": kind, "criteria": "Is polite", **options})

    assert isinstance(spec.grader, LlmJudge)
    assert (spec.type, spec.grader.scale) == ("llm_judge", scale)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="no criteria"),
        pytest.param({"criteria": ""}, id="empty criteria"),
        pytest.param({"criteria": "x", "scale": "1-10"}, id="unknown scale"),
        pytest.param({"criteria": "x", "votes": 3}, id="not in this version"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LlmJudge.model_validate(options)


def test_a_closed_row_reads_as_a_sentence() -> None:
    assert LlmJudge(criteria="Is\n polite").summary() == "Judge: Is polite"


@pytest.mark.parametrize(
    ("scale", "threshold", "decides"),
    [
        pytest.param("1-5", None, True, id="3 of 5 passes by itself"),
        pytest.param("pass_fail", None, True, id="a verdict by itself"),
        pytest.param("0-1", None, False, id="a score alone"),
        pytest.param("0-1", 0.0, True, id="a score with a threshold"),
    ],
)
def test_a_score_without_a_threshold_decides_nothing(
    scale: str, threshold: float | None, *, decides: bool
) -> None:
    grader = LlmJudge.model_validate({"criteria": "Is polite", "scale": scale})

    assert grader.decides(threshold) is decides
