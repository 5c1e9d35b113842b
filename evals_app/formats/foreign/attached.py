"""Files that turns show: found next to the suite that names them, and known by their content."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from evals_app.engine.specs.files import MAX_TURN_BYTES, FileSpec, content_problem, sha256_of
from evals_app.engine.suites.suite_spec import SuiteSpec, TurnSpec
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.reading.problems import Loc, Problem
from fixtures_app.ground.words import near

MAX_BYTES = 200_000_000  # of all files of one import

# Gives the content of a file by the path from where the import began; None if there is none.
FindFile = Callable[[str], bytes | None]
# Gives the paths of the files that fit a pattern; ** crosses folders, * does not.
FindPaths = Callable[[str], Iterable[str]]


def find_nothing(path: str) -> bytes | None:  # noqa: ARG001 - see FindFile
    """Find nothing."""
    return None


def fitting(pattern: str, paths: Iterable[str]) -> list[str]:
    """Choose the paths that fit a pattern."""
    regex = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    fits = re.compile(regex.replace(r"\?", "[^/]")).fullmatch
    return [path for path in paths if fits(path)]


def own_folder(slug: str) -> str:
    """Name the folder, next to a suite's file, in which exports put what it shows."""
    return f"{slug}.files"


def is_shown(path: str) -> bool:
    """Whether a file is in such a folder: whatever it looks like, it is not an eval file."""
    return any(part.endswith(own_folder("")) for part in PurePosixPath(path).parts[:-1])


@dataclass(slots=True)
class AttachedFiles:
    """Finds contents, among the files of an import and by `find`, and collects them by SHA-256.

    `find_paths` lists paths outside the import, `size_of` returns the size of stored content, and
    `claimed` are the files that some suite names.
    """

    given: dict[str, bytes]
    find: FindFile = find_nothing
    find_paths: FindPaths = lambda _: ()
    size_of: Callable[[str], int | None] = lambda _: None
    contents: dict[str, bytes] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)
    _judged: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def sibling_content(self, path: str, other: str) -> bytes | None:
        """Return the content of a file by its path from the file at `path`, and claim it."""
        place = posixpath.normpath(PurePosixPath(path).parent / other.replace("\\", "/"))
        if place != path and place in self.given:
            self.claimed.add(place)
            return self.given[place]
        return self.find(place)

    def sibling_paths(self, path: str, pattern: str) -> list[str]:
        """Return the paths, from the file at `path`, of all that fit a pattern from there."""
        folder = posixpath.dirname(path)
        wanted = posixpath.normpath(posixpath.join(folder, pattern))
        paths = {*fitting(wanted, self.given), *self.find_paths(wanted)} - {path}
        return sorted(posixpath.relpath(item, folder or ".") for item in paths)

    def attach(self, draft: Draft) -> Draft:
        """Return the files of a suite their content; what is wrong joins the draft's problems."""
        if not isinstance(draft.spec, SuiteSpec):
            return draft
        problems: list[Problem] = []
        cases = []
        for c, case in enumerate(draft.spec.cases):
            if any(turn.files for turn in case.turns):
                turns = [
                    self._turn(draft, turn, ("cases", c, "turns", t), problems)
                    for t, turn in enumerate(case.turns)
                ]
                case = case.model_copy(update={"turns": turns})  # noqa: PLW2901 - with contents
            cases.append(case)
        suite = draft.spec.model_copy(update={"cases": cases})
        problems += ambiguous_files(draft, suite)
        return replace(draft, spec=suite, problems=(*draft.problems, *problems))

    def _turn(self, draft: Draft, turn: TurnSpec, loc: Loc, problems: list[Problem]) -> TurnSpec:
        files, size = [], 0
        for n, file in enumerate(turn.files):
            content = self._content(draft, file)
            stored = self.size_of(file.sha256) if content is None and file.sha256 else None
            size += (stored or 0) if content is None else len(content)
            if problem := self._problem(draft, file, content, stored):
                problems.append(draft.place((*loc, "files", n), problem))
            elif content is not None:
                file = file.known_as(sha256_of(content))  # noqa: PLW2901 - with its content
                self.contents[str(file.sha256)] = content
            files.append(file)
        if size > MAX_TURN_BYTES:
            message = (
                f"These files have {size:,} bytes. All files of a turn together may have "
                f"{MAX_TURN_BYTES:,}."
            )
            problems.append(draft.place((*loc, "files"), message))
        return turn.model_copy(update={"files": files})

    def _problem(
        self, draft: Draft, file: FileSpec, content: bytes | None, stored: int | None
    ) -> str | None:
        if content is None:
            if stored is not None:
                return None
            meant = near(_places(draft, file)[0], self.given)
            return f"There is no file {file.path} next to this one.{meant}"
        if sum(map(len, self.contents.values())) + len(content) > MAX_BYTES:
            return f"The files of one import may have {MAX_BYTES:,} bytes together."
        sha256 = sha256_of(content)
        if file.sha256 and sha256 != file.sha256:
            return "The content of the file next to this one does not match this sha256."
        # Many turns may show one document; reading it takes its time.
        judged = (sha256, file.name)
        if judged not in self._judged:
            self._judged[judged] = content_problem(file.name, content)
        return self._judged[judged]

    def _content(self, draft: Draft, file: FileSpec) -> bytes | None:
        if file.sha256 in self.contents:
            return self.contents[file.sha256]  # found by the reader, perhaps in another folder
        for path in _places(draft, file):
            if path in self.given:
                if path != draft.document.path:
                    self.claimed.add(path)
                return self.given[path]
            if (content := self.find(path)) is not None:
                return content
        return None


def _places(draft: Draft, file: FileSpec) -> Sequence[str]:
    folder = PurePosixPath(draft.document.path).parent
    own = folder / own_folder(draft.slug or "")
    return [(folder / file.path).as_posix(), (own / file.path).as_posix()]


def ambiguous_files(draft: Draft, suite: SuiteSpec) -> Iterator[Problem]:
    """Refuse one path with two contents in a suite: an export could write only one of them."""
    first: dict[str, str | None] = {}
    for loc, file in _files(suite):
        if first.setdefault(file.path, file.sha256) != file.sha256:
            message = f"Another turn shows something else as {file.path}. Rename one of them."
            yield draft.place(loc, message)


def _files(suite: SuiteSpec) -> Iterator[tuple[Loc, FileSpec]]:
    for c, case in enumerate(suite.cases):
        for t, turn in enumerate(case.turns):
            for n, file in enumerate(turn.files):
                yield ("cases", c, "turns", t, "files", n), file


def files_of(suites: Iterable[SuiteSpec]) -> dict[str, str]:
    """Return the SHA-256 of everything that suites show, by the path to which exports write it."""
    return {
        f"{own_folder(suite.slug)}/{file.path}": file.sha256
        for suite in suites
        for _, file in _files(suite)
        if file.sha256
    }
