"""Readers of plug-ins: formats that installed packages read into suites.

A package offers one by the entry point `evalwell.readers`. docs/plugins.md has an example.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any

from evals_app.engine.basics.plugins import Plugin, PluginsFound, find_plugins
from evals_app.formats.dialect import Dialect
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.foreign.draft import Draft, Kind, make_draft
from evals_app.formats.foreign.shapes import ReaderContext, slug_of
from evals_app.formats.foreign.suites import NOBODY, agent_problem
from evals_app.formats.reading.parsed_file import (
    MAX_BYTES,
    MAX_NODES,
    ParsedFile,
    decode_text,
    faults,
    values_in,
)
from evals_app.formats.reading.problems import FormatError, Level, Loc, Problem, shorten
from fixtures_app.ground.quoting import cut_middle

_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_MAX_TEXT = 500  # characters of an error
_KINDS: tuple[Kind, ...] = ("agent", "fixture", "suite")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileToRead:
    r"""A file of an import. `path` is as people know it; `content` has its bytes.

    >>> file = FileToRead("evals/capitals.quiz.txt", b"Q: Capital of France?\n")
    >>> file.name
    'capitals'
    >>> str(file.problem("The answer is missing.", line=1, found="Capital of France?"))
    'evals/capitals.quiz.txt:1:1: The answer is missing. (found Capital of France?)'
    """

    path: str
    content: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """The name without folder and endings."""
        return PurePosixPath(self.path).name.partition(".")[0]

    @property
    def text(self) -> str:
        """The content as text.

        Raises:
            FormatError: it is not UTF-8. Leave it to the import, which reports it with its place.
        """
        return decode_text(self.path, self.content)

    def problem(
        self,
        message: str,
        *,
        line: int = 0,
        column: int = 1,
        found: str = "",
        level: Level = "error",
        checks: int = 0,
    ) -> Problem:
        """Return a problem to yield: what is wrong, and what was expected.

        Line and column count from 1; line 0 is the whole file. With the level `error` nothing is
        imported. A `loss` is something that has no equivalent and is left out, with this many `checks`.
        """
        return Problem(
            self.path, line, column if line else 0, "", shorten(found), message, level, checks
        )


@dataclass(frozen=True, slots=True)
class ReadPart:
    """A suite, agent or set of test data that a reader found, in the words of our YAML files.

    Of a suite, `slug` may be left out, and `agent` if the file names none: people choose it. `places`
    has line and column, from 1, where parts were written, such as `{("cases", 0): (3, 1)}`:
    everything that is wrong with a part is reported at the nearest place.
    """

    data: Mapping[str, Any]
    places: Mapping[Loc, tuple[int, int]] = field(default_factory=dict)
    kind: Kind = "suite"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """A format that a package reads: what people see of it, its files, and what reads them.

    `files` are names or ends of names, such as `*.quiz.txt`, by which files are found in folders and
    recognized. `recognizes` is asked about other files, by path and content. `read` yields what is in
    a file and what is wrong with it. `sample` is a small example, as paths and texts.
    """

    title: str
    about: str
    files: tuple[str, ...]
    read: Callable[[FileToRead], Iterable[ReadPart | Problem]]
    recognizes: Callable[[str, bytes], bool] = lambda _path, _content: False
    sample: tuple[tuple[str, str], ...] = ()
    names_agent: bool = False


@cache
def reader_plugins() -> PluginsFound:
    """Return the readers that packages offer, loaded when the first file is looked at."""
    return find_plugins("readers", problem_of=_problem)


def reader_conflicts() -> list[str]:
    """Return a sentence about each two readers of files of the same name."""
    offered = reader_plugins().plugins.values()
    return [
        f"The readers {_name_of(one)} and {_name_of(other)} both read {', '.join(sorted(both))}."
        for one, other in combinations(offered, 2)
        if (both := {*one.value.files}.intersection(other.value.files))
    ]


def _problem(name: str, value: Any) -> str | None:
    """Explain why something cannot be a reader; None if it can."""
    if not isinstance(value, FileReader):
        return f"It is {value!r:.200}; expected a FileReader."
    if _NAME.fullmatch(name) is None or name in DIALECTS:
        return "Its name is ours." if name in DIALECTS else "Names are like test-rail."
    if not (value.title and value.about and value.files):
        return "It needs title, about and files."
    ours = {file for dialect in DIALECTS.values() for file in dialect.files}
    if taken := ours.intersection(value.files):
        return f"Evalwell itself reads {', '.join(sorted(taken))}."
    if not (callable(value.read) and callable(value.recognizes)):
        return "read and recognizes must be functions."
    dialect = _dialect(name, value)
    if strange := [path for path, _ in value.sample if not dialect.finds(path)]:
        return f"Its files do not match the name of its sample {strange[0]!r}."
    return None


def _dialect(name: str, reader: FileReader) -> Dialect:
    return Dialect(
        name=name,
        title=reader.title,
        page="plugins",
        about=reader.about,
        sample=reader.sample,
        names_agent=reader.names_agent,
        files=reader.files,
    )


def _plugin_dialects() -> Mapping[str, Dialect]:
    return {name: _dialect(name, item.value) for name, item in reader_plugins().plugins.items()}


def all_dialects() -> Mapping[str, Dialect]:
    """Return the dialects by their names: ours, then those of plug-ins."""
    return {**DIALECTS, **_plugin_dialects()}


def finds_plugin_file(path: str) -> bool:
    """Whether a file found in a folder is one for a plug-in, by its name."""
    return any(dialect.finds(path) for dialect in _plugin_dialects().values())


def reader_of(path: str, content: bytes, problems: list[Problem]) -> Plugin | None:
    """Return the plug-in that reads a file, by its name, else by its content; None if none does.

    Two that read files of this name are a problem: which one is meant only people know.
    """
    plugins = reader_plugins().plugins
    named = [plugins[name] for name, dialect in _plugin_dialects().items() if dialect.finds(path)]
    if len(named) > 1:
        problems.append(Problem(path, 0, 0, "", "", _too_many(named)))
    if named:
        return named[0]
    for plugin in plugins.values():
        try:
            if plugin.value.recognizes(path, content):
                return plugin
        except (Exception, SystemExit) as exc:  # noqa: BLE001 - code of others may raise anything
            message = f"{_failure_of(plugin, exc)} It was not asked to read this file."
            problems.append(Problem(path, 0, 0, "", "", message, "warning"))
    return None


def read_by_plugin(
    plugin: Plugin, path: str, content: bytes, problems: list[Problem]
) -> Iterator[tuple[ParsedFile, Kind]]:
    """Yield what a plug-in finds in a file; what is wrong goes to `problems`."""
    if len(content) > MAX_BYTES:
        message = "The file is larger than 10 MB. Split it into several suites."
        problems.append(Problem(path, 0, 0, "", "", message))
        return
    found = 0
    try:
        for part in plugin.value.read(FileToRead(path, content)):
            found += 1
            if isinstance(part, Problem):
                problems.append(replace(part, path=path))
            elif document := _document(plugin, path, part, problems):
                yield document, part.kind
    except FormatError as error:
        problems += error.problems
        return
    except (Exception, SystemExit) as exc:
        log.warning("A reader failed.", exc_info=True)
        problems.append(Problem(path, 0, 0, "", "", _failure_of(plugin, exc)))
        return
    if not found:
        message = f"{plugin.value.title} files have suites, and this one has none."
        problems.append(Problem(path, 0, 0, "", "", message))


def _failure_of(plugin: Plugin, exc: BaseException) -> str:
    text = cut_middle(str(exc), _MAX_TEXT).rstrip(".")
    return f"{_who(plugin)} raised {type(exc).__name__}: {text}."


def _too_many(plugins: Sequence[Plugin]) -> str:
    readers = " and ".join(map(_name_of, plugins))
    formats = " or ".join(plugin.name for plugin in plugins)
    return f"The readers {readers} all read files of this name. Choose the format {formats}."


def _who(plugin: Plugin) -> str:
    return f"The reader {_name_of(plugin)}"


def _name_of(plugin: Plugin) -> str:
    return f"{plugin.name} of the package {plugin.package}"


def _document(
    plugin: Plugin, path: str, part: object, problems: list[Problem]
) -> ParsedFile | None:
    """Return a part as a document in our words; report what is wrong and return None."""
    if not isinstance(part, ReadPart) or part.kind not in _KINDS:
        expected = f"a Problem, or a ReadPart whose kind is one of {', '.join(_KINDS)}"
        message = f"{_who(plugin)} yielded {part!r:.200}; expected {expected}."
        problems.append(Problem(path, 0, 0, "", "", message))
        return None
    try:
        data = json.loads(json.dumps(dict(part.data), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as exc:
        message = f"{_who(plugin)} yielded data that is not JSON: {exc}"
        problems.append(Problem(path, 0, 0, "", "", message))
        return None
    if values_in(data) > MAX_NODES:
        message = f"This file has more than {MAX_NODES:,} values. Split it."
        problems.append(Problem(path, 0, 0, "", "", message))
        return None
    document = ParsedFile(path, data, _Places(part.places))
    wrong = [document.problem(loc, message, value="") for loc, message in faults(data)]
    problems += wrong
    return None if wrong else document


@dataclass(frozen=True, slots=True)
class _Places:
    """Where parts were written, as far as a reader says so."""

    places: Mapping[Loc, tuple[int, int]]

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        nearest = next(
            (loc[:length] for length in range(len(loc), -1, -1) if loc[:length] in self.places),
            None,
        )
        return (0, 0) if nearest is None else self.places[nearest]

    def raw(self, loc: Loc) -> str | None:
        return None  # these values were not written plainly


def plugin_draft(document: ParsedFile, kind: Kind, dialect: str, around: ReaderContext) -> Draft:
    """Return the draft of a part that a plug-in has read."""
    data = dict(document.data)
    if kind != "suite":
        return make_draft(kind, dialect, document, data)
    data.setdefault("suite", around.file_name(document))
    data.setdefault("slug", slug_of(str(data["suite"]), instead=slug_of(around.folder(document))))
    is_unnamed = "agent" not in data
    data.setdefault("agent", around.agent or NOBODY)
    draft = make_draft(kind, dialect, document, data)
    if is_unnamed and around.agent is None:
        draft = replace(draft, problems=(*draft.problems, agent_problem(document)))
        return draft.without_agent()
    return draft
