"""The text of a document, for models that cannot read such files: bounded, and never trusted."""

import html
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

MAX_CHARS = 200_000
_MAX_BYTES = 20_000_000  # of all parts of a document together, unpacked
_MAX_ELEMENTS = 500_000  # of all parts together: each costs time, however short it is
_MAX_PARTS = 2_000  # slides or sheets
_CHUNK = 250_000
_ELEMENTS = {"c", "p", "row", "si", "t", "v"}  # that matter, of all kinds
_ZIPPED = {
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
}


class DocumentError(Exception):
    """A document that cannot be read; the message explains why."""


def text_of(media_type: str, content: bytes) -> str:
    """Return the text of a document; a longer one is cut and marked.

    Raises:
        DocumentError: it is not what it should be.
    """
    if media_type in _ZIPPED:
        return _text_of_archive(_ZIPPED[media_type], content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"it is not valid UTF-8 text (byte {error.start + 1:,}).") from None
    return _cut(_lines(_visible_texts(text)) if media_type == "text/html" else [text])


def _cut(pieces: Iterable[str]) -> str:
    """Join pieces, and consume no more of them than fit."""
    kept, size = [], 0
    for piece in pieces:
        if size + len(piece) > MAX_CHARS:
            kept.append(f"{piece[: MAX_CHARS - size]}\n[the rest is left out]")
            break
        kept.append(piece)
        size += len(piece)
    return "".join(kept)


def _lines(lines: Iterable[str]) -> Iterator[str]:
    for n, line in enumerate(lines):
        yield f"\n{line}" if n else line


