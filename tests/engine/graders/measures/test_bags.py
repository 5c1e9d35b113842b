import pytest

from evals_app.engine.graders.measures.bags import (
    Overlap,
    answer_words,
    difference,
    overlap,
    unicode_words,
)
from tests.engine.graders.pairs import generated_pairs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Two WORDS", ["two", "words"], id="case"),
        pytest.param("HAUPTSTRASSE Straße", ["hauptstrasse", "strasse"], id="casefold"),
        pytest.param("cafe\u0301", ["café"], id="composed"),
        pytest.param("\uff26ull ﬁne ²", ["full", "fine", "2"], id="other forms of a letter"),
        pytest.param("snake_case 3.5%", ["snake", "case", "3", "5"], id="signs divide"),
        pytest.param("москва 東京都", ["москва", "東京都"], id="other scripts"),
        pytest.param("don\u2019t", ["don", "t"], id="apostrophe divides"),
        pytest.param("हिन्दी कि की", ["हिन्दी", "कि", "की"], id="vowels of Hindi"),
        pytest.param("ที่นี่ שָׁלוֹם", ["ที่นี่", "שָׁלוֹם"], id="marks of other scripts"),
        pytest.param("İzmir", ["i\u0307zmir"], id="a mark that case brings"),
        pytest.param("1\ufe0f\u20e3 \u2764\ufe0f \u0301", ["1"], id="marks of no letter"),
        pytest.param("?! _ …", [], id="no word"),
        pytest.param("", [], id="empty"),
    ],
)
def test_words_are_runs_of_letters_and_digits(text: str, words: list[str]) -> None:
    assert unicode_words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("The cat, a dog & an owl.", ["cat", "dog", "owl"], id="articles and signs"),
        pytest.param("I don't know", ["i", "dont", "know"], id="an apostrophe is deleted"),
        pytest.param("$25.14", ["2514"], id="so is a point"),
        pytest.param("then another", ["then", "another"], id="articles inside of words stay"),
        pytest.param("café “x”", ["café", "“x”"], id="signs beyond ASCII stay"),
        pytest.param("The the THE", [], id="nothing is left"),
    ],
)
def test_words_of_an_answer_leave_articles_and_ascii_signs_out(text: str, words: list[str]) -> None:
    assert answer_words(text) == words


@pytest.mark.parametrize(
    ("reply", "expected", "counted"),
    [
        pytest.param("abc", "bcd", Overlap(2, 3, 3), id="each once"),
        pytest.param("aab", "aaa", Overlap(2, 3, 3), id="as often as both have it"),
        pytest.param("aaaa", "ab", Overlap(1, 4, 2), id="repeated on one side"),
        pytest.param("ab", "cd", Overlap(0, 2, 2), id="nothing"),
        pytest.param("", "a", Overlap(0, 0, 1), id="empty reply"),
        pytest.param("", "", Overlap(0, 0, 0), id="both empty"),
    ],
)
def test_what_occurs_twice_counts_twice(reply: str, expected: str, counted: Overlap) -> None:
    assert overlap(reply, expected) == counted


@pytest.mark.parametrize(
    ("run", "counted"),
    [
        pytest.param(1, Overlap(4, 4, 5), id="words"),
        pytest.param(2, Overlap(3, 3, 4), id="pairs"),
        pytest.param(4, Overlap(0, 1, 2), id="quadruples"),
        pytest.param(5, Overlap(0, 0, 1), id="longer than the reply"),
        pytest.param(6, Overlap(0, 0, 0), id="longer than both"),
    ],
)
def test_runs_are_neighbours_in_order(run: int, counted: Overlap) -> None:
    assert overlap("abac", "acbab", run=run) == counted


@pytest.mark.parametrize(
    ("words", "others", "rest"),
    [
        pytest.param("abc", "b", "ac", id="in order"),
        pytest.param("aab", "a", "ab", id="as often as the others lack it"),
        pytest.param("a", "aab", "", id="nothing"),
        pytest.param("", "a", "", id="empty"),
    ],
)
def test_a_difference_counts_repeats(words: str, others: str, rest: str) -> None:
    assert difference(words, others) == list(rest)


def test_f1_is_the_harmonic_mean_and_nothing_is_divided_by_nothing() -> None:
    nothing, shared = Overlap(0, 0, 0), Overlap(3, 4, 6)

    assert (nothing.precision, nothing.recall, nothing.f1) == (0, 0, 0)
    mean = 2 * shared.precision * shared.recall / (shared.precision + shared.recall)
    assert shared.f1 == pytest.approx(mean)


def test_either_text_may_be_the_expected_one() -> None:
    for reply, expected in generated_pairs(500, seed=11):
        given, wanted = reply.split(), expected.split()
        there, back = overlap(given, wanted), overlap(wanted, given)

        assert there.f1 == back.f1
        assert (there.precision, there.recall) == (back.recall, back.precision)
        assert 0 <= there.f1 <= 1
