"""Parse the request that a person pastes: a curl command, or an address alone."""

import base64
import json
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

_DATA = {"-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json"}
_OTHERS_WITH_VALUE = {
    *("-o", "--output", "-m", "--max-time", "--connect-timeout", "-A", "--user-agent", "-e"),
    *("--referer", "-w", "--write-out", "--retry", "--cacert", "-x", "--proxy", "--resolve"),
}
_UNSUPPORTED = {
    **dict.fromkeys(("-F", "--form"), "a form"),
    **dict.fromkeys(("-T", "--upload-file"), "an upload"),
    **dict.fromkeys(("-G", "--get"), "a GET request"),
    **dict.fromkeys(("--data-urlencode",), "a form"),
}
# $'it\'s', as browsers copy texts with apostrophes, line breaks or letters beyond ASCII.
_ESCAPED = re.compile(r"(?<![^\s=])\$'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{1,4})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass
class CurlRequest:
    """What a command sends; `body` is its data parsed as JSON, or None."""

    url: str = ""
    method: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None


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
    if pasted.method not in {"", "POST"}:
        raise ValueError(
            f"This command sends {pasted.method}. Evalwell sends messages by POST only."
        )
    return pasted


def _without_escapes(quoted: re.Match[str]) -> str:
    def letter(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2]
        return chr(int(code, 16)) if code else _CONTROLS.get(escape[3], escape[3])

    halves = _ESCAPE.sub(letter, quoted[1]).encode("utf-16", "surrogatepass")
    return shlex.quote(halves.decode("utf-16", "replace"))


def _read(words: list[str]) -> CurlRequest:
    pasted = CurlRequest()
    rest = iter(_split_options(words))
    for word in rest:
        if word in _UNSUPPORTED:
            raise ValueError(
                f"This command sends {_UNSUPPORTED[word]} ({word}). Evalwell sends JSON by POST."
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
            pasted.body = _body(next(rest, ""))
        elif word == "--url":
            pasted.url = next(rest, "")
        elif not word.startswith("-") and not pasted.url:
            pasted.url = word if "://" in word else f"http://{word}"
    return pasted


def _split_options(words: list[str]) -> list[str]:
    """Write `--name=value` and `-Xvalue` as two words."""
    separated: list[str] = []
    for word in words:
        name, is_joined, value = word.partition("=")
        if word.startswith("--") and is_joined:
            separated += [name, value]
        elif word[:2] in {"-X", "-H", "-d", "-u", "-b"} and len(word) > len("-X"):
            separated += [word[:2], word[2:]]
        else:
            separated.append(word)
    return separated


def _body(data: str) -> Any:
    if data.startswith("@"):
        raise ValueError(f"This command reads {data[1:]}. Put its content into the command.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("What this command sends is not valid JSON.") from None
