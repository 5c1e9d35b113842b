"""The scripted driver: an agent that follows rules, so that everything works offline."""

import asyncio
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from evals_app.engine.agents.session import Exchange
from evals_app.engine.agents.tools.tool_calls import as_text
from evals_app.engine.agents.tools.toolbox import Toolbox
from evals_app.engine.basics.errors import AgentError, JudgeError
from evals_app.engine.basics.template import in_texts
from evals_app.engine.llm.call import ModelCall, ModelReply, UserMessage
from evals_app.engine.record.trial import Message, ToolCall
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.agent_spec import ScriptedRule
from fixtures_app.ground.patterns import search
from fixtures_app.ground.strict_json import Json

_PLACEHOLDER = re.compile(r"\{\{\s*(input|result\.\d+(?:\.[^{}\s]+)?)\s*\}\}")


class ScriptedSession:
    """Follow the first rule that matches; no match is an agent error."""

    def __init__(self, rules: Sequence[ScriptedRule], *, toolbox: Toolbox) -> None:
        self._rules = rules
        self._toolbox = toolbox

    async def respond(self, exchange: Exchange) -> None:
        rule = matching_rule(self._rules, exchange.user, turn=exchange.index)
        if rule is None:
            raise AgentError("No rule of the scripted agent matches this message.")
        if rule.usage is not None:
            exchange.usages.append(_usage(rule))
        if rule.delay_ms:
            await asyncio.sleep(rule.delay_ms / 1000)
        done: list[ToolCall] = []
        for call in rule.calls:
            args = fill(call.args, message=exchange.user, results=done)
            done.append(await self._toolbox.call(call.tool, args))
            exchange.messages.append(Message("assistant", "", (done[-1],)))
        if rule.error is not None:
            raise AgentError(rule.error)
        reply = fill(rule.reply, message=exchange.user, results=done)
        exchange.messages.append(Message.of_agent(as_text(reply)))


def matching_rule(
    rules: Sequence[ScriptedRule], message: str, *, turn: int | None = None
) -> ScriptedRule | None:
    """Find the first rule for this message and turn."""
    for rule in rules:
        if rule.turn is not None and rule.turn != turn:
            continue
        if rule.when is None or search(rule.when, message, case_sensitive=False) is not None:
            return rule
    return None


def scripted_judge(rules: Sequence[ScriptedRule]) -> Any:
    """Return a `complete` that answers a judge's prompt by rules."""

    async def complete(call: ModelCall) -> ModelReply:
        prompt = "\n\n".join(
            message.text for message in call.messages if isinstance(message, UserMessage)
        )
        rule = matching_rule(rules, prompt)
        if rule is None or rule.reply is None:
            message = "The scripted judge has no rule for this question."
            raise JudgeError(rule.error if rule and rule.error else message)
        if rule.delay_ms:
            await asyncio.sleep(rule.delay_ms / 1000)
        return ModelReply(
            text=rule.reply, usage=_usage(rule), cost_usd=Decimal(0), model="scripted"
        )

    return complete


def fill(value: object, *, message: str, results: Sequence[ToolCall]) -> Any:
    """Replace placeholders in a text, or in every text inside lists and mappings.

    A text that is only a placeholder becomes the value itself, so numbers stay numbers.
    """

    def find(name: str) -> object:
        if name == "input":
            return message
        _, number, *path = name.split(".")
        position = int(number) - 1
        if not 0 <= position < len(results):
            return ""
        return _at(results[position].result, path)

    def fill_value(text: str) -> object:
        if whole := _PLACEHOLDER.fullmatch(text.strip()):
            return find(whole[1])
        return _PLACEHOLDER.sub(lambda match: as_text(find(match[1])), text)

    return in_texts(value, fill_value)


def _at(value: Json, path: Sequence[str]) -> object:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, "")
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return ""
    return value


def _usage(rule: ScriptedRule) -> Usage:
    given = rule.usage
    return Usage() if given is None else Usage(given.input_tokens, given.output_tokens)
