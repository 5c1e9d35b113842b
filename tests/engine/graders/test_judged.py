from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders.judged import LlmJudge, Rubric
from evals_app.engine.record.aids import (
    Aids,
    ChecklistAnswer,
    ChecklistItem,
    ChecklistQuestion,
    Judge,
    JudgeAnswer,
    JudgeQuestion,
    Requirement,
    Tick,
    TickedItem,
    Vote,
)
from evals_app.engine.record.grade import Evidence, Grade, GradeStatus
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.grading import grade_trial
from tests.engine.graders.makers import view_of
from tests.engine.makers import make_case, make_suite, make_trial, make_turn

pytestmark = pytest.mark.anyio
CALL = JudgeCall(purpose="judge", model="scripted/judge", prompt="?", reply="4")


class FakeJudge:
    """Gives one answer to every question, one to every checklist, and remembers what it was asked."""

    def __init__(
        self,
        raw: float | str = "pass",
        score: float = 1.0,
        *,
        ticks: ChecklistAnswer | None = None,
        **fields: Any,
    ) -> None:
        self.answer = JudgeAnswer(raw, score, **{"critique": "Because.", **fields})
        self.ticks = ticks or ChecklistAnswer(())
        self.asked: list[JudgeQuestion] = []
        self.ticked: list[ChecklistQuestion] = []

    async def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
        self.asked.append(question)
        return self.answer

    async def tick_off(self, question: ChecklistQuestion) -> ChecklistAnswer:
        self.ticked.append(question)
        return self.ticks


def ticks_of(*words: Tick | None, **fields: Any) -> ChecklistAnswer:
    """Tick items off with the given verdicts, in order; those without a word are left out."""
    items = (TickedItem(n, word, f"It is {word}.") for n, word in enumerate(words, 1))
    return ChecklistAnswer(tuple(items), **fields)


