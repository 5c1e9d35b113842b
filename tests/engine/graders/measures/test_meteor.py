"""METEOR against NLTK, whose values ours are."""

import time
from collections.abc import Collection
from dataclasses import dataclass

import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score

from evals_app.engine.graders.measures.meteor import Synonyms, meteor
from evals_app.engine.graders.measures.treebank import words
from evals_app.engine.graders.measures.wordnet import DEBIAN_FOLDER, WordNet
from tests.engine.graders.measures.small_wordnet import write_wordnet
from tests.engine.graders.measures.test_wordnet import needs_wordnet
from tests.engine.graders.pairs import REFERENCES, TOLERANCE, generated_pairs


@dataclass(frozen=True)
class Lemma:
    text: str

    def name(self) -> str:
        return self.text


@dataclass(frozen=True)
class Synset:
    names: Collection[str]

    def lemmas(self) -> list[Lemma]:
        return [Lemma(name) for name in self.names]


@dataclass(frozen=True)
class AsNltkWantsIt:
    find: Synonyms

    def synsets(self, word: str) -> list[Synset]:
        return [Synset(self.find(word))]


def no_synonyms(word: str) -> frozenset[str]:
    return frozenset()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    return WordNet(write_wordnet(tmp_path_factory.mktemp("meteor") / "wordnet"))


@needs_wordnet
def test_the_reference_pairs_have_their_scores_with_wordnet() -> None:
    real = WordNet(DEBIAN_FOLDER).synonyms

    for pair in REFERENCES:
        score = meteor(pair.reply, pair.expected, synonyms=real).score
        assert score == pytest.approx(pair.meteor, abs=TOLERANCE), pair


@pytest.mark.parametrize("is_looked_up", [True, False], ids=["synonyms", "no synonyms"])
def test_thousands_of_pairs_score_as_nltk_scores_them(
    small: WordNet, *, is_looked_up: bool
) -> None:
    synonyms: Synonyms | None = small.synonyms if is_looked_up else None
    shim = AsNltkWantsIt(synonyms or no_synonyms)
    stemmer = PorterStemmer()
    matched = 0
    for reply, expected in generated_pairs(1200, seed=10):
        theirs = single_meteor_score(words(expected), words(reply), stemmer=stemmer, wordnet=shim)
        ours = meteor(reply, expected, synonyms=synonyms)

        assert ours.score == pytest.approx(theirs, abs=1e-12), (reply, expected)
        assert 0 <= ours.score < 1
        matched += ours.by_synonym

    assert bool(matched) is is_looked_up


def test_it_says_how_words_match(small: WordNet) -> None:
    alignment = meteor("He starts two jobs now", "He started the task", synonyms=small.synonyms)

    assert (alignment.same, alignment.by_stem, alignment.by_synonym) == (1, 1, 1)
    assert (alignment.in_reply, alignment.in_expected, alignment.runs) == (5, 4, 2)


def test_a_synonym_is_looked_up_for_the_stem() -> None:
    asked = []

    def synonyms(word: str) -> frozenset[str]:
        asked.append(word)
        return frozenset({"car"} if word == "automobile" else ())

    assert meteor("automobile", "car", synonyms=synonyms).score == 0
    assert asked == ["automobil"]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        pytest.param("Paris", 0.5, id="one word"),
        pytest.param("New York", 1 - 0.5 / 8, id="two words"),
        pytest.param("one two three four five six seven eight", 1 - 0.5 / 512, id="eight words"),
    ],
)
def test_equal_texts_stay_below_1(text: str, score: float) -> None:
    assert meteor(text, text).score == pytest.approx(score)


def test_long_texts_are_matched_soon(small: WordNet) -> None:
    reply = " ".join(f"{number:x}ing" for number in range(20_000))
    expected = " ".join(f"{number:x}ed" for number in range(20_000, 0, -1))
    start = time.process_time()

    alignment = meteor(reply, expected, synonyms=small.synonyms)

    assert alignment.matches > 5_000
    assert time.process_time() - start < 30
