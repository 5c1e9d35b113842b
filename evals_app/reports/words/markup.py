"""HTML in which every text is escaped, because only `tag` makes markup."""

import re
from collections.abc import Iterable
from html import escape

# What neither XML nor HTML can have.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_EMPTY = frozenset({"meta", "input", "br"})


def legal(text: str) -> str:
    """Return a text with a mark in place of each character that neither XML nor HTML can have."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Iterable["Child"] | None


def tag(name: str, /, *children: Child, **attributes: str | bool | None) -> Markup:
    """Return an element; an attribute that is None or False is left out.

    An underscore at the end of a name is left out, others become hyphens: `class_`, `data_state`.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(legal(str(value)))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{''.join(map(_inside, children))}</{name}>")


def scrolling_table(
    heads: Iterable[str], rows: Iterable[Iterable[Markup]], *, title: str
) -> Markup:
    """Return a table of rows of cells that scrolls where it is too wide."""
    head = tag("thead", tag("tr", [tag("th", name, scope="col") for name in heads]))
    table = tag("table", head, tag("tbody", [tag("tr", row) for row in rows]))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)


def _inside(child: Child) -> str:
    if child is None or isinstance(child, Markup):
        return child or ""
    return escape(legal(child)) if isinstance(child, str) else "".join(map(_inside, child))
