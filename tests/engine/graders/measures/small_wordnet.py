"""A WordNet of a few words, in files of the real format."""

from collections.abc import Mapping, Sequence
from pathlib import Path

# Words that share a meaning, by part of speech. A sign in brackets is how adjectives are marked.
MEANINGS: Mapping[str, Sequence[tuple[str, ...]]] = {
    "noun": (("job", "task", "chore"), ("child", "kid"), ("car", "motor_vehicle"), ("Paris",)),
    "verb": (("begin", "start", "set_about"), ("leave", "go_away"), ("run", "operate")),
    "adj": (("quick", "fast(p)"), ("rapid", "speedy", "quick")),
    "adv": (("quickly", "rapidly"),),
}
IRREGULAR: Mapping[str, Mapping[str, str]] = {
    "noun": {"children": "child"},
    "verb": {"began": "begin", "ran": "run"},
    "adj": {},
    "adv": {},
}
LICENCE = "  1 A few words in the format of WordNet 3.0.  \n  2 They may be copied.  \n"


def write_wordnet(folder: Path, *, licence: str = LICENCE) -> Path:
    """Write all twelve files into a new folder."""
    folder.mkdir()
    for part, meanings in MEANINGS.items():
        data = licence
        places: dict[str, list[str]] = {}
        for words in meanings:
            offset = f"{len(data.encode()):08d}"
            listed = " ".join(f"{word} 0" for word in words)
            data += f"{offset} 00 {part[0]} {len(words):02x} {listed} 000 | what they mean  \n"
            for word in words:
                places.setdefault(word.partition("(")[0].lower(), []).append(offset)
        index = "".join(
            f"{word} {part[0]} {len(offsets)} 1 @ {len(offsets)} 0 {' '.join(offsets)}  \n"
            for word, offsets in sorted(places.items())
        )
        irregular = "".join(f"{form} {base}\n" for form, base in IRREGULAR[part].items())
        (folder / f"data.{part}").write_text(data, encoding="utf-8")
        (folder / f"index.{part}").write_text(licence + index, encoding="utf-8")
        (folder / f"{part}.exc").write_text(irregular, encoding="utf-8")
    return folder
