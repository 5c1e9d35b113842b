import contextlib
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.answers.asking import ContradictionError, UnreadableAnswerError
from evals_app.engine.judging.answers.verdict import (
    JudgeVerdict,
    read_scripted,
    read_verdict,
    verdict_schema,
)
from evals_app.engine.record.aids import Scale


def requirement(met: str = "yes", quote: str = "It is here.") -> dict[str, Any]:
    return {
        "requirement": "Names the place",
        "absent": not quote,
        "quote": quote,
        "where": "turn 1, assistant",
        "met": met,
    }


def answer(*met: str, **changes: Any) -> dict[str, Any]:
    return {
        "requirements": [requirement(word) for word in met or ("yes", "no")],
        "critique": "Names the place.",
        "injection_suspected": False,
        "verdict": "graded",
        "score": 4,
    } | changes


def pass_fail(verdict: str, *met: str) -> dict[str, Any]:
    usual = {"pass": "yes", "fail": "no", "cannot_grade": "undecided"}[verdict]
    data = answer(*(met or (usual,)), verdict=verdict)
    del data["score"]
    return data


def quotes_of(verdict: JudgeVerdict) -> list[tuple[str, str]]:
    return [(one.evidence.quote, one.text) for one in verdict.requirements if one.evidence]


@pytest.mark.parametrize(
    ("scale", "data", "raw", "score"),
    [
        pytest.param("1-5", answer(score=1), 1, 0.0, id="1 of 5"),
        pytest.param("1-5", answer(score=4), 4, 0.75, id="4 of 5"),
        pytest.param("1-5", answer("yes", score=5), 5, 1.0, id="5 of 5"),
        pytest.param("0-1", answer(score=0), 0.0, 0.0, id="no tenths"),
        pytest.param("0-1", answer(score=7), 0.7, 0.7, id="seven tenths"),
        pytest.param("0-1", answer(score=2.5), 0.25, 0.25, id="a quarter"),
        pytest.param("0-1", answer(score=7.5), 0.75, 0.75, id="three quarters"),
        pytest.param("0-1", answer("yes", score=10), 1.0, 1.0, id="ten tenths"),
        pytest.param("0-10", answer(score=7), 7, 0.7, id="7 of 10"),
        pytest.param("pass_fail", pass_fail("pass"), "pass", 1.0, id="pass"),
        pytest.param("pass_fail", pass_fail("fail"), "fail", 0.0, id="fail"),
        pytest.param(
            "pass_fail",
            pass_fail("fail", "yes", "no", "undecided"),
            "fail",
            0.0,
            id="one is missed, so what is undecided changes nothing",
        ),
        pytest.param("1-5", answer("yes", "undecided"), 4, 0.75, id="graded all the same"),
    ],
)
def test_an_answer_is_read_on_its_scale(
    scale: Scale, data: dict[str, Any], raw: float | str, score: float
) -> None:
    verdict = read_verdict(json.dumps(data), scale)

    assert (verdict.raw, verdict.score, verdict.critique) == (raw, score, "Names the place.")
    assert quotes_of(verdict)[0] == ("It is here.", "Names the place")
    assert verdict.requirements[0].where == "turn 1, assistant"


@pytest.mark.parametrize(
    ("scale", "data"),
    [
        pytest.param("1-5", answer("undecided", verdict="cannot_grade"), id="with a score"),
        pytest.param(
            "1-5", answer("undecided", verdict="cannot_grade", score=0), id="score unused"
        ),
        pytest.param("pass_fail", pass_fail("cannot_grade"), id="of pass and fail"),
    ],
)
def test_a_judge_that_cannot_grade_gives_its_reason(scale: Scale, data: dict[str, Any]) -> None:
    with pytest.raises(JudgeError, match="cannot grade this: Names the place"):
        read_verdict(json.dumps(data), scale)


def test_an_endless_critique_is_cut_and_so_are_quotes() -> None:
    endless = "word " * 10_000
    listed = [requirement(quote=endless) | {"requirement": endless.strip()}] * 100
    data = answer(critique=endless, requirements=listed)

    verdict = read_verdict(json.dumps(data), "1-5")

    assert len(verdict.critique) < 2_100
    quotes = quotes_of(verdict)
    assert len(quotes) == 20
    assert all(len(part) == 2_000 and part in endless for quote in quotes for part in quote)


def test_a_suspicion_is_read() -> None:
    data = answer(injection_suspected=True)

    assert read_verdict(json.dumps(data), "1-5").injection_suspected is True


