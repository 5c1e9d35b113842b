"""Graders of the text at a place of a JSON reply."""

from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders import GRADERS
from evals_app.engine.graders.kit.base import MAX_TEXT_BYTES, PlainGrader
from evals_app.engine.graders.kit.json_paths import GradedText, PathGrader
from evals_app.engine.graders.numbers import Numeric
from evals_app.engine.graders.text import ExactMatch
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from fixtures_app.ground.json_text import MAX_JSON_BYTES
from tests.engine.graders.makers import view_of


@pytest.mark.parametrize(
    ("path", "says"),
    [
        pytest.param("order..id", "wildcards", id="descent"),
        pytest.param("order.*", "wildcards", id="wildcard"),
        pytest.param("items[*]", "wildcards", id="wildcard position"),
        pytest.param("items[0:2]", "wildcards", id="slice"),
        pytest.param("items[?(@.id)]", "wildcards", id="filter"),
        pytest.param("order[id]", "has quotes, as in ['unit price']", id="key without quotes"),
        pytest.param("order[", "close them", id="bracket left open"),
        pytest.param("order['id]", "close them", id="quote left open"),
        pytest.param("order.", "after the dot", id="dot at the end"),
        pytest.param("order.[0]", "after the dot", id="dot before a bracket"),
        pytest.param("$answer", "dot before a key", id="root without a dot"),
        pytest.param("unit price", "“ price” after unit", id="space"),
        pytest.param("a,b", "dot before a key", id="comma"),
        pytest.param("a" * 501, "up to 500", id="long"),
    ],
)
def test_a_path_that_cannot_be_read_is_refused_when_it_is_written(path: str, says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ExactMatch(value="x", response_path=path)

    (error,) = refused.value.errors()
    assert error["loc"] == ("response_path",)
    assert says in error["msg"]


@pytest.mark.parametrize(
    ("grader", "reply", "passes"),
    [
        pytest.param(ExactMatch, '{"answer": "42"}', True, id="text"),
        pytest.param(ExactMatch, '{"answer": 42}', True, id="number"),
        pytest.param(ExactMatch, '{"answer": 42.0}', False, id="the number's own text"),
        pytest.param(ExactMatch, '```json\n{"answer": 42}\n```', True, id="fenced"),
        pytest.param(ExactMatch, "42", False, id="no object"),
        pytest.param(ExactMatch, '{"answer": null}', False, id="null"),
        pytest.param(ExactMatch, '{"answer": ["42"]}', False, id="list"),
        pytest.param(ExactMatch, '{"Answer": "42"}', False, id="another key"),
        pytest.param(Numeric, '{"answer": 42.0}', True, id="numeric"),
        pytest.param(Numeric, '{"answer": "42"}', True, id="numeric of a text"),
        pytest.param(Numeric, '{"answer": true}', False, id="numeric of true"),
        pytest.param(Numeric, '{"answer": 43, "other": 42}', False, id="numeric elsewhere"),
    ],
)
def test_the_part_of_a_reply_is_graded(
    *, grader: type[PlainGrader], reply: str, passes: bool
) -> None:
    grade = grader.model_validate({"value": "42", "response_path": "answer"}).grade(view_of(reply))

    assert (grade.passed, grade.score) == (passes, float(passes))
    assert grade.details["response_path"] == "answer"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param('{"answer": "Rome"}', "At answer: the reply should be “Paris”", id="other"),
        pytest.param('{"anser": "Paris"}', "The reply has no answer: it is", id="absent"),
        pytest.param('{"answer": {"city": 1}}', "answer is an object with the keys", id="object"),
        pytest.param('{"answer": null}', "answer is null;", id="null is not absent"),
        pytest.param("Paris", "The reply is text, “Paris”", id="no JSON"),
    ],
)
def test_a_miss_says_what_stands_there(reply: str, reason: str) -> None:
    grade = ExactMatch(value="Paris", response_path="answer").grade(view_of(reply))

    assert grade.passed is False
    assert reason in grade.reason


def test_a_fenced_block_is_noted() -> None:
    grader = ExactMatch(value="Paris", response_path="answer")

    fenced = grader.grade(view_of('```json\n{"answer": "Paris"}\n```'))
    bare = grader.grade(view_of('{"answer": "Paris"}'))

    assert (fenced.details.get("is_fenced"), bare.details.get("is_fenced")) == (True, None)


def test_without_a_path_the_whole_reply_is_graded() -> None:
    grade = ExactMatch(value='{"answer": 1}').grade(view_of('{"answer": 1}'))

    assert (grade.passed, grade.details) == (True, {})


def test_where_it_reads_stands_before_the_sentence_and_capitals_stay() -> None:
    notes = {"response_path": "a"}

    assert GradedText("x", notes).add_note(Grade.hit("The reply is x.")).reason == (
        "At a: the reply is x."
    )
    assert GradedText("x", notes).add_note(Grade.hit("BLEU 0.5.")).reason == "At a: BLEU 0.5."


@pytest.mark.parametrize(
    ("padding", "cause"),
    [
        pytest.param(MAX_TEXT_BYTES + 1, None, id="longer than a text may be"),
        pytest.param(MAX_JSON_BYTES, Cause.AGENT, id="too long"),
    ],
)
def test_a_document_may_be_longer_than_a_text(padding: int, cause: Cause | None) -> None:
    reply = '{"answer": "7"}' + " " * padding

    grade = Numeric(value=7, response_path="answer").grade(view_of(reply))

    assert (grade.passed, grade.cause) == (cause is None, cause)


def test_the_text_in_a_document_may_not_be_longer_than_others() -> None:
    reply = f'{{"answer": "{"x" * (MAX_TEXT_BYTES + 1)}"}}'

    grade = Numeric(value=7, response_path="answer").grade(view_of(reply))

    assert (grade.passed, grade.score, grade.cause) == (False, 0.0, Cause.AGENT)


@pytest.mark.parametrize("grader", GRADERS.values(), ids=GRADERS)
def test_who_reads_a_part_has_the_option_for_it(grader: type[Any]) -> None:
    if issubclass(grader, PathGrader):
        assert list(grader.model_fields)[-1] == "response_path"


def test_a_path_shows_in_the_summary() -> None:
    assert ExactMatch(value="x", response_path="a.b").summary() == "Reply at a.b is exactly “x”"
    assert Numeric(value=5, response_path="a").summary() == "Reply at a gives 5"
