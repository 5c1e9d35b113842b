"""The forms for an agent with an address: what a person pastes, and the places they choose in it.

Values of headers that look like keys are never kept: the draft names a variable in their place.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString
from pydantic import TypeAdapter, ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from evals_app.admin.agents.curl import CurlRequest, read_pasted
from evals_app.admin.kit.presentation import first_words, plural
from evals_app.engine.agents.external import reply_places
from evals_app.engine.agents.external.chat import chat_reply
from evals_app.engine.agents.external.reply import AgentReply, parse_reply
from evals_app.engine.agents.external.reply_places import CallsPlace, ReplyPlace
from evals_app.engine.agents.external.streams import (
    format_of,
    has_json_lines,
    is_object,
    pieces_for,
    recorded_events,
)
from evals_app.engine.basics.errors import AgentError, ReplyMismatchError
from evals_app.engine.basics.permits import permits
from evals_app.engine.basics.template import escape_braces
from evals_app.engine.specs.tool_spec import OURS, CalledUrl, looks_secret
from evals_app.engine.specs.wire_spec import StreamSpec
from evals_app.models import Agent
from fixtures_app.ground.json_data import json_problems
from fixtures_app.ground.json_paths import Steps, parse_path
from fixtures_app.ground.nesting import TOO_DEEP, is_too_deep
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.ground.storable import storable
from fixtures_app.ground.words import numbered_name

_MAX_CHARS = 100_000
_VARIABLE_CHARS = 200
_POSITIONS = {0: "first", -1: "last"}


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A reply and its kind; `value` is its JSON, `read` the result of parsing it.

    For a `stream`, the value combines the pieces of all events.
    """

    kind: Literal["chat", "own", "text", "foreign"]
    value: Any = None
    read: AgentReply | None = None
    stream: Literal["sse", "ndjson"] | None = None


def read_recorded_reply(text: str) -> RecordedReply:
    """Read a reply as a run would, or detect that it has another shape.

    Raises:
        AgentError: there is no text in it.
    """
    if written := _stream_format(text):
        return _recorded_stream(text, written)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict | list):
        return RecordedReply("text", value, parse_reply(text))
    if is_too_deep(value):
        raise AgentError(f"The agent's reply is {TOO_DEEP}.")
    value = storable(value)
    try:
        if isinstance(value, dict) and "choices" in value:
            return RecordedReply("chat", value, chat_reply(text))
        if isinstance(value, dict) and isinstance(value.get("output", value.get("result")), str):
            return RecordedReply("own", value, parse_reply(text))
    except (AgentError, ReplyMismatchError):
        pass  # it has another shape after all
    if not reply_places.texts(value):
        raise AgentError("This reply has no text that could be the answer.")
    return RecordedReply("foreign", value)


def _stream_format(text: str) -> Literal["sse", "ndjson"] | None:
    """Return the format of a recorded stream; None if the text is not one."""
    return "ndjson" if has_json_lines(text) else format_of("", text)


def _recorded_stream(text: str, written: Literal["sse", "ndjson"]) -> RecordedReply:
    """Read a stream as a run would, or detect that its events have another shape."""
    events = recorded_events(text, format=written)
    values = [json.loads(event.data) for event in events if is_object(event.data)]
    if any(map(is_too_deep, values)):
        raise AgentError(f"The agent's reply is {TOO_DEEP}.")
    value = storable(reply_places.merge_events(values)) if values else {}
    kind: Literal["chat", "own", "text", "foreign"] = "foreign"
    if len(values) < len(events):
        kind = "text"
    elif "choices" in value:
        kind = "chat"
    elif isinstance(value.get("output"), str):
        kind = "own"
    if kind != "foreign":
        pieces = pieces_for(StreamSpec(format=written), is_chat=kind == "chat")
        with suppress(AgentError, ReplyMismatchError):
            for event in events:
                pieces.add(event)
            return RecordedReply(kind, value, pieces.reply(str), written)
    if not reply_places.texts(value):
        raise AgentError("This reply has no text that could be the answer.")
    return RecordedReply("foreign", value, stream=written)


def _mono(rows: int) -> UnfoldAdminTextareaWidget:
    return UnfoldAdminTextareaWidget(
        attrs={"rows": rows, "class": "ew-mono", "spellcheck": "false", "autocomplete": "off"}
    )