# Every match has an end, if only that of the text, so nothing is read twice.
_MARKUP = re.compile(
    r"""<!--.*?(?:-->|\Z)
    | <(script|style)(?=[\s/>]).*?(?:</\1(?=[\s/>])[^>]*+(?:>|\Z)|\Z)
    | <[a-z/!?](?:[^>=]++|=\s*+"[^"]*+"|=\s*+'[^']*+'|=)*+(?:>|\Z)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)


def _visible_texts(page: str) -> Iterator[str]:
    """Yield the visible text of a page."""
    end = 0
    for markup in _MARKUP.finditer(page):
        if words := _words(page[end : markup.start()]):
            yield words
        end = markup.end()
    if words := _words(page[end:]):
        yield words


def _words(text: str) -> str:
    return " ".join(html.unescape(text).split())


# Office documents: archives of XML. Sheets are read here too: openpyxl takes twice as long, and
# limits neither bytes nor elements, so all parts would have to be counted here first.


def _text_of_archive(kind: str, content: bytes) -> str:
    readers = {"docx": _paragraphs, "xlsx": _cells, "pptx": _slides}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _cut(readers[kind](_Parts(archive)))
    except DocumentError:
        raise
    except expat.ExpatError as error:
        raise DocumentError(f"its XML is broken: {error}.") from error
    except Exception as error:
        # Readers of archives and encodings raise more than they document.
        raise DocumentError(f"it is not a valid {kind} document.") from error


class _Event(NamedTuple):
    """The start of an element, its end (no attributes), or a text (no name)."""

    name: str = ""
    attributes: dict[str, str] | None = None
    text: str = ""


@dataclass(slots=True)
class _Parts:
    """Reads the parts of an archive within one shared budget."""

    archive: zipfile.ZipFile
    _left: int = field(default=_MAX_BYTES, init=False)
    _elements: int = field(default=0, init=False)

    def find_numbered(self, pattern: str) -> list[str]:
        names = self.archive.namelist()
        by_number = {int(m[1]): name for name in names if (m := re.fullmatch(pattern, name))}
        if not by_number:
            raise KeyError(pattern)
        if len(by_number) > _MAX_PARTS:
            raise DocumentError(
                f"it has {len(by_number):,} slides or sheets, more than {_MAX_PARTS:,}."
            )
        return [by_number[number] for number in sorted(by_number)]

    def events(self, name: str) -> Iterator[_Event]:
        """Read a part piece by piece, so that a caller can stop."""
        events: list[_Event] = []
        parser = self._parser(name, events)
        for chunk in self._chunks(name):
            parser.Parse(chunk)
            yield from events
            events.clear()
        parser.Parse(b"", True)  # noqa: FBT003 - takes no keywords
        yield from events

    def _chunks(self, name: str) -> Iterator[bytes]:
        info = self.archive.getinfo(name)
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise DocumentError(
                f"its part {name} is compressed in a way that no office program uses."
            )
        with self.archive.open(info) as part:
            # The sizes that an archive states for its parts may be wrong.
            while chunk := part.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    raise DocumentError(f"its parts have more than {_MAX_BYTES:,} bytes.")
                yield chunk

    def _parser(self, part: str, events: list[_Event]) -> expat.XMLParserType:
        def refuse(*_: object) -> None:
            raise DocumentError(
                f"its part {part} declares entities, which no office program writes."
            )

        def start(name: str, attributes: dict[str, str]) -> None:
            self._elements += 1
            if self._elements > _MAX_ELEMENTS:
                raise DocumentError(f"its parts have more than {_MAX_ELEMENTS:,} elements.")
            if (local := name.rpartition(" ")[2]) in _ELEMENTS:
                events.append(_Event(local, attributes))

        def end(name: str) -> None:
            if (local := name.rpartition(" ")[2]) in _ELEMENTS:
                events.append(_Event(local))

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = refuse
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = lambda text: events.append(_Event(text=text))
        return parser


def _paragraphs(parts: _Parts) -> Iterator[str]:
    yield from _runs(parts.events("word/document.xml"))


def _slides(parts: _Parts) -> Iterator[str]:
    names = parts.find_numbered(r"ppt/slides/slide(\d+)\.xml")
    yield from _runs(event for name in names for event in parts.events(name))


def _runs(events: Iterable[_Event]) -> Iterator[str]:
    """Return each text once, in order; one paragraph may be inside another."""
    is_text = is_broken = has_begun = False
    for event in events:
        if event.name == "t":
            is_text = event.attributes is not None
        elif event.name == "p":
            is_broken = has_begun
        elif is_text and event.text:
            yield f"\n{event.text}" if is_broken else event.text
            is_broken, has_begun = False, True


def _cells(parts: _Parts) -> Iterator[str]:
    """Return each row of each sheet, its cells apart by tabs."""
    shared: list[str] = []
    if "xl/sharedStrings.xml" in parts.archive.namelist():
        shared = list(_strings(parts.events("xl/sharedStrings.xml")))
    before = ""
    for name in parts.find_numbered(r"xl/worksheets/sheet(\d+)\.xml"):
        kind = ""
        written: list[str] = []
        is_text = is_later = False
        for event in parts.events(name):
            is_start = event.attributes is not None
            if event.name in {"v", "t"}:
                is_text = is_start
            elif is_text and event.text:
                written.append(event.text)
            elif event.name == "row":
                if is_start:
                    yield before
                    before, is_later = "\n", False
            elif event.name == "c" and is_start:
                kind = (event.attributes or {}).get("t", "")
                written.clear()
            elif event.name == "c":
                # Cell by cell: a row may repeat one long text many times.
                yield ("\t" if is_later else "") + _value(kind, "".join(written), shared)
                is_later = True


def _strings(events: Iterable[_Event]) -> Iterator[str]:
    written: list[str] = []
    is_text = False
    for event in events:
        if event.name == "t":
            is_text = event.attributes is not None
        elif is_text and event.text:
            written.append(event.text)
        elif event.name == "si" and event.attributes is None:
            yield "".join(written)
            written.clear()


def _value(kind: str, written: str, shared: list[str]) -> str:
    if kind == "s" and written.isdecimal() and int(written) < len(shared):
        return shared[int(written)]
    return written
