"""Where a foreign request has its message, and a foreign reply its text and tool calls: guesses.

A person chooses among them; keys that agents often use come first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from evals_app.engine.basics.template import escape_braces, in_texts
from evals_app.engine.specs.wire_spec import MESSAGES, SENT
from fixtures_app.ground.json_paths import (
    MAX_PATH_CHARS,
    NoSuchPlaceError,
    Steps,
    find,
    parse_path,
    path_text,
)
from fixtures_app.ground.strict_json import JsonObject

MAX_PLACES = 30

# Keys in lower case without punctuation, the most likely ones first.
_ANSWERS = ("output", "answer", "reply", "response", "completion", "generatedtext", "finalanswer")
_TEXTS = ("text", "content", "message", "result")
_MESSAGES = ("input", "message", "question", "query", "prompt", "userinput", "usermessage", "q")
_CALLS = (
    *("toolcalls", "calls", "functioncalls", "toolscalled", "toolsused", "intermediatesteps"),
    *("steps", "actions", "tools", "functions"),
)
_NAMES = ("name", "tool", "toolname", "function", "functionname", "action")
_ARGUMENTS = ("arguments", "args", "input", "toolinput", "parameters", "params")
_RESULTS = ("result", "output", "tooloutput", "observation", "response")
_PROMPT_TOKENS = ("inputtokens", "prompttokens", "tokensin", "inputtokencount", "prompttokencount")
_RESPONSE_TOKENS = (
    *("outputtokens", "completiontokens", "responsetokens", "tokensout", "outputtokencount"),
    "candidatestokencount",
)
_HISTORY = ("history", "chathistory", "previousmessages", "earliermessages")
_SESSION = ("sessionid", "session", "conversationid", "threadid", "chatid")


@dataclass(frozen=True, slots=True)
class ReplyPlace:
    """A path into JSON, and what is there."""

    steps: Steps
    value: Any

    @property
    def path(self) -> str:
        return path_text(self.steps)

    @property
    def key(self) -> str:
        """The last key of the path, in lower case without punctuation."""
        keys = [step for step in self.steps if isinstance(step, str)]
        return re.sub(r"[\W_]", "", keys[-1]).lower() if keys else ""


@dataclass(frozen=True, slots=True)
class CallsPlace:
    """A list that may be the tool calls, and where each of them has its parts."""

    place: ReplyPlace
    parts: Mapping[str, str]  # name, arguments, result

    @property
    def names(self) -> list[str]:
        """Return the names of the tools that were called."""
        path = parse_path(self.parts["name"])
        return [str(place.value) for call in self.place.value for place in _at(call, path)]


def _at(value: object, path: Steps) -> Iterator[ReplyPlace]:
    with suppress(NoSuchPlaceError):
        yield ReplyPlace(path, find(value, path))


def _places(value: object, steps: Steps = ()) -> Iterator[ReplyPlace]:
    """Yield a value and everything inside it; of lists, only the first and last item."""
    if len(path_text(steps)) > MAX_PATH_CHARS:
        return
    yield ReplyPlace(steps, value)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*steps, key))
    elif isinstance(value, list) and value:
        yield from _places(value[0], (*steps, 0))
        if len(value) > 1:
            yield from _places(value[-1], (*steps, -1))


def merge_events(events: Sequence[object]) -> object:
    """Merge the events of a stream into one value that has all pieces of each place."""
    whole = events[0]
    for event in events[1:]:
        whole = _with(whole, event)
    return whole


def _with(value: object, more: object) -> object:
    if isinstance(value, dict) and isinstance(more, dict):
        both = {key: _with(value[key], more[key]) for key in value.keys() & more.keys()}
        return {**value, **more, **both}
    if isinstance(value, list) and isinstance(more, list):
        common = min(len(value), len(more))
        both_items = [_with(value[n], more[n]) for n in range(common)]
        return [*both_items, *value[common:], *more[common:]]
    if isinstance(value, str) and isinstance(more, str):
        return value + more
    return value if more is None else more


def texts(value: object) -> list[ReplyPlace]:
    """Return where JSON has texts, the likeliest answer first."""
    calls = guessed_calls(value)

    def rank(place: ReplyPlace) -> tuple[int, int]:
        if calls is not None and _is_inside(place, calls.place.steps):
            return -1, len(place.value)
        # Of several messages the answer is the last one.
        is_last = -1 in place.steps
        return _points(place, _ANSWERS) + is_last, len(place.value)

    texts_in_it = [place for place in _places(value) if _is_text(place.value)]
    return sorted(texts_in_it, key=rank, reverse=True)[:MAX_PLACES]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_inside(place: ReplyPlace, steps: Steps) -> bool:
    return place.steps[: len(steps)] == steps


def _points(place: ReplyPlace, keys: Sequence[str]) -> int:
    """Rate how likely a text is meant for people, by its key and number of words."""
    is_sentence = " " in place.value.strip()
    return 4 * (place.key in keys) + 2 * (place.key in _TEXTS) + is_sentence


def call_lists(value: object) -> list[CallsPlace]:
    """Return the lists that may be tool calls, the likeliest first."""
    lists = [place for place in _places(value) if isinstance(place.value, list) and place.value]
    named = [CallsPlace(place, parts) for place in lists if (parts := _parts(place.value[0]))]
    return sorted(named, key=_rank_of_calls, reverse=True)[:MAX_PLACES]


def guessed_calls(value: object) -> CallsPlace | None:
    """Return the list that most likely has the tool calls; None if none seems to."""
    return next((calls for calls in call_lists(value) if _rank_of_calls(calls)), None)


def _rank_of_calls(calls: CallsPlace) -> int:
    return 2 * (calls.place.key in _CALLS) + ("arguments" in calls.parts)


def _parts(call: object) -> dict[str, str]:
    """Return where a tool call has its parts; empty if it has no name."""
    if not isinstance(call, dict):
        return {}
    inside = [place for place in _places(call) if place.steps]
    names = [place for place in inside if _is_text(place.value)]
    flat = [place for place in names if len(place.steps) == 1]
    named = _first(flat, _NAMES) or _first(names, ("name",))
    if named is None:
        return {}
    # Arguments of a nested function are next to its name.
    others = [place for place in inside if place.steps[:-1] == named.steps[:-1] and place != named]
    parts = {"name": named, "arguments": _first(others, _ARGUMENTS), "result": None}
    top = [place for place in inside if len(place.steps) == 1 and place != parts["arguments"]]
    parts["result"] = _first([*others, *top], _RESULTS)
    return {key: place.path for key, place in parts.items() if place is not None}


def _first(places: Sequence[ReplyPlace], keys: Sequence[str]) -> ReplyPlace | None:
    """Return the place with the first of these keys that exists."""
    by_key = {place.key: place for place in reversed(places)}
    return next((by_key[key] for key in keys if key in by_key), None)


def token_places(value: object) -> dict[str, str]:
    """Return where a reply counts its tokens."""
    numbers = [place for place in _places(value) if type(place.value) is int]
    counted = {
        "input_tokens": _first(numbers, _PROMPT_TOKENS),
        "output_tokens": _first(numbers, _RESPONSE_TOKENS),
    }
    return {key: place.path for key, place in counted.items() if place is not None}


def messages(body: object) -> list[ReplyPlace]:
    """Return where a request may have the message: texts, and lists of chat messages."""
    chats = [place for place in _places(body) if _is_chat(place.value)]
    single = [
        place
        for place in _places(body)
        if isinstance(place.value, str) and not any(_is_inside(place, chat.steps) for chat in chats)
    ]
    whole = [place for place in chats if place.key not in _HISTORY]
    return sorted([*whole, *single], key=_rank_of_message, reverse=True)[:MAX_PLACES]


def _is_chat(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and {"role", "content"} <= item.keys() for item in value)
    )


def _rank_of_message(place: ReplyPlace) -> tuple[int, int]:
    if isinstance(place.value, list):
        return 9, 0
    return _points(place, _MESSAGES) - 9 * (place.key in _SESSION), len(place.value)


def request_for(body: Mapping[str, object], message: Steps) -> JsonObject | None:
    """Return a request with variables for one that was sent; None if it has our own keys."""
    if message == ("input",) and body.keys() <= set(SENT) - {MESSAGES}:
        return None
    return fill_request(body, message)


def fill_request(body: Mapping[str, object], message: Steps) -> JsonObject:
    """Return what was sent with variables in place of the message, the history and the session."""
    variables: dict[Steps, str] = {}
    for place in _places(body):
        if place.key in _HISTORY and (place.value == [] or _is_chat(place.value)):
            variables[place.steps] = "{{history}}"
        elif place.key in _SESSION and isinstance(place.value, str):
            variables[place.steps] = "{{session_id}}"
    is_list = isinstance(find(dict(body), message), list)
    variables[message] = "{{messages}}" if is_list else "{{input}}"
    filled: JsonObject = _fill_in(in_texts(dict(body), escape_braces), variables)
    return filled


def _fill_in(value: object, variables: Mapping[Steps, str], steps: Steps = ()) -> Any:
    if steps in variables:
        return variables[steps]
    if isinstance(value, dict):
        return {key: _fill_in(item, variables, (*steps, key)) for key, item in value.items()}
    if isinstance(value, list):
        last = len(value) - 1
        return [
            _fill_in(item, variables, (*steps, -1 if 0 < n == last else n))
            for n, item in enumerate(value)
        ]
    return value