def _refuse_odd_header(name: str, value: str) -> None:
    if not (f"{name}{value}".isascii() and f"{name}{value}".isprintable()):
        raise forms.ValidationError(f"The header {name} must be one line of ASCII text.")


class AddressForm(forms.Form):
    """A pasted request and a pasted reply: of a new agent, or of one that waits for its developer."""

    name = forms.CharField(max_length=200, widget=UnfoldAdminTextInputWidget, label="Name")
    request = forms.CharField(
        max_length=_MAX_CHARS,
        widget=_mono(6),
        label="Address, or a curl command",
        help_text="The address of your agent, or the curl command that calls it. Keys in its headers are not stored.",
    )
    key = forms.CharField(
        required=False,
        max_length=4000,
        widget=_mono(1),
        label="Header with its key",
        help_text="If it needs one, and you paste an address alone: for example Authorization: Bearer …."
        " It is not stored, either.",
    )
    reply = forms.CharField(
        required=False,
        max_length=_MAX_CHARS,
        widget=_mono(6),
        label="A reply from your agent",
        help_text="Paste a recorded reply, or press “Send it once” below to get one.",
    )

    def __init__(self, data: Any = None, *, agent: Agent | None = None) -> None:
        super().__init__(data)
        self.agent = agent
        if agent is not None:
            del self.fields["name"]

    def with_reply(self, reply: str) -> "AddressForm":
        """Return the form with another reply."""
        typed: Any = self.data
        return AddressForm({**typed.dict(), "reply": reply}, agent=self.agent)

    def clean_key(self) -> dict[str, str]:
        name, colon, value = self.cleaned_data["key"].strip().partition(":")
        if not (name or value):
            return {}
        if not (colon and name.strip() and value.strip()):
            raise forms.ValidationError("Write the name of the header, a colon and the key.")
        _refuse_odd_header(name, value)
        return {name.strip(): value.strip()}

    def clean_request(self) -> CurlRequest:
        try:
            pasted = read_pasted(self.cleaned_data["request"])
            TypeAdapter(CalledUrl).validate_python(pasted.url)
        except ValidationError as error:
            raise forms.ValidationError(messages_of(error)) from None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        for name, value in pasted.headers.items():
            _refuse_odd_header(name, value)
        if pasted.body is not None and not isinstance(pasted.body, dict):
            raise forms.ValidationError("Evalwell sends a JSON object in { }, not a list or text.")
        for problem in json_problems(pasted.body):
            raise forms.ValidationError(str(problem))
        has_fields = pasted.body or pasted.sent_as != "json"
        if has_fields and not reply_places.messages(pasted.body):
            raise forms.ValidationError("This command sends no text that could be the message.")
        return pasted

    def clean_reply(self) -> RecordedReply | None:
        text = self.cleaned_data["reply"].strip()
        try:
            return read_recorded_reply(text) if text else None
        except AgentError as error:
            raise forms.ValidationError(str(error)) from None

    @property
    def curl_request(self) -> CurlRequest:
        pasted: CurlRequest = self.cleaned_data["request"]
        return pasted

    @property
    def recorded_reply(self) -> RecordedReply | None:
        return self.cleaned_data.get("reply")

    @property
    def is_chat(self) -> bool:
        """Whether the agent speaks the chat completions API."""
        if self.curl_request.sent_as != "json" or self.curl_request.sent_method != "POST":
            return False
        body, reply = self.curl_request.body, self.recorded_reply
        sends_messages = isinstance(body, dict) and isinstance(body.get("messages"), list)
        return (sends_messages or not body) and (reply.kind == "chat" if reply else sends_messages)

    @property
    def has_places(self) -> bool:
        """Whether a person has to choose where the reply has its parts."""
        kinds = {"foreign"} if self.is_chat else {"foreign", "chat"}
        return self.recorded_reply is not None and self.recorded_reply.kind in kinds

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the command that Evalwell sends unchanged."""
        return {name: value for name, value, variable in self._headers() if not variable}

    @property
    def keys(self) -> dict[str, str]:
        """The headers with keys: sent in tests, never stored."""
        return {name: value for name, value, variable in self._headers() if variable}

    def _headers(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and variable of each header that Evalwell does not set itself."""
        key = self.cleaned_data["key"]
        for name, value in (self.curl_request.headers | key).items():
            if name.lower() not in OURS:
                is_secret = name in key or looks_secret(name, value)
                yield name, value, _variable(name, self.agent) if is_secret else ""

    def to_mapping(self) -> dict[str, Any]:
        """Return the agent as a file would define it, without keys and places."""
        body = self.curl_request.body or {}
        model = body.get("model") if self.is_chat else None
        return {
            "agent": self.agent.name if self.agent else self.cleaned_data["name"],
            "slug": self.agent.slug if self.agent else "test",
            "driver": "http",
            "url": self.curl_request.url,
            "method": self.curl_request.sent_method,
            "headers": self.headers,
            "protocol": "openai-chat" if self.is_chat else "json",
            "stream": self._stream(),
            "remote_model": model if isinstance(model, str) and model else None,
            "system_prompt": escape_braces(_system_prompt(body)) if self.is_chat else "",
        }

    def _stream(self) -> dict[str, str] | None:
        """Return how a streamed reply arrives."""
        stream = self.recorded_reply.stream if self.recorded_reply else None
        if stream is None and self.is_chat and (self.curl_request.body or {}).get("stream") is True:
            stream = "sse"
        return {"format": stream} if stream else None

    def header_values(self) -> dict[str, Any]:
        """Return the headers as they are stored: keys as variables."""
        return {
            name: {"env": variable} if variable else value
            for name, value, variable in self._headers()
        }

    def notes(self) -> Iterator[str]:
        """Yield what the person should know before they save."""
        for name, _, variable in self._headers():
            if variable:
                yield missing_key(name, variable)

    def reading(self) -> str:
        """Return in words how the reply is read if there is nothing to choose."""
        reply = self.recorded_reply
        if reply is None or reply.read is None or self.has_places:
            return ""
        calls = [call.name for call in reply.read.tool_calls]
        its_calls = (
            f" It has {plural(len(calls), 'tool call')}: {', '.join(calls)}." if calls else ""
        )
        notes = "".join(f" {note}" for note in reply.read.notes)
        return f"The answer is “{first_words(reply.read.text)}”.{its_calls}{notes}"


