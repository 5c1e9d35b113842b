"""An agent from what its owner has at hand: a curl command or an address, and a recorded reply.

Values of headers that look like keys are never kept: the draft names a variable in their place.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from pydantic import TypeAdapter, ValidationError
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from evals_app.admin.curl import Pasted, read_pasted
from evals_app.admin.presentation import first_words, plural
from evals_app.admin.starting_points import START, STARTING_POINTS, cards
from evals_app.engine.agents.http import chat_reply
from evals_app.engine.agents.reply import AgentReply, parse_reply
from evals_app.engine.errors import AgentError
from evals_app.engine.permits import permits
from evals_app.engine.template import written
from evals_app.engine.tool_spec import OURS, CalledUrl, looks_secret
from fixtures_app.ground.json_paths import path_text
from fixtures_app.ground.spec_errors import messages_of

_DRAFT = "agent-from-address"  # key of the session
_MOST_CHARS = 100_000
_MOST_PLACES = 5
EXAMPLE_REQUEST = """curl https://agent.example.org/chat \\
  -H 'Content-Type: application/json' \\
  -H 'X-Tenant: acme' \\
  -d '{"input": "Where is order 1042?"}'"""
EXAMPLE_REPLY = """{"output": "It arrives tomorrow.",
 "tool_calls": [{"name": "orders.find", "args": {"number": 1042}}]}"""


@dataclass(frozen=True, slots=True)
class Understood:
    """How a recorded reply is read."""

    text: str
    calls: tuple[str, ...]
    note: str = ""


def _mono(rows: int) -> UnfoldAdminTextareaWidget:
    return UnfoldAdminTextareaWidget(
        attrs={"rows": rows, "class": "ts-mono", "spellcheck": "false", "autocomplete": "off"}
    )


class AddressForm(forms.Form):
    """What a person pastes."""

    name = forms.CharField(max_length=200, widget=UnfoldAdminTextInputWidget, label="Name")
    request = forms.CharField(
        max_length=_MOST_CHARS,
        widget=_mono(6),
        label="Address, or a curl command",
        help_text="As you would call your agent in a terminal. Keys in it are not stored.",
    )
    reply = forms.CharField(
        required=False,
        max_length=_MOST_CHARS,
        widget=_mono(6),
        label="A recorded reply",
        help_text="What your agent answered once. It shows whether Touchstone finds its text and "
        "tool calls. Leave blank if you have none.",
    )

    def clean_request(self) -> Pasted:
        try:
            pasted = read_pasted(self.cleaned_data["request"])
            TypeAdapter(CalledUrl).validate_python(pasted.url)
        except ValidationError as error:
            raise forms.ValidationError(messages_of(error)) from None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        return pasted

    def clean_reply(self) -> Understood | None:
        text = self.cleaned_data["reply"].strip()
        if not text:
            return None
        try:
            return understood(text)
        except AgentError as error:
            raise forms.ValidationError(str(error)) from None

    @property
    def is_chat(self) -> bool:
        """Whether the agent speaks as APIs for chat completions do."""
        body = self.cleaned_data["request"].body
        sends_messages = isinstance(body, dict) and isinstance(body.get("messages"), list)
        return sends_messages or _is_chat_reply(self.data.get("reply", ""))

    def draft(self) -> dict[str, Any]:
        """Return what the page that adds the agent begins with, without any key."""
        pasted: Pasted = self.cleaned_data["request"]
        body = pasted.body if isinstance(pasted.body, dict) else {}
        model = body.get("model") if self.is_chat else None
        return {
            "name": self.cleaned_data["name"],
            "driver": "http",
            "url": pasted.url,
            "headers": {name: value for name, value, _ in _headers(pasted.headers)},
            "protocol": "openai-chat" if self.is_chat else "json",
            "remote_model": model if isinstance(model, str) else "",
            "system_prompt": written(_system_prompt(body)) if self.is_chat else "",
        }

    def notes(self) -> Iterator[str]:
        """Yield what the person should know before they save."""
        pasted: Pasted = self.cleaned_data["request"]
        for name, _, variable in _headers(pasted.headers):
            if variable:
                permit = ""
                if not permits().variable(variable):
                    permit = f", and to permit {variable} in EVALS_HEADER_VARIABLES"
                yield (
                    f"The value of {name} looks like a key and was not kept. Ask your "
                    f"administrator to set the environment variable {variable} to it{permit}."
                )
        body = pasted.body
        if not self.is_chat and isinstance(body, dict) and "input" not in body:
            yield (
                f"Your command sends {', '.join(map(str, body)) or 'nothing'}. Touchstone sends the "
                "message as input, and the earlier ones as history. Your agent has to read these "
                "keys; see Help, Your own agent."
            )
        if reply := self.cleaned_data["reply"]:
            calls = f" It has {plural(len(reply.calls), 'tool call')}" if reply.calls else ""
            names = f": {', '.join(reply.calls)}." if reply.calls else ""
            yield f"Text of the recorded reply: “{first_words(reply.text)}”.{calls}{names}"
            if reply.note:
                yield reply.note


def understood(text: str) -> Understood:
    """Read a recorded reply as a run would.

    Raises:
        AgentError: a run would fail with it.
    """
    reply = chat_reply(text) if _is_chat_reply(text) else parse_reply(text)
    calls = tuple(call.name for call in reply.tool_calls)
    return Understood(reply.text, calls, " ".join([*reply.notes, *_elsewhere(reply)]))


def _is_chat_reply(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "choices" in value


def _elsewhere(reply: AgentReply) -> Iterator[str]:
    """Say where texts are if the whole JSON counts as the reply."""
    try:
        value = json.loads(reply.text)
    except (ValueError, RecursionError):
        return
    if not isinstance(value, dict):
        return
    places = [path_text(list(place)) for place in _texts(value)][:_MOST_PLACES]
    yield (
        "Touchstone takes all of this JSON for the text, because it has no output. "
        f"It has texts at {', '.join(places) or 'no place'}: let your agent send the answer as "
        "output, and its tool calls as tool_calls."
    )


def _texts(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, str):
        yield place
    parts: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in parts:
        yield from _texts(item, (*place, key))


def _headers(headers: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and variable of each header that Touchstone does not set itself."""
    for name, value in headers.items():
        if name.lower() in OURS:
            continue
        variable = _variable(name) if looks_secret(name, value) else ""
        yield name, {"env": variable} if variable else value, variable


