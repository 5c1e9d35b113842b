"""A file of HoloDeck while it is read, with its variables filled in."""

from dataclasses import dataclass, field, replace
from typing import Any

from evals_app.formats.foreign.draft import surprises
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.holodeck.variables import Filling
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Loc, Problem, value_at


@dataclass(slots=True)
class HolodeckFile(ForeignFile):
    """A file whose `data` has values in place of variables; messages show what was written."""

    data: Any = field(default=None, repr=False)
    unfilled: dict[tuple[str, str], Problem] = field(default_factory=dict)  # by path and keys

    @classmethod
    def of(
        cls,
        document: ParsedFile,
        shape: Any,
        around: ReaderContext,
        *,
        ignored: frozenset[object] = frozenset(),
    ) -> "HolodeckFile":
        """Begin to read a file of a shape; the content of `ignored` keys does not matter."""
        filling = Filling(document, around.environment)
        data = document.data
        if isinstance(data, dict):
            read = {key: value for key, value in data.items() if key not in ignored}
            data = data | filling.fill(read, ())
        else:
            data = filling.fill(data, ())
        seen = [surprise for surprise in document.surprises if not set(surprise.loc[:1]) & ignored]
        doubts = surprises(replace(document, surprises=tuple(seen)), shape)
        errors = [problem for problem in filling.problems if problem.level == "error"]
        unfilled = {(error.path, error.keys): error for error in errors}
        return cls(document, around, [*filling.problems, *doubts], data, unfilled)

    def value(self, loc: Loc) -> Any:
        """Return what is in a place; None if nothing does."""
        return value_at(self.data, loc)

    def rows(self, loc: Loc) -> list[Loc]:
        """Return the places of the rows of a list."""
        rows = self.value(loc)
        return [(*loc, n) for n in range(len(rows))] if isinstance(rows, list) else []
