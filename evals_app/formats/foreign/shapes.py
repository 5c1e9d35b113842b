"""What readers of other systems' files share: their shapes, places and losses.

A reader gets every document of its dialect, validates it with private models of the foreign shape,
translates them, and notes where each part was written. What is not supported here is
a loss: it is reported with the reason.
"""

import hashlib
import posixpath
import re
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Unpack, get_args

from pydantic import BaseModel, ConfigDict

from evals_app.formats.foreign.attached import AttachedFiles
from evals_app.formats.foreign.words import sounds_like_check
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Level, Loc, Problem, ProblemDetails, holds
from fixtures_app.ground.words import near

# Names of files and folders that say nothing about their content.
GENERIC = frozenset(
    {"ai", "app", "ci", "config", "configs", "e2e", "eval", "evals", "evaluation", "evaluations"}
    | {"llm", "promptfoo", "promptfooconfig", "prompts", "qa", "src", "test", "tests"}
)
# And names of files that only say that they are data.
_GENERIC_FILES = GENERIC | {
    *("cases", "data", "dataset", "datasets", "golden", "goldens", "tasks", "testset"),
}
_SLUG_LENGTH = 60
_MAX_SLUG = 100
_NAME_CHARS = 60
_OWN_CHARS = 6


class Foreign(BaseModel):
    """A part of a foreign file, strictly as it is documented; unknown keys are errors.

    `lost` names keys that this part may have and that are not supported here, each with the reason;
    `lost_checks` those of them that say what is checked.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    lost: ClassVar[Mapping[str, str]] = {}
    lost_checks: ClassVar[Collection[str]] = ()
    # Whether readers of that system overlook unknown keys; then they are losses, not errors, unless
    # they look like a key that is needed and missing.
    overlooks: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class KeptChoices:
    """What a person chose for earlier tables: it counts where a file has the same headers.

    `columns` says by header what each column is, `checks` by the header of the expected answers and
    by kind of answer how they are compared, `headers` are rows of headers, the newest last.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    headers: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True)
class TableChoices:
    """What a person chose for tables.

    `columns` says by header which known column each is, or nothing for one that is ignored; `checks`
    by kind of answer how expected answers are compared, under an empty name for all other kinds, and
    nothing for the usual way; `header_row` the row of the headers, counted from 1. `kept` counts where
    nothing else is chosen.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    header_row: int | None = None
    kept: KeptChoices = KeptChoices()


NO_CHOICES = TableChoices()


@dataclass(slots=True)
class TablesRead:
    """What an import reads of tables, for a page that shows it.

    `tables` are the CSV and XLSX files by their paths, `sheets` those sheets (of `tables.sheet`) that
    have cases or in which a column is asked for, with all that was said of them.
    """

    tables: dict[str, ParsedFile] = field(default_factory=dict)
    sheets: list[Any] = field(default_factory=list)

    def clear(self) -> None:
        self.tables.clear()
        self.sheets.clear()

    def leave_out(self, paths: Collection[str]) -> None:
        """Leave out the sheets of files that turned out to be parts of others."""
        self.sheets[:] = [sheet for sheet in self.sheets if sheet.table.path not in paths]


@dataclass(frozen=True, slots=True)
class ReaderContext:
    """What a reader may look at besides its own files.

    `agent` is the slug of the agent that the person chose for files that name none; `environment`
    fills in `${NAME}`, and is empty if the person may not see it. `agents` are the slugs of agents
    that exist, or that native files of the import describe, `providers` those of providers.
    `fixtures` are the slugs of the import's fixtures by the path of their file, `fixtures_of`
    returns those of a stored suite. `root` is the folder, as a whole path, in which the paths of
    files begin, if it is known. `tables` is what the person chose for tables, `seen` collects what is
    read of them.
    """

    attached: AttachedFiles
    agent: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    agents: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()
    fixtures: Mapping[str, str | None] = field(default_factory=dict)
    fixtures_of: Callable[[str], Sequence[str]] = lambda _: ()
    root: str = ""
    tables: TableChoices = NO_CHOICES
    seen: TablesRead = field(default_factory=TablesRead)

    def folder(self, document: ParsedFile) -> str:
        """Return the name of the folder of a file, wherever the import began; empty if unknown."""
        path = posixpath.normpath(posixpath.join(self.root, document.path))
        return posixpath.basename(posixpath.dirname(path)).strip(".")

    def project(self, document: ParsedFile) -> str:
        """Return a name that distinguishes the folder of a file, with folders above it if needed.

        In many projects the evals are in a folder called evals.
        """
        path = posixpath.normpath(posixpath.join(self.root, document.path))
        names: list[str] = []
        for folder in reversed(posixpath.dirname(path).split("/")):
            if name := folder.strip("."):
                names.insert(0, name)
            if name and slug_of(name) not in GENERIC:
                break
        return " ".join(names)

    def content(self, document: ParsedFile, path: str) -> bytes | None:
        """Return the content of another file by its path from this one; None: there is none.

        The file is then not treated as an eval file itself.
        """
        return self.attached.sibling_content(document.path, path)

    def file_name(self, document: ParsedFile) -> str:
        """Return the name of a file without its endings, after its folder's if it is a usual one."""
        name = posixpath.basename(document.path).rpartition(".")[0].removesuffix(".suite")
        folder = self.project(document) if slug_of(name) in _GENERIC_FILES else ""
        return f"{folder} {name}".strip()


