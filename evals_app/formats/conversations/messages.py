"""Messages of many makers, folded into the turns of a conversation.

Read are the messages of OpenAI and Anthropic, with their tool calls, and those of help desks. What a
message has and a conversation does not keep is a loss of the file.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from evals_app.engine.agents.tools.tool_calls import json_or_text
from evals_app.engine.record.trial import Message, ToolCall, TurnRecord
from evals_app.formats.conversations.recorded import ConversationFile
from evals_app.formats.conversations.times import TimeReader
from fixtures_app.ground.strict_json import Json

USER, AGENT, SYSTEM, TOOL, NOTE = "user", "assistant", "system", "tool", "note"

_ROLE_WORDS = {
    USER: "user human customer client visitor guest requester end-user enduser end_user contact lead buyer"
    " consumer inbound incoming in received caller kunde kundin besucher nutzer benutzer utilisateur"
    " usuario cliente visiteur demandeur person question",
    AGENT: "assistant agent ai bot model gpt support admin operator staff teammate employee representative rep"
    " outbound outgoing out sent chatbot assistent mitarbeiter berater servicemitarbeiter conseiller agente"
    " asistente soporte service team helpdesk answer",
    SYSTEM: "system developer",
    TOOL: "tool function function_call_output tool_result ipython",
    NOTE: "note internal private internal_note event log workflow automation notification activity lineitem",
}
ROLES = {word: role for role, words in _ROLE_WORDS.items() for word in words.split()}

SAID = (
    *(
        "content",
        "text",
        "body",
        "message",
        "plain_body",
        "plain_text",
        "body_text",
        "value",
        "msg",
    ),
    *("html_body", "body_html", "html"),
)
_AUTHORS = (
    *("role", "author_role", "author_type", "sender_type", "speaker", "from", "author", "sender"),
    *("direction", "user_type", "message_type", "type", "name"),
)
_TIMES = (
    "created_at",
    "timestamp",
    "time",
    "date",
    "sent_at",
    "created",
    "ts",
    "datetime",
    "created_on",
)
_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
_PRIVATE = {
    "public": False,
    "is_public": False,
    "private": True,
    "internal": True,
    "is_private": True,
}
# Keys that say by yes or no who wrote a message: who it is if they are true; if not, the other.
SAYS_WHO = {
    **dict.fromkeys(
        ("incoming", "inbound", "is_inbound", "is_incoming", "from_customer", "is_customer"), USER
    ),
    **dict.fromkeys(("from_agent", "is_agent", "outbound", "is_outbound", "outgoing"), AGENT),
}
OTHER = {USER: AGENT, AGENT: USER}
_NUMBERED = (USER, AGENT, NOTE, AGENT)  # of Chatwoot
_BLOCK = re.compile(r"<\s*(?:br|/p|/div|/li|/tr|/h\d)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]+>")
_IS_HTML = re.compile(r"<(?:p|div|br|html|span|a|b|strong|ul|table)\b[^>]*>", re.IGNORECASE)


@dataclass(slots=True)
class RecordedCall:
    """A tool call whose result may come with a later message."""

    id: str
    name: str
    args: dict[str, Json]
    result: Json = None
    error: str | None = None

    def to_call(self) -> ToolCall:
        return ToolCall(self.name, self.args, self.result, self.error)


@dataclass(slots=True)
class SpokenMessage:
    """One message: who said what when, and which tools were called along with it."""

    role: str
    text: str
    at: datetime | None = None
    calls: list[RecordedCall] = field(default_factory=list)
    reasoning: str = ""


@dataclass(slots=True)
class MessageReader:
    """Reads the messages of one conversation. `customer` is the id of who asked, if it is known."""

    file: ConversationFile
    times: TimeReader = field(default_factory=TimeReader)
    customer: str = ""
    said: list[SpokenMessage] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    reports_calls: bool = False

    def read(self, items: Iterable[object]) -> "MessageReader":
        """Read messages, in their order."""
        for item in items:
            if isinstance(item, Mapping):
                self._read(item)
            elif isinstance(item, str) and item.strip():
                self.said.append(
                    SpokenMessage(AGENT if self._last_role() == USER else USER, item.strip())
                )
            else:
                self.file.lose("A message is not an object, so it was left out.")
        return self

    def _last_role(self) -> str:
        return self.said[-1].role if self.said else ""

    def _read(self, item: Mapping[str, Json]) -> None:
        kind = str(item.get("type") or "")
        if kind in {"function_call", "tool_call"} and item.get("name"):
            self._agent_message().calls.append(self._call(item, item.get("arguments")))
            return
        if kind in {"function_call_output", "tool_call_output"}:
            self._answer(str(item.get("call_id") or ""), item.get("output"))
            return
        if kind == "reasoning":
            return
        role, at = self._role_of(item), self._time_of(item)
        if role == NOTE:
            self.file.lose("Internal notes and events were left out.")
            return
        if not role:
            word = _word(next((item[key] for key in _AUTHORS if item.get(key)), ""))
            self.file.lose(f"Messages of “{word}” were left out: this role is not known.")
            return
        if role == TOOL:
            key = item.get("tool_call_id") or item.get("call_id") or item.get("name")
            self._answer(str(key or ""), item.get("content"))
            return
        said = SpokenMessage(role, "", at)
        parts = [self._part(said, part) for part in _parts(item)]
        said.text = "\n\n".join(part for part in parts if part.strip()).strip()
        for call in _list(item.get("tool_calls")):
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(call, Mapping):
                of = function if isinstance(function, Mapping) else call
                said.calls.append(self._call({**of, "id": call.get("id")}, of.get("arguments")))
        self.reports_calls = self.reports_calls or bool(said.calls)
        if said.text or said.calls:
            self.said.append(said)

    def _part(self, said: SpokenMessage, part: object) -> str:
        """Return the text of a part of a message; its calls and results go where they belong."""
        if isinstance(part, str):
            return _plain(part)
        if not isinstance(part, Mapping):
            return ""
        kind = str(part.get("type") or "text")
        if kind in _TEXT_PARTS:
            return _plain(str(part.get("text") or part.get("refusal") or part.get("content") or ""))
        if kind in {"thinking", "reasoning"}:
            said.reasoning = str(
                part.get("thinking") or part.get("text") or part.get("content") or ""
            )
        elif kind in {"tool_use", "tool_call"}:
            said.calls.append(self._call(part, part.get("input", part.get("arguments"))))
        elif kind in {"tool_result", "tool_call_response"}:
            key = part.get("tool_use_id") or part.get("id")
            content = part.get("content", part.get("response", part.get("result")))
            self._answer(str(key or ""), content, failed=bool(part.get("is_error")))
        else:
            self.file.lose(f"Parts of messages other than text were left out: {kind}.")
        return ""

    def _call(self, item: Mapping[str, Json], arguments: Json) -> RecordedCall:
        self.reports_calls = True
        read = json_or_text(arguments) if isinstance(arguments, str) else arguments
        args: dict[str, Json] = {} if read in (None, "") else {"input": read}
        args = read if isinstance(read, dict) else args
        key = item.get("call_id") or item.get("id") or item.get("name")
        return RecordedCall(str(key or ""), str(item.get("name") or "tool"), args)

    def _answer(self, key: str, content: Json, *, failed: bool = False) -> None:
        calls = [call for said in self.said for call in said.calls]
        call = next((each for each in reversed(calls) if key in (each.id, each.name)), None)
        text = content if isinstance(content, str) else text_of(content)
        if call is None:
            self.file.lose("The result of a tool call that is not in the file was left out.")
        elif failed:
            call.error = text
        else:
            call.result = json_or_text(text) if text is not None else content

    def _agent_message(self) -> SpokenMessage:
        if self._last_role() != AGENT:
            self.said.append(SpokenMessage(AGENT, ""))
        return self.said[-1]

    def _role_of(self, item: Mapping[str, Json]) -> str:
        if any(item.get(key) is value for key, value in _PRIVATE.items()):
            return NOTE
        if item.get("author_id") is not None and self.customer:
            return USER if str(item["author_id"]) == self.customer else AGENT
        for key, writer in SAYS_WHO.items():
            if isinstance(says := item.get(key), bool):
                return writer if says else OTHER[writer]
        number = item.get("message_type")
        if type(number) is int and 0 <= number < len(_NUMBERED):
            return _NUMBERED[number]
        for key in _AUTHORS:
            if (role := ROLES.get(_word(item.get(key)).lower())) is not None:
                self._note_names(item)
                return role
        return ""

    def _note_names(self, item: Mapping[str, Json]) -> None:
        for key in ("author", "sender", "from"):
            of = item.get(key)
            if isinstance(of, Mapping) and isinstance(of.get("name"), str):
                self.names[str(of["name"])] = None
        for key in ("author_name", "sender_name", "customer_name", "agent_name"):
            if isinstance(item.get(key), str):
                self.names[str(item[key])] = None

    def _time_of(self, item: Mapping[str, Json]) -> datetime | None:
        return self.times.read(next((item[key] for key in _TIMES if item.get(key)), None))


def _word(author: Json) -> str:
    """Return the word for who wrote a message."""
    if isinstance(author, Mapping):
        author = author.get("role") or author.get("type") or ""
    return author.strip() if isinstance(author, str) else ""


def _parts(item: Mapping[str, Json]) -> Sequence[Json]:
    for key in SAID:
        value = item.get(key)
        if isinstance(value, str) and value.strip():
            return [value]
        if isinstance(value, list) and value:
            return value
        if isinstance(value, Mapping):
            return [value]
    return _list(item.get("parts"))


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def text_of(content: Json) -> str | None:
    """Return the text of a list of parts; None if it has others."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in _list(content) if isinstance(part, Mapping)]
    texts = [part for part in parts if isinstance(part, str)]
    return "\n".join(texts) if texts and len(texts) == len(_list(content)) else None