def _variable(header: str) -> str:
    """Return the variable for a header: the only one that the operator permits, or a new name."""
    named = [name for name in permits().variables if name.isidentifier()]
    if len(named) == 1:
        return named[0]
    return f"AGENT_{re.sub(r'[^A-Z0-9]+', '_', header.upper()).strip('_')}"


def _system_prompt(body: Mapping[str, Any]) -> str:
    first = next(iter(body.get("messages") or [None]), None)
    if isinstance(first, dict) and first.get("role") == "system":
        return str(first.get("content") or "")
    return ""


class BeginsSomewhere(ModelAdmin):
    """Lets people begin an agent with a starting point, or with what they paste."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.from_address)
        return [path("from-address/", view, name="evals_app_agent_address"), *super().get_urls()]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        chosen = request.GET.get(START, "")
        if chosen == "address":
            return dict(request.session.get(_DRAFT, {}))
        if point := STARTING_POINTS.get(chosen):
            return dict(point.initial)
        return super().get_changeform_initial_data(request)

    def from_address(self, request: HttpRequest) -> HttpResponse:
        """Read what a person pastes, and open the page that adds the agent with it."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = AddressForm(request.POST if request.method == "POST" else None)
        if form.is_bound and form.is_valid():
            request.session[_DRAFT] = form.draft()
            for note in form.notes():
                messages.info(request, note)
            return redirect(f"{reverse('admin:evals_app_agent_add')}?{START}=address")
        context = self.admin_site.each_context(request) | {
            "opts": self.opts,
            "title": "My agent has an address",
            "form": form,
            "example_request": EXAMPLE_REQUEST,
            "example_reply": EXAMPLE_REPLY,
            "cards": cards(request),
        }
        return render(request, "admin/evals_app/agent_address.html", context)