@pytest.mark.parametrize(
    ("scale", "raw", "score", "threshold", "passed"),
    [
        pytest.param("0-1", 0.65, (0.6 + 0.7) / 2, 0.65, True, id="but for rounding"),
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
    grade = await grade_of(FakeJudge(raw, score), {"scale": scale, "threshold": threshold})

    assert (grade.score, grade.passed) == (score, passed)
    assert grade.cause is (Cause.ASSERTION if passed is False else None)


async def grade_of(judge: Judge, options: Mapping[str, Any]) -> Grade:
    """Grade a turn by a judge as an execution does, with whatever is decided after the judge."""
    check = {"type": "llm_judge", "criteria": "Is polite", **options}
    case = make_case(turns=[{"user": "Hello", "assertions": [check]}])
    trial = make_trial(make_turn("Hi"))
    (result,) = await grade_trial(
        trial, case=case, suite=make_suite(), aids_for=lambda *_: Aids(judge=judge)
    )
    return result.grade


async def test_the_judge_is_asked_about_what_the_view_shows() -> None:
    judge, view = FakeJudge(4, 0.75), view_of("Hi", expected="Hello")

    await LlmJudge(criteria="Is polite").judge(view, judge, key="0/1", threshold=None)

    assert judge.asked == [
        JudgeQuestion("Is polite", "pass_fail", view, key="0/1", reference="Hello")
    ]


async def test_what_the_judge_found_is_kept() -> None:
    evidence = (Evidence("Hi", turn=1, is_verified=True),)
    judge = FakeJudge(4, 0.75, evidence=evidence, flags=("injection",), calls=(CALL,))

    check = LlmJudge(criteria="x", scale="1-5")
    grade = await check.judge(view_of("Hi"), judge, key="k", threshold=None)

    assert grade.reason == "4 of 5, needs 3. Because."
    assert grade.evidence == evidence
    assert grade.details == {"raw": 4, "scale": "1-5", "flags": ["injection"]}
    assert grade.calls == (CALL,)


async def test_votes_are_asked_for_and_reported() -> None:
    votes = (
        Vote("a/b", 4, "Fine.", 0.75),
        Vote("a/b", None, "Refused."),
        Vote("a/b", 5, "Great.", 1.0),
    )
    judge = FakeJudge(4.5, 0.875, votes=votes)
    check = LlmJudge(criteria="x", scale="1-5", votes=3)

    grade = await check.judge(view_of(), judge, key="k", threshold=None)

    assert judge.asked[0].votes == 3
    assert grade.reason == "4.5 of 5, needs 3. 2 of 3 votes agree (4, no grade, 5). Because."
    assert [vote["raw"] for vote in grade.details["votes"]] == [4, None, 5]
    assert grade.details["agreement"] == pytest.approx(2 / 3)
    assert "scattered" not in grade.details["flags"]


@pytest.mark.parametrize(
    ("raw", "score", "scores", "flags"),
    [
        pytest.param(0.7, 0.7, (1.0, 0.0, 0.7), ["scattered"], id="far apart"),
        pytest.param(0.7, 0.7, (0.8, 0.6, 0.7), [], id="near each other"),
        pytest.param("pass", 1.0, (1.0, 0.0, 1.0), [], id="pass and fail are counted"),
    ],
)
async def test_votes_that_lie_far_apart_are_flagged(
    raw: float | str, score: float, scores: tuple[float, ...], flags: list[str]
) -> None:
    votes = tuple(Vote("a/b", vote, "So.", vote) for vote in scores)
    check = LlmJudge(criteria="x", scale="0-1", votes=3)

    grade = await check.judge(
        view_of(), FakeJudge(raw, score, votes=votes), key="k", threshold=None
    )

    assert grade.details["flags"] == flags


@pytest.mark.parametrize(
    ("scale", "raw", "score", "threshold", "begin"),
    [
        pytest.param("1-5", 3, 0.5, 0.75, "3 of 5, needs 4. ", id="by its threshold"),
        pytest.param("1-5", 3, 0.5, 0.6, "3 of 5, needs 4. ", id="of whole grades the next"),
        pytest.param("1-5", 2, 0.25, None, "2 of 5, needs 3. ", id="by the scale"),
        pytest.param("0-1", 0.7, 0.7, 0.8, " Score 0.70, needs 0.80.", id="tenths"),
        pytest.param("0-1", 0.7, 0.7, None, " Score 0.70.", id="nothing is needed"),
        pytest.param("pass_fail", "fail", 0.0, None, "", id="pass or fail"),
    ],
)
async def test_a_reason_says_what_was_given_and_what_is_needed(
    scale: str, raw: float | str, score: float, threshold: float | None, begin: str
) -> None:
    grade = await grade_of(FakeJudge(raw, score), {"scale": scale, "threshold": threshold})

    begins, ends = ("", begin) if scale == "0-1" else (begin, "")
    assert grade.reason == f"{begins}Because.{ends}"


def test_what_is_long_is_not_put_before_every_reason() -> None:
    criteria = "Names the amount of the refund and says when it arrives. " * 9

    assert len(LlmJudge(criteria=criteria).summary()) < 80
    assert len(Rubric(criteria=criteria).summary()) < 80


async def test_what_is_required_is_kept_for_the_review_page() -> None:
    missed = Requirement("Names the day", is_met=False, is_absent=True)

    grade = await grade_of(FakeJudge("fail", 0.0, requirements=(missed,)), {})

    (item,) = grade.details["items"]
    assert (item["text"], item["verdict"]) == ("Names the day", "fail")
    assert item["note"]


async def test_the_judge_is_shown_what_the_author_means_by_a_grade() -> None:
    judge = FakeJudge(4, 0.75)

    await grade_of(judge, {"scale": "1-5", "anchors": {"5": "kind", "1": "rude"}})

    assert judge.asked[0].anchors == {5: "kind", 1: "rude"}


@pytest.mark.parametrize(
    ("options", "is_advised"),
    [
        pytest.param({}, False, id="pass or fail"),
        pytest.param({"scale": "1-5"}, True, id="grades without a meaning"),
        pytest.param({"scale": "1-5", "anchors": {"5": "kind"}}, False, id="with one"),
        pytest.param({"scale": "0-1"}, False, id="tenths"),
    ],
)
def test_grades_without_a_meaning_are_advised_against(
    *, options: dict[str, Any], is_advised: bool
) -> None:
    check = LlmJudge.model_validate({"criteria": "x", **options})

    assert bool(check.advice()) is is_advised
    assert check.warnings() == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"anchors": {"5": "kind"}}, "1-5", id="another scale"),
        pytest.param({"scale": "1-5", "anchors": {"6": "kind"}}, "anchors.6", id="no such grade"),
        pytest.param({"scale": "1-5", "anchors": {"5": ""}}, "anchors.5", id="no words"),
        pytest.param({"scale": "1-5", "anchors": ["kind"]}, "anchors", id="a list"),
        pytest.param({"scale": "0-10"}, "scale", id="a scale of others"),
        pytest.param({"criteria": ""}, "criteria", id="empty criteria"),
        pytest.param({"votes": 2}, "votes", id="an even number of votes"),
        pytest.param({"votes": "3"}, "votes", id="votes as text"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        LlmJudge.model_validate({"criteria": "x", **options})


@pytest.mark.parametrize(
    ("kind", "options", "scale"),
    [
        pytest.param("llm_judge", {}, "pass_fail", id="default"),
        pytest.param("llm-rubric", {}, "pass_fail", id="alias"),
        pytest.param("llm_rubric", {}, "pass_fail", id="alias with underscore"),
        pytest.param("llm-rubric", {"scale": "0-1"}, "0-1", id="what is written wins"),
    ],
)
def test_the_alias_brings_its_scale(kind: str, options: dict[str, str], scale: str) -> None:
    spec = AssertionSpec.model_validate({"type": kind, "criteria": "Is polite", **options})

    assert isinstance(spec.grader, LlmJudge)
    assert (spec.type, spec.grader.scale) == ("llm_judge", scale)


def test_a_closed_row_reads_as_a_sentence() -> None:
    assert LlmJudge(criteria="Is\n polite").summary() == "Judge: Is polite"


@pytest.mark.parametrize(
    ("scale", "alone", "with_threshold"), [("1-5", True, True), ("0-1", False, True)]
)
def test_a_score_without_a_threshold_decides_nothing(
    scale: str, *, alone: bool, with_threshold: bool
) -> None:
    grader = LlmJudge.model_validate({"criteria": "Is polite", "scale": scale})

    assert (grader.decides(None), grader.decides(0.0)) == (alone, with_threshold)


# Juries.

HAIKU, MINI, FLASH = "anthropic/claude-haiku-5-5", "openai/gpt-6-mini", "gemini/gemini-4-flash"


@pytest.mark.parametrize(
    ("options", "jurors", "asks"),
    [
        pytest.param({}, [], 1, id="one answer"),
        pytest.param({"votes": 5}, [], 5, id="votes"),
        pytest.param({"jury": [HAIKU, MINI, FLASH]}, [HAIKU, MINI, FLASH], 3, id="a jury"),
        pytest.param({"jury": ["claude-haiku-5-5"]}, [HAIKU], 1, id="one, by its bare name"),
    ],
)
def test_who_is_asked_how_often_is_known(
    options: dict[str, Any], jurors: list[str], asks: int
) -> None:
    grader = LlmJudge.model_validate({"criteria": "x"} | options)

    assert list(map(str, grader.jurors())) == jurors
    assert grader.asks() == asks


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"jury": [HAIKU, MINI]}, "this one has 2", id="an even number"),
        pytest.param({"jury": [f"a/{n}" for n in range(7)]}, "this one has 7", id="too many"),
        pytest.param({"jury": [HAIKU, MINI, "claude-haiku-5-5"]}, "5-5 twice", id="one twice"),
        pytest.param({"jury": ["agent"]}, "provider/model", id="the agent's own"),
        pytest.param({"jury": [HAIKU], "votes": 3}, "Remove", id="votes as well"),
    ],
)
def test_a_jury_that_cannot_decide_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        LlmJudge.model_validate({"criteria": "x"} | options)


