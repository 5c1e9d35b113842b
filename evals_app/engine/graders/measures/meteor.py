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
_MOST_PENALTY = 0.5
_PENALTY_POWER = 3.0

Synonyms = Callable[[str], frozenset[str]]
_Placed = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Alignment:
    """How many words match, how, and in how many runs that both texts have in the same order."""

    same: int
    by_stem: int
    by_synonym: int
    runs: int
    in_reply: int
    in_expected: int

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
        penalty: float = _MOST_PENALTY * (self.runs / self.matches) ** _PENALTY_POWER
        return (1 - penalty) * mean


def meteor(reply: str, expected: str, *, synonyms: Synonyms | None = None) -> Alignment:
    """Match a reply with the expected text; the order matters."""
    given, wanted = words(reply), words(expected)
    pairs: dict[int, int] = {}
    rest, missing = _match(enumerate(given), enumerate(wanted), pairs)
    same = len(pairs)
    if rest and missing:
        rest, missing = _match(_stems(rest), _stems(missing), pairs)
    by_stem = len(pairs) - same
    if synonyms is not None and missing:
        _match_synonyms(rest, missing, pairs, synonyms)
    by_synonym = len(pairs) - same - by_stem
    runs = sum(pairs.get(place - 1) != other - 1 for place, other in pairs.items())
    return Alignment(same, by_stem, by_synonym, runs, len(given), len(wanted))


def _stems(placed: _Placed) -> _Placed:
    return [(place, stem(word)) for place, word in placed]


def _match(
    given: Iterable[tuple[int, str]], wanted: Iterable[tuple[int, str]], pairs: dict[int, int]
) -> tuple[_Placed, _Placed]:
    """Pair equal words from the end on, each with the last that is free; give those left over."""
    places = _by_word(wanted)
    rest = []
    for each in reversed(list(given)):
        if free := places.get(each[1]):
            pairs[each[0]] = free.pop()
        else:
            rest.append(each)
    rest.reverse()
    missing = [(place, word) for word, free in places.items() for place in free]
    return rest, sorted(missing)


def _by_word(placed: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, word in placed:
        if word in places:
            places[word].append(place)
        else:
            places[word] = [place]
    return places


def _match_synonyms(
    given: _Placed, wanted: _Placed, pairs: dict[int, int], synonyms: Synonyms
) -> None:
    """Pair a word, from the end on, with the last free one among its synonyms."""
    places = _by_word(wanted)
    for place, word in reversed(given):
        names = synonyms(word)
        # Most words have none of them; asking that first is twice as fast.
        if not places.keys().isdisjoint(names):
            pairs[place], name = max((places[name][-1], name) for name in places.keys() & names)
            places[name].pop()
            if not places[name]:
                del places[name]
