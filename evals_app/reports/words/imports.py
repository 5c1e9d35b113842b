"""What an import of real conversations did, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

_NAMED = 5  # ids


def import_in_words(report: Mapping[str, Any]) -> Iterator[str]:
    """Return a sentence for each thing that an import did or left."""
    yield f"{_count(report['added'])} imported."
    if count := report["known"]:
        yield f"{count:,} were here already."
    if count := report["changed"]:
        yield (
            f"{count:,} are here with other content and stay as they are:"
            f" {_some(report, 'changed')}."
        )
    if count := report["continued"]:
        yield (
            f"{count:,} went on after they were imported. What came then is a conversation of its own:"
            f" {_some(report, 'continued')}."
        )
    if count := report["repeated"]:
        yield f"{count:,} are in the file more than once: {_some(report, 'repeated')}."
    if report["is_masked"]:
        masked = ", ".join(f"{kind} {count:,}" for kind, count in report["masked"].items())
        yield f"Masked: {masked or 'nothing'}."
    else:
        yield "Nothing was masked."
    yield from left_out_in_words(report["losses"])
    yield from report["problems"]


def left_out_in_words(losses: Mapping[str, int]) -> Iterator[str]:
    """Return a sentence for each thing that was left out."""
    for what, count in losses.items():
        yield f"Left out: {what}" + (f" ({count:,} times)" if count > 1 else "")


def _count(count: int) -> str:
    return "1 conversation was" if count == 1 else f"{count:,} conversations were"


def _some(report: Mapping[str, Any], what: str) -> str:
    names = report["named"].get(what, [])
    more = report[what] - len(names[:_NAMED])
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