def missing_key(header: str, variable: str) -> str:
    """Explain where the value of a header with a key belongs."""
    permit = ""
    if not permits().variable(variable):
        permit = f", and to permit {variable} in EVALS_HEADER_VARIABLES"
    return (
        f"The value of {header} looks like a key and was not kept. Ask your administrator to set the"
        f" environment variable {variable} to it{permit}."
    )


def _variable(header: str, agent: Agent | None) -> str:
    """Return the variable for a header: the only permitted one, or a new name.

    A developer must not choose which key of this site is sent to their address: the variable of an
    agent that waits for one has its name, and is not set yet.
    """
    if agent is not None:
        name = _variable_name(agent.slug, header)
        return numbered_name(name, os.environ, length=_VARIABLE_CHARS, mark="_")
    named = [
        name for entry in permits().variables if (name := entry.partition("@")[0]).isidentifier()
    ]
    return named[0] if len(named) == 1 else _variable_name(header)


def _variable_name(*words: str) -> str:
    return f"AGENT_{re.sub(r'[^A-Z0-9]+', '_', '_'.join(words).upper()).strip('_')}"


def _system_prompt(body: Mapping[str, Any]) -> str:
    first = next(iter(body.get("messages") or [None]), None)
    if isinstance(first, dict) and first.get("role") == "system":
        return str(first.get("content") or "")
    return ""


