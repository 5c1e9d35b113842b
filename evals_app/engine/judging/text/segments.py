"""Cut a text into the parts that are judged one by one: list items, code blocks, sentences."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_LIST_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+\S")
_HEADING_OR_ROW = re.compile(r"\s*(?:#{1,6}\s|\|)")
# Punctuation that ends a sentence, with the quotation marks and brackets that close behind it. Chinese
# and Japanese put no space after theirs. A row of dots is read once and never given back: a table
# of contents has thousands of them.
_END = re.compile(
    r"(?<![.!?])[.!?]++[\"'\u2019\u201d\u00bb)\]]*+(?=\s)|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09]*"
)


def segments(text: str) -> list[str]:
    """Return the segments in order; a line without letters or digits, such as a rule, is none.

    A list item is one segment with all its sentences and further lines; so are a fenced code block,
    a heading and a row of a table. A text of signs alone is one segment.
    """
    parts = [
        segment
        for block in _blocks(text.replace("\r\n", "\n"))
        for segment in (block if isinstance(block, list) else [block])
        if any(character.isalnum() for character in segment)
    ]
    return parts or [text.strip()] * bool(text.strip())


def _blocks(text: str) -> Iterator[str | list[str]]:
    """Yield code blocks, list items and the like as texts, paragraphs as lists of sentences."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        end = place + 1
        if fence := _FENCE.match(lines[place]):
            while end < len(lines) and not lines[end].strip().startswith(fence[1]):
                end += 1
            end += 1
            yield "\n".join(lines[place:end]).strip()
        elif _LIST_ITEM.match(lines[place]):
            while end < len(lines) and _goes_on(lines[end]):
                end += 1
            yield " ".join(" ".join(lines[place:end]).split())
        elif _HEADING_OR_ROW.match(lines[place]):
            yield lines[place].strip()
        elif lines[place].strip():
            while end < len(lines) and _goes_on(lines[end]):
                end += 1
            yield list(_sentences(" ".join(lines[place:end])))
        place = end


def _goes_on(line: str) -> bool:
    """Return whether a line belongs to the paragraph or list item before it."""
    begins = (_FENCE, _LIST_ITEM, _HEADING_OR_ROW)
    return bool(line.strip()) and not any(begin.match(line) for begin in begins)


def _sentences(text: str) -> Iterator[str]:
    text = " ".join(text.split())
    start = 0
    for end in _END.finditer(text):
        yield text[start : end.end()].strip()
        start = end.end()
    if text[start:].strip():
        yield text[start:].strip()
