"""Lists of chat messages, as data sets and other systems have them, in our words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evals_app.engine.basics.template import escape_braces
from evals_app.formats.reading.problems import Json

_SYSTEM = ("system", "developer")
_USER = ("user", "human")
_AGENT = ("assistant", "ai", "model", "gpt", "bot")
_ROLES = frozenset({*_SYSTEM, *_USER, *_AGENT, "tool", "function"})
_OF_PAIRS = frozenset({*_USER, *_AGENT, "id", "turn", "turn_id", "index", "timestamp"})
_UNKNOWN: Json = {"role": "", "content": None, "tool_calls": None}
_OF_LANGCHAIN = {
    **dict.fromkeys(("human", "HumanMessage"), "user"),
    **dict.fromkeys(("ai", "AIMessage"), "assistant"),
    **dict.fromkeys(("system", "SystemMessage"), "system"),
    **dict.fromkeys(("tool", "ToolMessage", "function", "FunctionMessage"), "tool"),
}
_JOINED = "Consecutive messages of the same side are sent as one."
_BEGINS = "A conversation begins with the user, so the agent's first message is left out."
_TOOLS = "Tool calls and their results among earlier messages are left out."
_NOT_TEXT = "Images, audio and files in messages are left out."
_NO_USER = "There is no user message, so the last system message is sent as the user's."

# The parameter of a case that contains its system prompt where the agent has one of its own.
INSTRUCTIONS = "instructions"
IN_PROMPTS = f"{{{{threadContext.params.{INSTRUCTIONS}}}}}"


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages as one of our turns: what was spoken before it, what the user says, what was answered.

    `calls` are the tool calls of the answer, as they are written. `remarks` report messages that are not supported here.
    """

    system: str
    history: list[Json]
    user: str
    answer: str | None
    remarks: tuple[str, ...]
    calls: list[Json] = field(default_factory=list)

    @property
    def history_in_case(self) -> list[Json]:
        """The history with its braces escaped: in data they are not variables."""
        return [{**item, "content": escape_braces(item["content"])} for item in self.history]

    def losses(self, agent: str | None) -> list[str]:
        """What is not said to this agent, which keeps its own system prompt."""
        return [*self.remarks, *([own_prompt(agent)] if self.system else [])]


def own_prompt(agent: str | None) -> str:
    """Return what happens to system prompts where the agent has its own."""
    return (
        f"The agent{f' {agent}' if agent else ''} keeps its own system prompt. To use the one "
        f"from here, put {IN_PROMPTS} into it. Each case supplies the text."
    )


def is_chat(value: Any) -> bool:
    """Whether a value is a list of messages.

    They are written as `{role, content}`, as `{from, value}`, as LangChain writes them, or as
    `{user, assistant}`, which are two.
    """
    if not isinstance(value, list) or not value:
        return False
    pairs = [item for item in value if isinstance(item, dict) and _is_pair(item)]
    return all(isinstance(item, dict) and _read_message(item) for item in value) and (
        not pairs or any(len(_read_message(item)) > 1 for item in pairs)
    )


def is_conversation(data: Any) -> bool:
    """Whether data is the messages of one conversation, and no list of records that have a role."""
    return is_chat(data) and not any(
        _is_pair(item)
        or message["role"] not in _ROLES
        or message["content"] is None is message["tool_calls"]
        for item in data
        for message in _read_message(item)
    )


def _is_pair(item: Json) -> bool:
    return item.keys() <= _OF_PAIRS


def _messages(written: Sequence[object]) -> list[Json]:
    """Return messages, each with its role and what it says."""
    items = (item for item in written if isinstance(item, dict))
    return [message for item in items for message in _read_message(item) or [_UNKNOWN]]


def _read_message(item: Json) -> list[Json]:
    role = item.get("role", item.get("from"))
    if isinstance(role, str):
        content, calls = item.get("content", item.get("value")), item.get("tool_calls")
        return [{"role": role.strip().lower(), "content": content, "tool_calls": calls}]
    if message := _of_langchain(item):
        return [message]
    spoken = {key: text for key, text in item.items() if key in _USER + _AGENT and text}
    if not _is_pair(item) or not all(isinstance(text, str) for text in spoken.values()):
        return []
    sides = sorted(spoken, key=_AGENT.__contains__)  # the user speaks first
    return [{"role": key, "content": spoken[key], "tool_calls": None} for key in sides]


