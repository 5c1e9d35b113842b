"""Lists of chat messages, as data sets and other systems have them, in our words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evals_app.engine.basics.template import escape_braces
from evals_app.formats.reading.problems import Json

_SYSTEM = ("system", "developer")
_USER = ("user", "human")
_AGENT = ("assistant", "ai", "model", "gpt", "bot")
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
    """Whether a value is a list of messages: each with a role and what it says."""
    return bool(isinstance(value, list) and value) and all(
        isinstance(item, dict) and isinstance(item.get("role", item.get("from")), str)
        for item in value
    )


def read_chat(messages: Sequence[Json]) -> Chat | None:
    """Read a list of messages (see `is_chat`); None if nothing is asked in it."""
    remarks: dict[str, None] = {}
    system: list[str] = []
    spoken: list[Json] = []
    last = max((n for n, message in enumerate(messages) if _is_user(message)), default=-1)
    for n, message in enumerate(messages):
        asked = n < last  # what comes later is what is expected
        role = str(message.get("role", message.get("from"))).strip().lower()
        text, is_all = content_text(message.get("content", message.get("value")))
        if not is_all:
            remarks[_NOT_TEXT] = None
        if not (role in _SYSTEM + _USER or role in _AGENT) or (message.get("tool_calls") and asked):
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


def read_turns(messages: Sequence[Json]) -> list[Chat]:
    """Read a list of messages as a conversation: a chat for each user message, without history."""
    turns: list[list[Json]] = []
    before: list[Json] = []
    for message in messages:
        role = str(message.get("role", message.get("from"))).strip().lower()
        if role in _USER and not (turns and _is_user(turns[-1][-1])):
            turns.append([])
        (turns[-1] if turns else before).append(message)
    if not turns:
        return [chat] if (chat := read_chat(messages)) else []
    chats = list(map(read_chat, [[*before, *turns[0]], *turns[1:]]))
    return [chat for chat in chats if chat is not None]


def _is_user(message: Json) -> bool:
    return str(message.get("role", message.get("from"))).strip().lower() in _USER


def last_answer(messages: Sequence[Json]) -> tuple[str | None, list[Json]]:
    """Return what the agent said last in a list of messages, and the tool calls after the last question."""
    text: str | None = None
    calls: list[Json] = []
    for message in messages:
        role = str(message.get("role", message.get("from"))).strip().lower()
        if role in _USER:
            text, calls = None, []
        elif role in _AGENT:
            said, _ = content_text(message.get("content", message.get("value")))
            text = said if said.strip() else text
            calls += [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
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
