"""What a person chooses for columns: that one is ignored, or which known column it is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evals_app.formats.foreign.shapes import NO_CHOICES, TableChoices
from evals_app.formats.foreign.words import MESSAGES, plain
from evals_app.formats.reading.problems import Problem
from evals_app.formats.tables.answers import AnswerKind, read_check_choices
from evals_app.formats.tables.columns import HEADERS, column_of, near_header
from fixtures_app.ground.words import near


@dataclass(frozen=True, slots=True)
class AnswerGuess(Problem):
    """How the expected answers of one kind are compared; `rows` is how many there are."""

    kind: AnswerKind = "short"
    name: str = ""  # of the kind
    rows: int = 0

    @property
    def option(self) -> str:
        """The option of a command that compares them in another way."""
        return f"--check {self.kind}=WAY"


@dataclass(frozen=True, slots=True)
class IgnoredColumn(Problem):
    """A column that is left out because a person chose so; `rows` is how many say something."""

    header: str = ""
    rows: int = 0


# The choice for a column that is left out.
IGNORED = ""


@dataclass(frozen=True, slots=True)
class UnknownColumn(Problem):
    """A column whose header is unknown: a person may choose what it is.

    `nearest` is the known header that it probably means, `sample` a text from the column; both may
    be empty.
    """

    header: str = ""
    nearest: str = ""
    sample: str = ""


def read_choices(
    ignored: Iterable[str],
    mapped: Iterable[str],
    checks: Iterable[str] = (),
    *,
    header_row: int | None = None,
) -> TableChoices:
    """Read choices of columns from words like `Frage=question`, of checks like `sentence=contains`.

    Raises:
        ValueError: one of the words cannot be read, or a column is chosen twice.
    """
    choices: dict[str, str] = {}
    pairs = [(header, IGNORED) for header in ignored]
    for words in mapped:
        header, _, meaning = words.rpartition("=")
        if not (header.strip() and meaning.strip()):
            raise ValueError(
                f"{words!r} must name a column of the file and the column that it is, such as "
                "Frage=question."
            )
        pairs.append((header, meaning.strip()))
    for header, meaning in pairs:
        if not header.strip():
            raise ValueError("The name of a column to ignore is empty.")
        if choices.setdefault(header.strip(), meaning) != meaning:
            raise ValueError(f"There are two choices for the column {header.strip()!r}. Keep one.")
    return TableChoices(choices, read_check_choices(checks), header_row)


@dataclass(slots=True)
class ColumnChoices:
    """The choices of a person while tables are read; `seen` are the headers that were looked up."""

    given: TableChoices = NO_CHOICES
    seen: dict[str, str] = field(default_factory=dict)
    _meanings: dict[str, str] = field(init=False)
    _own: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        chosen = [*self.given.kept.columns.items(), *self.given.columns.items()]
        self._meanings = {header_key(header): meaning for header, meaning in chosen}
        self._own = frozenset(map(header_key, self.given.columns))

    def of(self, header: str) -> str | None:
        """Return the choice for a column: a known header or `IGNORED`; None without a choice."""
        if not self._meanings:
            return None
        self.seen.setdefault(header_key(header), header)
        return self._meanings.get(header_key(header))

    def is_kept(self, header: str) -> bool:
        """Whether the choice for a column was made for an earlier file."""
        return header_key(header) in self._meanings.keys() - self._own

    def kept_checks(self, header: str) -> dict[str, str]:
        """Return the ways to compare that were chosen for earlier answers below this header, by kind."""
        kept = {header_key(known): ways for known, ways in self.given.kept.checks.items()}
        ways = kept.get(header_key(header), {})
        return {kind: way for kind, way in ways.items() if kind not in self.given.checks}

    def kept_header(self, rows: Mapping[int, Sequence[str]]) -> int | None:
        """Return which row has all texts of headers that were chosen earlier; None: none has."""
        texts = {n: set(map(header_key, row)) for n, row in rows.items()}
        for headers in reversed(self.given.kept.headers):
            wanted = set(map(header_key, headers))
            if found := [n for n, seen in texts.items() if wanted and wanted <= seen]:
                return found[0]
        return None

    def problems(self, path: str) -> Iterator[Problem]:
        """Report choices of columns that no table has, and of known columns that do not exist."""
        for header, meaning in self.given.columns.items():
            if header_key(header) not in self.seen:
                message = f"No table has a column {header!r}.{near(header, self.seen.values())}"
                yield Problem(path, 0, 0, "", "", message)
            is_known = column_of(meaning) or plain(meaning) in MESSAGES
            if meaning != IGNORED and not is_known:
                hint = near_header(meaning) or f" Known: {', '.join(HEADERS)}."
                message = f"The column {header!r} cannot be {meaning!r}, which is unknown.{hint}"
                yield Problem(path, 0, 0, "", "", message)


def header_key(header: str) -> str:
    """Write a header in one way, whatever its case and spaces."""
    return " ".join(header.split()).casefold()
