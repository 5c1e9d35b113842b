"""Put anything anywhere into a file: what readers must bear."""

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


@st.composite
def changed(draw: st.DrawFn, data: Any) -> Any:
    """Draw data in which one place holds something else."""
    return _replaced(data, draw(st.sampled_from(list(_places(data, ())))), draw(JSON))


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
