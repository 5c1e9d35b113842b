"""A foreign file while it is read: its parts, the files it names, and what is wrong."""

import posixpath
from dataclasses import dataclass, field
from typing import Any, TypeVar, Unpack

from evals_app.formats.foreign.draft import Draft, validate_part
from evals_app.formats.foreign.shapes import (
    Foreign,
    ReaderContext,
    SourcePlaces,
    report_left_out,
    report_unsupported,
    slug_of,
)
from evals_app.formats.foreign.suites import NOBODY, agent_problem
from evals_app.formats.reading.parsed_file import MarksBelow, ParsedFile, decode_text
from evals_app.formats.reading.problems import (
    FormatError,
    Loc,
    Problem,
    ProblemDetails,
    count_alike,
)
from fixtures_app.ground.words import near

P = TypeVar("P", bound=Foreign)


@dataclass(slots=True)
class ForeignFile:
    """A document, what is around it, and everything that was found wrong with it so far."""

    document: ParsedFile
    around: ReaderContext
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_valid(self) -> bool:
        return not any(problem.level == "error" for problem in self.problems)

    def value(self, loc: Loc) -> Any:
        """Return what is in a place; an empty list if nothing does."""
        return self.document.value(loc)

    def part(self, shape: type[P], loc: Loc) -> P | None:
        """Read a part, or return None if it is invalid; report errors and what is not supported."""
        document = self.document
        written = self.value(loc)
        part: P | None
        place = SourcePlaces(document, loc)
        part, problems = validate_part(shape, written, _cut_out(document, loc), place=place)
        self.problems += problems
        if part is not None:
            self.problems += report_left_out(part, document, loc)
        elif isinstance(written, dict):
            self.problems += report_unsupported(shape, written, document, loc)
        return part

    def one_of(self, shapes: dict[str, type[P]], loc: Loc) -> P | None:
        written = self.value(loc)
        kind = written.get("type") if isinstance(written, dict) else None
        if isinstance(kind, str) and kind in shapes:
            return self.part(shapes[kind], loc)
        known = f"Write one of: {', '.join(shapes)}."
        if not isinstance(written, dict):
            self.say(loc, "Expected keys with values.")
        elif "type" not in written:
            self.say(loc, f"The key `type` is missing. {known}")
        else:
            self.say((*loc, "type"), f"Unknown type.{near(str(kind), shapes)} {known}")
        return None

    def say(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> None:
        self.problems.append(self.document.problem(loc, message, **about))

    def slug(self, name: str) -> str:
        """Make a slug of a name; without letters of ours in it, of the folder's."""
        return slug_of(name, instead=slug_of(self.around.folder(self.document)))

    def path(self, other: str) -> str:
        """Return the path of another file from where the import began."""
        folder = posixpath.dirname(self.document.path)
        return posixpath.normpath(posixpath.join(folder, other.replace("\\", "/")))

    def content(self, loc: Loc) -> bytes | None:
        """Return the content of the file that a place names.

        Report a problem and return None if there is none.
        """
        path = self.value(loc)
        if not isinstance(path, str) or not path:
            return None  # reported where the part is read
        content = self.around.content(self.document, path)
        if content is None:
            self.say(loc, self.missing(self.path(path)))
        return content

    def missing(self, path: str) -> str:
        """Return the message that a file is missing, and what to do about it."""
        folder = posixpath.dirname(self.document.path)
        if posixpath.relpath(path, folder or ".").startswith("../"):
            return (
                f"There is no file {path} in this import, and other files above this folder are "
                "not read. Import the folder that contains both, or upload both in one zip."
            )
        end = posixpath.splitext(path)[1]
        given = self.around.attached.given.keys() - {self.document.path}
        others = [item for item in given if item.endswith(end)]
        return f"There is no file {path}.{near(path, others)}"

    def text(self, loc: Loc) -> str | None:
        """Return the text of the file that a place names.

        Report a problem and return None if it cannot be read.
        """
        content = self.content(loc)
        if content is None:
            return None
        try:
            text = decode_text(self.path(self.value(loc)), content)
        except FormatError as error:
            self.problems += error.problems
            return None
        if not text.strip():
            self.say(loc, "This file is empty.")
            return None
        return text

    def agent(self) -> str:
        """Return the slug of the agent that the person chose, or report that there is none."""
        if self.around.agent is None:
            self.problems.append(agent_problem(self.document))
        return self.around.agent or NOBODY

    def remarks(self, dialect: str) -> Draft:
        """Return a draft that is not an object, and brings everything that was found wrong."""
        problems = tuple(count_alike(self.problems))
        return Draft("suite", dialect, self.document, {}, None, (), problems)


def _cut_out(document: ParsedFile, loc: Loc) -> ParsedFile:
    """Return a part as a document of its own, so that problems quote it as it was written."""
    return ParsedFile(document.path, document.value(loc), MarksBelow(document.marks, loc))
