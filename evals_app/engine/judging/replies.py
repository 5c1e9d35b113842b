"""What a judge replies about items: a verdict on each, perhaps with a quote and a reason.

A script may answer shortly: one verdict for all items (`supported`), one for each in their order
(`supported contradicted`), or by their numbers (`{"1": "pass", "2": "fail"}`).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from evals_app.engine.judging.asking import UnreadableError
from evals_app.engine.judging.objects import checked, last_object, object_schema, read_object
from evals_app.engine.judging.transcript import cut
from evals_app.engine.judging.verdict import MAX_CHARS, SCRIPTED_CRITIQUE
from evals_app.engine.trial import Evidence

UNDECIDED = "undecided"
CANNOT_GRADE = "cannot_grade"  # the word by which a judge says so, where it may


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge says of an item; UNDECIDED is neither for it nor against it.

    `chunk` is what it names as the source (0: none). `evidence` is its quote, looked up; `objection`
    why the opinion cannot stand, for the judge that is asked again.
    """

    verdict: str
    chunk: int = 0
    quote: str = ""
    critique: str = ""
    evidence: Evidence | None = None
    objection: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """What a reply must hold: a verdict on each item, and `about_all` (key -> allowed words) once.

    `names_chunk`: each verdict names a chunk and quotes it; `is_explained`: it has a quote and a
    critique. `key` is that of the list.
    """

    verdicts: tuple[str, ...]
    names_chunk: bool = False
    is_explained: bool = False
    about_all: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    key: str = "verdicts"

    @property
    def schema(self) -> dict[str, Any]:
        """Give the JSON Schema; the source stands before the verdict that rests on it."""
        text = {"type": "string"}
        properties: dict[str, Any] = {"id": {"type": "integer"}}
        if self.names_chunk:
            properties |= {"chunk": {"type": "integer"}, "quote": text}
        if self.is_explained:
            properties |= {"quote": text, "critique": text}
        entry = object_schema(properties | {"verdict": text | {"enum": list(self.verdicts)}})
        once = {key: text | {"enum": list(words)} for key, words in self.about_all.items()}
        rest = {"injection_suspected": {"type": "boolean"}}
        return object_schema({self.key: {"type": "array", "items": entry}} | once | rest)

    @property
    def tokens_an_item(self) -> int:
        """How much room an answer needs."""
        return 200 if self.is_explained else 150


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


class _ExplainedEntry(_Entry):
    quote: str
    critique: str


def read_reply(text: str, form: Form) -> Reply:
    """Read the last JSON object of a reply.

    Raises:
        UnreadableError: there is none, or it is not of the form.
    """
    data = read_object(text)
    _refuse_unknown(data, form)
    entries = data.get(form.key)
    if not isinstance(entries, list):
        raise UnreadableError(f"{form.key}: a list is expected.")
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
        raise UnreadableError(f"{form.key}: each entry is an object.")
    kind = _SourcedEntry if form.names_chunk else _ExplainedEntry if form.is_explained else _Entry
    entry = checked(kind, data)
    word = _one_of(entry.verdict, form.verdicts, f"the verdict on {entry.id}")
    verdict = UNDECIDED if word == CANNOT_GRADE else word
    if isinstance(entry, _SourcedEntry):
        return entry.id, Opinion(verdict, entry.chunk, _bounded(entry.quote))
    if isinstance(entry, _ExplainedEntry):
        critique = cut(entry.critique.strip(), MAX_CHARS)
        return entry.id, Opinion(verdict, quote=_bounded(entry.quote), critique=critique)
    return entry.id, Opinion(verdict)


def _bounded(quote: str) -> str:
    """Cut a quote that nobody would read, behind a word."""
    return quote if len(quote) <= MAX_CHARS else quote[:MAX_CHARS].rpartition(" ")[0]


def read_scripted_reply(text: str, form: Form, ids: Sequence[int]) -> Reply:
    """Read the reply of a script: an object as above that may leave out keys, or words alone.

    In an object, too, the list may be words. What is left out is the most favourable word.

    Raises:
        UnreadableError: it is neither.
    """
    data = last_object(text) or {form.key: text}
    if all(re.fullmatch(r"[0-9]{1,4}", key) for key in data):
        data = {form.key: [_numbered(key, value) for key, value in data.items()]}
    said = data.get(form.key, form.verdicts[0] if form.about_all else "")
    if isinstance(said, str):
        said = [word for word in re.split(r"[\s,;]+", said.strip("\"'`. \n").lower()) if word]
        said = _for_each(said, form, ids, text)
    if not isinstance(said, list):
        raise UnreadableError(_advice(text, form, ids))
    if said and all(isinstance(each, str) for each in said):
        said = _for_each(said, form, ids, text)
    entries = [_completed(each, form) if isinstance(each, dict) else each for each in said]
    defaults = {key: words[0] for key, words in form.about_all.items()}
    whole = {"injection_suspected": False} | defaults | data | {form.key: entries}
    try:
        return read_reply(json.dumps(whole), form)
    except UnreadableError as exc:
        raise UnreadableError(f"{exc} {_advice(text, form, ids)}") from None


def _numbered(key: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever was replied
    return {"id": int(key)} | (value if isinstance(value, dict) else {"verdict": value})


def _for_each(
    words: Sequence[str], form: Form, ids: Sequence[int], text: str
) -> list[dict[str, Any]]:
    """Give each item its word, or all of them the one."""
    words = [*words] * len(ids) if len(words) == 1 else words
    if len(words) != len(ids) or not set(words) <= set(form.verdicts):
        raise UnreadableError(_advice(text, form, ids))
    return [{"id": each, "verdict": word} for each, word in zip(ids, words, strict=True)]


def _completed(entry: dict[str, Any], form: Form) -> dict[str, Any]:
    if form.names_chunk:
        return {"chunk": 0, "quote": ""} | entry
    if not form.is_explained:
        return entry
    said = str(entry.get("critique") or "").strip()
    critique = f"{SCRIPTED_CRITIQUE[:-1]}: {said}" if said else SCRIPTED_CRITIQUE
    return {"quote": ""} | entry | {"critique": critique}


def _advice(text: str, form: Form, ids: Sequence[int]) -> str:
    return (
        f"The scripted judge answered {text.strip()[:80]!r} about {len(ids)} items; one word for all"
        f" of them, or one for each, is expected: {', '.join(form.verdicts)}. As JSON:"
        f' {{"1": "{form.verdicts[0]}"}}.'
    )