@pytest.mark.parametrize(
    ("scale", "data", "says"),
    [
        pytest.param("1-5", answer(score=6), "score", id="above the scale"),
        pytest.param("1-5", answer(score=0), "score", id="below the scale"),
        pytest.param("1-5", answer(score=3.5), "score", id="between the steps"),
        pytest.param("1-5", answer(score="4"), "score", id="score as text"),
        pytest.param("1-5", answer(score=True), "score", id="score as bool"),
        pytest.param("1-5", answer(score=None), "score", id="no score"),
        pytest.param("0-1", answer(score=11), "score", id="eleven tenths"),
        pytest.param("0-1", answer(score=3.5), "score", id="neither tenths nor a quarter"),
        pytest.param("0-10", answer(score=2.5), "score", id="half a point"),
        pytest.param("1-5", answer(verdict="pass"), "verdict", id="verdict of another scale"),
        pytest.param("pass_fail", answer(verdict="pass"), "score", id="a score too many"),
        pytest.param("1-5", answer(critique=" "), "critique", id="no reason"),
        pytest.param("1-5", answer(requirements=["x"]), "requirements.0", id="bare quotes"),
        pytest.param("1-5", answer(requirements=[]), "requirements", id="nothing is required"),
        pytest.param("1-5", {"score": 4} | answer(), "before", id="the score is written first"),
        ("pass_fail", {"verdict": "pass"} | pass_fail("pass"), "before"),
        pytest.param("1-5", answer(mood="good"), "mood", id="another key"),
        pytest.param("1-5", {"score": 4}, "critique", id="keys missing"),
    ],
)
def test_an_answer_off_the_schema_is_refused(scale: Scale, data: dict[str, Any], says: str) -> None:
    with pytest.raises(UnreadableAnswerError, match=says):
        read_verdict(json.dumps(data), scale)


@pytest.mark.parametrize("text", ["", "4", "pass", "[1]", "null", '{"score": 4', "{}" * 3])
def test_a_real_judge_may_not_answer_in_short(text: str) -> None:
    with pytest.raises(UnreadableAnswerError):
        read_verdict(text, "1-5")


CONTRADICTIONS = [
    pytest.param("pass_fail", pass_fail("pass", "yes", "no"), id="one is missed, and it passes"),
    pytest.param("pass_fail", pass_fail("fail", "yes"), id="all are met, and it fails"),
    pytest.param("pass_fail", pass_fail("pass", "undecided"), id="one is undecided"),
    pytest.param("pass_fail", pass_fail("fail", "yes", "undecided"), id="none is missed"),
    pytest.param("pass_fail", pass_fail("cannot_grade", "yes"), id="nothing is undecided"),
    pytest.param("pass_fail", pass_fail("cannot_grade", "no", "undecided"), id="one is missed"),
    pytest.param("1-5", answer("yes", "yes", score=1), id="all met, lowest"),
    pytest.param("1-5", answer("no", score=5), id="none met, highest"),
    pytest.param("1-5", answer("no", "no", score=3), id="none met, and it passes"),
    pytest.param("1-5", answer("no", "undecided", score=3), id="none known to be met"),
    pytest.param("0-1", answer("no", score=5), id="none met, five tenths"),
    pytest.param("0-10", answer("no", score=5), id="none met, five"),
    pytest.param("1-5", answer("yes", "no", score=5), id="one missed, highest"),
    pytest.param("0-1", answer("yes", "no", score=10), id="one missed, ten tenths"),
    pytest.param("0-10", answer("yes", "no", score=10), id="one missed, ten"),
    pytest.param("1-5", answer("yes", "undecided", score=5), id="one undecided, highest"),
    pytest.param("1-5", answer("undecided", score=3), id="graded, and all are undecided"),
    pytest.param("1-5", answer("no", verdict="cannot_grade"), id="could be graded"),
    pytest.param("0-1", answer("yes", score=0), id="all met, no tenth"),
    pytest.param("0-10", answer("no", score=10), id="none met, ten"),
    pytest.param("0-10", answer("no", "no", score=9), id="none met, nine"),
    pytest.param("0-1", answer("yes", score=2), id="all met, two tenths"),
]


@pytest.mark.parametrize(("scale", "data"), CONTRADICTIONS)
def test_a_verdict_follows_from_what_is_required(scale: Scale, data: dict[str, Any]) -> None:
    with pytest.raises(ContradictionError):
        read_verdict(json.dumps(data), scale)


def test_what_is_partly_met_may_have_a_score_between() -> None:
    assert read_verdict(json.dumps(answer("yes", "no", score=4)), "1-5").raw == 4
    assert read_verdict(json.dumps(answer("no", score=2)), "1-5").raw == 2
    assert read_verdict(json.dumps(answer("no", score=4)), "0-10").raw == 4
    assert read_verdict(json.dumps(answer("yes", score=3)), "0-10").raw == 3


def test_a_requirement_of_no_words_decides_nothing() -> None:
    data = pass_fail("pass", "yes")
    data["requirements"][0]["requirement"] = " "

    with pytest.raises(UnreadableAnswerError):
        read_verdict(json.dumps(data), "pass_fail")


