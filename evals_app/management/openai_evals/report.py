"""What a save was to contain, what it contains, and what is missing."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from evals_app.management.openai_evals.folder import FORMAT, MANIFEST, Folder

# Which things are counted, each with what one of them is called.
KINDS = {
    "evals": "eval",
    "runs": "run",
    "items": "item",
    "files": "file",
    "prompts": "prompt",
    "completions": "stored completion",
    "responses": "stored response",
}
ALWAYS = ("evals", "runs", "items", "files", "prompts")
_SHOWN = 50


@dataclass(slots=True)
class Count:
    """How many there are, and how many were saved; `is_least`: there may be more."""

    expected: int = 0
    saved: int = 0
    is_least: bool = False

    @property
    def is_whole(self) -> bool:
        return self.saved >= self.expected and not self.is_least

    def add(self, *, is_saved: bool) -> None:
        self.expected += 1
        self.saved += is_saved


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that could not be saved, where it is, and why."""

    what: str
    address: str
    problem: str

    def __str__(self) -> str:
        return f"{self.what}: {self.problem} ({self.address})"


@dataclass(slots=True)
class SaveReport:
    """The result of a save."""

    began_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    counts: dict[str, Count] = field(default_factory=lambda: {kind: Count() for kind in KINDS})
    missing: list[Missing] = field(default_factory=list)
    # Answers that the service itself no longer stores; the items are their only copy.
    gone: list[str] = field(default_factory=list)
    # What is named and is not part of a save.
    elsewhere: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not self.missing and all(count.is_whole for count in self.counts.values())

    def miss(self, what: str, address: str, problem: str) -> None:
        self.missing.append(Missing(what, address, problem))

    def count_line(self) -> str:
        """Return how much there is and how much of it was saved."""
        parts = [
            _in_words(kind, count)
            for kind, count in self.counts.items()
            if kind in ALWAYS or count.expected or count.is_least
        ]
        lacks = f"{len(self.missing):,} missing" if self.missing else "nothing is missing"
        return f"{', '.join(parts)}; {lacks}"

    def notes(self) -> Iterator[str]:
        """Return what the save leaves out although it is not missing."""
        if not self.counts["evals"].expected:
            yield "This key sees no evals. A key sees only those of its own project."
        if self.gone:
            count = len(self.gone)
            what = "1 stored answer is" if count == 1 else f"{count:,} stored answers are"
            yield (
                f"{what} no longer kept by OpenAI. The items of the runs are the only copy: "
                f"{_some(self.gone)}"
            )
        if self.elsewhere:
            yield f"Named, and not part of a save: {_some(self.elsewhere)}"

    def missing_lines(self) -> Iterator[str]:
        """Name what is missing; beyond a number, only how much."""
        yield from map(str, self.missing[:_SHOWN])
        if (more := len(self.missing) - _SHOWN) > 0:
            yield f"and {more:,} more, listed in {MANIFEST}"

    def manifest(self, account: dict[str, str], folder: Folder) -> dict[str, object]:
        """Return what is kept about a save that has ended."""
        digests, changed = folder.digests()
        for name in changed:
            self.miss(
                name,
                str(folder.root / name),
                "The file was changed after it was saved. Move it away and start again: what it "
                "contained is fetched once more.",
            )
        return unfinished_report(account, self.began_at) | {
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "is_whole": self.is_whole,
            "counts": {kind: asdict(count) for kind, count in self.counts.items()},
            "missing": [asdict(item) for item in self.missing],
            "no_longer_stored": self.gone,
            "not_part_of_a_save": self.elsewhere,
            "files": digests,
        }


def unfinished_report(account: dict[str, str], began_at: datetime) -> dict[str, object]:
    """Return what is kept about a save that has not ended."""
    started_at = began_at.isoformat(timespec="seconds")
    return {
        "format": FORMAT,
        "started_at": started_at,
        "finished_at": None,
        "is_whole": False,
        "account": account,
    }


def _in_words(kind: str, count: Count) -> str:
    word = KINDS[kind] if count.expected == 1 else f"{KINDS[kind]}s"
    if kind == "items" or not count.is_whole:
        least = "at least " if count.is_least else ""
        return f"{count.saved:,} of {least}{count.expected:,} {word}"
    return f"{count.expected:,} {word}"


def _some(items: list[str]) -> str:
    more = len(items) - 5
    return ", ".join(items[:5]) + (f" and {more:,} more, listed in {MANIFEST}" if more > 0 else "")
