"""What of an expected answer is compared, and by which check: by what kind of answer it is."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, get_args

from evals_app.engine.basics.folding import fold_text
from evals_app.formats.foreign.words import plain
from evals_app.formats.reading.problems import Json
from evals_app.formats.tables.columns import NO_CHECK, SAME_MEANING, read_way, ways
from evals_app.formats.tables.wanted import (
    ANY_NUMBER,
    WHOLE_WORDS,
    is_decimal,
    is_number,
    means,
    number_check,
    one_of,
    word_pattern,
)
from fixtures_app.ground.quoting import in_quotes
from fixtures_app.ground.words import near

AnswerKind = Literal[
    "number", "yes-no", "label", "date", "short", "sentence", "paragraph", "instruction"
]
KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)
# What people read about each: its name, and how it is compared if they choose nothing.
NAMES: Mapping[AnswerKind, tuple[str, str]] = {
    "number": ("number", "the reply gives this number"),
    "yes-no": ("yes or no", "the reply begins or ends with it, and not with its opposite"),
    "label": ("one of {labels} labels", "the reply names it and no other"),
    "date": ("date", "the reply gives it, however it is written"),
    "short": ("short answer", "the reply contains it as whole words"),
    "sentence": ("sentence", "a judge compares the meaning"),
    "paragraph": ("paragraph", "a judge compares the meaning"),
    "instruction": ("description of a good reply", "a judge checks the reply against it"),
}
CRITERIA = "criteria"  # the text itself is what a judge finds true of the reply
# What people write where there is nothing to write.
NOTHING = frozenset(
    {"-", "\u2013", "\u2014", "--", "n/a", "n.a.", "none", "null", "nil", "k. a.", "k.a."}
)

_SHORT_WORDS = 4
_PARAGRAPH_WORDS = 40
_SPACELESS_CHARS = 12  # of a short answer in a script without spaces
_MAX_LABELS = 20
_MIN_ANSWERS = 4  # that show which labels there are
_OPPOSITES = (
    *(("yes", "no"), ("true", "false"), ("ja", "nein"), ("oui", "non"), ("sí", "no")),
    ("si", "no"),
)
_FLAGS = frozenset(word for pair in _OPPOSITES for word in pair)
# Yes and no as a column of nothing else may write them: Y and N, J and N, T and F.
_LETTERS = (("y", "n"), ("j", "n"), ("t", "f"))
_FLAG_LETTERS = frozenset(letter for pair in _LETTERS for letter in pair)
# A data set says true, or a letter, where a person says yes.
_SAID = {
    "true": ("yes", "ja", "oui", "sí", "si"),
    "false": ("no", "nein", "non"),
    "y": ("yes",),
    "j": ("ja",),
    "n": ("no", "nein"),
    "t": ("true",),
    "f": ("false",),
}
_UNIT = re.compile(r"(.*\d)\s?([%\u2030\u20ac\u00a3$\u00a5\u00b0].{0,2})", re.DOTALL)
_ENDS = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)]*\s*\Z")
_SHOULD = re.compile(
    r"(?:the |an? )?(?:agent|assistant|model|bot|chatbot|ai|skill|system|reply|response|answer)\b"
    r".{0,40}\b(?:should|must|shall|needs? to|has to|is expected to)\b"
    r"|(?:should|must|shall|refuse|decline)\b"
    r"|(?:refuses|declines|explains|asks|provides|mentions|acknowledges|apologi[sz]es|suggests"
    r"|identifies|recommends|confirms|clarifies|describes|responds|includes|politely)\b(?=.* .* )",
    re.IGNORECASE | re.DOTALL,
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_ISO_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]+)\.?,? (\d{4})", re.IGNORECASE)
_MONTH_FIRST = re.compile(r"([a-z]+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})", re.IGNORECASE)
_WITH_DOTS = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})")

FINAL = "Only what follows #### is compared: that is the answer, and above it is the way to it."
MARKS = (
    "Marks of sources, such as [1], and of emphasis, such as **, are left out of short answers, "
    "because a right reply may have others."
)
_FINAL = re.compile(r"(?:\A|\n)[ \t]*####[ \t]*(\S[^\n]*?)\s*\Z")
# A number in brackets next to a word may be code, such as `names[0]`.
_SOURCES = re.compile(
    r"\s*\[\^[\w-]{1,20}\]|\s+\[\d{1,3}(?:\s*,\s*\d{1,3})*\]|\s*\u3010[^\u3011]*\u3011"
)
_EMPHASIS = re.compile(r"(?<![\w*`])(\*\*|\*|`)(?=[^\s*`])([^*`\n]+?)(?<=\S)\1(?![\w*`])")
_EITHER = re.compile(r"\s+/\s+|\s*(?<!\|)\|(?!\|)\s*")
_MIN_LETTERS = 3  # of each of two texts with a slash between them: km / h is one
# Several texts, a comparison, a range, or a moment: people say these in many ways.
_LOOSE = re.compile(
    r";|^\s*[~<>\u2248\u2264\u2265\u00b1]|\s(?:or|oder|ou)\s|,[^,]*,"
    r"|(?<![\d-])\d{1,3}\s?[-\u2013]\s?\d{1,3}(?![\d-])|\d{4}-\d\d-\d\d[ T]",
    re.IGNORECASE,
)
_LITERAL: frozenset[AnswerKind] = frozenset({"number", "yes-no", "date", "short", "label"})


@lru_cache(maxsize=64)  # each answer of a column is looked at several times
def kind_of(text: str, labels: frozenset[str] = frozenset()) -> AnswerKind:
    """Return what kind of answer a text is; `labels` are those of its column, folded."""
    seen = fold_text(text)
    if seen in labels:
        return "yes-no" if _FLAG_LETTERS.issuperset(labels) else "label"
    if _flag_word(text) in _FLAGS:
        return "yes-no"
    if is_number(text):
        return "number"
    if read_date(text):
        return "date"
    words = text.split()
    if len(words) > 1 and _SHOULD.match(text.strip()):
        return "instruction"
    if len(words) > _PARAGRAPH_WORDS or "\n\n" in text.strip():
        return "paragraph"
    is_short = len(words) <= _SHORT_WORDS and not (len(words) > 2 and _ENDS.search(text))  # noqa: PLR2004 - “It depends.”
    if len(words) == 1 and not text.isascii() and len(text) > _SPACELESS_CHARS:
        is_short = word_pattern(text)[0] == "(" and not _ENDS.search(text)
    return "short" if is_short else "sentence"


def read_date(text: str) -> date | None:
    """Read a date whose day and month cannot be mixed up; None: it is something else."""
    bare = " ".join(text.split()).rstrip(".")
    try:
        if match := _ISO_DATE.fullmatch(bare):
            return date(int(match[1]), int(match[2]), int(match[3]))
        if match := _WITH_DOTS.fullmatch(bare):
            return date(int(match[3]), int(match[2]), int(match[1]))
        if match := _DAY_FIRST.fullmatch(bare):
            return date(int(match[3]), _month(match[2]), int(match[1]))
        if match := _MONTH_FIRST.fullmatch(bare):
            return date(int(match[3]), _month(match[1]), int(match[2]))
    except ValueError:
        pass
    return None


def _month(word: str) -> int:
    seen = word.casefold()
    found = [n for n, name in enumerate(_MONTHS, 1) if len(seen) > 2 and name.startswith(seen)]  # noqa: PLR2004 - Jan
    return found[0] if found else 0


def labels_in(answers: Sequence[str]) -> frozenset[str]:
    """Return the few labels that all answers of a column are; nothing if they are not labels.

    Of a column of yes and no, the letters that are short for them.
    """
    counts = Counter(map(fold_text, answers))
    letters = counts.keys() - _FLAGS
    if len(counts) > 1 and any(letters and letters <= {*pair} for pair in _LETTERS):
        return frozenset(letters)
    is_few = 1 < len(counts) <= min(_MAX_LABELS, len(answers) // 2)
    if len(answers) < _MIN_ANSWERS or not is_few or _FLAGS & counts.keys():
        return frozenset()
    kinds = {kind_of(text) for text in counts}
    return frozenset(counts) if kinds == {"short"} else frozenset()


def bare_answer(text: str, labels: frozenset[str] = frozenset()) -> tuple[str, str]:
    """Return what is compared of an answer, and what to say of it: nothing if it is all of it."""
    if final := _FINAL.search(text):
        return final[1], FINAL
    bare = _EMPHASIS.sub(r"\2", _SOURCES.sub("", text)).strip()
    if bare and bare != text.strip() and kind_of(bare, labels) in _LITERAL:
        return bare, MARKS
    return text, ""


def alternatives(text: str) -> list[str]:
    """Return the answers that a short text gives to choose from: `Rome / Roma`; one otherwise."""
    parts = [part.strip() for part in _EITHER.split(text)]
    is_slash = "/" in text and "|" not in text
    are_words = all(sum(map(str.isalpha, part)) >= _MIN_LETTERS for part in parts)
    kinds = {kind_of(part) for part in parts if part}
    is_each = all(parts) and kinds <= {"short", "number"} and (are_words or not is_slash)
    return list(dict.fromkeys(parts)) if is_each else [text]


def is_loose(text: str) -> bool:
    """Whether a right reply may well say a short answer in other words."""
    return kind_of(text) == "short" and _LOOSE.search(text) is not None


@dataclass(slots=True)
class AnswerChecks:
    """Chooses the checks of a sheet's expected answers, and counts the kinds that it met.

    `chosen` are the ways that a person chose, by kind; that under an empty name is for all others.
    `kept` are the kinds of those that they chose for an earlier file.
    """

    chosen: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    labels: frozenset[str] = frozenset()
    met: dict[AnswerKind, list[tuple[int, int]]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()

    def checks_for(self, text: str, place: tuple[int, int] | None = None) -> list[Json]:
        """Return the checks that compare an answer; `place` is its row and column."""
        kind = kind_of(text, self.labels)
        if place:
            self.met.setdefault(kind, []).append(place)
        way = self.way(kind)
        if way == CRITERIA:
            return [_criteria(text)]
        if way:
            check = None if way == NO_CHECK else read_way(way)
            return [check] if check else []
        return self._usual(kind, text)

    def way(self, kind: AnswerKind) -> str:
        """Return how a person wants answers of a kind compared; empty: in the usual way."""
        return self.chosen.get(kind, self.chosen.get("", ""))

    def _usual(self, kind: AnswerKind, text: str) -> list[Json]:
        seen = fold_text(text)
        if kind == "number":
            return [dict(ANY_NUMBER)]
        if kind == "yes-no":
            return _flag(text)
        if kind == "date" and (day := read_date(text)):
            return [
                {
                    **one_of(_spellings(day, text)),
                    "means": f"{in_quotes(text)}, however it is written",
                }
            ]
        if kind == "label":
            others = sorted(label for label in self.labels - {seen} if not _has(seen, label))
            return [dict(WHOLE_WORDS), *([_none_of(others)] if others else [])]
        if kind == "instruction":
            return [_criteria(text)]
        if kind in ("sentence", "paragraph"):
            return [dict(SAME_MEANING)]
        bare = text.strip().rstrip(".!\u3002")
        if is_decimal(bare):
            return [number_check(bare)]
        if unit := _UNIT.fullmatch(bare):
            return [one_of(_spacings(bare, *unit.groups()))]
        return [
            {**WHOLE_WORDS, "value": bare} if bare and bare != text.strip() else dict(WHOLE_WORDS)
        ]

    def drops_text(self, checks: Sequence[Json]) -> bool:
        """Whether checks say all of the answer themselves: then the turn expects no text."""
        return any("criteria" in check and check != SAME_MEANING for check in checks)

    def name(self, kind: AnswerKind) -> str:
        """Return what people call a kind of answer."""
        return NAMES[kind][0].format(labels=len(self.labels))

    def sentence(self, kind: AnswerKind) -> str:
        """Return how the answers of a kind are compared, as a sentence."""
        how, way = NAMES[kind][1], self.way(kind)
        article = "" if kind == "label" else "a "
        times = f" ({len(self.met[kind]):,} answers)" if len(self.met[kind]) > 1 else ""
        said = f"it is compared by {in_quotes(way)}, as you chose" if way else how
        return f"Read as {article}{self.name(kind)}{times}: {said}."


def _has(text: str, part: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None


def _none_of(labels: Sequence[str]) -> Json:
    check = one_of(labels)
    return {**check, "type": "not_matches", "value": "|".join(map(word_pattern, labels))}


def _flag_word(text: str) -> str:
    return fold_text(text).rstrip(".!")


def _flag(text: str) -> list[Json]:
    """Return the checks of a yes or no: the reply begins or ends with it, not with its opposite."""
    seen = _flag_word(text)
    words = [text.strip().rstrip(".!"), *_SAID.get(seen, ())]
    others = {other for pair in (*_OPPOSITES, *_LETTERS) if seen in pair for other in pair} - {seen}
    others |= {word for flag, said in _SAID.items() if flag in others for word in said}
    either = "|".join(map(re.escape, words))
    pattern = rf"\A\W*(?:{either})(?:\W|\z)|(?:\A|\W)(?:{either})\W*\z"
    edge = f"{means(words)} as its first or last word"
    opposite = rf"\A\W*(?:{'|'.join(map(re.escape, sorted(others)))})(?:\W|\z)"
    begins = f"{means(sorted(others))} as its first word"
    return [
        {"type": "matches", "value": pattern, "means": edge},
        {"type": "not_matches", "value": opposite, "means": begins},
    ]


def _spacings(written: str, number: str, unit: str) -> list[str]:
    """Return a number with its unit, as it is written and in the other ways to space them."""
    return list(dict.fromkeys([written, f"{number}{unit}", f"{number} {unit}"]))


def _criteria(text: str) -> Json:
    return {"type": "llm_judge", "scale": "pass_fail", "criteria": text}


def _spellings(day: date, written: str) -> list[str]:
    month = _MONTHS[day.month - 1].capitalize()
    names = [month, month[:3], *(["Sept"] if day.month == 9 else [])]  # noqa: PLR2004 - September
    th = "th" if 10 < day.day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")  # noqa: PLR2004 - 11th
    d, m, y = day.day, day.month, day.year
    spelt = [written.strip(), f"{y}-{m:02}-{d:02}", f"{y}/{m:02}/{d:02}"]
    spelt += [f"{d}.{m}.{y}", f"{d:02}.{m:02}.{y}", f"{d}. {month} {y}"]
    for name in names:
        spelt += [f"{d} {name} {y}", f"{name} {d}, {y}", f"{name} {d} {y}", f"{name} {d}{th}, {y}"]
        spelt += [f"{d}{th} {name} {y}", f"{d}{th} of {name} {y}", f"{name} {d}{th} {y}"]
    return list(dict.fromkeys(spelt))


def read_check_choices(words: Iterable[str]) -> dict[str, str]:
    """Read choices such as `sentence=contains`, or `contains` for every kind of answer.

    Raises:
        ValueError: there is no such kind, or no such way to compare.
    """
    choices: dict[str, str] = {}
    for word in words:
        kind, _, way = (part.strip() for part in word.rpartition("="))
        if kind and kind not in KINDS:
            raise ValueError(
                f"There is no kind of answer {kind!r}.{near(kind, KINDS)} Known: {', '.join(KINDS)}."
            )
        known = [*ways(), CRITERIA, NO_CHECK]
        if plain(way) not in known and read_way(way) is None:
            raise ValueError(
                f"Unknown way to check a reply: {way!r}.{near(plain(way), known)} Known: {', '.join(known)}."
            )
        choices[kind] = plain(way) if plain(way) in known else way
    return choices
