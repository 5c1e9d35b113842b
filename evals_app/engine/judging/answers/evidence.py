"""Look up the judge's quotes in what it was shown, and find their speakers.

A quote counts if its words are there in a row, whatever punctuation and Markdown are between them.
It may leave something out ("..."), and small words may be missing or a letter wrong; numbers,
negations and names are as they were written, or the quote is made up.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise

from evals_app.engine.basics.folding import fold_text
from evals_app.engine.judging.answers.asking import CLEARER, UnreadableAnswerError
from evals_app.engine.judging.text.languages import ARTICLES
from evals_app.engine.judging.text.transcript import TranscriptPiece
from evals_app.engine.judging.text.words import MARKUP, SMALL, STRICT, Words, is_misspelt
from evals_app.engine.record.grade import Evidence
from fixtures_app.ground.quoting import cut_middle, in_quotes

_ELISION = re.compile(r"\[\s*(?:\.{2,}|\u2026)\s*\]|\(\s*(?:\.{2,}|\u2026)\s*\)|\.{3,}|\u2026")
_BETWEEN_SENTENCES = re.compile(
    r"(?<=[.!?])[\"'\u2019\u201d)\]*_]*\s+|(?<=[\u3002\uff01\uff1f])|\n+" + f"|{_ELISION.pattern}"
)
# The speaker, as a judge may write it before a quote: "Assistant: ...", "[turn 2, assistant] ...".
_LABEL = re.compile(
    r"\s*(?:\[[^\]\n]{0,80}\b(?:assistant|user|tool (?:call|result|error) [\w.-]+)\]"
    r"|(?:assistant|user|agent|tool (?:call|result|error)(?: [\w.-]+)?)\s*:)\s*(?=\S)",
    re.IGNORECASE,
)
_MAX_CHARS = 4000  # of a quote
_SHORT_CHARS = 200
_MAX_TRIES = 200  # places at which the parts of a quote may begin in a piece
# Words that are compared one by one for all quotes on a text together. Quotes that are there word
# for word are found without.
_MAX_COMPARED = 2_000_000

# Whose a piece is, by the first word of its speaker.
_SPEAKERS = {
    "assistant": "agent",
    "error": "agent",
    "tool": "tool",
    "user": "user",
    "file": "user",
    "QUESTION": "user",
    "CHUNKS": "knowledge",
    "CONTEXT": "case",
    "EXPECTED": "case",
    "AGENT_SYSTEM_PROMPT": "system",
}
# What is wrong with quotes, the worst first.
_NEVER_SAID = "what the agent never said"
_SOMEONE_ELSES = "someone else's words as the agent's"
_INEXACT = "inexactly"
_TOO_SHORT = "too few words to show anything"
_FAULTS = (_NEVER_SAID, _SOMEONE_ELSES, _INEXACT, _TOO_SHORT)
_ALIKE = 0.75  # how similar a word is to one with a letter wrong
_MAX_NEAR = 60  # words of a quote that are looked for one by one
_BEFORE = "before the conversation"
_NOTE = "note"  # our own note about omissions
_ORDER = {"agent": 0, "tool": 1}


class QuotableText:
    """What a judge was shown, ready to look quotes up in it.

    What the agent said and did comes first: of several pieces that have a quote, its own counts.
    """

    def __init__(self, pieces: Sequence[TranscriptPiece]) -> None:
        spoken = [
            (speaker_of(piece), piece) for piece in pieces if piece.speaker != _NOTE and piece.text
        ]
        spoken.sort(key=lambda entry: _ORDER.get(entry[0], len(_ORDER)))
        self._pieces = [_Passages(speaker, piece) for speaker, piece in spoken]
        self._room = [_MAX_COMPARED]

    def look_up(self, quote: str, bears_on: str = "") -> Evidence:
        """Return the quote as evidence: verified, with turn and speaker, if it is there."""
        passages = self._find(quote[:_MAX_CHARS])
        if passages is None and (label := _LABEL.match(quote)):
            passages = self._find(quote[label.end() :][:_MAX_CHARS])
        if passages is None:
            return Evidence(quote, bears_on=bears_on)
        return Evidence(
            quote, passages.piece.turn, bears_on, is_verified=True, speaker=passages.speaker
        )

    def _find(self, quote: str) -> "_Passages | None":
        wanted = Words(quote)
        for piece in self._pieces:
            if piece.is_short and piece.words.words == wanted.words != []:
                return piece  # the whole piece, even a single word
        if not wanted.says_something(0, len(wanted.words)):
            return None
        readings = list(_readings(quote, wanted))
        for speaker in dict.fromkeys(piece.speaker for piece in self._pieces):
            pieces = [piece for piece in self._pieces if piece.speaker == speaker]
            for is_exact in (True, False):
                for parts in readings:
                    for piece in pieces:
                        if piece.contain(parts, None if is_exact else self._room):
                            return piece
        return None

    def is_near(self, wanted: Words) -> bool:
        """Return whether all of these words, or nearly the same ones, are in one piece."""
        words = wanted.words[:_MAX_NEAR]
        return bool(words) and any(
            all(piece.may_mean(word) for word in words) for piece in self._pieces
        )

    def has_words_in_row(self, quote: str) -> bool:
        """Return whether the words occur in a row, however few there are."""
        wanted = Words(quote)
        return bool(wanted.words) and any(
            next(piece.exactly(wanted, 0), None) is not None for piece in self._pieces
        )


def speaker_of(piece: TranscriptPiece) -> str:
    """Return whose a piece is: agent, tool, user, knowledge, case, history, system; "" if unknown."""
    if piece.is_history or piece.speaker.endswith(_BEFORE):
        return "history"
    return _SPEAKERS.get(piece.speaker.partition(" ")[0], "")


def objection(evidence: Evidence) -> str | None:
    """Return why a quote does not show what the agent said or did, for the judge; None if it does.

    An empty quote does not count, so there is nothing to object to.
    """
    quote = evidence.quote
    if not quote.strip():
        return None
    if not evidence.is_verified:
        words = Words(quote)
        if not words.says_something(0, len(words.words)):
            return f"{in_quotes(quote)} is too short to show anything; quote the whole sentence."
        return f"{in_quotes(quote)} does not occur in what you were shown."
    if not evidence.is_the_agents:
        return f"{in_quotes(quote)} is not what the agent said or did."
    return None


class MadeUpError(UnreadableAnswerError):
    """An answer that rests on quotes that show nothing: `fault` describes what is wrong with them."""

    @property
    def twice(self) -> str:
        return (
            f"The agent is not graded, because the judge twice quoted {self.fault}. {self.advice}"
        )


class UnshownError(UnreadableAnswerError):
    """An answer that finds something met and quotes nothing that shows it."""

    @property
    def twice(self) -> str:
        return (
            "The judge twice found something met without quoting what shows it, so the agent is not"
            f" graded. {CLEARER}"
        )


def _fault(suspects: Sequence[Evidence], shown: QuotableText) -> str:
    """Describe for people what is wrong with quotes, the worst first."""
    by_fault = {_fault_of(suspect, shown): suspect for suspect in reversed(suspects)}
    fault = next(fault for fault in _FAULTS if fault in by_fault)
    return f"{fault}: {in_quotes(cut_middle(by_fault[fault].quote))}"


def _fault_of(evidence: Evidence, shown: QuotableText) -> str:
    words = Words(evidence.quote)
    if evidence.is_verified:
        return _SOMEONE_ELSES
    if not words.says_something(0, len(words.words)):
        return _TOO_SHORT if shown.has_words_in_row(evidence.quote) else _NEVER_SAID
    return _INEXACT if shown.is_near(words) else _NEVER_SAID


def refuse_made_up(
    shown: QuotableText, met: Iterable[Evidence], others: Iterable[Evidence] = ()
) -> None:
    """Refuse an answer that rests on made up quotes.

    What shows that something is met must be the agent's; the `others` must occur at all.

    Raises:
        MadeUpError: one does not; the message names it, so that the judge looks again.
    """
    suspects = [*met, *(other for other in others if not other.is_verified)]
    problems = {suspect: problem for suspect in suspects if (problem := objection(suspect))}
    if problems:
        raise MadeUpError(" ".join(problems.values()), fault=_fault(list(problems), shown))


def comparable(text: str) -> str:
    """Return a text, as it was shown, in the form in which equal texts are equal."""
    return fold_text(" ".join(Words(text).words))


def _readings(quote: str, whole: Words) -> Iterator[list[Words]]:
    """Yield the ways to read a quote: in one, in the parts around its dots, by its sentences."""
    yield [whole]
    elided = [part for part in map(Words, _ELISION.split(quote)) if part.words]
    if len(elided) > 1:
        yield elided
    sentences = [part for part in map(Words, _BETWEEN_SENTENCES.split(quote)) if part.words]
    if len(sentences) > 1 and len(sentences) != len(elided):
        yield sentences


class _Passages:
    """A piece, by its words."""

    def __init__(self, speaker: str, piece: TranscriptPiece) -> None:
        self.speaker = speaker
        self.piece = piece
        self._alike: dict[str, frozenset[str]] = {}

    @property
    def is_short(self) -> bool:
        """Whether it may be no more than a word, with marks around it."""
        return len(self.piece.text) <= _SHORT_CHARS

    @cached_property
    def words(self) -> Words:
        return Words(self.piece.text)

    def may_mean(self, word: str) -> bool:
        """Return whether a word is here, or one with a letter wrong."""
        others = self.words.alike.get(word[:2], [])
        return word in self.words.words or bool(get_close_matches(word, others, 1, _ALIKE))

    def contain(self, parts: Sequence[Words], room: list[int] | None) -> bool:
        """Return whether the parts are here in their order, or nearly, if there is `room` to try."""
        if room is not None and not all(self._may_be_near(part, room) for part in parts):
            return False
        return self._follow(parts, 0, room, [_MAX_TRIES])

    def _follow(
        self, parts: Sequence[Words], after: int, room: list[int] | None, tries: list[int]
    ) -> bool:
        """Return whether the parts follow each other behind the word `after`."""
        if not parts:
            return True
        part, *others = parts
        place = None
        for place in self._places(part, after, room):
            first, end = place
            tries[0] -= 1
            if tries[0] < 0:
                return False
            is_whole = not (after or others)
            is_fair = is_whole or (
                (self.words.says_something(first, end) or self.words.is_sentence(first, end))
                and (not after or self.words.may_skip(after, first))
            )
            if is_fair and self._follow(others, end, room, tries):
                return True
        if place is None:
            tries[0] = 0  # if there is no match from here, there is none later
        return False

    def _places(self, part: Words, begin: int, room: list[int] | None) -> Iterator[tuple[int, int]]:
        yield from self.exactly(part, begin)
        if room is not None:
            yield from self._nearly(part, begin, room)

    def exactly(self, part: Words, begin: int) -> Iterator[tuple[int, int]]:
        """Yield where the words are in a row."""
        words = self.words
        if begin >= len(words.words):
            return
        place = words.text_in_lines.find(part.text_in_lines, words.offsets[begin])
        while place >= 0:
            first = bisect_left(words.offsets, place)
            yield first, first + len(part.words)
            place = words.text_in_lines.find(part.text_in_lines, place + 1)

    def _may_be_near(self, part: Words, room: list[int]) -> bool:
        """Return whether each word that must be there is."""
        room[0] -= len(part.skeleton)
        return room[0] > 0 and all(
            self._possible_words(part, place, room) for place in part.skeleton
        )

    def _possible_words(self, part: Words, place: int, room: list[int]) -> frozenset[str]:
        """Return the words of this piece that a word of a quote may be."""
        word = part.words[place]
        if word not in self._alike:
            room[0] -= 1
            others = () if part.kinds[place] & STRICT else self.words.alike.get(word[:2], ())
            room[0] -= len(others)
            alike = {other for other in others if is_misspelt(word, other)}
            self._alike[word] = frozenset(alike | ({word} & self.words.places.keys()))
        return self._alike[word]

    def _nearly(self, part: Words, begin: int, room: list[int]) -> Iterator[tuple[int, int]]:
        """Yield where the words that must be there are in a row, and little else differs."""
        if len(part.skeleton) < 2:  # noqa: PLR2004 - one word does not count
            return
        meant = [self._possible_words(part, place, room) for place in part.skeleton]
        there = self.words.places
        counts = [sum(len(there[word]) for word in words) for words in meant]
        rarest = counts.index(min(counts))
        for place in sorted(n for word in meant[rarest] for n in there[word]):
            first = place - rarest
            if first >= 0 and self._is_near(part, first, meant, room):
                skeleton = self.words.skeleton
                begins, ends = skeleton[first], skeleton[first + len(meant) - 1] + 1
                if begins >= begin:
                    yield begins, ends
            if room[0] <= 0:
                return

    def _is_near(
        self, part: Words, first: int, meant: Sequence[frozenset[str]], room: list[int]
    ) -> bool:
        words = self.words
        places = words.skeleton[first : first + len(meant)]
        if len(places) < len(meant):
            return False
        misspelt = 0
        for index, mine, allowed in zip(places, part.skeleton, meant, strict=True):
            room[0] -= 1
            word = words.words[index]
            if word not in allowed:
                return False
            if word != part.words[mine]:
                if words.kinds[index] & STRICT:
                    return False
                misspelt += 1
        if misspelt > max(1, len(meant) // 4):
            return False
        return self._differs_little(part, places)

    def _differs_little(self, part: Words, places: Sequence[int]) -> bool:
        """Return whether few of the small words between the others differ."""
        count = 0
        for here, there in zip(_gaps(self.words, places), _gaps(part, part.skeleton), strict=True):
            missing, extra = Counter(here) - Counter(there), Counter(there) - Counter(here)
            # Replacing one changes the meaning, except `the` for `a`.
            if missing and extra and not ARTICLES.issuperset([*missing, *extra]):
                return False
            count += max(missing.total(), extra.total())
        edges = [*part.words[: part.skeleton[0]], *part.words[part.skeleton[-1] + 1 :]]
        around = self.words.words[max(0, places[0] - 3) : places[-1] + 4]
        count += (Counter(edges) - Counter(around)).total()
        return count <= max(1, len(part.words) // 4)


def _gaps(words: Words, places: Sequence[int]) -> list[list[str]]:
    """Return the small words between each two of the others."""
    return [
        [
            words.words[n]
            for n in range(place + 1, after)
            if words.kinds[n] & SMALL and not words.kinds[n] & MARKUP
        ]
        for place, after in pairwise(places)
    ]
