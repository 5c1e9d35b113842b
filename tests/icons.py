"""The icon font of the site: Unfold's, with the icons alone that the site can show.

    pip install fonttools brotli; python -m tests.icons

writes it from the font of the Unfold that is installed. Run it when a test says that an icon is
missing, and after each upgrade of Unfold. fontTools is needed for nothing else, so it is not among
the dependencies.

The font has a glyph for each icon, which replaces the letters of its name. Every word of our code
and of Unfold's counts as a name that may be shown: too many icons cost little, and none is missing.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import unfold

ROOT = Path(__file__).resolve().parent.parent
UNFOLD = Path(unfold.__file__).parent
FONT = Path("unfold/fonts/material-symbols/Material-Symbols-Outlined.woff2")
WHOLE, OURS = UNFOLD / "static" / FONT, ROOT / "static" / FONT
SOURCES = (ROOT / "evals_app", ROOT / "evalsite", ROOT / "fixtures_app", ROOT / "templates", UNFOLD)
VENDORED = {"alpine", "chart", "htmx", "simplebar", "trix", "node_modules", "migrations"}
_WORD = re.compile(r"[a-z0-9_]+")


def names() -> set[str]:
    """Return every word that may be the name of an icon."""
    return {name for source in SOURCES for path in _files(source) for name in _names_in(path)}


def _files(source: Path) -> Iterator[Path]:
    for path in source.rglob("*"):
        if path.suffix in {".py", ".html", ".js"} and not VENDORED & {*path.parts}:
            yield path


def _names_in(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from _WORD.findall(text)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value] if _WORD.fullmatch(node.value) else []
            # Markup that is written in Python.
            yield from _WORD.findall(node.value) if "material-symbols" in node.value else []


def write() -> int:
    """Write the font, and return how many icons it has."""
    # Not installed: see above.
    from fontTools.subset import Options, Subsetter  # type: ignore[import-not-found] # noqa: PLC0415
    from fontTools.ttLib import TTFont  # type: ignore[import-not-found] # noqa: PLC0415

    font = TTFont(WHOLE, recalcTimestamp=False)
    wanted = _ligatures(font, names())
    # Without closure: any icon can be written with these letters.
    options = Options(layout_closure=False, layout_features=["*"], hinting=False)
    options.drop_tables += ["FFTM", "GPOS", "GDEF"]
    subsetter = Subsetter(options)
    letters = [code for code in font.getBestCmap() if chr(code) == " " or _WORD.match(chr(code))]
    subsetter.populate(unicodes=letters, glyphs=wanted)
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(OURS)
    return len(wanted)


def _ligatures(font: Any, chosen: set[str]) -> set[str]:
    """Return the glyphs of the chosen icons."""
    letters = {glyph: chr(code) for code, glyph in font.getBestCmap().items()}
    tables = [table for lookup in font["GSUB"].table.LookupList.Lookup for table in lookup.SubTable]
    return {
        ligature.LigGlyph
        for table in tables
        for first, ligatures in getattr(table, "ExtSubTable", table).ligatures.items()
        for ligature in ligatures
        if "".join(letters[glyph] for glyph in [first, *ligature.Component]) in chosen
    }


if __name__ == "__main__":
    sys.stdout.write(f"{write()} icons, {OURS.stat().st_size} bytes\n")
