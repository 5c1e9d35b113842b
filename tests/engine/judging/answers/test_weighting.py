import math

import pytest

from evals_app.engine.judging.answers.weighting import expected_grade, grade_probabilities
from evals_app.engine.llm.call import TokenLogprob

TEXT = '{"critique": "\\"score\\": 1", "verdict": "graded", "score": 4}'


def tokens_of(*pieces: str, top: dict[str, dict[str, float]] | None = None) -> list[TokenLogprob]:
    """Lay out tokens one after the other; `top` has the alternatives of one of them."""
    tokens: list[TokenLogprob] = []
    offset = 0
    for piece in pieces:
        others = tuple((word, math.log(p)) for word, p in (top or {}).get(piece, {}).items())
        chosen = dict(others).get(piece, math.log(0.001))
        tokens.append(TokenLogprob(offset, piece, chosen, others))
        offset += len(piece)
    return tokens


def split(text: str, last: str) -> tuple[str, ...]:
    """Split a text so that its last word is a token of its own."""
    begin = text.rindex(last)
    return text[:begin], last, text[begin + len(last) :]


@pytest.mark.parametrize(
    ("top", "by_grade", "expected"),
    [
        pytest.param({"4": 1.0}, {4: 1.0}, 4.0, id="quite sure"),
        pytest.param({"4": 0.6, "5": 0.4}, {4: 0.6, 5: 0.4}, 4.4, id="between two"),
        pytest.param({"4": 0.5, "3": 0.25}, {4: 0.5, 3: 0.25}, 11 / 3, id="scaled to those there"),
        pytest.param({"4": 0.3, " 4": 0.3, "4\n": 0.1}, {4: 0.7}, 4.0, id="spaces do not matter"),
        pytest.param({"4": 0.5, "1": 0.5}, {4: 0.5, 1: 0.5}, 2.5, id="torn"),
        pytest.param({"4": 0.5, "0": 0.3, "6": 0.1, "four": 0.1}, {4: 0.5}, 4.0, id="others drop"),
    ],
)
def test_the_expected_grade_weighs_grades_by_their_probability(
    top: dict[str, float], by_grade: dict[int, float], expected: float
) -> None:
    tokens = tokens_of(*split(TEXT, "4"), top={"4": top})
    probabilities = grade_probabilities(TEXT, tokens, written=4, grades=range(1, 6))

    assert probabilities == pytest.approx(by_grade)
    assert expected_grade(probabilities or {}) == pytest.approx(expected)


def test_what_was_written_counts_even_if_it_is_not_named_again() -> None:
    before, chosen, after = split(TEXT, "4")
    tokens = [
        TokenLogprob(0, before, 0.0),
        TokenLogprob(len(before), chosen, math.log(0.6), (("5", math.log(0.3)),)),
        TokenLogprob(len(before) + 1, after, 0.0),
    ]

    assert grade_probabilities(TEXT, tokens, written=4, grades=range(1, 6)) == pytest.approx(
        {4: 0.6, 5: 0.3}
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param(TEXT, [], id="the API does not tell"),
        (TEXT, tokens_of(*split(TEXT, "4"), top={"4": {"4": 0.3, "5": 0.19, "x": 0.51}})),
        (TEXT, tokens_of(*split(TEXT, " 4}"), top={" 4}": {" 4}": 1.0}})),
        pytest.param(TEXT, tokens_of(*split(TEXT, "4"))[:1], id="the tokens end before it"),
        pytest.param("4", tokens_of("4", top={"4": {"4": 1.0}}), id="no score is named"),
        pytest.param(
            TEXT.replace("4", "2"),
            tokens_of(*split(TEXT.replace("4", "2"), "2"), top={"2": {"2": 1.0}}),
            id="another grade was read",
        ),
        pytest.param(
            TEXT,
            [
                TokenLogprob(0, TEXT[:-2], 0.0),
                TokenLogprob(len(TEXT) - 2, "4", math.nan),
                TokenLogprob(len(TEXT) - 1, "}", 0.0),
            ],
            id="a probability that is no number",
        ),
    ],
)
def test_without_a_probability_there_is_none(text: str, tokens: list[TokenLogprob]) -> None:
    assert grade_probabilities(text, tokens, written=4, grades=range(1, 6)) is None


def test_the_last_score_is_meant() -> None:
    text = 'At first I thought {"score": 2}. Rather: {"score": 4}'
    first, second = text.index("2"), text.index("4")
    tokens = [
        TokenLogprob(0, text[:first], 0.0),
        TokenLogprob(first, "2", 0.0),
        TokenLogprob(first + 1, text[first + 1 : second], 0.0),
        TokenLogprob(second, "4", 0.0),
    ]

    assert grade_probabilities(text, tokens, written=4, grades=range(1, 6)) == {4: 1.0}


def test_a_token_may_begin_with_the_space_before_the_grade() -> None:
    tokens = tokens_of(*split(TEXT, " 4"), top={" 4": {" 4": 0.8, " 5": 0.2}})

    assert grade_probabilities(TEXT, tokens, written=4, grades=range(1, 6)) == pytest.approx(
        {4: 0.8, 5: 0.2}
    )
