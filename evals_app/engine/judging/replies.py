"""What a judge replies about items: a verdict on each, perhaps with its source.

A script may answer shortly: one verdict for all items (`supported`), or one for each in their order
(`supported contradicted`).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from evals_app.engine.judging.asking import UnreadableError
from evals_app.engine.judging.objects import checked, last_object, object_schema, read_object
from evals_app.engine.judging.verdict import MAX_CHARS


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge says of an item, and the chunk that it names as the source (0: none)."""

    verdict: str
    chunk: int = 0
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """What a reply must hold: a verdict on each item, and `about_all` (key -> allowed words) once."""

    verdicts: tuple[str, ...]
    names_chunk: bool = False
    about_all: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def schema(self) -> dict[str, Any]:
        """Give the JSON Schema; the source stands before the verdict that rests on it."""
        source = {"chunk": {"type": "integer"}, "quote": {"type": "string"}}
        verdict = {"verdict": {"type": "string", "enum": list(self.verdicts)}}
        entry = object_schema(
            {"id": {"type": "integer"}} | (source if self.names_chunk else {}) | verdict
        )
        once = {
            key: {"type": "string", "enum": list(words)} for key, words in self.about_all.items()
        }
        rest = {"injection_suspected": {"type": "boolean"}}
        return object_schema({"verdicts": {"type": "array", "items": entry}} | once | rest)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as it was read: verdicts in the order in which they came, whatever their ids."""

    opinions: tuple[tuple[int, Opinion], ...]
    about_all: Mapping[str, str]
    injection_suspected: bool = False


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: int
    verdict: str


class _SourcedEntry(_Entry):
    chunk: int
    quote: str


def read_reply(text: str, form: Form) -> Reply:
    """Read the last JSON object of a reply.

    Raises:
        UnreadableError: there is none, or it is not of the form.
    """
    data = read_object(text)
    _refuse_unknown(data, form)
    entries = data.get("verdicts")
    if not isinstance(entries, list):
        raise UnreadableError("verdicts: a list is expected.")
    if not isinstance(data.get("injection_suspected"), bool):
        raise UnreadableError("injection_suspected: true or false is expected.")
    about_all = {key: _one_of(data.get(key), words, key) for key, words in form.about_all.items()}
    opinions = tuple(_opinion(entry, form) for entry in entries)
    return Reply(opinions, about_all, data["injection_suspected"])


def _refuse_unknown(data: Mapping[str, Any], form: Form) -> None:
    known = form.schema["required"]
    for key in data:
        if key not in known:
            raise UnreadableError(f"{key}: unknown key. Known: {', '.join(known)}.")


def _one_of(value: Any, words: Sequence[str], where: str) -> str:  # noqa: ANN401 - whatever was replied
    if value not in words:
        raise UnreadableError(f"{where}: {str(value)[:80]!r} is none of {', '.join(words)}.")
    return str(value)


def _opinion(data: Any, form: Form) -> tuple[int, Opinion]:  # noqa: ANN401 - see above
    if not isinstance(data, dict):
        raise UnreadableError("verdicts: each entry is an object.")
    entry = checked(_SourcedEntry if form.names_chunk else _Entry, data)
    verdict = _one_of(entry.verdict, form.verdicts, f"the verdict on {entry.id}")
    if isinstance(entry, _SourcedEntry):
        return entry.id, Opinion(verdict, entry.chunk, entry.quote[:MAX_CHARS])
    return entry.id, Opinion(verdict)


def read_scripted_reply(text: str, form: Form, ids: Sequence[int]) -> Reply:
    """Read the reply of a script: an object as above that may leave out keys, or words alone.

    In an object, too, `verdicts` may be words. What is left out is the most favourable word.

    Raises:
        UnreadableError: it is neither.
    """
    data = last_object(text) or {"verdicts": text}
    said = data.get("verdicts", form.verdicts[0])
    if isinstance(said, str):
        said = [word for word in re.split(r"[\s,;]+", said.strip("\"'`. \n").lower()) if word]
    if not isinstance(said, list):
        raise UnreadableError("verdicts: a word or a list is expected.")
    if all(isinstance(each, str) for each in said):
        words = said * len(ids) if len(said) == 1 else said
        if len(words) != len(ids) or not set(words) <= set(form.verdicts):
            raise UnreadableError(
                f"The scripted judge answered {text.strip()[:80]!r} about {len(ids)} items; one"
                f" word for all of them, or one for each, is expected: {', '.join(form.verdicts)}."
            )
        said = [{"id": each, "verdict": word} for each, word in zip(ids, words, strict=True)]
    source = {"chunk": 0, "quote": ""} if form.names_chunk else {}
    entries = [source | each if isinstance(each, dict) else each for each in said]
    defaults = {key: words[0] for key, words in form.about_all.items()}
    whole = {"injection_suspected": False} | defaults | data | {"verdicts": entries}
    return read_reply(json.dumps(whole), form)
