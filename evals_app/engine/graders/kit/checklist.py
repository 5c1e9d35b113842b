"""A rubric in Markdown as a checklist: its top-level bullets, numbered, with the lines above them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evals_app.engine.record.aids import ChecklistItem

_BULLET = re.compile(r"(?:[-*+\u2022]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(?=\S)")
_BREAK = re.compile(r"(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}")
_HEADING = re.compile(r"(#{1,6})\s")
_FENCE = re.compile(r"```|~~~")
# Bullets that say what a score means, instead of what must hold: "0.5: half of it", "**1.0** if".
_ANCHOR = re.compile(
    r"[*_`]{0,3}(?:score\s*)?(?:0|1|[01]?\.\d{1,3})[*_`]{0,3}\s*"
    r"(?:[:=\u2013\u2014-]|if\b|for\b|when\b|to\s+[01])",
    re.IGNORECASE,
)
_NESTED = 2  # spaces more than its parent
_MAX_ITEMS = 400


@dataclass(frozen=True, slots=True)
class Checklist:
    """The items of a rubric, and the remarks after them; without items it is one criterion."""

    items: tuple[ChecklistItem, ...]
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reader:
    """What has been read so far."""

    items: list[tuple[list[str], tuple[str, ...]]] = field(default_factory=list)
    above: list[tuple[float, str]] = field(default_factory=list)  # headings and remarks, by level
    since: list[str] = field(default_factory=list)  # those after the last item
    level: int = 0
    indent: int | None = None  # of the item that may continue
    is_after_blank: bool = False
    is_fenced: bool = False

    def read(self, line: str) -> None:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if self.is_fenced or _FENCE.match(text):
            if _FENCE.match(text):
                self.is_fenced = not self.is_fenced
            self._say(line, text)
        elif not text:
            self.is_after_blank = True
            return
        elif _BREAK.fullmatch(text):
            self.indent = None
        elif heading := _HEADING.match(text):
            self._head(len(heading[1]), text)
        elif (bullet := _BULLET.match(text)) and not self._is_nested(indent):
            if len(self.items) == _MAX_ITEMS:
                raise ValueError(f"A rubric has at most {_MAX_ITEMS} bullets; this one has more.")
            self.items.append(([text[bullet.end() :]], tuple(line for _, line in self.above)))
            self.since.clear()
            self.indent = indent
        elif self.is_after_blank and not self._is_nested(indent):
            self.indent = None
            self._say(line, text)
        else:
            self._say(line, text)
        self.is_after_blank = False

    def _is_nested(self, indent: int) -> bool:
        return self.indent is not None and indent >= self.indent + _NESTED

    def _head(self, level: int, text: str) -> None:
        self.indent = None
        self.above = [line for line in self.above if line[0] < level]
        self.above.append((level, text))
        self.since.append(text)
        self.level = level

    def _say(self, line: str, text: str) -> None:
        """Add a line to an item, or as a remark on the items that follow."""
        if self.indent is not None:
            self.items[-1][0].append(line[self.indent :].rstrip())
        else:
            self.above.append((self.level + 0.5, text))
            self.since.append(text)


def read_checklist(markdown: str) -> Checklist:
    """Read the bullets of a rubric; nested ones belong to their parent, comments are left out.

    Bullets that only say what scores mean are not items: that rubric has a scale of its own.

    Raises:
        ValueError: there are too many to judge.
    """
    reader = _Reader()
    for line in without_comments(markdown).expandtabs(4).splitlines():
        reader.read(line)
    texts = ["\n".join(lines).strip() for lines, _ in reader.items]
    if not texts or all(map(_ANCHOR.match, texts)):
        return Checklist(())
    items = (
        ChecklistItem(number, text, under)
        for number, (text, (_, under)) in enumerate(zip(texts, reader.items, strict=True), 1)
    )
    return Checklist(tuple(items), tuple(reader.since))


def without_comments(markdown: str) -> str:
    """Leave out what Markdown does not show."""
    return "".join(_outside(markdown.split("<!--")))


def _outside(parts: Sequence[str]) -> Iterator[str]:
    yield parts[0]
    for part in parts[1:]:
        inside, end, after = part.partition("-->")
        yield after if end else f"<!--{inside}"
