"""What a file says about conversations that happened outside of runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self, TypeAlias

from evals_app.engine.record.trial import Message, ToolCall, TurnRecord
from fixtures_app.ground.strict_json import Json

_Change: TypeAlias = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class OutsideGrade:
    """A grade that came with a conversation, from the product that graded it.

    `score` is as that product wrote it, in its own scale. None is unknown, for each.
    """

    name: str
    passed: bool | None = None
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """One conversation that happened.

    `id` is that of the file; where it has none, a digest of what was said. `turns` begin with a
    message of the user; what was said before the first is in `history`. `names` are those of people
    as the file's own columns say them, so that they can be masked wherever they appear. `place` is
    the file and line where it begins.
    """

    id: str
    turns: tuple[TurnRecord, ...]
    history: tuple[Message, ...] = ()
    happened_at: datetime | None = None
    agent: str = ""
    system_prompt: str = ""
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    grades: tuple[OutsideGrade, ...] = ()
    place: str = ""

    def with_texts(self, change: _Change) -> Self:
        """Return the conversation with each of its texts changed, keys of JSON excepted.

        `change` is given a text and what its value is called: a key of JSON or of `facts`, else "".
        """
        return replace(
            self,
            turns=tuple(_changed_turn(turn, change) for turn in self.turns),
            history=tuple(_changed_message(message, change) for message in self.history),
            system_prompt=change(self.system_prompt, ""),
            facts={name: change(value, name) for name, value in self.facts.items()},
            grades=tuple(replace(grade, reason=change(grade.reason, "")) for grade in self.grades),
        )


@dataclass(slots=True)
class ConversationFile:
    """What was read of one file.

    `losses` are sentences about what it has and Evalwell does not keep, each with the place.
    `problems` are sentences about what cannot be read, `remarks` say what was guessed. The
    conversations are made one by one, and all of these are complete once all were taken.

    Of a table, `headers` and `first_rows` show what is in it, and `columns` says what each column is:
    a key of `tables.MEANINGS` by header. `digest` identifies the content; "" if it is unknown.
    """

    name: str
    kind: str
    conversations: Iterable[RecordedConversation]
    losses: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    headers: tuple[str, ...] = ()
    first_rows: tuple[tuple[str, ...], ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    def __iter__(self) -> Iterator[RecordedConversation]:
        return iter(self.conversations)

    def lose(self, what: str) -> None:
        """Note a loss; equal ones are counted."""
        self.losses[what] = self.losses.get(what, 0) + 1

    def remark(self, what: str) -> None:
        """Note a guess, once."""
        if what not in self.remarks:
            self.remarks.append(what)


def _changed_turn(turn: TurnRecord, change: _Change) -> TurnRecord:
    return replace(
        turn,
        user=change(turn.user, ""),
        reply=change(turn.reply, ""),
        messages=tuple(_changed_message(message, change) for message in turn.messages),
        notes=tuple(change(note, "") for note in turn.notes),
        expected=None if turn.expected is None else change(turn.expected, ""),
        error=None if turn.error is None else change(turn.error, ""),
    )


def _changed_message(message: Message, change: _Change) -> Message:
    return replace(
        message,
        text=change(message.text, ""),
        reasoning=change(message.reasoning, ""),
        tool_calls=tuple(_changed_call(call, change) for call in message.tool_calls),
    )


def _changed_call(call: ToolCall, change: _Change) -> ToolCall:
    return replace(
        call,
        args={key: _changed_value(value, key, change) for key, value in call.args.items()},
        result=_changed_value(call.result, "", change),
        error=None if call.error is None else change(call.error, ""),
        chunks=tuple(replace(chunk, text=change(chunk.text, "")) for chunk in call.chunks),
    )


def _changed_value(value: Json, called: str, change: _Change) -> Json:
    if isinstance(value, str):
        return change(value, called)
    if isinstance(value, int) and not isinstance(value, bool):
        text = str(value)  # phone and card numbers come as numbers, too
        return value if (changed := change(text, called)) == text else changed
    if isinstance(value, list):
        return [_changed_value(item, called, change) for item in value]
    if isinstance(value, dict):
        return {key: _changed_value(item, key, change) for key, item in value.items()}
    return value
