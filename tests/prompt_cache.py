"""What model APIs remember of the beginnings of requests, and how they count it.

As their documents say: a beginning counts as read only if an earlier request with the very same one
has been answered, a short one is never kept, and another form of the answer is another beginning.
Anthropic keeps what is marked and charges more for the first time; OpenAI keeps whatever it has seen.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.messages_api import Json, Reply

CHARS_A_TOKEN = 4
MIN_MARKED = 4096  # tokens; of the models that want most
MIN_SEEN, STEP = 1024, 128


def tokens(text: str) -> int:
    return -(-len(text) // CHARS_A_TOKEN)


@dataclass(frozen=True)
class Beginnings:
    """The whole of a request as one text, and the beginnings of it that are to be kept."""

    whole: str
    marked: tuple[str, ...] = ()
    is_anthropic: bool = True


class PromptCache:
    """Remembers the beginnings of requests that were answered."""

    def __init__(self) -> None:
        self._kept: set[str] = set()
        self._seen: list[str] = []
        self._lock = threading.Lock()

    def counted(self, reply: Reply, begun: Beginnings) -> Reply:
        """Return a reply with the tokens of its request."""
        with self._lock:
            return (
                _marked(reply, begun, self._kept)
                if begun.is_anthropic
                else _seen(reply, begun, self._seen)
            )

    def keep(self, begun: Beginnings) -> None:
        """Remember a request that is being answered."""
        with self._lock:
            self._kept |= {text for text in begun.marked if tokens(text) >= MIN_MARKED}
            self._seen.append(begun.whole)


def _marked(reply: Reply, begun: Beginnings, kept: set[str]) -> Reply:
    long = [tokens(text) for text in begun.marked if tokens(text) >= MIN_MARKED]
    read = max((tokens(text) for text in begun.marked if text in kept), default=0)
    written = max(long, default=0) - read
    left = tokens(begun.whole) - read - written
    return replace(reply, input_tokens=left, cache_read=read, cache_write_5m=written)


def _seen(reply: Reply, begun: Beginnings, seen: list[str]) -> Reply:
    longest = max((_in_common(begun.whole, text) for text in seen), default=0) // CHARS_A_TOKEN
    read = longest // STEP * STEP if longest >= MIN_SEEN else 0
    return replace(reply, input_tokens=tokens(begun.whole) - read, cache_read=read)


def _in_common(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def of_messages(request: Json) -> Beginnings:
    """Read a request to Anthropic: tools, the form of the answer, system, messages."""
    so_far = _head(request, ("model", "tools", "output_config", "system"))
    marked = []
    for block in _blocks(request["messages"]):
        so_far += json.dumps({key: block[key] for key in block if key != "cache_control"})
        if "cache_control" in block:
            marked.append(so_far)
    return Beginnings(so_far, tuple(marked))


def of_chat(request: Json) -> Beginnings:
    """Read a request to OpenAI."""
    head = _head(request, ("model", "tools", "response_format"))
    texts = [f"{message['role']}: {message['content']}" for message in request["messages"]]
    return Beginnings("\n".join([head, *texts]), is_anthropic=False)


def _head(request: Json, names: tuple[str, ...]) -> str:
    return "".join(json.dumps(request[name]) for name in names if name in request)


def _blocks(messages: list[Json]) -> Iterator[dict[str, Any]]:
    for message in messages:
        content = message["content"]
        yield from [{"text": content}] if isinstance(content, str) else content
