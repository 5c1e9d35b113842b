"""Places in the files of an import, to be read and to be reported about."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar, Unpack

from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import Foreign
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Loc, ProblemDetails, value_at

P = TypeVar("P", bound=Foreign)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a file."""

    reading: ForeignFile = field(repr=False)
    loc: Loc = ()

    @property
    def document(self) -> ParsedFile:
        return self.reading.document

    @property
    def value(self) -> Any:
        """What is there; None if nothing is."""
        return value_at(self.document.data, self.loc)

    def at(self, *steps: str | int) -> Self:
        return replace(self, loc=(*self.loc, *steps))

    def entries(self) -> Iterator[Self]:
        value = self.value
        for n in range(len(value) if isinstance(value, list) else 0):
            yield self.at(n)

    def part(self, shape: type[P]) -> P | None:
        """Read what is there, or report a problem and return None if it is invalid."""
        return self.reading.part(shape, self.loc)

    def say(self, message: str, **about: Unpack[ProblemDetails]) -> None:
        self.reading.say(self.loc, message, **about)

    def lose(self, message: str, *, checks: int = 0) -> None:
        """Report what is left out, and how many checks are lost with it."""
        self.say(message, level="loss", checks=checks)