def test_capitals_do_not_make_a_verdict_unreadable() -> None:
    text = json.dumps(pass_fail("pass", "Yes") | {"verdict": "Pass"})

    assert read_verdict(text, "pass_fail").raw == "pass"


@pytest.mark.parametrize("scale", ["1-5", "0-1", "0-10", "pass_fail"])
def test_the_schema_has_the_order_of_thinking_and_no_ranges(scale: Scale) -> None:
    schema = verdict_schema(scale)

    keys = ["requirements", "critique", "injection_suspected", "verdict", "score"]
    assert list(schema["properties"]) == (keys[:-1] if scale == "pass_fail" else keys)
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    assert "minimum" not in json.dumps(schema)


@given(
    st.sampled_from(["1-5", "0-1", "pass_fail"]),
    st.integers(-1, 12) | st.none() | st.text(max_size=3),
    st.sampled_from(["graded", "pass", "fail", "cannot_grade", "good"]),
)
def test_schema_and_reader_accept_the_same(scale: Scale, score: object, verdict: str) -> None:
    data = answer(score=score, verdict=verdict)
    if scale == "pass_fail":
        del data["score"]
    fits = jsonschema.Draft202012Validator(verdict_schema(scale)).is_valid(data)

    try:
        read_verdict(json.dumps(data), scale)
    except ContradictionError:
        assert fits or verdict == "cannot_grade"  # whose score may be anything
    except UnreadableAnswerError:
        assert not fits
    except JudgeError:
        assert verdict == "cannot_grade"
    else:
        assert fits


@given(st.text(max_size=200) | st.text('{}[]",:a1\\ ', max_size=100))
def test_no_text_makes_reading_raise_anything_else(text: str) -> None:
    for read in (read_verdict, read_scripted):
        with contextlib.suppress(UnreadableAnswerError, JudgeError):
            assert read(text, "1-5").raw in (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("scale", "text", "raw", "critique"),
    [
        pytest.param("pass_fail", "pass", "pass", "Scripted verdict.", id="bare pass"),
        pytest.param("pass_fail", " Fail.\n", "fail", "Scripted verdict.", id="bare fail"),
        pytest.param("1-5", "4", 4, "Scripted verdict.", id="bare score"),
        pytest.param("0-1", "7", 0.7, "Scripted verdict.", id="bare tenths"),
        pytest.param("0-1", "2.5", 0.25, "Scripted verdict.", id="a bare quarter"),
        pytest.param("1-5", '{"score": 2}', 2, "Scripted verdict.", id="score alone"),
        pytest.param(
            "pass_fail",
            '{"verdict": "fail", "critique": "No price."}',
            "fail",
            "Scripted verdict: No price.",
            id="verdict and reason",
        ),
        pytest.param("0-10", "10", 10, "Scripted verdict.", id="ten of ten"),
        ("1-5", json.dumps(answer()), 4, "Scripted verdict: Names the place."),
    ],
)
def test_a_script_may_answer_in_short_and_says_that_it_is_one(
    scale: Scale, text: str, raw: float | str, critique: str
) -> None:
    verdict = read_scripted(text, scale)

    assert (verdict.raw, verdict.critique) == (raw, critique)


@pytest.mark.parametrize("scale", ["1-5", "pass_fail"])
def test_a_script_may_say_that_it_cannot_grade(scale: Scale) -> None:
    with pytest.raises(JudgeError, match="cannot grade this: Scripted verdict"):
        read_scripted("cannot_grade", scale)


def test_a_script_may_quote_in_short() -> None:
    verdict = read_scripted(
        '{"verdict": "pass", "requirements": [{"requirement": "Greets", "quote": "Hi"}]}',
        "pass_fail",
    )

    assert quotes_of(verdict) == [("Hi", "Greets")]


def test_a_script_of_before_quotes_without_requirements() -> None:
    verdict = read_scripted('{"verdict": "fail", "evidence": [{"quote": "Hi"}]}', "pass_fail")

    assert (verdict.raw, quotes_of(verdict)) == ("fail", [("Hi", "The criteria")])


@pytest.mark.parametrize(
    ("scale", "text", "says"),
    [
        pytest.param("1-5", "pass", "1 to 5", id="verdict of another scale"),
        pytest.param("1-5", "6", "1 to 5", id="off the scale"),
        pytest.param("0-1", "0.7", "tenths", id="not in tenths"),
        pytest.param("pass_fail", "4", "pass or fail", id="score of another scale"),
        pytest.param("pass_fail", "It passes, I think.", "It passes", id="prose"),
        pytest.param("pass_fail", "", "pass or fail", id="empty"),
    ],
)
def test_a_script_that_is_off_the_scale_is_shown_what_to_write(
    scale: Scale, text: str, says: str
) -> None:
    with pytest.raises(UnreadableAnswerError, match=says):
        read_scripted(text, scale)
