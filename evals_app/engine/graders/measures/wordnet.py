"""Synonyms of English words, from the files of WordNet.

The folder contains index.*, data.* and *.exc for noun, verb, adj and adv, as Debian's package
wordnet-base installs them. They are opened when the first synonym is looked up. The index is kept in
memory (13 MB); the rest is mapped, so that processes share it.

Source of the formats: the manual pages wndb(5WN) and morphy(7WN).
"""

import mmap
import re
from bisect import bisect_left
from functools import lru_cache
from pathlib import Path

from evals_app.engine.graders.measures.remembered import cached_by_word

DEBIAN_FOLDER = Path("/usr/share/wordnet")

# Endings of inflected words, and what they become in the word that the index has.
_ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}
_VERSION = re.compile(rb"WordNet (\d+\.\d+)")

_folder = DEBIAN_FOLDER


def set_folder(folder: Path) -> None:
    """Set the folder once, when the process starts."""
    global _folder  # noqa: PLW0603 - it belongs to the process, as the environment does
    _folder = folder


def find_wordnet() -> "WordNet | None":
    """Return the synonyms of this machine; None if the folder does not exist."""
    return _open_wordnet(_folder)


@lru_cache(maxsize=1)
def _open_wordnet(folder: Path) -> "WordNet | None":
    return WordNet(folder) if folder.is_dir() else None


class WordNet:
    """The synonyms in one folder of files."""

    def __init__(self, folder: Path) -> None:
        """Open the files.

        Raises:
            OSError: one of them is missing or cannot be read.
            ValueError: one of them is empty.
        """
        self._parts = [_Part(folder, name, endings) for name, endings in _ENDINGS.items()]
        version = self._parts[0].version
        self.variant = f"wordnet{version}" if version else "wordnet"
        self.synonyms = cached_by_word(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        """Return the single words that share a meaning with a word, or with its base form."""
        return frozenset(other for part in self._parts for other in part.synonyms(word))


class _Part:
    """The words of one part of speech."""

    def __init__(self, folder: Path, name: str, endings: tuple[tuple[str, str], ...]) -> None:
        lines = (folder / f"index.{name}").read_bytes().splitlines()
        # Lines of the licence begin with a space. The rest is sorted; sorting again costs nothing.
        self._index = sorted(line for line in lines if not line.startswith(b" "))
        self._irregular = {
            form: base.split()
            for line in (folder / f"{name}.exc").read_text(encoding="utf-8").splitlines()
            for form, _, base in [line.partition(" ")]
        }
        with (folder / f"data.{name}").open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        version = _VERSION.search(self._data[:4096])
        self.version = version[1].decode() if version else None
        self._endings = endings

    def synonyms(self, word: str) -> set[str]:
        return {
            name
            for form in self._forms(word)
            for offset in self._offsets(form)
            for name in self._names(offset)
        }

    def _forms(self, word: str) -> list[str]:
        if word in self._irregular:
            return [word, *self._irregular[word]]
        bases = (word[: -len(old)] + new for old, new in self._endings if word.endswith(old))
        return [word, *bases]

    def _offsets(self, form: str) -> list[int]:
        """Find the offsets of a form's meanings: lemma pos count p_cnt [ptr...] count n [offset...]."""
        start = form.encode("utf-8", "surrogatepass") + b" "
        place = bisect_left(self._index, start)
        if place == len(self._index) or not self._index[place].startswith(start):
            return []
        fields = self._index[place].split()
        return [int(offset) for offset in fields[-int(fields[2]) :]]

    def _names(self, offset: int) -> list[str]:
        """Read a set of synonyms: offset file type w_cnt word lex_id [word lex_id...] ..."""
        fields = self._data[offset : self._data.find(b"\n", offset)].split()
        names = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        # An adjective may carry its position: galore(ip).
        return [name.partition(b"(")[0].decode("utf-8") for name in names if b"_" not in name]
