"""Suites written in Python, or read from files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from evals_app.code.project_files import NO_AGENT, SuiteInFile, read_mapping, read_suite
from evals_app.engine.callables.here import register
from evals_app.formats.foreign.shapes import slug_of
from evals_app.formats.reading.problems import FormatError

# A check as files have it, or a function that grades: it gets a `GraderContext`, and returns a
# `GraderResult`, True or False, or a score from 0 to 1.
CheckLike = Mapping[str, Any] | Callable[..., Any]


def check(kind: str, /, **options: Any) -> dict[str, Any]:
    """Return a check: its type and options, as docs/assertions.md lists them.

    >>> check("contains", value="refund", whole_words=True)
    {'type': 'contains', 'value': 'refund', 'whole_words': True}
    """
    return {"type": kind, **options}


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the user, and what must be true of the reply.

    `checks` None: those of the suite. `options` are the other keys of a turn, such as `context`.
    """

    user: str
    checks: Sequence[CheckLike] | None = None
    expected: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        """Return it as a file has it."""
        written = _without_none(user=self.user, expected=self.expected, **self.options)
        if self.checks is not None:
            written["assertions"] = _mappings_of(self.checks)
        return written


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation: one message, or several turns; `name` is unique in its suite.

    `checks` are about the reply of a single message, or about the whole conversation of several turns.
    `trials` is how often it runs; None: as often as the suite says. `options` are the other keys of a
    case, such as `limits`, `channel` or `clock`.
    """

    name: str
    user: str | None = None
    checks: Sequence[CheckLike] | None = None
    turns: Sequence[Turn] = ()
    expected: str | None = None
    tags: Sequence[str] = ()
    trials: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        """Return it as a file has it.

        Raises:
            ValueError: it has both a message and turns, or neither.
        """
        if (self.user is None) == (not self.turns):
            raise ValueError(f"Case {self.name!r} needs either user=... or turns=[...], not both.")
        turns = list(self.turns) or [Turn(self.user or "", self.checks, self.expected)]
        written = _without_none(
            name=self.name,
            tags=list(self.tags),
            trials=self.trials,
            turns=[turn.to_mapping() for turn in turns],
            **self.options,
        )
        if self.turns and self.checks:
            written["final_assertions"] = _mappings_of(self.checks)
        return written


class Suite:
    """Conversations with one agent, and what must be true of them.

    >>> suite = Suite("Greetings", cases=[Case("Hello", "Hi!", checks=[check("contains", value="hello")])])
    >>> suite.slug, [case.name for case in suite.spec.cases]
    ('greetings', ['Hello'])
    """

    def __init__(
        self,
        name: str,
        *,
        cases: Iterable[Case],
        checks: Sequence[CheckLike] = (),
        slug: str | None = None,
        **options: Any,
    ) -> None:
        """Write a suite; `options` are the other keys of a suite, such as `trials` or `gates`.

        `checks` apply to every turn that has none of its own.

        Raises:
            SuiteError: something in it is wrong; it names the keys, and what was expected there.
        """
        written = {
            "suite": name,
            "slug": slug or slug_of(name, instead="suite"),
            "agent": NO_AGENT,
            "assertions": _mappings_of(checks),
            "cases": [case.to_mapping() for case in cases],
            **options,
        }
        with _refusals():
            self._take(read_mapping(written), None)

    @classmethod
    def load(cls, path: str | Path, *, slug: str | None = None) -> Self:
        """Read a suite from a file of any system that Evalwell reads, or from a folder.

        Its agent, its test data and its providers are looked for in the folder of the file and below,
        then in the folder above. `slug` chooses one of several suites.

        Raises:
            SuiteError: with every problem of every file, its place, and what was expected.
        """
        suite = cls.__new__(cls)
        with _refusals():
            read = read_suite(Path(path), slug)
            suite._take(read, Path(read.path))  # noqa: SLF001 - of this very class
        return suite

    def _take(self, read: SuiteInFile, path: Path | None) -> None:
        self.spec, self.project, self.path = read.spec, read.project, path
        self.case_lines = read.case_lines

    @property
    def name(self) -> str:
        """Its name for people."""
        return self.spec.suite

    @property
    def slug(self) -> str:
        """Its name in files and reports."""
        return self.spec.slug

    def __repr__(self) -> str:
        return f"Suite({self.name!r}, {len(self.spec.cases)} cases)"


class SuiteError(ValueError):
    """A suite, or something that a run of it needs, is wrong: `problems` are sentences."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except FormatError as exc:
        raise SuiteError(str(item) for item in exc.problems if item.level == "error") from None


def _without_none(**keys: Any) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}


def _mappings_of(checks: Iterable[CheckLike]) -> list[dict[str, Any]]:
    """Return checks as a file has them; a function becomes a check of type `code`."""
    return [
        {"type": "code", "grader": register(one), "name": _name_of(one)}
        if callable(one)
        else dict(one)
        for one in checks
    ]


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return name.replace("_", " ").strip("<> ").strip().capitalize()
