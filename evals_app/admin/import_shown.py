"""What a page shows of an import: what would happen, and what is wrong beside the line itself."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from evals_app.admin.presentation import plural
from evals_app.formats import FormatError, Problem, is_table
from evals_app.formats.problems import Level, has_secret, is_secret
from evals_app.library import Change, ImportReport

MOST_SHOWN = 100  # problems of one level
_LONGEST_LINE = 160
_BEFORE = 60  # characters of a long line that are shown before the place

_BREAK = re.compile("\r?\n")
_YAML_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
# What stands in a place: a text in quotes, a word, a sign.
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s,\]}]*[^\s,\]}:]|\S")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, cut where a problem is; `is_hidden`: it may hold a secret."""

    before: str = ""
    marked: str = ""
    after: str = ""
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Quoted:
    """A problem, and the line in which it is; None if there is no such line."""

    problem: Problem
    line: Line | None


@dataclass(frozen=True, slots=True)
class Remarks:
    """All problems of one level, by file."""

    count: int
    files: list[tuple[str, list[Quoted]]]
    more: int

    def __bool__(self) -> bool:
        return self.count > 0


@dataclass(frozen=True, slots=True)
class Preview:
    """What an import would do; with errors it would do nothing."""

    errors: Remarks
    warnings: Remarks
    losses: Remarks
    created: list[Change]
    updated: list[Change]
    unchanged: list[Change]

    @property
    def objects(self) -> str:
        """Say how many objects would be written; empty: none."""
        count = len(self.created) + len(self.updated)
        if not count:
            return ""
        return "this object" if count == 1 else f"these {plural(count, 'object')}"

    @property
    def counts(self) -> list[str]:
        """Say what would happen to how many."""
        words = {"new": self.created, "changed": self.updated, "unchanged": self.unchanged}
        return [f"{len(changes):,} {word}" for word, changes in words.items() if changes]


def preview(outcome: ImportReport | FormatError, contents: Mapping[str, bytes]) -> Preview:
    """Show what a dry run told, with the lines of the files that were sent."""
    quotes = _Quotes(contents)
    if isinstance(outcome, FormatError):
        problems, changes = outcome.problems, []
    else:
        problems, changes = [*outcome.warnings, *outcome.losses], outcome.changes

    def remarks(level: Level) -> Remarks:
        return quotes.remarks([each for each in problems if each.level == level])

    def those(what: str) -> list[Change]:
        return [each for each in changes if each.what == what]

    return Preview(
        remarks("error"),
        remarks("warning"),
        remarks("loss"),
        *map(those, ("created", "updated", "unchanged")),
    )


class _Quotes:
    """Finds the lines of problems; each file is read once."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents
        self._lines: dict[str, list[str]] = {}

    def remarks(self, problems: list[Problem]) -> Remarks:
        shown = problems[:MOST_SHOWN]
        files = groupby(map(self._quoted, shown), key=lambda each: each.problem.path)
        return Remarks(
            len(problems),
            [(path, list(quoted)) for path, quoted in files],
            len(problems) - len(shown),
        )

    def _quoted(self, problem: Problem) -> Quoted:
        # In tables the cell is named instead: a row is no line of text.
        if not problem.line or is_table(problem.path):
            return Quoted(problem, None)
        lines = self._lines_of(problem.path)
        if problem.line > len(lines):
            return Quoted(problem, None)
        line = lines[problem.line - 1]
        # Where no key is known, what stands here may belong to any of the keys above.
        above = [] if problem.keys else _above(lines[: problem.line])
        if is_secret((problem.keys,)) or any(map(has_secret, (line, *above))):
            return Quoted(problem, Line(is_hidden=True))
        return Quoted(problem, _cut(line, problem.column))

    def _lines_of(self, path: str) -> list[str]:
        if path not in self._lines:
            text = self._contents.get(path, b"").decode("utf-8-sig", "replace")
            is_yaml = path.endswith((".yaml", ".yml"))
            self._lines[path] = _YAML_BREAK.split(text) if is_yaml else _BREAK.split(text)
        return self._lines[path]


def _above(lines: list[str]) -> Iterator[str]:
    """Give what the last line may belong to: the line above it, and those that it is indented under."""
    *others, last = lines
    yield from others[-1:]
    depth = len(last) - len(last.lstrip())
    for line in reversed(others):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < depth:
            yield line
            depth = indent


def _cut(line: str, column: int) -> Line:
    line = "".join(_visible(line))
    start = max(0, column - 1)
    word = _WORD.match(line, start) if column else None
    end = word.end() if word else start
    first = max(0, start - _BEFORE) if len(line) > _LONGEST_LINE else 0
    last = first + _LONGEST_LINE
    return Line(
        before=("…" if first else "") + line[first:start],
        marked=line[start : min(end, last)],
        after=line[end:last] + ("…" if last < len(line) else ""),
    )


def _visible(line: Iterable[str]) -> Iterator[str]:
    """Keep characters from showing that steer the text around them."""
    return (char if char.isprintable() or char == "\t" else "\ufffd" for char in line)