def _of_langchain(item: Json) -> Json | None:
    """Return a message of LangChain: as its objects are shown, as dictionaries, or as they are stored."""
    kind, data = item.get("type"), item.get("data", item)
    if kind == "constructor" and isinstance(item.get("id"), list) and item["id"]:
        kind, data = item["id"][-1], item.get("kwargs")
    role = _OF_LANGCHAIN.get(kind.removesuffix("Chunk")) if isinstance(kind, str) else None
    if role is None or not isinstance(data, dict) or "content" not in data:
        return None
    more = data.get("additional_kwargs")
    calls = data.get("tool_calls") or (more.get("tool_calls") if isinstance(more, dict) else None)
    return {"role": role, "content": data["content"], "tool_calls": calls}


def read_chat(written: Sequence[object]) -> Chat | None:
    """Read a list of messages (see `is_chat`); None if nothing is asked in it."""
    messages = _messages(written)
    remarks: dict[str, None] = {}
    system: list[str] = []
    spoken: list[Json] = []
    last = max((n for n, message in enumerate(messages) if _is_user(message)), default=-1)
    for n, message in enumerate(messages):
        asked = n < last  # what comes later is what is expected
        role = message["role"]
        text, is_all = content_text(message["content"])
        if not is_all:
            remarks[_NOT_TEXT] = None
        if not (role in _SYSTEM + _USER or role in _AGENT) or (message["tool_calls"] and asked):
            remarks[_TOOLS] = None
        if not text.strip():
            continue
        if role in _SYSTEM:
            system.append(text)
        elif role in _USER + _AGENT:
            _add(spoken, "user" if role in _USER else "assistant", text, remarks)
    if spoken and spoken[0]["role"] == "assistant":
        remarks[_BEGINS] = None
        spoken.pop(0)
    _, calls = last_answer(messages)
    answer = spoken.pop()["content"] if spoken and spoken[-1]["role"] == "assistant" else None
    if not spoken and system:
        remarks[_NO_USER] = None
        spoken.append({"role": "user", "content": system.pop()})
    if not spoken:
        return None
    *history, final = spoken
    return Chat("\n\n".join(system), history, final["content"], answer, tuple(remarks), calls)


def read_turns(written: Sequence[object]) -> list[Chat]:
    """Read a list of messages as a conversation: a chat for each user message, without history."""
    turns: list[list[Json]] = []
    before: list[Json] = []
    messages = _messages(written)
    for message in messages:
        if _is_user(message) and not (turns and _is_user(turns[-1][-1])):
            turns.append([])
        (turns[-1] if turns else before).append(message)
    if not turns:
        return [chat] if (chat := read_chat(messages)) else []
    chats = list(map(read_chat, [[*before, *turns[0]], *turns[1:]]))
    return [chat for chat in chats if chat is not None]


def _is_user(message: Json) -> bool:
    return message["role"] in _USER


def last_answer(written: Sequence[object]) -> tuple[str | None, list[Json]]:
    """Return what the agent said last in a list of messages, and the tool calls after the last question."""
    text: str | None = None
    calls: list[Json] = []
    for message in _messages(written):
        if _is_user(message):
            text, calls = None, []
        elif message["role"] in _AGENT:
            said, _ = content_text(message["content"])
            text = said if said.strip() else text
            calls += [call for call in message["tool_calls"] or () if isinstance(call, dict)]
    return text, calls


def chat_of(asked: Any) -> Chat | None:
    """Read a question, or a list of messages; None if nothing is asked in it."""
    if isinstance(asked, str) and asked.strip():
        return Chat("", [], asked, None, ())
    return read_chat(asked) if is_chat(asked) else None


def _add(spoken: list[Json], role: str, text: str, remarks: dict[str, None]) -> None:
    if spoken and spoken[-1]["role"] == role:
        remarks[_JOINED] = None
        spoken[-1] = {"role": role, "content": f"{spoken[-1]['content']}\n\n{text}"}
    else:
        spoken.append({"role": role, "content": text})


def content_text(content: object) -> tuple[str, bool]:
    """Return the text of a message's content, and whether that is all of it."""
    if content is None or isinstance(content, str):
        return content or "", True
    if isinstance(content, dict):
        text = content.get("text")
        return (text, True) if isinstance(text, str) else ("", False)
    if isinstance(content, list):
        parts = [content_text(item) for item in content]
        return "\n".join(text for text, _ in parts if text), all(is_all for _, is_all in parts)
    return "", False
