"""Lists of chat messages, as data sets and other systems have them, in our words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_SYSTEM = ("system", "developer")
_USER = ("user", "human")
_AGENT = ("assistant", "ai", "model", "gpt", "bot")
_JOINED = "Several messages of one side in a row are sent as one."
_BEGINS = "The agent speaks first here, which no conversation does: its first message is left out."
_TOOLS = "Tool calls and their results among earlier messages are left out."
_NOT_TEXT = "Pictures, sounds and files in messages are left out."
_NO_USER = "No message is the user's, so the last system message is sent as the user's."

# The parameter of a case that holds its system prompt where the agent has one of its own.
INSTRUCTIONS = "instructions"
IN_PROMPTS = f"{{{{threadContext.params.{INSTRUCTIONS}}}}}"


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages as one of our turns: what was said before it, what the user says, what was answered.

    `remarks` say what became of messages that have no place here.
    """

    system: str
    history: list[Json]
    user: str
    answer: str | None
    remarks: tuple[str, ...]


def own_prompt(agent: str | None) -> str:
    """Say what becomes of system prompts where the agent has its own."""
    return (
        f"The agent{f' {agent}' if agent else ''} keeps its own system prompt. To use the one from "
        f"here, put {IN_PROMPTS} into it: each case brings its text."
    )


def is_chat(value: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether a value is a list of messages: each with a role and what it says."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(each, dict) and isinstance(each.get("role", each.get("from")), str)
            for each in value
        )
    )


def read_chat(messages: Sequence[Json]) -> Chat | None:
    """Read a list of messages (see `is_chat`); None if nothing is asked in it."""
    remarks: dict[str, None] = {}
    system: list[str] = []
    said: list[Json] = []
    for each in messages:
        role = str(each.get("role", each.get("from"))).strip().lower()
        text, is_all = content_text(each.get("content", each.get("value")))
        if not is_all:
            remarks[_NOT_TEXT] = None
        if not (role in _SYSTEM + _USER or role in _AGENT) or each.get("tool_calls"):
            remarks[_TOOLS] = None
        if not text.strip():
            continue
        if role in _SYSTEM:
            system.append(text)
        elif role in _USER + _AGENT:
            _add(said, "user" if role in _USER else "assistant", text, remarks)
    if said and said[0]["role"] == "assistant":
        remarks[_BEGINS] = None
        said.pop(0)
    answer = said.pop()["content"] if said and said[-1]["role"] == "assistant" else None
    if not said and system:
        remarks[_NO_USER] = None
        said.append({"role": "user", "content": system.pop()})
    if not said:
        return None
    *history, last = said
    return Chat("\n\n".join(system), history, last["content"], answer, tuple(remarks))


def _add(said: list[Json], role: str, text: str, remarks: dict[str, None]) -> None:
    if said and said[-1]["role"] == role:
        remarks[_JOINED] = None
        said[-1] = {"role": role, "content": f"{said[-1]['content']}\n\n{text}"}
    else:
        said.append({"role": role, "content": text})


def content_text(content: Any) -> tuple[str, bool]:  # noqa: ANN401 - JSON
    """Return the text of a message's content, and whether that is all of it."""
    if content is None:
        return "", True
    if isinstance(content, str):
        return content, True
    if isinstance(content, dict):
        text = content.get("text")
        return (text, True) if isinstance(text, str) else ("", False)
    if isinstance(content, list):
        parts = [content_text(each) for each in content]
        return "\n".join(text for text, _ in parts if text), all(is_all for _, is_all in parts)
    return "", False