def test_a_jury_leaves_no_room_for_another_model() -> None:
    written = {"type": "llm_judge", "criteria": "x", "jury": [HAIKU], "model": MINI}

    with pytest.raises(ValidationError, match="either model or jury"):
        AssertionSpec.model_validate(written)


# Rubrics.

RUBRIC = "# Refund\n- Names the amount\n- Says when\n- Is polite\n- Links\n- Ends\n"


async def grade_ticks(*words: Tick | None, markdown: str = RUBRIC, **fields: Any) -> Grade:
    judge = FakeJudge(ticks=ticks_of(*words, **fields))
    return await Rubric(criteria=markdown).judge(view_of("Hi"), judge, key="k", threshold=0.5)


async def test_a_rubric_asks_about_its_bullets() -> None:
    judge, view = FakeJudge(ticks=ticks_of("pass", "pass")), view_of("Hi", expected="Hello")
    rubric = Rubric(criteria="# Tone\n- Polite\n- Brief\n\nTypos are fine.", votes=3)

    await rubric.judge(view, judge, key="0/1", threshold=None)

    items = (ChecklistItem(1, "Polite", ("# Tone",)), ChecklistItem(2, "Brief", ("# Tone",)))
    assert judge.ticked == [
        ChecklistQuestion(items, view, ("Typos are fine.",), "0/1", reference="Hello", votes=3)
    ]
    assert judge.asked == []


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param("Is polite.", id="prose"),
        pytest.param("- 1.0: polite\n- 0.0: rude", id="scores of its own"),
    ],
)
async def test_a_rubric_without_bullets_is_judged_as_a_whole(markdown: str) -> None:
    judge, view = FakeJudge(0.4, 0.4), view_of("Hi")

    grade = await Rubric(criteria=markdown, votes=3).judge(view, judge, key="k", threshold=0.5)

    assert judge.asked == [JudgeQuestion(markdown, "0-1", view, key="k", votes=3, passing=0.5)]
    assert (grade.score, grade.passed) == (0.4, None)  # it is compared with the threshold later
    assert grade.details["scale"] == "0-1"


