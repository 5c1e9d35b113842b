"""A message as it is sent to an agent over HTTP: the address with its query, and the body."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from evals_app.engine.agents.tools.tool_calls import as_text
from evals_app.engine.network.web import multipart
from evals_app.engine.specs.sending_spec import RequestFormat

_Part = tuple[str | None, bytes, str | None]
_OF_FILES = {"name", "media_type", "base64"}


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """What is sent: `body` as JSON, or `content` as it is."""

    url: str
    body: object = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def with_query(url: str, query: Mapping[str, object]) -> str:
    """Add parameters to an address."""
    added = urlencode([*_pairs(query)], errors="replace")
    return f"{url}{'&' if '?' in url else '?'}{added}" if added else url


def encode_fields(url: str, fields: Mapping[str, object], form: RequestFormat) -> OutgoingRequest:
    """Return a request with a body of this format."""
    if form == "json":
        return OutgoingRequest(url, body=fields)
    if form == "form":
        content = urlencode([*_pairs(fields)], errors="replace").encode()
        return OutgoingRequest(
            url, content=content, headers={"content-type": "application/x-www-form-urlencoded"}
        )
    parts = [part for name, value in fields.items() for part in _parts(name, value)]
    content, media_type = multipart(parts)
    return OutgoingRequest(url, content=content, headers={"content-type": media_type})


def _parts(name: str, value: object) -> Iterator[tuple[str, _Part]]:
    """Yield the parts of a field: a file each, or one without a file name."""
    files: list[Any] = value if isinstance(value, list) else [value]
    if files and all(isinstance(file, dict) and file.keys() == _OF_FILES for file in files):
        for file in files:
            yield name, (file["name"], base64.b64decode(file["base64"]), file["media_type"])
        return
    for key, text in _pairs({name: value}):
        yield key, (None, text.encode("utf-8", "replace"), None)


def _pairs(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield names and texts: a list of plain values repeats its name, anything else is JSON."""
    for name, value in fields.items():
        items: list[object] = value if isinstance(value, list) else [value]
        if any(isinstance(item, dict | list) for item in items):
            items = [value]
        yield from ((name, as_text(item)) for item in items if item is not None)
