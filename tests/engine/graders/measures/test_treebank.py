"""Words against those of NLTK's tokenizer."""

import re
import time
from random import Random

import pytest
from nltk.tokenize import NLTKWordTokenizer

from evals_app.engine.graders.measures.treebank import words
from tests.engine.graders.pairs import generated_pairs

_SIGNS = """
    a b x 5 3 é s t d m n't 's 'll ' '' " ` `` . .. , : ; @ $ % ? ! ( ) [ ] { } < > - -- * “ ” « » „
    \u2013 \u2014 \u2018 \u2019 cannot gonna wanna d'ye more'n word don't I'LL N'T _ 東京 cafe\u0301
    / & + ~ \\ |
"""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_TOKENIZER = NLTKWordTokenizer()


def nltk_words(text: str) -> list[str]:
    sentences = _SENTENCE_END.split(text.strip())
    return [word.lower() for text in sentences for word in _TOKENIZER.tokenize(text)]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        pytest.param("I can't pay $3.50.", "i ca n't pay $ 3.50 .", id="contraction and amount"),
        pytest.param("Ask the U.S. office.", "ask the u.s . office .", id="a sentence ends there"),
        pytest.param('He said "Go. Now (soon.)"', "he said `` go . now ( soon . ) ''", id="quotes"),
        pytest.param("Cannot, gonna", "can not , gon na", id="words that are two"),
        pytest.param("1,200 a,b a, b", "1,200 a , b a , b", id="commas"),
        pytest.param("wait... so--no", "wait ... so -- no", id="dots and dashes"),
        pytest.param("", "", id="empty"),
        pytest.param(" \n ", "", id="blank"),
    ],
)
def test_words_and_signs_stand_apart(text: str, cut: str) -> None:
    assert words(text) == cut.split() == nltk_words(text)


def test_thousands_of_texts_are_cut_as_nltk_cuts_them() -> None:
    for reply, _ in generated_pairs(600, seed=6):
        assert words(reply) == nltk_words(reply)


def test_signs_in_any_order_are_cut_as_nltk_cuts_them() -> None:
    random, signs = Random(7), [*_SIGNS.split(), " ", " ", " ", "\n", "\t", "  "]
    for _ in range(2000):
        text = "".join(random.choices(signs, k=random.randint(1, 12)))

        assert words(text) == nltk_words(text), text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 200_000, id="one word"),
        pytest.param("'" * 200_000, id="apostrophes"),
        pytest.param("," * 200_000, id="commas"),
        pytest.param("ab. " * 50_000, id="sentences"),
        pytest.param("' " * 100_000, id="lone apostrophes"),
        pytest.param(" ".join(f"{number:x},x'" for number in range(20_000)), id="all different"),
    ],
)
def test_long_texts_are_cut_soon(text: str) -> None:
    start = time.process_time()

    assert words(text)
    assert time.process_time() - start < 20
