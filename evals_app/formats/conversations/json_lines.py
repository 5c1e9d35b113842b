"""JSON Lines: one conversation a line, as `{"id": ..., "messages": [{"role", "content"}, ...]}`."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from evals_app.engine.record.trial import Message, TurnRecord
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from fixtures_app.ground.strict_json import read_strictly

KIND = "JSON Lines"
_ROLES = {"user": "user", "assistant": "assistant", "agent": "assistant", "customer": "user"}


class _UnreadableError(ValueError):
    """A line holds no conversation."""


def conversations_in(file: ConversationFile, content: bytes) -> Iterator[RecordedConversation]:
    """Read one conversation a line; what cannot be read is a problem of the file."""
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        place = f"{file.name}:{number}"
        try:
            yield _conversation(file, read_strictly(line.decode()), place)
        except (ValueError, RecursionError) as error:
            why = "this is not valid JSON." if isinstance(error, json.JSONDecodeError) else error
            file.problems.append(f"{place}: {why}")


def _conversation(file: ConversationFile, row: object, place: str) -> RecordedConversation:
    given = row.get("messages") if isinstance(row, Mapping) else None
    if not isinstance(row, Mapping) or not isinstance(given, list):
        raise _UnreadableError("a conversation needs a list of messages.")
    messages = [_message(file, item, place) for item in given]
    history, turns = in_turns([message for message in messages if message is not None])
    if not turns:
        raise _UnreadableError("no message is from a user.")
    written = json.dumps(given, sort_keys=True)
    tags, given_id = row.get("tags") or [], row.get("id")
    return RecordedConversation(
        id=hashlib.sha256(written.encode()).hexdigest()[:32]
        if given_id in {None, ""}
        else str(given_id),
        turns=turns,
        history=history,
        happened_at=_date(row.get("date")),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (str(tags),),
        place=place,
    )


def _message(file: ConversationFile, item: object, place: str) -> Message | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("content"), str):
        raise _UnreadableError("each message needs a role and its content as text.")
    role = _ROLES.get(str(item.get("role")))
    if role is None:
        file.lose(f"{place}: a message of the role {item.get('role')}.")
        return None
    text: str = item["content"]
    return Message("user", text) if role == "user" else Message.of_agent(text)


def in_turns(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[TurnRecord, ...]]:
    """Return what was said before the first message of the user, and the turns from there on."""
    first = next((n for n, item in enumerate(messages) if item.role == "user"), len(messages))
    turns: list[TurnRecord] = []
    at = first
    while at < len(messages):
        said, at = _next_of("user", messages, at)
        answers, at = _next_of("assistant", messages, at)
        turns.append(
            TurnRecord(
                len(turns) + 1,
                "\n\n".join(message.text for message in said),
                reply=answers[-1].text if answers else "",
                messages=tuple(answers),
                reports_calls=False,
            )
        )
    return tuple(messages[:first]), tuple(turns)


def _next_of(role: str, messages: Sequence[Message], at: int) -> tuple[list[Message], int]:
    found = []
    while at < len(messages) and messages[at].role == role:
        found.append(messages[at])
        at += 1
    return found, at


def _date(written: object) -> datetime | None:
    """Return when it happened, in UTC where the file names no time zone; None if it is unknown."""
    if written is None:
        return None
    try:
        found = datetime.fromisoformat(str(written))
    except ValueError:
        raise ValueError(f"{written} is not a date. Write it as 2026-11-28T14:30:00Z.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
