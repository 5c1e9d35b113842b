"""Conversations that people read, with their notes and groups, as JSON for other tools."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from evals_app.reports.answers.run_answers import Answer


class ReadingRow(Answer):
    """What people read of one set of real conversations, or of one run."""

    id: int
    conversation_set: str | None = Field(description="The slug of the set; null: of a run.")
    run: int | None
    created_at: datetime


class ReaderJson(Answer):
    """How many conversations a person has read, and what they said."""

    name: str
    fine: int
    wrong: int
    unsure: int


class PartJson(Answer):
    """A topic or a week: conversations with the group, of all that were read."""

    name: str
    count: int
    total: int


class NoteGroupJson(Answer):
    """A group of notes, and how often it happens."""

    id: int
    name: str
    notes: list[int] = Field(description="The ids of its notes.")
    count: int = Field(description="Conversations with a note of the group.")
    total: int = Field(description="Conversations that were read.")
    share: float | None
    likely_from: float | None = Field(description="Wilson's interval, 95 %.")
    likely_to: float | None
    by_topic: list[PartJson]
    by_week: list[PartJson]


class ReadingDetails(ReadingRow):
    """A reading with how far it is and what goes wrong most."""

    total: int = Field(description="Conversations to read.")
    read: int = Field(description="Those that someone has read.")
    fine: int = Field(description="Fine for all who read it.")
    wrong: int = Field(description="With a note of someone.")
    shared: int = Field(description="Decided by two people or more.")
    agreed: int = Field(description="Of them, those on which they all say the same.")
    people: list[ReaderJson]
    groups: list[NoteGroupJson] = Field(description="Most frequent first.")


class ReadingNoteJson(Answer):
    """What one person says of a conversation."""

    id: int
    position: int = Field(description="Its place in the order of reading.")
    execution: int
    by: str
    kind: Literal["fine", "wrong", "unsure"]
    text: str
    group: int | None
    created_at: datetime
