"""Stems against those of NLTK."""

import time
from random import Random

import pytest
from nltk.stem.porter import PorterStemmer

from evals_app.engine.graders.measures.porter import stem
from tests.engine.graders.pairs import generated_pairs

_BEGINNINGS = ["rel", "hop", "fil", "happ", "trouble", "oat", "syzyg", "y", "geo", "control", "é'-"]
_ENDINGS = """
    s ss sses ies ied ed eed ing y ly at bl iz ll e ational tional enci anci izer bli alli entli eli
    ousli ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate ative
    alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent sion tion ion ou ism
    ate iti ous ive ize
"""


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("refunds", "refund"),
        ("refunding", "refund"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("falling", "fall"),
        ("agreed", "agre"),
        ("feed", "feed"),
        ("died", "die"),
        ("spied", "spi"),
        ("skies", "sky"),
        ("happiness", "happi"),
        ("happy", "happi"),
        ("enjoy", "enjoy"),
        ("automobile", "automobil"),
        ("archaeology", "archaeolog"),
        ("adoption", "adopt"),
        ("rate", "rate"),
        ("controlling", "control"),
        ("us", "us"),
        ("", ""),
    ],
)
def test_inflected_words_have_one_stem(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_thousands_of_words_have_the_stems_that_nltk_gives() -> None:
    theirs = PorterStemmer()
    random, endings = Random(8), _ENDINGS.split()
    words = {
        random.choice(_BEGINNINGS) + "".join(random.choices(endings, k=random.randint(1, 2)))
        for _ in range(6_000)
    }
    words |= {"".join(random.choices("aeiyylstz", k=random.randint(1, 7))) for _ in range(6_000)}
    words |= {word.lower() for pair in generated_pairs(200, seed=9) for word in pair[0].split()}

    wrong = {word for word in words if stem(word) != theirs.stem(word)}

    assert len(words) > 5_000
    assert wrong == set()


@pytest.mark.parametrize("word", ["y" * 200_000, "a" * 200_000 + "ing", "ab" * 100_000])
def test_a_long_word_has_its_stem_soon(word: str) -> None:
    start = time.process_time()

    assert stem(word)
    assert time.process_time() - start < 20
