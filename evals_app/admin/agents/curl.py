"""Parse the request that a person pastes: a curl command, or an address alone."""

import base64
import json
import re
import shlex
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, quote_plus

from evals_app.engine.specs.sending_spec import WITHOUT_BODY, Method

_DATA = {"-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json"}
_FIELD = {"-F", "--form", "--form-string"}
_METHODS = get_args(Method)
_OTHERS_WITH_VALUE = {
    *("-o", "--output", "-m", "--max-time", "--connect-timeout", "-A", "--user-agent", "-e"),
    *("--referer", "-w", "--write-out", "--retry", "--cacert", "-x", "--proxy", "--resolve"),
}
_UPLOADS = {"-T", "--upload-file"}
# $'it\'s', as browsers copy texts with apostrophes, line breaks or letters beyond ASCII.
_ESCAPED = re.compile(r"(?<![^\s=])\$'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{1,4})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass
class CurlRequest:
    """What a command sends; `body` is its data parsed as JSON, or the fields of a form or query."""

    url: str = ""
    method: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    sent_as: Literal["json", "form", "multipart", "query"] = "json"
    file_fields: tuple[str, ...] = ()

    @property
    def sent_method(self) -> Method:
        """The method that Evalwell uses for it."""
        return next((method for method in _METHODS if method == self.method), "POST")


def read_pasted(text: str) -> CurlRequest:
    """Read a curl command or an address.

    Raises:
        ValueError: it is neither, or uses an option that Evalwell does not support.
    """
    text = text.strip().removeprefix("$ ").replace("\\\r\n", " ").replace("\\\n", " ")
    if not text.lower().startswith("curl"):
        if len(text.split()) != 1:
            raise ValueError("Paste one address, or one command that begins with curl.")
        return CurlRequest(url=text, method="POST")
    try:
        words = shlex.split(_ESCAPED.sub(_without_escapes, text))[1:]
    except ValueError:
        raise ValueError(
            "A quotation mark of this command is not closed. Copy the whole command."
        ) from None
    pasted = _read(words)
    if not pasted.url:
        raise ValueError("This command has no address that begins with https:// or http://.")
    if pasted.method not in {"", *_METHODS}:
        raise ValueError(
            f"This command sends {pasted.method}. Evalwell sends messages by {', '.join(_METHODS)}."
        )
    return pasted


def _without_escapes(quoted: re.Match[str]) -> str:
    def letter(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2]
        return chr(int(code, 16)) if code else _CONTROLS.get(escape[3], escape[3])

    halves = _ESCAPE.sub(letter, quoted[1]).encode("utf-16", "surrogatepass")
    return shlex.quote(halves.decode("utf-16", "replace"))


def _read(words: list[str]) -> CurlRequest:
    pasted, data = CurlRequest(), _Data()
    rest = iter(_split_options(words))
    for word in rest:
        if word in _UPLOADS:
            raise ValueError(
                f"This command sends an upload ({word}). Evalwell sends JSON, forms and queries."
            )
        if word in _OTHERS_WITH_VALUE:
            next(rest, "")
        elif word in {"-X", "--request"}:
            pasted.method = next(rest, "").upper()
        elif word in {"-H", "--header"}:
            name, _, value = next(rest, "").partition(":")
            pasted.headers[name.strip()] = value.strip()
        elif word in {"-u", "--user"}:
            credentials = base64.b64encode(next(rest, "").encode()).decode()
            pasted.headers["Authorization"] = f"Basic {credentials}"
        elif word in {"-b", "--cookie"}:
            pasted.headers["Cookie"] = next(rest, "")
        elif word in _DATA:
            data.texts.append(_inline_data(next(rest, "")))
        elif word == "--data-urlencode":
            data.texts.append(_encode(next(rest, "")))
        elif word in _FIELD:
            data.fields.append(next(rest, "").partition("=")[::2])
        elif word in {"-G", "--get"}:
            pasted.method, data.is_query = "GET", True
        elif word == "--url":
            pasted.url = next(rest, "")
        elif not word.startswith("-") and not pasted.url:
            pasted.url = word if "://" in word else f"http://{word}"
    data.put_into(pasted)
    return pasted


def _split_options(words: list[str]) -> list[str]:
    """Write `--name=value` and `-Xvalue` as two words."""
    separated: list[str] = []
    for word in words:
        name, is_joined, value = word.partition("=")
        if word.startswith("--") and is_joined:
            separated += [name, value]
        elif word[:2] in {"-X", "-H", "-d", "-u", "-b", "-F"} and len(word) > len("-X"):
            separated += [word[:2], word[2:]]
        else:
            separated.append(word)
    return separated


@dataclass
class _Data:
    """What a command gives as data, in the order of its options."""

    texts: list[str] = field(default_factory=list)
    fields: list[tuple[str, str]] = field(default_factory=list)  # of a form with files
    is_query: bool = False

    def put_into(self, pasted: CurlRequest) -> None:
        if self.fields:
            # A file, @path, is that of a turn; text after a semicolon is its media type.
            files = [name for name, value in self.fields if value.startswith(("@", "<"))]
            texts = [(name, value) for name, value in self.fields if name not in files]
            pasted.body, pasted.sent_as = _fields(texts), "multipart"
            pasted.file_fields = tuple(dict.fromkeys(files))
        elif self.texts and (self.is_query or not _is_json(self.texts[0])):
            pasted.body = _fields(_pairs("&".join(self.texts)))
            pasted.sent_as = "query" if self.is_query else "form"
        elif self.texts:
            pasted.body = json.loads(self.texts[-1])
        if pasted.method in WITHOUT_BODY or (not pasted.method and pasted.body is None):
            _read_query(pasted)


def _read_query(pasted: CurlRequest) -> None:
    """Read the message from the address of a command that sends no body."""
    url, _, query = pasted.url.partition("?")
    in_address = _fields(_pairs(query)) if query else {}
    if in_address or pasted.method in WITHOUT_BODY:
        body = pasted.body if pasted.sent_as == "query" else None
        pasted.body, pasted.sent_as = {**in_address, **(body or {})}, "query"
        pasted.url, pasted.method = url, pasted.method or "GET"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        if text.lstrip().startswith(("{", "[")):
            raise ValueError("What this command sends is not valid JSON.") from None
        return False
    return True


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = parse_qsl(text, keep_blank_values=True)
    if "=" not in text:
        raise ValueError("What this command sends is neither JSON nor the fields of a form.")
    return pairs


def _fields(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Return fields by name; one that is repeated is a list."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        before = fields.get(name)
        fields[name] = value if before is None else [*_list_of(before), value]
    return fields


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _inline_data(data: str) -> str:
    if data.startswith("@"):
        raise ValueError(f"This command reads {data[1:]}. Put its content into the command.")
    return data


def _encode(data: str) -> str:
    name, equals, value = data.partition("=")
    if not equals and "@" in data:
        raise ValueError(f"This command reads {data.partition('@')[2]}. Put its content into it.")
    return f"{name}={quote_plus(value)}" if equals else quote_plus(data)
