"""Places in promptfoo's files, and the files that they name."""

import csv
import io
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from evals_app.formats.document import Document, Node, decoded
from evals_app.formats.draft import cut_texts
from evals_app.formats.foreign import Around, Foreign
from evals_app.formats.json_lines import read_json_lines
from evals_app.formats.problems import FormatError, Level, Loc, Problem, holds
from evals_app.formats.reading import Reading
from evals_app.formats.yaml_source import read_yaml

P = TypeVar("P", bound=Foreign)

FILE = "file://"
_DATA = (".yaml", ".yml", ".json")
# A program, perhaps with the function that is meant.
_PROGRAM = re.compile(r"\.(?:[cm]?[jt]s|py|rb|sh|bash|pl|go)(?::\w+)?$")
_WORKBOOK = re.compile(r"\.xlsx?(?:#.*)?$")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*://")
_MOST_FILES = 500
_MOST_DEPTH = 5
_TOO_MANY = "\0"  # the name of cells that stand in no column; no file holds it
_SAME_NAME = "Two columns have this name. Several assertions are __expected1, __expected2 ..."
_COMMA = (
    "This row has more cells than the first one. A cell that holds a comma stands in quotation "
    "marks."
)


@dataclass(slots=True)
class Project:
    """A configuration and everything that it names beside itself."""

    base: Reading
    _documents: dict[str, Document | None] = field(default_factory=dict)
    _parts: dict[tuple[str, Loc, type], Any] = field(default_factory=dict)
    _said: set[Problem] = field(default_factory=set)

    @classmethod
    def of(cls, document: Document, around: Around) -> "Project":
        return cls(Reading(_as_promptfoo(document), around, cut_texts(document)))

    @property
    def root(self) -> "Spot":
        return Spot(self, self.base, ())

    def say(self, problem: Problem) -> None:
        """Report a problem, once."""
        if problem not in self._said:
            self._said.add(problem)
            self.base.problems.append(problem)

    def part(self, spot: "Spot", shape: type[P]) -> P | None:
        """Read a part; what is wrong with it is said once, however often it is read."""
        key = (spot.document.path, spot.loc, shape)
        if key not in self._parts:
            self._parts[key] = spot.reading.part(shape, spot.loc)
        part: P | None = self._parts[key]
        return part

    def document(self, spot: "Spot", path: str) -> Document | None:
        """Read a file of data that a place names; None, and said: it cannot be read."""
        if path not in self._documents:
            content = self.content(spot, path)
            self._documents[path] = None
            if content is not None:
                try:
                    found = self._documents[path] = _read(self.base.path(path), content)
                    self.base.problems += cut_texts(found)
                except FormatError as error:
                    self.base.problems += error.problems
        return self._documents[path]

    def text(self, spot: "Spot", path: str) -> str | None:
        """Read a file of text that a place names; None, and said: it cannot be read."""
        content = self.content(spot, path)
        try:
            return None if content is None else decoded(self.base.path(path), content)
        except FormatError as error:
            self.base.problems += error.problems
            return None

    def content(self, spot: "Spot", path: str) -> bytes | None:
        """Give a file by its path from the configuration; None, and said: there is none."""
        content = self.base.around.content(self.base.document, path)
        if content is None:
            found = self.base.path(path)
            if path.startswith("/"):
                hint = "Only files in the folder of the configuration, and below it, are read."
                spot.say(f"There is no file {found}. {hint}")
            else:
                spot.say(self.base.missing(found))
        return content


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in one of the files of a project."""

    project: Project = field(repr=False)
    reading: Reading = field(repr=False)
    loc: Loc
    depth: int = 0  # of files that name files

    @property
    def value(self) -> Any:  # noqa: ANN401 - JSON
        """What stands there; None if nothing does."""
        data = self.reading.document.data
        for step in self.loc:
            if not holds(data, step):
                return None
            data = data[step]
        return data

    @property
    def document(self) -> Document:
        return self.reading.document

    def at(self, *steps: str | int) -> "Spot":
        return replace(self, loc=(*self.loc, *steps))

    def each(self) -> Iterator["Spot"]:
        """Give the entries of a list; what is no list is its only entry."""
        if isinstance(self.value, list):
            yield from (self.at(n) for n in range(len(self.value)))
        elif self.value is not None:
            yield self

    def part(self, shape: type[P]) -> P | None:
        """Read what stands there; None, and said: it is not sound."""
        return self.project.part(self, shape)

    def say(self, message: str, *, level: Level = "error", at_key: bool = False) -> None:
        self.project.say(self.document.problem(self.loc, message, level=level, at_key=at_key))

    def lose(self, message: str) -> None:
        self.say(message, level="loss")

    def files(self, written: str) -> list[str]:
        """Give the paths that a reference means, as far as they can be read on import."""
        path = posixpath.normpath(written.removeprefix(FILE))
        if _ELSEWHERE.match(path) or (_ELSEWHERE.match(written) and not written.startswith(FILE)):
            self.lose(
                "This is fetched from elsewhere, and nothing is fetched on import. Save it as a file."
            )
            return []
        if is_program(path):
            self.lose("This is a program, and programs do not run on import. Save what it gives.")
            return []
        if _WORKBOOK.search(path):
            self.lose("Workbooks are not read here. Save the sheet as CSV.")
            return []
        if not any(sign in path for sign in "*?["):
            return [path]
        base = self.project.base
        found = base.around.attached.paths_beside(base.document.path, path)
        if not found:
            self.say("There is no file with such a path, here or below this folder.")
        return found[:_MOST_FILES]

    def loaded(self, written: str) -> Iterator["Spot"]:
        """Give the files of data that a reference means."""
        if self.depth == _MOST_DEPTH:
            self.say(f"Files name files more than {_MOST_DEPTH} times here, perhaps each other.")
            return
        for path in self.files(written):
            document = self.project.document(self, path)
            if document is not None:
                around, problems = self.reading.around, self.project.base.problems
                reading = Reading(document, around, problems)
                yield Spot(self.project, reading, (), self.depth + 1)


def is_file(value: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether a value refers to a file."""
    return isinstance(value, str) and value.startswith(FILE)