NA: Tick = "not_applicable"


@pytest.mark.parametrize(
    ("words", "score"),
    [
        pytest.param(["pass"] * 5, 1.0, id="all"),
        pytest.param(["fail"] * 5, 0.0, id="none"),
        pytest.param(["pass", "fail", "pass", "pass", "fail"], 0.6, id="three of five"),
        pytest.param(["pass", NA, "fail", NA, NA], 0.5, id="of those that apply"),
        pytest.param(["pass"] * 9, 1.0, id="more than were asked about"),
    ],
)
async def test_the_score_is_the_share_of_bullets_that_are_met(
    words: list[Tick | None], score: float
) -> None:
    grade = await grade_ticks(*words)

    assert (grade.status, grade.score) == (GradeStatus.OK, score)
    assert len(grade.details["items"]) == 5


@pytest.mark.parametrize(
    ("words", "bounds"),
    [
        pytest.param(["pass", "pass", "pass", "pass", None], (0.8, 1.0), id="one is undecided"),
        pytest.param(["pass", "pass", "pass", "pass"], (0.8, 1.0), id="or missing"),
        pytest.param(["pass", "fail", NA, NA, None], (1 / 3, 2 / 3), id="of those that apply"),
        pytest.param([NA] * 4 + [None], (0.0, 1.0), id="all that apply"),
        pytest.param([], (0.0, 1.0), id="all are missing"),
        pytest.param(["pass"] * 5, (1.0, None), id="none"),
    ],
)
async def test_what_is_undecided_is_neither_met_nor_missed(
    words: list[Tick | None], bounds: tuple[float, float | None]
) -> None:
    grade = await grade_ticks(*words, calls=(CALL,))

    assert (grade.score, grade.highest) == bounds
    assert ("could not decide" in grade.reason) is (grade.highest is not None)
    assert grade.details["undecided"] == 5 - sum(word is not None for word in words)
    assert grade.calls == (CALL,)


