"""ROUGE against rouge-score, an independent implementation."""

import time
from random import Random

import pytest
from rouge_score.rouge_scorer import RougeScorer

from evals_app.engine.graders.measures.rouge import (
    Variant,
    longest_common_subsequence,
    rouge,
    words,
)
from tests.engine.graders.pairs import generated_pairs

VARIANTS: tuple[Variant, ...] = ("rouge1", "rouge2", "rougeL")


def test_thousands_of_pairs_score_as_rouge_score_scores_them() -> None:
    scorer = RougeScorer(list(VARIANTS), use_stemmer=False)
    for reply, expected in generated_pairs(2000, seed=3):
        theirs = scorer.score(expected, reply)

        for variant in VARIANTS:
            ours = rouge(words(reply, "ascii"), words(expected, "ascii"), variant)
            assert (ours.precision, ours.recall, ours.f1) == pytest.approx(theirs[variant]), variant


def test_other_scripts_are_seen_if_that_is_asked_for() -> None:
    assert words("Déjà, мир 東京 5", "ascii") == ["d", "j", "5"]
    assert words("Déjà, мир 東京 5", "unicode") == ["déjà", "мир", "東京", "5"]


def slow_subsequence(one: str, other: str) -> int:
    row = [0] * (len(other) + 1)
    for letter in one:
        before = row
        row = [0]
        for place, other_letter in enumerate(other, 1):
            longer = before[place - 1] + 1 if letter == other_letter else 0
            row.append(max(longer, before[place], row[place - 1]))
    return row[-1]


def test_the_longest_common_subsequence_is_that_of_the_textbook() -> None:
    random = Random(4)
    for _ in range(1000):
        one, other = (
            "".join(random.choices("abcdef"[: random.randint(1, 6)], k=random.randint(0, 30)))
            for _ in range(2)
        )

        assert longest_common_subsequence(one, other) == slow_subsequence(one, other)


def test_the_longest_common_subsequence_of_long_texts_ends_soon() -> None:
    random = Random(5)
    one, other = (random.choices("abcdefgh", k=40_000) for _ in range(2))
    start = time.process_time()

    assert 20_000 < longest_common_subsequence(one, other) < 40_000
    assert time.process_time() - start < 20