def _plain(text: str) -> str:
    """Return a text without the HTML that help desks write around it."""
    if not _IS_HTML.search(text):
        return text
    return html.unescape(_TAG.sub("", _BLOCK.sub("\n", text))).strip()


def system_prompt_of(said: Sequence[SpokenMessage]) -> str:
    """Return the instructions of the agent."""
    return "\n\n".join(one.text for one in said if one.role == SYSTEM)


def in_turns(
    said: Sequence[SpokenMessage], *, reports_calls: bool
) -> tuple[tuple[Message, ...], tuple[TurnRecord, ...]]:
    """Return what was said before the first message of the user, and the turns from there on.

    Consecutive messages of the user are one. What the user wrote last and got no answer to is a note
    of the turn before, if there is one: nothing was to be answered to "Thanks!".
    """
    spoken = [one for one in said if one.role in (USER, AGENT)]
    first = next((n for n, one in enumerate(spoken) if one.role == USER), len(spoken))
    groups: list[tuple[list[SpokenMessage], list[SpokenMessage]]] = []
    for one in spoken[first:]:
        if one.role == USER and (not groups or groups[-1][1]):
            groups.append(([], []))
        groups[-1][one.role == AGENT].append(one)
    notes: tuple[str, ...] = ()
    if len(groups) > 1 and not groups[-1][1]:
        text = "\n\n".join(one.text for one in groups.pop()[0])
        notes = (f"The user wrote afterwards, without an answer: {text}",)
    turns = [
        replace(_turn(number, asked, answered), reports_calls=reports_calls)
        for number, (asked, answered) in enumerate(groups, 1)
    ]
    if notes:
        turns[-1] = replace(turns[-1], notes=notes)
    return tuple(map(_message, spoken[:first])), tuple(turns)


def _turn(number: int, asked: list[SpokenMessage], answered: list[SpokenMessage]) -> TurnRecord:
    messages = tuple(map(_message, answered))
    texts = [message.text for message in messages if message.text]
    begin, end = asked[-1].at, answered[-1].at if answered else None
    took = (end - begin).total_seconds() * 1000 if begin and end and end >= begin else None
    return TurnRecord(
        number,
        "\n\n".join(one.text for one in asked),
        reply=texts[-1] if texts else "",
        messages=messages,
        latency_ms=took,
    )


def _message(said: SpokenMessage) -> Message:
    calls = tuple(call.to_call() for call in said.calls)
    if said.role == USER:
        return Message("user", said.text)
    message = Message.of_agent(said.text, calls)
    thought = "\n\n".join(filter(None, [said.reasoning, message.reasoning]))
    return Message("assistant", message.text, calls, thought)
