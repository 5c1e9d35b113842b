"""Values of a conversation, split into parts that a check may expect or leave open.

A part has a doubt if it would probably differ the next time: because it differs in another trial, or
because nothing that the conversation began with contains it, and it looks random or like a time.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from evals_app.engine.basics.matchers import ABSENT, MATCHER_KEYS, Matcher, equal, phrase
from evals_app.engine.record.trial import Trial
from fixtures_app.ground.quoting import json_text
from fixtures_app.ground.strict_json import Json

PRESENT, GONE = {"present": True}, {"present": False}
ANYTHING = {"any_of": [PRESENT, GONE]}

DIFFERS = "differs between trials"
RANDOM = "looks random"
TIME = "looks like a time"
PROSE = "free text"

_MATCHER: TypeAdapter[object] = TypeAdapter(Matcher)
_MAX_DEPTH = 4  # below this depth, a mapping is one part
_MAX_PARTS = 60  # of one value; a larger one is taken apart at the top only
_MAX_PAIRED = 60  # of one kind; more are paired in their order

_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_MOMENT = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?")
_HOUR = re.compile(r"(?<![\d:])\d\d?:\d\d(?::\d\d)?(?![\d:])")
# Days without a year depend on when they are said: Tuesday 12 May.
_SPOKEN_DAY = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b\d\d?(?:st|nd|rd|th)?\.? (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d\d?(?:st|nd|rd|th)?\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\w(?:[\w#/+=-]*\w)?")
_MEASURE = re.compile(  # 30days, 1st, 10kg: a number with its unit
    r"\d{1,5}(?:st|nd|rd|th|x|%|am|pm|h|hrs?|min|ms|s|days?|[kmgt]b|[km]?g|[kcm]?m|m?l|eur|usd|gbp|chf)",
    re.IGNORECASE,
)
# Names of fields whose values are often made up by a system.
_NAMES_A_KEY = re.compile(
    r"(?:^|[\W_]|(?<=[a-z]))(?:ref|reference|id|uuid|guid|code|token|nonce|hash|key|number|no"
    r"|confirmation|tracking|ticket|session|trace)$",
    re.IGNORECASE,
)
_MIN_CODE = 4  # characters: A4 is a room, RF-8271 a reference
_MIN_WORDS = 4  # of free text
_MIN_LETTERS = 6
_MIN_VOWELS = 0.15
_LARGE = 10_000
_KEY_FROM = 1_000
_MAX_DECIMALS = 4

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ValuePart:
    """A value by its path; `doubt` is why it is better left open, `is_optional` if it may be missing."""

    key: str
    path: tuple[str | int, ...]
    matcher: object
    doubt: str = ""
    is_optional: bool = False

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path))

    @property
    def loose(self) -> object:
        """What it must be if it is left open."""
        if self.is_optional:
            return ANYTHING
        return GONE if self.matcher == GONE else PRESENT

    def __str__(self) -> str:
        return phrase(self.name, self.matcher)


@dataclass(frozen=True, slots=True)
class KnownValues:
    """What was there before the agent did anything, folded; `now` is None if a clock is fixed.

    `made_up` are texts of values that first appeared during the conversation.
    """

    text: str
    asked: frozenset[str] = frozenset()
    now: datetime | None = None
    made_up: frozenset[str] = frozenset()

    @classmethod
    def before(cls, trial: Trial, fixtures: str = "", *, is_compared: bool = False) -> Self:
        """Return what a conversation begins with; `fixtures` is their text, if it is known.

        If it is compared with other trials, they show what is made up.
        """
        asked = [*(message.text for message in trial.history), *(turn.user for turn in trial.turns)]
        asked += [json_text(trial.context_params, None), trial.channel or ""]
        created = {entry["id"] for entry in trial.world_journal if entry["before"] is None}
        rows = [
            json_text(entry["before"], None)
            for entry in trial.world_journal
            if entry["before"] is not None and entry["id"] not in created
        ]
        files = [file.name for turn in trial.turns for file in turn.files]
        # Ids of what is created are counted up, the same in every trial.
        texts = [
            trial.system_prompt,
            trial.clock,
            *asked,
            *files,
            *rows,
            *sorted(created),
            fixtures,
        ]
        numbers = re.findall(r"\d+", " ".join(asked))
        now = None if trial.clock else _moment(trial.started_at)
        known = cls("\n".join(texts).casefold(), frozenset(map(str, map(int, numbers))), now)
        if is_compared:
            return known
        seen = [value for call in trial.tool_calls for value in (call.args, call.result)]
        seen += [entry["after"].get("data") for entry in trial.world_journal if entry["after"]]
        return replace(known, made_up=frozenset(known._made_up(seen)))

    def _made_up(self, value: Json, name: str = "") -> Iterator[str]:
        if isinstance(value, Mapping):
            for key, part in value.items():
                yield from self._made_up(part, str(key))
        elif isinstance(value, list | tuple):
            for part in value:
                yield from self._made_up(part, name)
        elif self.doubt(value, name) in {RANDOM, TIME}:
            yield _text(value)

    def has(self, text: str) -> bool:
        """Return whether a text was there, as whole words."""
        return has_words(self.text, text.strip().casefold())

    def doubt(self, value: Any, name: str = "") -> str:
        """Explain why a value would probably differ the next time; empty if it would not."""
        if isinstance(value, Mapping):
            return next(
                filter(None, (self.doubt(part, str(key)) for key, part in value.items())), ""
            )
        if isinstance(value, list | tuple):
            return next(filter(None, (self.doubt(part, name) for part in value)), "")
        if isinstance(value, bool) or value is None or value is ABSENT:
            return ""
        if isinstance(value, str):
            doubt = self._doubt_of_text(value, name)
        else:
            doubt = RANDOM if self._is_odd(value, name) else ""
        return doubt or (RANDOM if _text(value) in self.made_up else "")

    def is_recent(self, value: object) -> bool:
        """Return whether a text is a moment about when the conversation took place."""
        moment = _moment(value) if isinstance(value, str) and _MOMENT.match(value) else None
        return None not in {moment, self.now} and abs(moment - self.now) < timedelta(days=2)  # type: ignore[operator]

    def _is_odd(self, number: float, name: str) -> bool:
        if self.has(json_text(number)):
            return False
        if not float(number).is_integer():
            return len(repr(number).partition(".")[2]) > _MAX_DECIMALS
        is_key = bool(_NAMES_A_KEY.search(name)) and abs(number) >= _KEY_FROM
        return is_key or (abs(number) >= _LARGE and number % 100 != 0)

    def _doubt_of_text(self, text: str, name: str) -> str:
        if self.has(text):
            return ""
        moments = [*_MOMENT.findall(text), *_HOUR.findall(_MOMENT.sub(" ", text))]
        if not all(map(self.has, moments)):
            return TIME
        rest = _HOUR.sub(" ", _MOMENT.sub(" ", text))
        if any(map(self._is_relative, _DAY.findall(rest))) or self._is_spoken_day(rest):
            return TIME
        tokens = _TOKEN.findall(_DAY.sub(" ", rest))
        is_key = _NAMES_A_KEY.search(name) is not None
        if any(_is_made_up(token, is_key=is_key) and not self.has(token) for token in tokens):
            return RANDOM
        return PROSE if len(text.split()) >= _MIN_WORDS else ""

    def _is_spoken_day(self, text: str) -> bool:
        days = _SPOKEN_DAY.findall(text) if self.now is not None else ()
        return not all(map(self.has, days))

    def _is_relative(self, day: str) -> bool:
        """Return whether a day depends on when the conversation took place: the user did not ask for it."""
        if self.now is None or self.has(day):
            return False
        try:
            distance = abs(date.fromisoformat(day) - self.now.date())
        except ValueError:
            return False
        return distance <= timedelta(days=366) and str(int(day[-2:])) not in self.asked


def has_words(text: str, wanted: str) -> bool:
    """Return whether a text has another one that is not part of a longer word."""
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        around = text[start - 1 : start] + text[end : end + 1]
        if not any(character.isalnum() or character == "_" for character in around):
            return True
        start = text.find(wanted, start + 1)
    return False


def _text(value: object) -> str:
    return (value if isinstance(value, str) else json_text(value)).casefold()


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_made_up(token: str, *, is_key: bool) -> bool:
    """Return whether a word looks like one that a system makes up."""
    digits = sum(character.isdigit() for character in token)
    letters = sum(character.isalpha() for character in token)
    if digits and letters:
        return len(token) >= _MIN_CODE and not _MEASURE.fullmatch(token)
    if digits:
        return digits >= (_MIN_CODE if is_key else _MIN_CODE + 1)
    vowels = len(re.findall(r"[aeiouyäöü]", token, re.IGNORECASE))
    return token.isascii() and letters >= _MIN_LETTERS and vowels < letters * _MIN_VOWELS


def split_value(
    value: Mapping[str, object],
    others: Sequence[Mapping[str, object]],
    *,
    known: KnownValues,
    key: str,
    with_extras: bool = False,
) -> tuple[ValuePart, ...]:
    """Split a value into parts, and compare it with the same value of other trials.

    What only others have is a part if it would have to be named: below the top, or `with_extras`.
    """
    leaves = list(islice(_leaves((), value, others, with_extras=with_extras), _MAX_PARTS + 1))
    if len(leaves) > _MAX_PARTS:
        tops = [
            (name, part, [other.get(name, ABSENT) for other in others])
            for name, part in value.items()
        ]
        leaves = [((name,), part, theirs) for name, part, theirs in tops]
    return tuple(
        _part(f"{key}-{number}", *leaf, known=known) for number, leaf in enumerate(leaves, 1)
    )


_Leaf = tuple[tuple[str | int, ...], object, Sequence[object]]


def _leaves(
    path: tuple[str | int, ...], value: Any, others: Sequence[Any], *, with_extras: bool = True
) -> Iterator[_Leaf]:
    if path and not _can_be_opened(value, others, depth=len(path)):
        yield path, value, others
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from _leaves((*path, place), part, [other[place] for other in others])
    else:
        names = dict.fromkeys(value)
        if with_extras:
            names |= dict.fromkeys(name for other in others for name in other)
        for name in names:
            theirs = [other.get(name, ABSENT) for other in others]
            yield from _leaves((*path, name), value.get(name, ABSENT), theirs)


def _can_be_opened(value: object, others: Sequence[object], *, depth: int) -> bool:
    """Return whether parts of a value may be left open: all trials have the same kind of thing."""
    if depth >= _MAX_DEPTH or not value:
        return False
    together = [value, *others]
    if isinstance(value, Mapping):
        return all(
            isinstance(other, Mapping) and other.keys().isdisjoint(MATCHER_KEYS)
            for other in together
        )
    if not isinstance(value, list | tuple) or not any(isinstance(part, Mapping) for part in value):
        return False
    return all(isinstance(other, list | tuple) and len(other) == len(value) for other in together)


def _part(
    key: str,
    path: tuple[str | int, ...],
    value: Any,
    others: Sequence[object],
    *,
    known: KnownValues,
) -> ValuePart:
    name = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
    if any(not _same(value, other) for other in others):
        doubt = DIFFERS
    elif others:
        doubt = TIME if known.is_recent(value) else ""
    else:
        doubt = known.doubt(value, name)
    is_optional = any((value is ABSENT) != (other is ABSENT) for other in others)
    matcher = GONE if value is ABSENT else value if can_be_written(value) else PRESENT
    return ValuePart(key, path, matcher, doubt, is_optional)


def _same(value: object, other: object) -> bool:
    if value is ABSENT or other is ABSENT:
        return value is other
    return equal(value, other)


def can_be_written(value: Json) -> bool:
    """Return whether a value, written as a matcher, means itself."""
    if isinstance(value, dict) and not value.keys().isdisjoint(MATCHER_KEYS):
        return False
    try:
        _MATCHER.validate_python(value)
    except ValidationError:
        return False  # nested too deeply
    return True


def compose_matchers(parts: Sequence[ValuePart], kept: Collection[str]) -> dict[str, object]:
    """Return matchers by name that expect the parts that are kept; what has none is left out."""
    by_name: dict[str, list[ValuePart]] = {}
    for part in parts:
        by_name.setdefault(str(part.path[0]), []).append(part)
    return {
        name: _join_parts(group, 1, kept)
        for name, group in by_name.items()
        if any(part.key in kept for part in group)
    }


def _join_parts(parts: Sequence[ValuePart], depth: int, kept: Collection[str]) -> object:
    first = parts[0]
    if len(first.path) == depth:
        return first.matcher if first.key in kept else first.loose
    below: dict[str | int, list[ValuePart]] = {}
    for part in parts:
        below.setdefault(part.path[depth], []).append(part)
    inner = {step: _join_parts(group, depth + 1, kept) for step, group in below.items()}
    return list(inner.values()) if isinstance(first.path[depth], int) else inner


def pair_by_likeness(
    ours: Sequence[T], theirs: Sequence[T], value_of: Callable[[T], Mapping[str, object]]
) -> list[T | None]:
    """Pair each of ours with the most similar of theirs, each of which is used at most once."""
    if max(len(ours), len(theirs)) > _MAX_PAIRED:
        return [*theirs[: len(ours)], *[None] * (len(ours) - len(theirs))]
    pairs = sorted(
        (-_count_shared(value_of(one), value_of(other)), n, m)
        for n, one in enumerate(ours)
        for m, other in enumerate(theirs)
    )
    partners: list[T | None] = [None] * len(ours)
    left = set(range(len(theirs)))
    for _, n, m in pairs:
        if partners[n] is None and m in left:
            partners[n] = theirs[m]
            left.remove(m)
    return partners


def _count_shared(one: Mapping[str, object], other: Mapping[str, object]) -> int:
    """Count what two values have in common."""
    count = 0
    for name, value in one.items():
        theirs = other.get(name, ABSENT)
        if isinstance(value, Mapping) and isinstance(theirs, Mapping):
            count += _count_shared(value, theirs)
        elif theirs is not ABSENT and equal(value, theirs):
            count += 1
    return count
