"""Conversations of a help desk, as a file of JSON Lines has them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from evals_app.formats.conversations.read import read_conversations
from evals_app.formats.conversations.recorded import ConversationFile
from evals_app.models import ConversationImport, ConversationSet
from evals_app.runs.recorded.import_conversations import import_conversations

TALK = (("user", "Why 9 euros?"), ("assistant", "It is 6.90."))


def row_of(name: object, *said: Sequence[str], **more: Any) -> dict[str, Any]:
    messages = [{"role": role, "content": text} for role, text in said or TALK]
    return {"id": name, "messages": messages, **more}


def rows_of(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        row_of(n, ("user", f"Question {n}"), ("assistant", f"Answer {n}"), **more)
        for n in range(count)
    ]


def content_of(rows: Iterable[object]) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def file_of(rows: Iterable[object], name: str = "week.jsonl") -> ConversationFile:
    return read_conversations(name, content_of(rows))


def make_set(slug: str = "help-desk") -> ConversationSet:
    return ConversationSet.objects.create(slug=slug, name="Help desk")


def imported(rows: Iterable[object], into: ConversationSet | None = None) -> ConversationImport:
    return import_conversations(into or make_set(), file_of(rows), masker=None)
