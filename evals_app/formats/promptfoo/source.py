"""Places in promptfoo's files, and the files that they name."""

import csv
import io
import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar, Unpack

from evals_app.formats.foreign import spots
from evals_app.formats.foreign.draft import cut_texts
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import Foreign, ReaderContext
from evals_app.formats.reading.json_lines import read_json_lines
from evals_app.formats.reading.parsed_file import Node, ParsedFile, decode_text
from evals_app.formats.reading.problems import FormatError, Loc, Problem, ProblemDetails
from evals_app.formats.reading.yaml_source import read_yaml

P = TypeVar("P", bound=Foreign)

FILE = "file://"
_DATA = (".yaml", ".yml", ".json")
# A program, perhaps with the function that is meant.
_PROGRAM = re.compile(r"\.(?:[cm]?[jt]s|py|rb|sh|bash|pl|go)(?::\w+)?$")
_WORKBOOK = re.compile(r"\.xlsx?(?:#.*)?$")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*://")
_MAX_FILES = 500
_MAX_DEPTH = 5
_TOO_MANY = "\0"  # the name of cells that is in no column; no file contains it
_SAME_NAME = "Two columns have this name. Name several assertions __expected1, __expected2 ..."
_COMMA = "This row has more cells than the first one. Put a cell with a comma in quotation marks."


@dataclass(slots=True)
class PromptfooProject:
    """A configuration and everything that it names."""

    base: ForeignFile
    _documents: dict[str, ParsedFile | None] = field(default_factory=dict)
    _parts: dict[tuple[str, Loc, type], Any] = field(default_factory=dict)
    _said: set[Problem] = field(default_factory=set)

    @classmethod
    def of(cls, document: ParsedFile, around: ReaderContext) -> "PromptfooProject":
        return cls(ForeignFile(_as_promptfoo(document), around, cut_texts(document)))

    @property
    def root(self) -> "ProjectSpot":
        return ProjectSpot(self.base, project=self)

    def say(self, problem: Problem) -> None:
        if problem not in self._said:
            self._said.add(problem)
            self.base.problems.append(problem)

    def part(self, spot: "ProjectSpot", shape: type[P]) -> P | None:
        """Read a part; what is wrong with it is reported once, however often it is read."""
        key = (spot.document.path, spot.loc, shape)
        if key not in self._parts:
            self._parts[key] = spot.reading.part(shape, spot.loc)
        part: P | None = self._parts[key]
        return part

    def document(self, spot: "ProjectSpot", path: str) -> ParsedFile | None:
        """Read a file of data that a place names.

        Report a problem and return None if it cannot be read.
        """
        if path not in self._documents:
            content = self.content(spot, path)
            self._documents[path] = None
            if content is not None:
                try:
                    document = self._documents[path] = _read(self.base.path(path), content)
                    self.base.problems += cut_texts(document)
                except FormatError as error:
                    self.base.problems += error.problems
        return self._documents[path]

    def text(self, spot: "ProjectSpot", path: str) -> str | None:
        """Read a file of text that a place names.

        Report a problem and return None if it cannot be read.
        """
        content = self.content(spot, path)
        try:
            return None if content is None else decode_text(self.base.path(path), content)
        except FormatError as error:
            self.base.problems += error.problems
            return None

    def content(self, spot: "ProjectSpot", path: str) -> bytes | None:
        """Return a file by its path from the configuration.

        Report a problem and return None if there is none.
        """
        content = self.base.around.content(self.base.document, path)
        if content is None:
            place = self.base.path(path)
            if path.startswith("/"):
                hint = "Only files in the folder of the configuration, and below it, are read."
                spot.say(f"There is no file {place}. {hint}")
            else:
                spot.say(self.base.missing(place))
        return content


