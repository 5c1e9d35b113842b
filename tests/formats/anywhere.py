"""Put anything anywhere into a file: what readers must bear."""

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Loc = tuple[str | int, ...]

# What means something in some dialect.
WORDS = (
    *("${HOME}", "${GONE}", "{{", "{{a}}", "{%", "file://", "file://p.txt", "*", "1e400", "nan"),
    *("standard", "rag", "scripted"),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
# What may stand where a file has a key or a value.
_KEY = re.compile(rb"\w+(?=[\"']?\s*[:=;,])")
_VALUE = re.compile(rb"(?<=[:=,;\t\[ ])(?:\"[^\"\n]*\"|[\w.-]+)")
_VALUES = (
    *(b"null", b"~", b"[]", b"{}", b"true", b"No", b"-1", b"1e999", b"NaN", b".inf", b"0x1F"),
    *(b"1" + b"0" * 400, b'"\\ud800"', b'"\\u0000"', b"2026-01-01", b"1:30:00", b"12%", b"-"),
    *(b'[["a"]]', b'{"a": {"b": []}}', b"[null]", b"&a [*a]", b"!!binary x", b"|", b"{{a}}"),
    *(b"${HOME}", b"file://x", b'[{"role": "user", "content": null}]', b"", b"x" * 5000),
)
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "cp037")


@st.composite
def changed(draw: st.DrawFn, data: Any) -> Any:
    """Draw data in which one place holds something else."""
    return _replaced(data, draw(st.sampled_from(list(_places(data, ())))), draw(JSON))


@st.composite
def spoilt(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw a file as a mistake, an editor or a broken disk may leave it."""
    for spoil in draw(st.lists(st.sampled_from(_SPOILING), min_size=1, max_size=3)):
        content = spoil(draw, content)
    return content


def _cut_out(draw: st.DrawFn, content: bytes) -> bytes:
    begin = draw(st.integers(0, len(content)))
    end = draw(st.integers(begin, min(len(content), begin + 40)))
    instead = st.sampled_from([b"", b"\t", b"\r", b": ", b'"', b"&a *a", b"- "]) | st.binary()
    return content[:begin] + draw(instead) + content[end:]


def _end_early(draw: st.DrawFn, content: bytes) -> bytes:
    return content[: draw(st.integers(0, len(content)))]


def _flip_bits(draw: st.DrawFn, content: bytes) -> bytes:
    flipped = bytearray(content)
    for at in draw(st.sets(st.integers(0, max(0, len(content) - 1)), max_size=5)):
        flipped[at : at + 1] = bytes(
            byte ^ 1 << draw(st.integers(0, 7)) for byte in flipped[at : at + 1]
        )
    return bytes(flipped)


def _move_line(draw: st.DrawFn, content: bytes) -> bytes:
    """Double a line, leave one out, or put it elsewhere."""
    lines = content.split(b"\n")
    line = draw(st.sampled_from(lines))
    if draw(st.booleans()):
        lines.remove(line)
    if draw(st.booleans()):
        lines.insert(draw(st.integers(0, len(lines))), line)
    return b"\n".join(lines)


def _rename_key(draw: st.DrawFn, content: bytes) -> bytes:
    key = st.sampled_from([found[0] for found in _KEY.finditer(content)] or [b""])
    return _replace_one(draw, _KEY, content, key.map(bytes.upper) | key | st.just(b"x"))


def _replace_value(draw: st.DrawFn, content: bytes) -> bytes:
    return _replace_one(draw, _VALUE, content, st.sampled_from(_VALUES))


def _replace_one(
    draw: st.DrawFn, pattern: re.Pattern[bytes], content: bytes, values: st.SearchStrategy[bytes]
) -> bytes:
    if found := list(pattern.finditer(content)):
        place = draw(st.sampled_from(found))
        return content[: place.start()] + draw(values) + content[place.end() :]
    return content


def _encode_anew(draw: st.DrawFn, content: bytes) -> bytes:
    return content.decode(errors="replace").encode(draw(st.sampled_from(_ENCODINGS)), "replace")


_SPOILING = (
    *(_cut_out, _end_early, _flip_bits, _move_line, _rename_key, _encode_anew),
    *(_replace_value, _replace_value),  # the likeliest to be read
)


def _places(data: Any, loc: Loc) -> Iterator[Loc]:
    yield loc
    if isinstance(data, dict | list):
        for step, inner in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _places(inner, (*loc, step))


def _replaced(data: Any, loc: Loc, value: Any) -> Any:
    if not loc:
        return value
    copy = data.copy()
    copy[loc[0]] = _replaced(data[loc[0]], loc[1:], value)
    return copy
