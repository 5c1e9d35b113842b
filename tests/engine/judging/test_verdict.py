import contextlib
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.judging.verdict import (
    Verdict,
    VerdictError,
    last_object,
    read_scripted,
    read_verdict,
    verdict_schema,
)
from evals_app.engine.trial import Scale


def answer(**changes: Any) -> dict[str, Any]:
    return {
        "evidence": [{"quote": "It is here.", "bears_on": "place"}],
        "critique": "Names the place.",
        "injection_suspected": False,
        "verdict": "graded",
        "score": 4,
    } | changes


def pass_fail(verdict: str) -> dict[str, Any]:
    data = answer(verdict=verdict)
    del data["score"]
    return data


@pytest.mark.parametrize(
    ("scale", "data", "raw", "score"),
    [
        pytest.param("1-5", answer(score=1), 1, 0.0, id="1 of 5"),
        pytest.param("1-5", answer(score=4), 4, 0.75, id="4 of 5"),
        pytest.param("1-5", answer(score=5), 5, 1.0, id="5 of 5"),
        pytest.param("0-1", answer(score=0), 0.0, 0.0, id="no tenths"),
        pytest.param("0-1", answer(score=7), 0.7, 0.7, id="seven tenths"),
        pytest.param("0-1", answer(score=10), 1.0, 1.0, id="ten tenths"),
        pytest.param("pass_fail", pass_fail("pass"), "pass", 1.0, id="pass"),
        pytest.param("pass_fail", pass_fail("fail"), "fail", 0.0, id="fail"),
        pytest.param("1-5", answer(verdict="cannot_grade"), None, None, id="cannot grade"),
        pytest.param(
            "1-5", answer(verdict="cannot_grade", score=0), None, None, id="its score is ignored"
        ),
        pytest.param("pass_fail", pass_fail("cannot_grade"), None, None, id="cannot decide"),
    ],
)
def test_an_answer_is_read_on_its_scale(
    scale: Scale, data: dict[str, Any], raw: float | str | None, score: float | None
) -> None:
    verdict = read_verdict(json.dumps(data), scale)

    assert verdict == Verdict(raw, score, "Names the place.", (("It is here.", "place"),))


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
        pytest.param("1-5", answer(verdict="pass"), "verdict", id="verdict of another scale"),
        pytest.param("pass_fail", answer(verdict="pass"), "score", id="a score too many"),
        pytest.param("1-5", answer(critique=" "), "critique", id="no reason"),
        pytest.param("1-5", answer(evidence=["x"]), "evidence.0", id="bare quotes"),
        pytest.param("1-5", answer(mood="good"), "mood", id="another key"),
        pytest.param("1-5", {"score": 4}, "critique", id="keys missing"),
    ],
)
def test_an_answer_off_the_schema_is_refused(scale: Scale, data: dict[str, Any], says: str) -> None:
    with pytest.raises(VerdictError, match=says):
        read_verdict(json.dumps(data), scale)


@pytest.mark.parametrize("text", ["", "4", "pass", "[1]", "null", '{"score": 4', "{}" * 3])
def test_a_real_judge_may_not_answer_in_short(text: str) -> None:
    with pytest.raises(VerdictError):
        read_verdict(text, "1-5")


@pytest.mark.parametrize("scale", ["1-5", "0-1", "pass_fail"])
def test_the_schema_has_the_order_of_thinking_and_no_ranges(scale: Scale) -> None:
    schema = verdict_schema(scale)

    keys = ["evidence", "critique", "injection_suspected", "verdict", "score"]
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
    except VerdictError:
        assert not fits
    else:
        assert fits or verdict == "cannot_grade"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('{"a": 1}', {"a": 1}, id="alone"),
        pytest.param('```json\n{"a": 1}\n```', {"a": 1}, id="fenced"),
        pytest.param('First {"a": 1}, no: {"a": 2}.', {"a": 2}, id="the last one"),
        pytest.param('{"a": {"b": "}"}}', {"a": {"b": "}"}}, id="braces inside"),
        pytest.param('{"a": "\\"}"}', {"a": '"}'}, id="escaped quote"),
        pytest.param('He said "{" and {"a": 1}', {"a": 1}, id="a brace in the prose"),
        pytest.param('{not json} {"a": 1}', {"a": 1}, id="a mapping that is none"),
        pytest.param('{"a": 1} {not json}', {"a": 1}, id="junk after it"),
        pytest.param('{"a": 1, "a": 2}', None, id="a key twice"),
        pytest.param("[1, 2]", None, id="a list"),
        pytest.param("", None, id="empty"),
        pytest.param("{" * 5_000, None, id="open braces"),
        pytest.param('{"a":' * 5_000 + "1" + "}" * 5_000, None, id="nested beyond reason"),
    ],
)
def test_the_last_balanced_object_is_found(text: str, found: dict[str, Any] | None) -> None:
    assert last_object(text) == found


@given(st.text(max_size=200) | st.text('{}[]",:a1\\ ', max_size=100))
def test_no_text_makes_reading_raise_anything_else(text: str) -> None:
    for read in (read_verdict, read_scripted):
        with contextlib.suppress(VerdictError):
            assert read(text, "1-5").raw in (None, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("scale", "text", "raw", "critique"),
    [
        pytest.param("pass_fail", "pass", "pass", "Scripted verdict.", id="bare pass"),
        pytest.param("pass_fail", " Fail.\n", "fail", "Scripted verdict.", id="bare fail"),
        pytest.param("1-5", "4", 4, "Scripted verdict.", id="bare score"),
        pytest.param("0-1", "7", 0.7, "Scripted verdict.", id="bare tenths"),
        pytest.param("1-5", "cannot_grade", None, "Scripted verdict.", id="cannot grade"),
        pytest.param("pass_fail", "cannot_grade", None, "Scripted verdict.", id="cannot decide"),
        pytest.param("1-5", '{"score": 2}', 2, "Scripted verdict.", id="score alone"),
        pytest.param(
            "pass_fail",
            '{"verdict": "fail", "critique": "No price."}',
            "fail",
            "Scripted verdict: No price.",
            id="verdict and reason",
        ),
        pytest.param(
            "1-5", json.dumps(answer()), 4, "Scripted verdict: Names the place.", id="in full"
        ),
    ],
)
def test_a_script_may_answer_in_short_and_says_that_it_is_one(
    scale: Scale, text: str, raw: float | str | None, critique: str
) -> None:
    verdict = read_scripted(text, scale)

    assert (verdict.raw, verdict.critique) == (raw, critique)


def test_a_script_may_quote_in_short() -> None:
    verdict = read_scripted('{"verdict": "pass", "evidence": [{"quote": "Hi"}]}', "pass_fail")

    assert verdict.quotes == (("Hi", ""),)


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
def test_a_script_that_is_off_the_scale_is_told_what_to_write(
    scale: Scale, text: str, says: str
) -> None:
    with pytest.raises(VerdictError, match=says):
        read_scripted(text, scale)
