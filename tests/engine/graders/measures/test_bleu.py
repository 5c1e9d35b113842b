"""BLEU against sacreBLEU, whose values ours are."""

import logging
import time

import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU

from evals_app.engine.graders.measures.bleu import bleu, words
from tests.engine.graders.pairs import generated_pairs


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="sacrebleu")


def test_thousands_of_pairs_score_as_sacrebleu_scores_them() -> None:
    for reply, expected in generated_pairs(2000, seed=1):
        theirs = sacrebleu.sentence_bleu(reply, [expected], smooth_method="exp").score / 100

        assert bleu(reply, expected).score == pytest.approx(theirs, abs=1e-9), (reply, expected)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        pytest.param("$25.14, up 3.5%", ["$", "25.14", ",", "up", "3.5", "%"], id="numbers"),
        pytest.param("3-5 days", ["3", "-", "5", "days"], id="dash behind a digit"),
        pytest.param("re-do", ["re-do"], id="dash inside a word"),
        pytest.param("It'll", ["It'll"], id="apostrophe"),
        pytest.param("&quot;a &amp; b&quot;", ['"', "a", "&", "b", '"'], id="named signs"),
        pytest.param("hyphen-\nated", ["hyphenated"], id="hyphen at the end of a line"),
        pytest.param("a<skipped>b", ["ab"], id="skipped"),
        pytest.param("東京。", ["東京。"], id="signs of other scripts"),
    ],
)
def test_words_are_cut_as_by_mteval(text: str, cut: list[str]) -> None:
    assert words(text) == cut
    assert " ".join(cut) == BLEU().tokenizer(text)


def test_equal_texts_score_1_and_no_text_scores_above() -> None:
    for reply, expected in generated_pairs(300, seed=2):
        assert 0 <= bleu(reply, expected).score <= 1 + 1e-9
        if words(reply):
            assert bleu(reply, reply).score == pytest.approx(1)


def test_a_long_text_is_scored_soon() -> None:
    start = time.process_time()

    assert bleu("." * 100_000, "." * 100_000).score == pytest.approx(1)
    assert time.process_time() - start < 30
