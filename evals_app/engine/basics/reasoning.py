"""Separate a model's reasoning from its reply where both come as one text.

Models that are served locally write `<think>...</think>` and then the reply. Only the reply counts.

* Everything from `<think>` to the next `</think>` is reasoning, wherever it is and however often.
* A `</think>` without a beginning, before any other, ends reasoning that began with the text: many
  servers put `<think>` into the prompt.
* A `<think>` without an end is reasoning that was cut off, if it begins a line.
* In Markdown code and in JSON tags are part of the text. What begins with a brace is JSON even if it
  is broken: otherwise a judge that quotes a reply with tags could be misread as saying the opposite.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

_NAME = r"think(?:ing)?\s*+>"
_END = re.compile(rf"</{_NAME}", re.IGNORECASE)
# Code first, so that tags in it are not found. Lines and possessive repeats keep it linear.
_TAG_OR_CODE = re.compile(
    r"^\ {0,3}(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)[^\n]*+"
    r"(?:\n(?!\ {0,3}(?P=fence)[`~]*+[ \t]*+$)[^\n]*+)*+(?:\n\ {0,3}(?P=fence)[`~]*+)?"
    r"|(?<!`)(?P<marks>`++)[^\n]{1,300}?(?<!`)(?P=marks)(?!`)"
    rf"|(?P<line>^[ \t]*+)?(?:(?P<opens><{_NAME})|(?P<closes></{_NAME}))",
    re.IGNORECASE | re.MULTILINE,
)


class ReasonedText(NamedTuple):
    """A text in two parts; `reasoning` is empty if there is none."""

    reply: str
    reasoning: str


def without_reasoning(text: str) -> ReasonedText:
    """Return reply and reasoning of a text; one without reasoning stays exactly as it is."""
    pieces = [] if _is_data(text) else list(_pieces(text))
    if not any(is_thought for is_thought, _ in pieces):
        return ReasonedText(text, "")
    said, thought = (
        [piece.strip() for is_thought, piece in pieces if is_thought is wanted and piece.strip()]
        for wanted in (False, True)
    )
    glue = "\n\n" if "\n" in text else " "
    return ReasonedText(glue.join(said), "\n\n".join(thought))


def tag_warnings(text: str) -> list[str]:
    """Warn about a check that looks for a tag: replies have none, except those about tags."""
    if not re.search(rf"</?{_NAME}", text, re.IGNORECASE):
        return []
    warning = (
        "Checks read the reply without its <think> parts, so this is never found, except in code."
        " The transcript shows them apart, as reasoning."
    )
    return [warning]


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a text, and whether each is reasoning."""
    last_end = max((end.start() for end in _END.finditer(text)), default=-1)
    begin = place = 0
    while tag := _next_tag(text, place):
        place = tag.end()
        if tag["closes"]:
            if not begin:
                yield True, text[: tag.start()]
                begin = place
        elif end := _END.search(text, place) if last_end > place - 1 else None:
            yield False, text[begin : tag.start()]
            yield True, text[place : end.start()]
            begin = place = end.end()
        elif tag["line"] is not None:
            yield False, text[begin : tag.start()]
            yield True, text[place:]
            return
    yield False, text[begin:]


def _next_tag(text: str, place: int) -> re.Match[str] | None:
    """Return the next tag that is not in code."""
    found = _TAG_OR_CODE.finditer(text, place)
    return next((token for token in found if token["opens"] or token["closes"]), None)


def _is_data(text: str) -> bool:
    beginning = text.lstrip()[:1]
    if beginning != "[":
        return beginning == "{"
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
