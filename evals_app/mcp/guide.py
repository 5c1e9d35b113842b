"""What a coding agent can look up: the guide, and the JSON Schemas of what people write."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings

from evals_app.reports.reference.spec_schema import file_schema

_DOCS = Path(settings.FILES_DIR) / "docs"
_KINDS = ("suite", "agent", "fixture")


@dataclass(frozen=True, slots=True)
class Resource:
    """Something to read under an address of its own."""

    uri: str
    name: str
    title: str
    media_type: str
    read: Callable[[], str]


@cache
def pages() -> dict[str, str]:
    """Return the title of each page of the guide, by its name."""
    titles = {}
    for path in sorted(_DOCS.glob("*.md")):
        with path.open(encoding="utf-8") as lines:
            titles[path.stem] = next(lines, "").lstrip("# ").strip()
    titles.pop("README", None)
    return titles


def page(name: str) -> str:
    """Return a page of the guide as Markdown; its name is one of `pages`."""
    return (_DOCS / f"{name}.md").read_text(encoding="utf-8")


@cache
def resources() -> dict[str, Resource]:
    """Return everything that can be read, by its address."""
    listed = [
        Resource(
            f"evalwell://guide/{name}.md",
            f"{name}.md",
            title,
            "text/markdown",
            lambda name=name: page(name),  # type: ignore[misc]
        )
        for name, title in pages().items()
    ]
    listed += [
        Resource(
            f"evalwell://schema/{kind}.json",
            f"{kind}.json",
            f"JSON Schema of a file *.{kind}.yaml",
            "application/schema+json",
            lambda kind=kind: schema(kind),  # type: ignore[misc]
        )
        for kind in _KINDS
    ]
    return {resource.uri: resource for resource in listed}


@cache
def schema(kind: str) -> str:
    """Return the JSON Schema of one kind of file."""
    return json.dumps(file_schema(kind), ensure_ascii=False)