class PlacesForm(forms.Form):
    """Where the request has the message, and the reply its answer and tool calls.

    It asks only what the pasted request and reply leave open.
    """

    message_at = forms.ChoiceField(widget=forms.RadioSelect, label="Where does the message go?")
    text_at = forms.ChoiceField(widget=forms.RadioSelect, label="Which of these is the answer?")
    calls_at = forms.ChoiceField(
        widget=forms.RadioSelect, required=False, label="Which of these are the tool calls?"
    )
    message = forms.CharField(
        required=False,
        max_length=20_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        label="Message",
    )

    def __init__(self, pasted: AddressForm, data: Mapping[str, object] | None = None) -> None:
        super().__init__(data)
        self._pasted = pasted
        body = pasted.curl_request.body
        asked = reply_places.messages(body) if body else []
        self.initial["message"] = _message_in(asked[0].value) if asked else ""
        is_ours = not body or self._fill(asked[0].steps) is None
        self._offer("message_at", [] if is_ours or pasted.is_chat else map(_place_choice, asked))
        reply = pasted.recorded_reply.value if pasted.has_places and pasted.recorded_reply else None
        self._offer("text_at", map(_place_choice, reply_places.texts(reply)))
        calls = reply_places.call_lists(reply)
        none = [("", "None of these")] if calls else []
        self._offer("calls_at", [*none, *map(_calls_choice, calls)])
        guessed = reply_places.guessed_calls(reply)
        self.initial["calls_at"] = guessed.place.path if guessed else ""
        self._calls = {place.place.path: place for place in calls}

    def _offer(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        field: Any = self.fields[name]
        field.choices = list(choices)
        if field.choices:
            self.initial[name] = field.choices[0][0]
        else:
            del self.fields[name]

    @property
    def questions(self) -> list[forms.BoundField]:
        return [self[name] for name in ("message_at", "text_at", "calls_at") if name in self.fields]

    @property
    def test_message(self) -> str:
        return self.cleaned_data["message"].strip() or self.initial["message"] or "Hello"

    def to_mapping(self) -> dict[str, Any]:
        """Return request and reply as a file would define them."""
        request, sent_as = self._request(), self._pasted.curl_request.sent_as
        if sent_as == "query":
            return {"query": request or {}, "response": self._response()}
        return {"request": request, "request_format": sent_as, "response": self._response()}

    def _request(self) -> dict[str, Any] | None:
        path = self.cleaned_data.get("message_at")
        if path is None:
            return None
        return self._fill(parse_path(path))

    def _fill(self, message: Steps) -> dict[str, Any] | None:
        """Return the request with variables; None if it is JSON with our own keys."""
        pasted = self._pasted.curl_request
        if pasted.sent_as == "json":
            return reply_places.request_for(pasted.body, message)
        files = dict.fromkeys(pasted.file_fields, "{{files}}")
        return {**reply_places.fill_request(pasted.body, message), **files}

    def _response(self) -> dict[str, str] | None:
        path = self.cleaned_data.get("text_at")
        if path is None or self._pasted.recorded_reply is None:
            return None
        calls = self._calls.get(self.cleaned_data.get("calls_at", ""))
        parts = {"tool_calls": calls.place.path, **calls.parts} if calls else {}
        return {
            "text": path,
            **parts,
            **reply_places.token_places(self._pasted.recorded_reply.value),
        }

    def notes(self) -> Iterator[str]:
        """Yield what the person should know before they save."""
        request = self._request()
        if request is None:
            return
        sent = json.dumps(request)
        if not any(f"{{{{{name}}}}}" in sent for name in ("history", "messages", "session_id")):
            yield (
                "Your command sends neither the earlier messages nor a session. In a conversation of"
                " several turns your agent will not know what was said before. If it has sessions, add"
                " the id of one to the command."
            )


def _message_in(sent: object) -> str:
    """Return the message of a command: the text itself, or the last one of chat messages."""
    last = sent[-1]["content"] if isinstance(sent, list) else sent
    return last if isinstance(last, str) else ""


def _in_words(steps: Steps) -> str:
    """Return a path in words: content in the last item of messages."""
    words = "the whole reply" if not steps or isinstance(steps[0], int) else ""
    for step in steps:
        if isinstance(step, int):
            words = f"the {_POSITIONS[step]} item of {words}"
        else:
            words = f"{step} in {words}" if words else step
    return words


def _place_choice(place: ReplyPlace) -> tuple[str, SafeString]:
    is_list = isinstance(place.value, list)
    value = f"{plural(len(place.value), 'message')}" if is_list else f"“{first_words(place.value)}”"
    return place.path, _choice(place.steps, value)


def _calls_choice(calls: CallsPlace) -> tuple[str, SafeString]:
    names = first_words(", ".join(calls.names), most=60)
    parts = ", ".join(f"{part} in {path}" for part, path in calls.parts.items())
    count = plural(len(calls.place.value), "item")
    return calls.place.path, _choice(calls.place.steps, f"{count}: {names} ({parts})")


def _choice(steps: Steps, value: str) -> SafeString:
    return format_html('<strong>{}</strong> <span class="quiet">{}</span>', _in_words(steps), value)
