"""The rules of a scripted agent as rows: condition, tool calls and answer.

A condition on a message is written in words; the rule has a pattern.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from evals_app.admin.kit.item_rows import ItemRow, without_blanks
from evals_app.admin.kit.lines import list_of
from evals_app.admin.kit.value_lines import ValueLines
from evals_app.engine.specs.agent_spec import ScriptedRule
from evals_app.library.importing.parts import arguments_of, values_of
from evals_app.reports.words.figures import count
from fixtures_app.editing.inputs import NumberInput, Select, TextArea, TextInput
from fixtures_app.editing.list_rows import ListRows, RowsLook
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.tools import TOOLS

ALWAYS, CONTAINS, ANY_OF, EXACTLY, PATTERN = "always", "contains", "any_of", "exactly", "pattern"
MATCHES = (
    (CONTAINS, "contains"),
    (ANY_OF, "contains one of (separated by commas)"),
    (EXACTLY, "is exactly"),
    (ALWAYS, "is anything"),
    (PATTERN, "matches a pattern (advanced)"),
)
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_LITERAL = re.compile(r"(?:[^\\.+*?()|\[\]{}^$]|\\[\\.+*?()|\[\]{}^$])*")
_MATCH_TITLES = {
    ALWAYS: "Any message",
    CONTAINS: "Message contains",
    ANY_OF: "Message contains one of",
    EXACTLY: "Message is",
    PATTERN: "Message matches",
}
_TITLE_CHARS = 40
_ADVANCED = ("turn", "delay_ms", "error", "input_tokens", "output_tokens")
_HELP = {name: info.description for name, info in ScriptedRule.model_fields.items()}


def _number(label: str, **kwargs: Any) -> forms.IntegerField:
    return forms.IntegerField(required=False, label=label, widget=NumberInput, **kwargs)


class CallRow(ItemRow):
    """A tool call."""

    places = {"tool": "tool", "args": "args"}

    tool = forms.CharField(
        label="Tool",
        strip=False,
        widget=TextInput({"list": list_of("tool"), "autocomplete": "off"}),
        error_messages={"required": "Name a tool of this agent, or remove this call."},
    )
    args = ValueLines(label="Arguments", key_label="Argument", names="argument")

    @classmethod
    def split(cls, item: Any) -> dict[str, Any]:
        return {"tool": item["tool"], "args": item.get("args", {})}

    @classmethod
    def join(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        return without_blanks({name: values[name] for name in ("tool", "args")})

    @property
    def title(self) -> str:
        return "" if self.initial_item is None else str(self.initial_item.get("tool", ""))


class RuleRow(ItemRow):
    """A rule: the first one that matches answers."""

    places = {
        "when": "words",
        "calls": "calls",
        "reply": "reply",
        "usage": "input_tokens",
        "error": "error",
        "turn": "turn",
        "delay_ms": "delay_ms",
    }
    # Examples of what `engine.agents.scripted` fills in, and what each becomes.
    placeholders: ClassVar[Mapping[str, str]] = {
        "{{input}}": "the message",
        "{{result.1}}": "everything that the first tool call returned",
        "{{result.1.total}}": "its part “total”",
        "{{result.2.entities.0.id}}": "the “id” of the first of the “entities” of the second call",
    }

    match = forms.ChoiceField(
        label="When the message",
        choices=MATCHES,
        initial=CONTAINS,
        widget=Select({"data-match": ""}),
    )
    words = forms.CharField(required=False, strip=False, label="Words", widget=TextInput)
    calls = ListRows(
        CallRow,
        name="call",
        look=RowsLook("admin/evals_app/agents/call_row.html", "Add a tool call", "ew-call-drag"),
        label="Call these tools first",
    )
    reply = forms.CharField(
        required=False,
        strip=False,
        label="Then answer",
        widget=TextArea({"rows": 2}),
    )
    turn = _number("Only in turn", min_value=1, help_text="1 is the first message.")
    delay_ms = _number("Delay (ms)", min_value=0, help_text=_HELP["delay_ms"])
    error = forms.CharField(
        required=False,
        strip=False,
        label="Fail with this error instead of an answer",
        widget=TextInput,
    )
    input_tokens = _number("Reported prompt tokens", min_value=0)
    output_tokens = _number(
        "Reported response tokens", min_value=0, help_text="Leave both blank for unknown."
    )

    @classmethod
    def split(cls, item: Any) -> dict[str, Any]:
        match, words = words_of(item.get("when"))
        usage = item.get("usage") or {}
        return {
            "match": match,
            "words": words,
            "calls": item.get("calls", []),
            "reply": item.get("reply") or "",
            "turn": item.get("turn"),
            "delay_ms": item.get("delay_ms"),
            "error": item.get("error") or "",
            "input_tokens": usage.get("input_tokens"),
            "output_tokens": usage.get("output_tokens"),
        }

    @classmethod
    def join(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        tokens = {name: values[name] for name in ("input_tokens", "output_tokens")}
        usage = {name: number for name, number in tokens.items() if number is not None}
        return without_blanks(
            {
                "when": pattern_of(values["match"], values["words"]),
                "usage": usage,
                **{name: values[name] for name in ("turn", "calls", "reply", "error")},
                "delay_ms": values["delay_ms"] or None,
            }
        )

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if self.is_yaml or "match" not in given:
            return given
        if given["match"] == ALWAYS and given["words"].strip():
            self.add_error("words", "Remove these words, or choose how the message must match.")
        elif given["match"] != ALWAYS and not given["words"].strip(" ,"):
            self.add_error("words", "Write the words to look for, or choose “is anything”.")
        if not given.get("reply") and not given.get("error") and "reply" not in self.errors:
            self.add_error("reply", "Write the answer.")
        return given

    @property
    def title(self) -> str:
        item = self.initial_item
        if item is None:
            return ""
        match, words = words_of(item.get("when"))
        when = _MATCH_TITLES[match] + (f" “{cut_middle(words, _TITLE_CHARS)}”" if words else "")
        calls = item.get("calls") or []
        does = f"{count(len(calls))} tool call{'s' * (len(calls) != 1)}, " if calls else ""
        return f"{when} → {does}{cut_middle(item.get('reply') or item.get('error') or '', 60)}"

    @property
    def advanced_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _ADVANCED]

    @property
    def has_advanced(self) -> bool:
        if any(name in self.errors for name in _ADVANCED):
            return True
        return any(self[name].value() not in (None, "", 0) for name in _ADVANCED)


def names_for_calls() -> dict[str, object]:
    """Return what tool calls suggest: the arguments of tools of worlds.

    The page adds its own tools: they may not be saved yet.
    """
    arguments = list_of("argument")
    return {
        "suggestions": {list_of("tool"): [], arguments: []},
        "parts": {arguments: arguments_of(TOOLS)},
        "values": {arguments: {name: values_of(tool.parameters) for name, tool in TOOLS.items()}},
    }


RULE_ROWS = RowsLook("admin/evals_app/agents/rule_row.html", "Add a rule", "ew-rule-drag")


def pattern_of(match: str, words: str) -> str | None:
    """Return the pattern for a message; None for every message."""
    if match == ALWAYS:
        return None
    if match == ANY_OF:
        parts = filter(None, (part.strip() for part in words.split(",")))
        return "|".join(map(_escape_words, parts))
    if match == EXACTLY:
        return f"^{_escape_words(words.strip())}$"
    return _escape_words(words.strip()) if match == CONTAINS else words


def words_of(pattern: str | None) -> tuple[str, str]:
    """Return how a pattern matches, and its words; a real pattern is returned unchanged."""
    if pattern is None:
        return ALWAYS, ""
    for match, words in _guesses(pattern):
        if pattern_of(match, words) == pattern:
            return match, words
    return PATTERN, pattern


def _guesses(pattern: str) -> list[tuple[str, str]]:
    if not pattern:
        return []
    if _LITERAL.fullmatch(pattern):
        return [(CONTAINS, _plain(pattern))]
    if _LITERAL.fullmatch(pattern[1:-1]):
        return [(EXACTLY, _plain(pattern[1:-1]))]
    parts = re.split(r"(?<!\\)\|", pattern)
    is_plain = all(_LITERAL.fullmatch(part) for part in parts)
    return [(ANY_OF, ", ".join(map(_plain, parts)))] if is_plain else []


def _escape_words(words: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", words)


def _plain(literal: str) -> str:
    return re.sub(r"\\(.)", r"\1", literal)
