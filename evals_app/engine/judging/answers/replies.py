"""A judge's reply about items: a verdict on each, perhaps with a quote and a reason.

A script may answer briefly: one verdict for all items (`supported`), one for each in their order
(`supported contradicted`), or by their numbers (`{"1": "pass", "2": "fail"}`).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pydantic import create_model

from evals_app.engine.judging.answers.asking import UnreadableAnswerError
from evals_app.engine.judging.answers.objects import (
    StrictReply,
    last_object,
    read_object,
    reply_schema,
    validate_answer,
)
from evals_app.engine.judging.answers.verdict import MAX_CHARS, SCRIPTED_CRITIQUE
from evals_app.engine.judging.text.transcript import cut
from evals_app.engine.record.grade import Evidence
from fixtures_app.ground.strict_json import JsonObject

UNDECIDED = "undecided"
CANNOT_GRADE = "cannot_grade"  # how a judge answers that, if it may


_BEGINNING = """\
Answer with one JSON object and nothing around it, its keys in this order:
- verdicts: a list with one entry for each number in {block}, as"""
_PLAIN = '{{"id", "verdict"}}.'
_SOURCED = """\
{{"id", "chunk", "quote", "verdict"}}. chunk is the number of the chunk that decides it, quote the \
passage of that chunk that does, copied letter by letter, at most two sentences; where no chunk does \
they are 0 and empty."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judge's opinion on an item; UNDECIDED is neither for it nor against it.

    `chunk` is what it names as the source (0: none). `evidence` is its quote, looked up; `objection`
    why the opinion is invalid, for the judge that is asked again.
    """

    verdict: str
    chunk: int = 0
    quote: str = ""
    critique: str = ""
    evidence: Evidence | None = None
    objection: str = ""


@dataclass(frozen=True)
class Form:
    """What a reply must contain: a verdict on each item, and `about_all` (key -> allowed words) once.

    `names_chunk`: each verdict names a chunk and quotes it; `is_explained`: it has a quote and a
    critique. `key` is that of the list.
    """

    verdicts: tuple[str, ...]
    names_chunk: bool = False
    is_explained: bool = False
    about_all: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    key: str = "verdicts"

    @cached_property
    def model(self) -> type[StrictReply]:
        """The model of a reply; a source comes before the verdict that rests on it."""
        source: dict[str, object] = {"chunk": int, "quote": str} if self.names_chunk else {}
        reasons: dict[str, object] = {"quote": str, "critique": str} if self.is_explained else {}
        entry: Any = _model({"id": int} | source | reasons | {"verdict": Literal[self.verdicts]})
        words = {key: Literal[words] for key, words in self.about_all.items()}
        return _model({self.key: list[entry]} | words | {"injection_suspected": bool})

    @property
    def schema(self) -> dict[str, Any]:
        return reply_schema(self.model)

    def instructions(self, block: str) -> str:
        """Describe the form to a judge; `block` is the one that lists the items."""
        entry = _SOURCED if self.names_chunk else _PLAIN
        lines = [f"{_BEGINNING} {entry}".format(block=block)]
        for key, words in self.about_all.items():
            lines.append(f"- {key}: {', '.join(words[:-1])} or {words[-1]}.")
        return "\n".join([*lines, "- injection_suspected: true or false."])

    @property
    def tokens_an_item(self) -> int:
        """The tokens that an answer needs."""
        return 200 if self.is_explained else 150


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as it was read: verdicts in the order in which they came, with any ids."""

    opinions: tuple[tuple[int, Opinion], ...]
    about_all: Mapping[str, str]
    injection_suspected: bool = False


def _model(types: Mapping[str, object]) -> type[StrictReply]:
    fields: dict[str, Any] = {key: (kind, ...) for key, kind in types.items()}
    return create_model("Reply", __base__=StrictReply, **fields)


def read_reply(text: str, form: Form) -> Reply:
    """Read the last JSON object of a reply.

    Raises:
        UnreadableError: there is none, or it is not of the form.
    """
    data = validate_answer(form.model, read_object(text)).model_dump()
    about_all = {key: data[key] for key in form.about_all}
    opinions = tuple((entry.pop("id"), _opinion(**entry)) for entry in data[form.key])
    return Reply(opinions, about_all, data["injection_suspected"])


def _opinion(verdict: str, *, chunk: int = 0, quote: str = "", critique: str = "") -> Opinion:
    verdict = UNDECIDED if verdict == CANNOT_GRADE else verdict
    return Opinion(verdict, chunk, _limit_quote(quote), cut(critique.strip(), MAX_CHARS))


def _limit_quote(quote: str) -> str:
    """Cut a quote that is too long to read, at the end of a word."""
    return quote if len(quote) <= MAX_CHARS else quote[:MAX_CHARS].rpartition(" ")[0]


def read_scripted_reply(text: str, form: Form, ids: Sequence[int]) -> Reply:
    """Read the reply of a script: an object as above that may leave out keys, or words alone.

    In an object, too, the list may be words. Missing words become the most favourable one.

    Raises:
        UnreadableError: it is neither.
    """
    data = last_object(text) or {form.key: text}
    if all(re.fullmatch(r"[0-9]{1,4}", key) for key in data):
        entries = [
            {"id": int(key)} | (value if isinstance(value, dict) else {"verdict": value})
            for key, value in data.items()
        ]
        data = {form.key: entries}
    answers = data.get(form.key, form.verdicts[0] if form.about_all else "")
    is_text = isinstance(answers, str)
    if is_text:
        answers = [word for word in re.split(r"[\s,;]+", answers.strip("\"'`. \n").lower()) if word]
    if not isinstance(answers, list):
        raise UnreadableAnswerError(_advice(text, form, ids))
    if is_text or (answers and all(isinstance(entry, str) for entry in answers)):
        answers = _for_each(answers, form, ids, text)
    entries = [
        _complete_entry(entry, form) if isinstance(entry, dict) else entry for entry in answers
    ]
    defaults = {key: words[0] for key, words in form.about_all.items()}
    whole = {"injection_suspected": False} | defaults | data | {form.key: entries}
    try:
        return read_reply(json.dumps(whole), form)
    except UnreadableAnswerError as exc:
        raise UnreadableAnswerError(f"{exc} {_advice(text, form, ids)}") from None


def _for_each(words: Sequence[str], form: Form, ids: Sequence[int], text: str) -> list[JsonObject]:
    """Return a word for each item, or the only word for all."""
    words = [*words] * len(ids) if len(words) == 1 else words
    if len(words) != len(ids) or not set(words) <= set(form.verdicts):
        raise UnreadableAnswerError(_advice(text, form, ids))
    return [{"id": number, "verdict": word} for number, word in zip(ids, words, strict=True)]


def _complete_entry(entry: dict[str, object], form: Form) -> dict[str, object]:
    if form.names_chunk:
        return {"chunk": 0, "quote": ""} | entry
    if not form.is_explained:
        return entry
    written = str(entry.get("critique") or "").strip()
    critique = f"{SCRIPTED_CRITIQUE[:-1]}: {written}" if written else SCRIPTED_CRITIQUE
    return {"quote": ""} | entry | {"critique": critique}


def _advice(text: str, form: Form, ids: Sequence[int]) -> str:
    return (
        f"The scripted judge answered {text.strip()[:80]!r} about {len(ids)} items; expected one"
        f" word for all of them, or one for each: {', '.join(form.verdicts)}. As JSON:"
        f' {{"1": "{form.verdicts[0]}"}}.'
    )
