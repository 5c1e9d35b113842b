"""Tool names that every model API accepts, and the way back to the authored ones."""

import hashlib
import re
from collections.abc import Iterable
from itertools import count

_ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REFUSED_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64
_KEPT = 55  # + "_" + 8 hex digits = 64


class ToolNames:
    """A one-to-one map between the names of an agent's tools and those that are sent.

    Accepted names stay. In others each invalid character becomes `_` (`entity.query` ->
    `entity_query`); if that is taken or too long, a hash makes it unique. The same tools result in
    the same map in any order: history that was sent before keeps its meaning.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._sent: dict[str, str] = {}
        self._authored: dict[str, str] = {}
        # Accepted names first: a rewritten one must not take the place of any.
        for name in sorted(set(names), key=lambda name: (not _is_accepted(name), name)):
            sent = name if _is_accepted(name) else self._rewrite(name)
            self._sent[name] = sent
            self._authored[sent] = name

    def name_to_send(self, authored: str) -> str:
        """Return the name to send.

        Raises:
            KeyError: no such tool.
        """
        return self._sent[authored]

    def authored_name(self, sent: str) -> str:
        """Return the authored name; a name that a model made up stays as it is."""
        return self._authored.get(sent, sent)

    def _rewrite(self, name: str) -> str:
        plain = _REFUSED_CHARACTER.sub("_", name)
        if plain and len(plain) <= _MAX_NAME and plain not in self._authored:
            return plain
        return next(
            candidate for candidate in _hashed_names(name, plain) if candidate not in self._authored
        )


def _is_accepted(name: str) -> bool:
    return _ACCEPTED.fullmatch(name) is not None


def _hashed_names(name: str, plain: str) -> Iterable[str]:
    # A tool may have the name of the first candidate: then hash again.
    for again in count():
        digest = hashlib.sha256((name + "\0" * again).encode("utf-8", "surrogatepass")).hexdigest()
        yield f"{plain[:_KEPT]}_{digest[:8]}"
