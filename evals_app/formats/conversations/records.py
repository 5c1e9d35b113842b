"""Conversations as JSON records: messages of model APIs, tickets of help desks, results of evals.

One record is one conversation. What a record has beside its messages are facts about it.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from evals_app.engine.record.trial import TurnRecord
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.base_spec import MAX_INTEGER
from evals_app.formats.conversations.messages import (
    ROLES,
    SAID,
    SYSTEM,
    MessageReader,
    in_turns,
    system_prompt_of,
)
from evals_app.formats.conversations.recorded import (
    ConversationFile,
    OutsideGrade,
    RecordedConversation,
)
from evals_app.formats.conversations.times import TimeReader
from fixtures_app.ground.strict_json import Json, JsonObject

MESSAGES = (
    *("messages", "comments", "conversation", "turns", "transcript", "thread", "history", "events"),
    *("conversation_parts", "chat", "dialog", "dialogue", "items", "input", "parts"),
)
_LISTS = ("conversations", "tickets", "data", "threads", "chats", "sessions", "records", "results")
# Of Help Scout; its “user” is one of the staff.
_THREADS = {"customer": "user", "message": "assistant", "chat": "user", "reply": "assistant"}
_IDS = ("id", "conversation_id", "ticket_id", "thread_id", "session_id", "chat_id", "uuid", "key")
_TIMES = ("created_at", "date", "timestamp", "started_at", "created", "time", "happened_at")
_TAGS = ("tags", "labels", "topics", "topic", "category", "tag")
_AGENTS = ("agent", "assistant", "bot", "model", "assignee")
_QUESTIONS = ("question", "prompt", "query", "user", "user_message", "input", "customer_message")
_ANSWERS = ("answer", "response", "reply", "completion", "output", "assistant", "agent_reply")
_NAMES = ("customer_name", "requester_name", "user_name", "agent_name", "assignee_name")
_MAX_FACT = 300  # characters
MAX_TAGS = 20


class NoConversationError(ValueError):
    """A record holds no conversation; the message says what it has."""


def records_in(value: Json) -> list[Json]:
    """Return the records of a document: its list, wherever that is; or the document as the only one."""
    if isinstance(value, list):
        return [value] if _is_messages(value) else value
    if isinstance(value, dict) and _messages_of(value) is None:
        if isinstance(inner := value.get("_embedded"), dict):
            value = inner
        for key in _LISTS:
            if isinstance(found := value.get(key), list) and found:
                return found
    return [value]


def read_record(
    file: ConversationFile, value: Json, place: str, *, times: TimeReader
) -> RecordedConversation:
    """Read one conversation.

    Raises:
        NoConversationError: it has none.
    """
    record: JsonObject = {"messages": value} if isinstance(value, list) else _object(value)
    if record.get("object") == "eval.run.output_item":
        return _of_output_item(file, record, place)
    messages = _messages_of(record)
    reader = MessageReader(file, times, customer=str(record.get("requester_id") or ""))
    if messages is None:
        messages = _exchange(record)
    opening = record.get("source") or record.get("description")  # of Intercom, of Zendesk
    if isinstance(opening, dict) and opening.get("body"):
        reader.read([{"role": "user", **opening}])
    if isinstance(asked := record.get("description_text"), str) and asked.strip():  # of Freshdesk
        reader.read([{"role": "user", "content": asked}])
    reader.read([*_prompts(record), *messages, *_replies(record)])
    return _conversation(reader, record, place)


def _object(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise NoConversationError("A conversation is an object or a list of messages.")
    return value


def _is_messages(value: Json) -> bool:
    """Whether a list is messages, rather than records."""
    if not isinstance(value, list) or not value:
        return False
    says = [
        isinstance(item, dict) and _messages_of(item) is None and _has_role(item) for item in value
    ]
    return all(says)


def _has_role(item: JsonObject) -> bool:
    role = item.get("role", item.get("from"))
    return isinstance(role, str) and role.lower() in ROLES


def _messages_of(record: JsonObject) -> list[Json] | None:
    for key in MESSAGES:
        found = record.get(key)
        if isinstance(found, dict):  # as Intercom nests them
            found = found.get(key) or found.get("messages")
        if isinstance(found, list) and found:
            return found
    found = record.get("conversations")  # of Freshdesk, or of records one level above
    if isinstance(found, list) and found and all(map(_says_something, found)):
        return found
    return _threads(record)


def _says_something(item: Json) -> bool:
    is_said = isinstance(item, dict) and any(isinstance(item.get(key), str) for key in SAID)
    return is_said and isinstance(item, dict) and _messages_of(item) is None


def _threads(record: JsonObject) -> list[Json] | None:
    """Return the messages of a conversation as Help Scout has them."""
    inner = record.get("_embedded")
    threads = inner.get("threads") if isinstance(inner, dict) else None
    if not isinstance(threads, list):
        return None
    return [
        {
            "role": _THREADS.get(str(thread.get("type")), str(thread.get("type"))),
            "content": f"<div>{thread.get('body') or ''}</div>",  # HTML, with or without a tag
            "created_at": thread.get("createdAt"),
        }
        for thread in threads
        if isinstance(thread, dict)
    ]


def _exchange(record: JsonObject) -> list[Json]:
    """Return a question and its answer as messages.

    Raises:
        NoConversationError: there is no question.
    """
    question = next((record[key] for key in _QUESTIONS if isinstance(record.get(key), str)), None)
    answer = next((record[key] for key in _ANSWERS if isinstance(record.get(key), str)), None)
    if question is None:
        keys = ", ".join(list(record)[:8]) or "nothing"
        raise NoConversationError(
            f"It has no messages and no question. It has: {keys}. Messages are expected in “messages”, "
            "each with a role and its content."
        )
    asked: list[Json] = [{"role": "user", "content": question}]
    return [*asked, {"role": "assistant", "content": answer}] if answer is not None else asked


def _prompts(record: JsonObject) -> list[Json]:
    """Return the system prompt that is written beside the messages, as Anthropic and Responses have it."""
    prompt = record.get("system", record.get("instructions"))
    return (
        [{"role": SYSTEM, "content": prompt}] if isinstance(prompt, str | list) and prompt else []
    )


def _replies(record: JsonObject) -> list[Json]:
    """Return what the model answered, where it is kept apart from what it was asked."""
    response = record.get("response", record)
    if not isinstance(response, dict):
        return []
    choices, output = response.get("choices"), response.get("output")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return [choices[0].get("message")]
    if isinstance(output, list) and (response is not record or "input" in record):
        return output
    if response is not record and isinstance(response.get("content"), list):
        return [{"role": "assistant", **response}]
    return []


def _conversation(reader: MessageReader, record: JsonObject, place: str) -> RecordedConversation:
    history, turns = in_turns(
        reader.said, reports_calls=reader.reports_calls or bool(record.get("tools"))
    )
    if not turns:
        raise NoConversationError("No message of it is from a user.")
    usage, cost = _usage_of(record), _cost_of(record)
    if len(turns) == 1:
        turns = (replace(turns[0], usage=usage, cost_usd=cost, model=_text(record.get("model"))),)
    elif usage != Usage() or cost is not None:
        reader.file.lose(
            "Tokens and costs of whole conversations were left out: turns have their own."
        )
    written = next((record[key] for key in _IDS if isinstance(record.get(key), str | int)), None)
    at = next((reader.times.read(record[key]) for key in _TIMES if record.get(key)), None)
    return RecordedConversation(
        id=str(written) if written not in (None, "") else digest_of(turns),
        turns=turns,
        history=history,
        happened_at=at or next((one.at for one in reader.said if one.at), None),
        agent=_text(next((record[key] for key in _AGENTS if record.get(key)), None)) or "",
        system_prompt=system_prompt_of(reader.said),
        tags=tuple(dict.fromkeys(_tags(record)))[:MAX_TAGS],
        names=(*reader.names, *_names(record)),
        facts=_facts(record),
        grades=tuple(_grades(record)),
        place=place,
    )


def digest_of(turns: Sequence[TurnRecord]) -> str:
    """Return an id for a conversation without one: a digest of what was said in it."""
    said = json.dumps([[turn.user, turn.reply] for turn in turns], ensure_ascii=False)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _text(value: Json) -> str | None:
    if isinstance(value, dict):
        value = value.get("name") or value.get("id")
    return str(value) if isinstance(value, str | int) and value != "" else None


def _tags(record: JsonObject) -> Iterator[str]:
    for key in _TAGS:
        found = record.get(key)
        if isinstance(found, dict):  # as Intercom nests them
            found = found.get(key)
        for tag in found if isinstance(found, list) else str(found).split(",") if found else ():
            if text := _text(tag):
                yield text.strip()


def _names(record: JsonObject) -> Iterator[str]:
    for key in _NAMES:
        if isinstance(record.get(key), str):
            yield str(record[key])
    for key in ("customer", "requester", "contact", "user"):
        of = record.get(key)
        if isinstance(of, dict) and isinstance(of.get("name"), str):
            yield str(of["name"])


def _facts(record: JsonObject) -> dict[str, str]:
    """Return the short values beside the messages, with those of `metadata`."""
    known = {
        *MESSAGES,
        *_IDS,
        *_TIMES,
        *_TAGS,
        *_AGENTS,
        "object",
        "system",
        "instructions",
        "usage",
    }
    own = {key: value for key, value in record.items() if key not in known}
    more = record.get("metadata")
    found = {**own, **(more if isinstance(more, dict) else {})}
    return {
        str(key): str(value)[:_MAX_FACT]
        for key, value in found.items()
        if isinstance(value, str | int | float | bool) and key not in (*_QUESTIONS, *_ANSWERS)
    }


def _usage_of(record: JsonObject) -> Usage:
    """Return the tokens that a model API reports with its answer."""
    response = record.get("response")
    used = record.get("usage") or (response.get("usage") if isinstance(response, dict) else None)
    if not isinstance(used, dict):
        return Usage()
    given, answered = (
        next((count for key in keys if (count := _count(used.get(key))) is not None), None)
        for keys in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    )
    return Usage(
        given,
        answered,
        cache_read=_count(used.get("cache_read_input_tokens")) or 0,
        cache_write_5m=_count(used.get("cache_creation_input_tokens")) or 0,
    )


def _count(value: Json) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INTEGER
    return int(value) if is_count and isinstance(value, int) else None


def _cost_of(record: JsonObject) -> Decimal | None:
    value = record.get("cost_usd", record.get("cost"))
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return cost if cost.is_finite() and cost >= 0 else None


def _grades(record: JsonObject) -> Iterator[OutsideGrade]:
    """Return the grades that came with a conversation, in the lists that eval products have."""
    for key in ("grades", "scores", "evaluations", "feedback"):
        found = record.get(key)
        if isinstance(found, dict):
            found = [{"name": name, "score": score} for name, score in found.items()]
        for item in found if isinstance(found, list) else ():
            if isinstance(item, dict) and (grade := _grade(item)):
                yield grade


def _grade(item: JsonObject) -> OutsideGrade | None:
    name = _text(item.get("name") or item.get("metric") or item.get("type"))
    passed, score = item.get("passed", item.get("success")), item.get("score", item.get("value"))
    is_score = isinstance(score, int | float) and not isinstance(score, bool)
    if name is None or not (is_score or isinstance(passed, bool)):
        return None
    return OutsideGrade(
        name,
        passed if isinstance(passed, bool) else None,
        float(score) if is_score and isinstance(score, int | float) else None,
        str(item.get("reason") or item.get("comment") or ""),
    )


def _of_output_item(file: ConversationFile, record: JsonObject, place: str) -> RecordedConversation:
    """Read a result of OpenAI Evals, with the grades of its own graders."""
    sample = record.get("sample")
    sample = sample if isinstance(sample, dict) else {}
    asked, answered = sample.get("input"), sample.get("output")
    reader = MessageReader(file)
    for said in (asked, answered):
        reader.read(said if isinstance(said, list) else [])
    facts = record.get("datasource_item")
    found = _conversation(
        reader,
        {
            "id": record.get("id"),
            "created_at": record.get("created_at"),
            "model": sample.get("model"),
            "usage": sample.get("usage"),
            "metadata": facts,
            "grades": record.get("results"),
        },
        place,
    )
    if error := sample.get("error"):
        said = error.get("message") if isinstance(error, dict) else error
        turns = (*found.turns[:-1], replace(found.turns[-1], error=str(said)))
        return replace(found, turns=turns)
    return found