class SourcePlaces:
    """Where the parts of a translated object were written, by their places in our format.

    Called like `ParsedFile.problem`, it makes a Problem in the nearest part that is known.
    """

    def __init__(self, document: ParsedFile, loc: Loc = ()) -> None:
        self._noted: dict[Loc, tuple[ParsedFile, Loc]] = {(): (document, loc)}

    def note(self, ours: Loc, document: ParsedFile, written: Loc) -> None:
        """Remember where a translated part was written."""
        self._noted[ours] = (document, written)

    def __call__(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
        length = next(n for n in range(len(loc), -1, -1) if loc[:n] in self._noted)
        document, written = self._noted[loc[:length]]
        for step in loc[length:]:
            if not holds(document.value(written), step):
                break
            written = (*written, step)
        return document.problem(written, message, **about)


def report_left_out(part: Foreign, document: ParsedFile, loc: Loc) -> Iterator[Problem]:
    """Report all unsupported keys of a part and of the parts in it."""
    yield from report_unsupported(type(part), part.model_extra or {}, document, loc)
    for name, info in type(part).model_fields.items():
        yield from _report_left_out_below(getattr(part, name), document, (*loc, info.alias or name))


def report_unsupported(
    part: type[Foreign], written: Mapping[str, object], document: ParsedFile, loc: Loc
) -> Iterator[Problem]:
    """Report the unsupported keys of a part, whether it is valid or not."""
    fields = {info.alias or name: info.annotation for name, info in part.model_fields.items()}
    names = [*fields, *part.lost]
    needed = (info.alias or name for name, info in part.model_fields.items() if info.is_required())
    missing = [name for name in needed if name not in written]
    for key, value in written.items():
        here = (*loc, key)
        if reason := part.lost.get(key):
            checks = int(key in part.lost_checks)
            yield document.problem(here, reason, at_key=True, level="loss", checks=checks)
        elif key not in fields:
            message = f"Unknown key `{key}`.{near(key, names)} Known keys: {', '.join(names)}."
            is_overlooked = part.overlooks and not near(key, missing)
            level: Level = "loss" if is_overlooked else "error"
            checks = int(is_overlooked and sounds_like_check(key))
            yield document.problem(here, message, at_key=True, level=level, checks=checks)
        elif isinstance(value, Mapping):
            for item in (fields[key], *get_args(fields[key])):
                if isinstance(item, type) and issubclass(item, Foreign):
                    yield from report_unsupported(item, value, document, here)


def _report_left_out_below(value: object, document: ParsedFile, loc: Loc) -> Iterator[Problem]:
    if isinstance(value, Foreign):
        yield from report_left_out(value, document, loc)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _report_left_out_below(item, document, (*loc, key))
    elif isinstance(value, list | tuple):
        for n, item in enumerate(value):
            yield from _report_left_out_below(item, document, (*loc, n))


def slug_of(name: str, *, instead: str = "imported") -> str:
    """Make a slug of a name: `Refund flow!` is refund-flow; a name without letters gives another.

    One that is too long is cut, and ends with a few letters that differ from name to name.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall("[a-z0-9]+", plain))
    return _cut(slug, _SLUG_LENGTH) or instead


def _cut(slug: str, limit: int) -> str:
    if len(slug) <= limit:
        return slug
    own = hashlib.sha256(slug.encode()).hexdigest()[:_OWN_CHARS]
    return f"{slug[: limit - _OWN_CHARS - 1].rstrip('-')}-{own}"


def suite_slug(agent: str, name: str, *, instead: str) -> str:
    """Make the slug of a suite, which begins with the agent's: others have suites of this name."""
    return _cut(f"{agent}-{slug_of(name, instead=instead)}", _MAX_SLUG)


def first_words(text: str) -> str:
    """Return the beginning of a text as a name: whole words, up to 60 characters."""
    return textwrap.shorten(text, _NAME_CHARS, placeholder=" …").lstrip(" …") or text[:_NAME_CHARS]


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return each name once: a case is known by its name; a second `greeting` is `greeting (2)`."""
    taken: dict[str, None] = {}
    counts: dict[str, int] = {}  # where to look on, so that many of one name take no longer
    for name in names:
        distinct, n = name, counts.get(name, 1)
        while distinct in taken:
            n += 1
            distinct = f"{name} ({n})"
        taken[distinct] = None
        counts[name] = n
    return list(taken)
