"""METEOR: words of a reply that match expected ones as such, by their stem or as synonyms.

The values are those of NLTK's `single_meteor_score`, with which the tests compare: synonyms are
looked up for stems, so that automobile (stem automobil) does not match car.

Source: Lavie and Agarwal, METEOR, Workshop on Statistical Machine Translation 2007.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from evals_app.engine.graders.measures.porter import stem
from evals_app.engine.graders.measures.treebank import words

_RECALL_WEIGHT = 0.9
_MAX_PENALTY = 0.5
_PENALTY_POWER = 3.0

Synonyms = Callable[[str], frozenset[str]]
_Placed = list[tuple[int, str]]
_Places = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Alignment:
    """How many words match, how, and in how many runs that both texts have in the same order."""

    same: int
    by_stem: int
    by_synonym: int
    runs: int
    in_reply: int
    in_expected: int
    missing: tuple[str, ...] = ()

    @property
    def matches(self) -> int:
        return self.same + self.by_stem + self.by_synonym

    @property
    def precision(self) -> float:
        return self.matches / self.in_reply if self.in_reply else 0.0

    @property
    def recall(self) -> float:
        return self.matches / self.in_expected if self.in_expected else 0.0

    @property
    def score(self) -> float:
        """The weighted mean of both, less up to a half for scattered matches.

        Equal texts of n words give 1 - 0.5 / n**3, a single word 0.5: no run is ever free.
        """
        if not self.matches:
            return 0.0
        mean = (self.precision * self.recall) / (
            _RECALL_WEIGHT * self.precision + (1 - _RECALL_WEIGHT) * self.recall
        )
        penalty: float = _MAX_PENALTY * (self.runs / self.matches) ** _PENALTY_POWER
        return (1 - penalty) * mean


def meteor(reply: str, expected: str, *, synonyms: Synonyms | None = None) -> Alignment:
    """Match a reply with the expected text; the order matters."""
    given, wanted = words(reply), words(expected)
    pairs: dict[int, int] = {}
    places = _places_by_word(wanted)
    # NLTK pairs words from the end on; what is left over stays in this order.
    rest = _match(reversed(list(enumerate(given))), places, pairs)
    same = len(pairs)
    places = _places_by_stem(places)
    rest = _match([(place, stem(word)) for place, word in rest], places, pairs)
    by_stem = len(pairs) - same
    if synonyms is not None:
        _match_synonyms(rest, places, pairs, synonyms)
    by_synonym = len(pairs) - same - by_stem
    runs = sum([pairs.get(place - 1) != other - 1 for place, other in pairs.items()])
    matched = set(pairs.values())
    missing = tuple(word for place, word in enumerate(wanted) if place not in matched)
    return Alignment(same, by_stem, by_synonym, runs, len(given), len(wanted), missing)


def _places_by_word(wanted: Iterable[str]) -> _Places:
    places: _Places = {}
    for place, word in enumerate(wanted):
        if word in places:
            places[word].append(place)
        else:
            places[word] = [place]
    return places


def _places_by_stem(by_word: _Places) -> _Places:
    """Bring the places that are still free together, those of different words in order."""
    places: _Places = {}
    for word, free in by_word.items():
        if free:
            root = stem(word)
            places[root] = sorted(places[root] + free) if root in places else free
    return places


def _match(given: Iterable[tuple[int, str]], places: _Places, pairs: dict[int, int]) -> _Placed:
    """Pair each word with its last free place; return those left over."""
    rest = []
    for place, word in given:
        if free := places.get(word):
            pairs[place] = free.pop()
        else:
            rest.append((place, word))
    return rest


def _match_synonyms(
    given: _Placed, places: _Places, pairs: dict[int, int], synonyms: Synonyms
) -> None:
    """Pair each word with the last free one among its synonyms."""
    left = {word: free for word, free in places.items() if free}
    for place, word in given:
        names = synonyms(word)
        # Most words have none of them; asking that first is twice as fast.
        if not left.keys().isdisjoint(names):
            pairs[place], name = max((left[name][-1], name) for name in left.keys() & names)
            left[name].pop()
            if not left[name]:
                del left[name]