async def test_where_no_bullet_applies_it_is_not_applicable() -> None:
    grade = await grade_ticks(*[NA] * 5, calls=(CALL,))

    assert (grade.status, grade.score, grade.passed) == (GradeStatus.NOT_APPLICABLE, None, None)
    assert grade.calls == (CALL,)
    assert len(grade.details["items"]) == 5


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["pass"] * 5, ["5 of 5 bullets are met."], id="all"),
        pytest.param(
            ["pass", "fail", "pass", NA, NA],
            ["Only 3 of 5 bullets applied", "2 of them", "Missed: “Says when” (It is fail)"],
            id="one is missed",
        ),
        pytest.param(["pass"] + [NA] * 4, ["Only 1 of 5 bullets applied", "met"], id="one applies"),
        pytest.param(["fail"] + [NA] * 4, ["Only 1 of 5", "not met"], id="one applies, missed"),
        (["fail"] * 4 + [None], ["0 of 5", "and 1 more", "not decide “Ends”"]),
    ],
)
async def test_the_reason_names_what_was_missed(words: list[Tick | None], says: list[str]) -> None:
    reason = (await grade_ticks(*words)).reason

    assert [part for part in says if part not in reason] == []


async def test_what_was_found_of_each_bullet_is_kept() -> None:
    evidence = Evidence("Hi", turn=1, bears_on="1", is_verified=True)
    ticks = (TickedItem(1, "pass", "Yes.", evidence, ("pass", None, "pass")), TickedItem(2, "fail"))
    voters = ("a/b", "c/d", "e/f")
    judge = FakeJudge(ticks=ChecklistAnswer(ticks, ("injection",), (CALL,), voters))

    grade = await Rubric(criteria="- Polite\n- Brief").judge(
        view_of("Hi"), judge, key="k", threshold=None
    )

    assert grade.evidence == (Evidence("Hi", turn=1, bears_on="Polite", is_verified=True),)
    polite = {"id": 1, "text": "Polite", "verdict": "pass", "critique": "Yes."}
    assert grade.details == {
        "scale": "rubric",
        "met": 1,
        "applicable": 2,
        "undecided": 0,
        "items": [
            polite | {"evidence": asdict(evidence), "votes": ["pass", None, "pass"]},
            {"id": 2, "text": "Brief", "verdict": "fail", "critique": ""},
        ],
        "flags": ["injection"],
        "voters": list(voters),
    }


@pytest.mark.parametrize(
    ("bullets", "options", "asks"),
    [
        pytest.param(0, {}, 1, id="no bullets"),
        pytest.param(40, {}, 1, id="one call"),
        pytest.param(41, {}, 2, id="two calls"),
        pytest.param(41, {"votes": 3}, 6, id="for each vote"),
        pytest.param(90, {"jury": [HAIKU, MINI, FLASH]}, 9, id="for each of the jury"),
    ],
)
def test_the_calls_of_a_rubric_are_known(bullets: int, options: dict[str, Any], asks: int) -> None:
    markdown = "Be fair.\n\n" + "- x\n" * bullets

    assert Rubric.model_validate({"criteria": markdown} | options).asks() == asks


@pytest.mark.parametrize(
    ("markdown", "summary"),
    [
        (RUBRIC, "Rubric of 5 bullets"),
        ("- Polite", "Rubric of 1 bullet"),
        ("Is\n polite.", "Rubric: Is polite."),
    ],
)
def test_the_closed_row_of_a_rubric_says_what_it_holds(markdown: str, summary: str) -> None:
    assert Rubric(criteria=markdown).summary() == summary


@pytest.mark.parametrize(
    ("markdown", "says"),
    [
        pytest.param("<!-- x.rubric.md -->\n", "outside its comments", id="comments"),
        pytest.param("- x\n" * 401, "at most 400 bullets", id="too many bullets"),
        pytest.param("x" * 50_001, "at most 50000 characters", id="too long"),
    ],
)
def test_a_rubric_that_nobody_could_judge_is_refused(markdown: str, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Rubric.model_validate({"criteria": markdown})
