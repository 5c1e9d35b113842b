"""Masks the personal data of a conversation, the same person always by the same mask."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from evals_app.formats.conversations.recorded import RecordedConversation
from evals_app.formats.masking.addresses import ADDRESS, find_addresses
from evals_app.formats.masking.cued import find_cued
from evals_app.formats.masking.names import NAME, find_again, find_names, words_of
from evals_app.formats.masking.numbers import find_numbers
from evals_app.formats.masking.spans import Span
from fixtures_app.ground.patterns import find_all

_MIN_WORD = 3  # letters of a part of a name that is masked by itself
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.\s-]+")
_WHOLE = {  # what a value is, by words of what it is called
    NAME: re.compile(
        r"(?:customer|client|user|contact|first|last|full|sur|family|given|display|account|kunden|vor|nach)"
        r" ?name|name of (?:customer|client)|kund(?:e|in)|ansprechpartner(?:in)?|nom|pr[ée]nom"
        r"|nombre(?: completo)?|apellidos?|customer|contact|requester|recipient|empf[äa]nger"
    ),
    ADDRESS: re.compile(
        r"(?:(?:shipping|billing|delivery|home|postal|street|liefer|rechnungs) ?)?(?:address|adresse|anschrift"
        r"|direcci[óo]n)(?: line)?(?: ?[12])?|street|stra(?:ß|ss)e|rue|calle|zip(?: code)?|post(?:al )?code|plz"
    ),
}


@dataclass(slots=True)
class Masker:
    """Masks conversations by rules, and counts what it masked.

    `patterns` are a site's own kinds: the word in the mask, and an RE2 pattern. `counts` has how
    often each kind was masked, over all conversations so far.
    """

    patterns: Mapping[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def of_conversation(self, conversation: RecordedConversation) -> RecordedConversation:
        """Return the conversation with each e-mail, name and so on replaced by `[name 1]`."""
        masks = _Masks(self.patterns)
        for name in conversation.names:
            masks.number_of(NAME, name)
        conversation.with_texts(masks.learn)
        changed = conversation.with_texts(masks.change)
        self.counts.update(masks.counts)
        return replace(
            changed,
            id=_masked_id(changed.id, masks),
            agent=masks.change(changed.agent),
            tags=tuple(masks.change(tag) for tag in changed.tags),
            names=(),
        )

    def of_text(self, text: str) -> str:
        """Return a text by itself, masked."""
        masks = _Masks(self.patterns)
        changed = masks.change(text)
        self.counts.update(masks.counts)
        return changed


class _Masks:
    """The masks of one conversation: `learn` reads all of it before `change` writes any."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self.counts: Counter[str] = Counter()
        self._patterns = patterns
        self._numbers: dict[str, dict[str, int]] = defaultdict(dict)
        self._people: list[set[str]] = []
        self._found: dict[tuple[str, str], list[Span]] = {}
        self._again: re.Pattern[str] | None = None

    def learn(self, text: str, called: str = "") -> str:
        """Find what is personal in a text, and return it as it is."""
        if (text, called) not in self._found:
            spans = self._found[text, called] = _find(text, called, self._patterns)
            for span in spans:
                self.number_of(span.kind, text[span.start : span.end])
            self._again = None
        return text

    def change(self, text: str, called: str = "") -> str:
        """Return a text with masks in place of what is personal."""
        self.learn(text, called)
        if self._again is None:
            self._again = _any_of(word for person in self._people for word in person)
        spans = _apart([*self._found[text, called], *find_again(text, self._again)])
        parts, end = [], 0
        for span in spans:
            number = self.number_of(span.kind, text[span.start : span.end])
            parts += [text[end : span.start], f"[{span.kind} {number}]"]
            end = span.end
            self.counts[span.kind] += 1
        return "".join([*parts, text[end:]]) if spans else text

    def number_of(self, kind: str, written: str) -> int:
        """Return the number of a thing or person; the same for other ways to write it."""
        if kind == NAME:
            return self._person(set(words_of(written)))
        numbers = self._numbers[kind]
        key = re.sub(r"[\W_]+", "", written).casefold()
        return numbers.setdefault(key, len(numbers) + 1)

    def _person(self, words: set[str]) -> int:
        for number, person in enumerate(self._people, 1):
            if words <= person or person <= words:
                person.update(words)
                return number
        self._people.append(words)
        return len(self._people)


def _find(text: str, called: str, patterns: Mapping[str, str]) -> list[Span]:
    """Return what is personal in a text, without overlaps; `called` is what its place is called."""
    name = " ".join(_CAMEL.split(called)).strip().lower()
    if text.strip() and (kind := _kind_of_value(name)):
        return [Span(0, len(text), kind)]
    before = f"{name}: " if name else ""
    whole = before + text
    own = [
        Span(start, end, kind)
        for kind, pattern in patterns.items()
        for start, end in find_all(pattern, text)
        if end > start
    ]
    numbers = _shift([*find_cued(whole), *find_numbers(whole)], len(before))
    return _apart([*own, *numbers, *find_addresses(text), *find_names(text)])


def _kind_of_value(name: str) -> str:
    return next((kind for kind, called in _WHOLE.items() if called.fullmatch(name)), "")


def _shift(spans: Iterable[Span], by: int) -> Iterator[Span]:
    for span in spans:
        if span.start >= by:
            yield Span(span.start - by, span.end - by, span.kind)


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Return spans in their order in the text: of two that overlap the first, or both as one."""
    kept: list[Span] = []
    for span in spans:
        if span.start >= span.end:
            continue
        meets = [other for other in kept if span.start < other.end and other.start < span.end]
        if all(other.kind == span.kind for other in meets):
            kept = [other for other in kept if other not in meets]
            start = min(each.start for each in [span, *meets])
            kept.append(Span(start, max(each.end for each in [span, *meets]), span.kind))
    return sorted(kept)


def _any_of(words: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern of words of names, one or several in a row."""
    long = sorted({re.escape(word) for word in words if len(word) >= _MIN_WORD})
    word = rf"(?<!\w)(?:{'|'.join(long)})(?!\w)"
    return re.compile(rf"{word}(?: {word})*", re.IGNORECASE) if long else None


def _masked_id(written: str, masks: _Masks) -> str:
    """Return the id; if it has personal data, a digest, which is the same each time."""
    if masks.change(written) == written:
        return written
    return hashlib.sha256(written.encode()).hexdigest()[:16]