def is_program(path: str) -> bool:
    """Whether a file is a program, by its name."""
    return _PROGRAM.search(path) is not None


def is_data(path: str) -> bool:
    """Whether a file holds data that is not text, by its name."""
    return path.lower().endswith(_DATA)


def _read(path: str, content: bytes) -> Document:
    """Read a file of data.

    Raises:
        FormatError: it cannot be read.
    """
    if path.endswith(".csv"):
        return _read_csv(path, content)
    if path.endswith(".jsonl"):
        return read_json_lines(path, content)
    return _as_promptfoo(read_yaml(path, content))


def _read_csv(path: str, content: bytes) -> Document:
    """Read a table into one mapping for each row."""
    text = io.StringIO(decoded(path, content), newline="")
    reader = csv.DictReader(text, restkey=_TOO_MANY, restval="")
    rows, nodes = [], []
    problems = [
        Problem(path, 1, 1, "", name, _SAME_NAME)
        for name in _twice(filter(None, reader.fieldnames or ()))
    ]
    for row in reader:
        if any(row.pop(_TOO_MANY, ())):
            problems.append(Problem(path, reader.line_num, 1, "", "", _COMMA))
        rows.append({key.strip(): value for key, value in row.items()})
        nodes.append(Node(reader.line_num, 1))
    if problems:
        raise FormatError(problems)
    return Document(path, rows, Node(1, 1, items=nodes))


def _twice(names: Iterable[str]) -> list[str]:
    counts = Counter(map(str.strip, names))
    return [name for name, count in counts.items() if count > 1]


def _as_promptfoo(document: Document) -> Document:
    """Read yes, no, on and off as the texts that they are in the YAML of promptfoo."""
    data = document.data
    for each in document.surprises:
        if isinstance(each.value, bool):
            data = _with(data, each.loc, each.raw)
    return replace(document, data=data)


def _with(data: Any, loc: Loc, value: Any) -> Any:  # noqa: ANN401 - JSON
    """Give data with another value in one place."""
    if not loc:
        return value
    step, below = loc[0], loc[1:]
    if isinstance(step, int):
        return [*data[:step], _with(data[step], below, value), *data[step + 1 :]]
    return {**data, step: _with(data[step], below, value)}