@dataclass(frozen=True, slots=True)
class ProjectSpot(spots.Spot):
    """A place in one of the files of a project."""

    project: PromptfooProject = field(kw_only=True, repr=False)
    depth: int = 0  # of files that name files

    def entries(self) -> Iterator[Self]:
        """Return the entries of a list; what is not a list is its only entry."""
        if isinstance(self.value, list):
            yield from (self.at(n) for n in range(len(self.value)))
        elif self.value is not None:
            yield self

    def part(self, shape: type[P]) -> P | None:
        return self.project.part(self, shape)

    def say(self, message: str, **about: Unpack[ProblemDetails]) -> None:
        self.project.say(self.document.problem(self.loc, message, **about))

    def files(self, written: str, *, checks: int = 0) -> list[str]:
        """Return the paths that a reference means, as far as they can be read on import.

        `checks` are lost where they cannot.
        """
        path = posixpath.normpath(written.removeprefix(FILE))
        if _ELSEWHERE.match(path) or (_ELSEWHERE.match(written) and not written.startswith(FILE)):
            self.lose("Nothing is fetched on import. Save this as a file.", checks=checks)
            return []
        if is_program(path):
            self.lose("Programs do not run on import. Save its output as a file.", checks=checks)
            return []
        if _WORKBOOK.search(path):
            self.lose("Workbooks are not read here. Save the sheet as CSV.", checks=checks)
            return []
        if not any(sign in path for sign in "*?["):
            return [path]
        base = self.project.base
        paths = base.around.attached.sibling_paths(base.document.path, path)
        if not paths:
            self.say("No file in this folder or below it matches this path.")
        return paths[:_MAX_FILES]

    def load(self, written: str, *, checks: int = 0) -> Iterator["ProjectSpot"]:
        """Return the files of data that a reference means; `checks` are lost with one."""
        if self.depth == _MAX_DEPTH:
            self.say(
                f"Files refer to each other more than {_MAX_DEPTH} levels deep, perhaps in a "
                "circle."
            )
            return
        for path in self.files(written, checks=checks):
            document = self.project.document(self, path)
            if document is not None:
                around, problems = self.reading.around, self.project.base.problems
                reading = ForeignFile(document, around, problems)
                yield ProjectSpot(reading, project=self.project, depth=self.depth + 1)


def is_file(value: object) -> bool:
    """Whether a value refers to a file."""
    return isinstance(value, str) and value.startswith(FILE)


def is_program(path: str) -> bool:
    """Whether a file is a program, by its name."""
    return _PROGRAM.search(path) is not None


def is_data(path: str) -> bool:
    """Whether a file contains data that is not text, by its name."""
    return path.lower().endswith(_DATA)


def _read(path: str, content: bytes) -> ParsedFile:
    if path.endswith(".csv"):
        return _read_csv(path, content)
    if path.endswith(".jsonl"):
        return read_json_lines(path, content)
    return _as_promptfoo(read_yaml(path, content))


def _read_csv(path: str, content: bytes) -> ParsedFile:
    """Read a table into one mapping for each row."""
    text = io.StringIO(decode_text(path, content), newline="")
    reader = csv.DictReader(text, restkey=_TOO_MANY, restval="")
    rows, nodes = [], []
    counts = Counter(name.strip() for name in reader.fieldnames or () if name)
    problems = [
        Problem(path, 1, 1, "", name, _SAME_NAME) for name, count in counts.items() if count > 1
    ]
    for row in reader:
        if any(row.pop(_TOO_MANY, ())):
            problems.append(Problem(path, reader.line_num, 1, "", "", _COMMA))
        rows.append({key.strip(): value for key, value in row.items()})
        nodes.append(Node(reader.line_num, 1))
    if problems:
        raise FormatError(problems)
    return ParsedFile(path, rows, Node(1, 1, items=nodes))


def _as_promptfoo(document: ParsedFile) -> ParsedFile:
    """Read yes, no, on and off as the texts that they are in the YAML of promptfoo."""
    data = document.data
    for surprise in document.surprises:
        if isinstance(surprise.value, bool):
            data = _with(data, surprise.loc, surprise.raw)
    return replace(document, data=data)


def _with(data: Any, loc: Loc, value: Any) -> object:
    """Return data with another value in one place."""
    if not loc:
        return value
    step, below = loc[0], loc[1:]
    if isinstance(step, int):
        return [*data[:step], _with(data[step], below, value), *data[step + 1 :]]
    return {**data, step: _with(data[step], below, value)}
