"""Questions with options to choose from: the options are sent, and the right one is looked for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

from evals_app.engine.basics.folding import fold_text
from evals_app.engine.basics.template import escape_braces
from evals_app.formats.foreign.words import text_of
from evals_app.formats.reading.problems import Json
from evals_app.formats.tables.wanted import with_keys, word_pattern
from fixtures_app.ground.patterns import MAX_PATTERN_CHARS
from fixtures_app.ground.quoting import in_quotes
from fixtures_app.ground.written_data import data_in

Options = Mapping[str, str]  # texts by their labels: A, B, C ...

SENT = (
    "The options are sent with the message. A reply passes if it names the right one by its letter or "
    "its text."
)
COUNTED = "Answers that are numbers count the options from {}."
ONE_ANSWER = "A question with options has one right answer here. Keep one."
UNCLEAR = "{} is none of the options: write the letter of one, or its text. Options: {}."
BOTH_WAYS = "Some answers count the options from 0, others from 1. Write the letters of the right options instead."
_EXPECTED = 'Write the options as a list of texts: ["...", "..."].'
_LABEL = re.compile(r"[A-Za-z]|\d{1,2}")
_LABELLED = re.compile(r"\(?([A-Za-z]|\d{1,2})[).:]\s+(.+)", re.DOTALL)
_LETTERED = re.compile(r"(option|choice|) ?([a-z]|\d)")
# Letters that are words, too: “A car is none.”
_WORDS = frozenset("AI")
_APOSTROPHE = r"\x{2019}"


def read_options(cell: str) -> dict[str, str]:
    """Return the options in a cell by their labels: a list, lines, or texts under letters.

    Raises:
        ValueError: it contains something else.
    """
    data = data_in(cell)
    if isinstance(data, dict):
        options = _under_labels(data)
    else:
        texts = data if data is not None else _split_options(cell)
        options = _label_options(list(map(_option, texts)))
    if len(options) < 2:  # noqa: PLR2004 - a choice
        raise ValueError(f"There are fewer than two options here. {_EXPECTED}")
    return options


def _split_options(cell: str) -> list[str]:
    """Return the lines of a cell; of a lone line what its bars or semicolons separate."""
    lines = [line.strip() for line in cell.splitlines() if line.strip()]
    if len(lines) == 1:
        lines = [text.strip() for text in re.split(r"\||;", lines[0]) if text.strip()]
    return lines


def _under_labels(data: Json) -> dict[str, str]:
    texts, labels = data.get("text"), data.get("label")
    if isinstance(texts, list) and isinstance(labels, list) and len(texts) == len(labels):
        data = dict(zip(map(text_of, labels), texts, strict=True))
    if not all(map(_LABEL.fullmatch, data)):
        raise ValueError(f"{with_keys(data)} {_EXPECTED}")
    return {label.upper(): _option(text) for label, text in data.items() if text is not None}


def _option(item: object) -> str:
    if isinstance(item, list | dict) or not text_of(item).strip():
        raise ValueError(f"An option is not a text. {_EXPECTED}")
    return text_of(item).strip()


def _label_options(texts: Sequence[str]) -> dict[str, str]:
    """Return the letter of each text: its position, or the letter that it begins with."""
    if len(texts) > len(ascii_uppercase):
        raise ValueError(f"There are more than {len(ascii_uppercase)} options.")
    matches = [match for match in map(_LABELLED.fullmatch, texts) if match]
    own = {match[1].upper(): match[2] for match in matches}
    return own if len(own) == len(texts) else dict(zip(ascii_uppercase, texts, strict=False))


def option_columns(headers: Mapping[int, str]) -> dict[int, str]:
    """Find the columns that have an option each, by headers such as A, B or Option 1, Option 2."""
    found = [(n, match) for n, header in headers.items() if (match := _LETTERED.fullmatch(header))]
    for first in ("a", "1", "0"):
        for prefix in ("", "option", "choice"):
            signs = [(n, match[2]) for n, match in found if match[1] == prefix]
            wanted = [chr(ord(first) + k) for k in range(len(signs))]
            if len(signs) > 1 and (prefix or first == "a") and [s for _, s in signs] == wanted:
                return {n: ascii_uppercase[k] for k, (n, _) in enumerate(signs)}
    return {}


def with_options(message: str, options: Options) -> str:
    """Return a message with its options below it, unless it has them."""
    if all(_names(message, label, text) for label, text in options.items()):
        return message
    return "\n".join(
        [message, "", *(f"{label}) {escape_braces(text)}" for label, text in options.items())]
    )


def _names(message: str, label: str, text: str) -> bool:
    return bool(
        re.search(
            rf"(?<!\w){label}\W{{1,3}}{re.escape(escape_braces(text))}", message, re.IGNORECASE
        )
    )


@dataclass(slots=True)
class ChoiceQuestion:
    """A turn with options; its check is written once it is known what numbers count from."""

    row: int
    column: int
    turn: Json
    options: Options
    check: Json = field(default_factory=dict)

    @property
    def answer(self) -> str:
        return str(self.turn["expected"]).strip()

    @property
    def number(self) -> int | None:
        """The answer if it is a number that may count options, not one of their labels."""
        is_number = re.fullmatch(r"\d{1,2}", self.answer) and self.answer not in self.options
        return int(self.answer) if is_number else None

    def label(self, first: int | None) -> str | None:
        """Return the label of the right option; numbers count from `first`, and are texts without."""
        labels = list(self.options)
        if self.number is not None and first is not None:
            place = self.number - first
            return labels[place] if 0 <= place < len(labels) else None
        named = {*self._by_label(), *self._by_text()}
        return named.pop() if len(named) == 1 else None

    def is_text(self) -> bool:
        return bool(self._by_text())

    def _by_label(self) -> list[str]:
        whole = _LABELLED.fullmatch(self.answer)
        if whole and fold_text(self.options.get(whole[1].upper(), "")) == fold_text(whole[2]):
            return [whole[1].upper()]
        label = self.answer.strip("().:").upper()
        return [label] if label in self.options else []

    def _by_text(self) -> list[str]:
        seen = fold_text(self.answer)
        return [label for label, text in self.options.items() if fold_text(text) == seen]

    def settle(self, label: str) -> None:
        """Write the check for the right option."""
        text = self.options[label]
        self.turn["expected"] = f"{label}) {text}"
        self.check |= choice_check(self.options, label)


def counted_from(questions: Sequence[ChoiceQuestion]) -> list[int]:
    """Return what the numbers among the answers count from; nothing if they are texts of options.

    Both 0 and 1 if they contradict each other; 0 if both are possible.
    """
    numbered = [item for item in questions if item.number is not None]
    if all(item.is_text() for item in numbered):
        return []
    zero = any(item.number == 0 for item in numbered)
    one = any(item.number == len(item.options) for item in numbered)
    return [0, 1] if zero and one else [1] if one else [0]


def choice_check(options: Options, label: str) -> Json:
    """Return the check that finds the right option by its letter or its text."""
    text = options[label]
    patterns = [_label_pattern(label)]
    seen = fold_text(text)
    others = (fold_text(other) for key, other in options.items() if key != label)
    by_text = f"(?i:{word_pattern(text)})"
    is_clear = not any(seen in other for other in others) and seen.upper() != label
    if is_clear and len("|".join([*patterns, by_text])) <= MAX_PATTERN_CHARS:
        patterns.append(by_text)
    named = f"{label} or {in_quotes(text)}" if len(patterns) > 1 else f"{label} ({in_quotes(text)})"
    return {
        "type": "matches",
        "value": "|".join(patterns),
        "case_sensitive": True,
        "means": named,
    }


def _label_pattern(label: str) -> str:
    """Return the pattern of a letter by itself; in lower case only if the reply is nothing else."""
    alone = rf"\A\W*(?i:{label})\W*\z"
    if label not in _WORDS:
        return f"{alone}|{word_pattern(label)}"
    named = rf"(?i:answer|option|choice)(?: is)?:? +\W?{label}\b"
    ended = rf"(?:^|[^\w'{_APOSTROPHE}]){label}(?:$|[^\w\s'{_APOSTROPHE}]|\s*(?:\n|$)| +is\b)"
    return f"{alone}|{named}|{ended}"
