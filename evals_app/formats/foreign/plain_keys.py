"""Files whose keys may be written in two ways, evalId and eval_id, and may say nothing."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from evals_app.formats.reading.parsed_file import Marks, ParsedFile
from evals_app.formats.reading.problems import Loc, keys_text

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOTHING: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class _Marks:
    """The marks of a file whose keys are written in another way; `written` has those that differ."""

    source: Marks
    written: dict[Loc, str] = field(default_factory=dict)

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        return self.source.place(self.as_written(loc), at_key=at_key)

    def raw(self, loc: Loc) -> str | None:
        return self.source.raw(self.as_written(loc))

    def as_written(self, loc: Loc) -> Loc:
        return tuple(self.written.get(loc[: n + 1], step) for n, step in enumerate(loc))


@dataclass(frozen=True, slots=True)
class PlainFile(ParsedFile):
    """A file with keys as eval_id; people are shown the places of `source`, as they wrote them."""

    source: ParsedFile | None = None

    def place_text(self, loc: Loc) -> str:
        written = self.marks.as_written(loc) if isinstance(self.marks, _Marks) else loc
        return self.source.place_text(written) if self.source else keys_text(written)


def with_plain_keys(
    document: ParsedFile,
    *,
    verbatim: Collection[str] = (),
    kept: Collection[str] = (),
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> PlainFile:
    """Return a file with keys as eval_id, without those that say nothing.

    What is below the keys of `verbatim` stays as it is; those of `kept` stay even if they are empty;
    `renamed` has new names of old keys.
    """
    marks = _Marks(document)

    def plain(value: Any, loc: Loc) -> Any:
        if isinstance(value, list):
            return [plain(item, (*loc, n)) for n, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        read: dict[str, object] = {}
        for key, item in value.items():
            snake = _HUMP.sub("_", key).lower()
            snake = key if snake in value else snake
            name = renamed.get(snake, snake)
            here = (*loc, name)
            if name != key:
                marks.written[here] = key
            inner = item if snake in verbatim else plain(item, here)
            if inner not in _NOTHING or (snake in kept and inner is not None):
                read[name] = inner
        return read

    return PlainFile(document.path, plain(document.data, ()), marks, source=document)
