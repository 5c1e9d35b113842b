"""Turn recorded results of an agent's own tools into canned tools, so that it can run offline."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from evals_app.engine.basics.matchers import equal
from evals_app.engine.basics.template import escape_braces, in_texts
from evals_app.engine.proposing.value_parts import KnownValues, compose_matchers, split_value
from evals_app.engine.record.trial import ToolCall, Trial
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.tool_spec import (
    AnyTool,
    CannedRule,
    CannedTool,
    HttpTool,
    McpTools,
    names_of,
)
from fixtures_app.ground.quoting import json_text, times

NOT_RECORDED = "Nothing was recorded for this tool."

_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}


@dataclass(frozen=True, slots=True)
class Recording:
    """Canned tools by name, with a description of what they answer and what they cannot."""

    tools: dict[str, CannedTool]
    words: tuple[str, ...] = ()

    def copy_of(self, agent: AgentSpec, *, slug: str, name: str) -> AgentSpec:
        """Return the agent with its tools replaced."""
        described = f"{agent.agent} with recorded answers of its tools."
        changes = {"slug": slug, "agent": name, "description": described}
        return _valid(agent, changes, self._replace(agent.given_tools))

    def added_to(self, copy: AgentSpec) -> AgentSpec | None:
        """Return an earlier copy that answers this too; None if it already answers differently."""
        try:
            return _valid(copy, {}, self._merge(copy.given_tools))
        except _OtherwiseError:
            return None

    def _replace(self, tools: Sequence[AnyTool]) -> Iterator[AnyTool]:
        for tool in tools:
            if isinstance(tool, McpTools):
                yield from (self.tools[name] for name in tool.names if name in self.tools)
                left = [name for called, name in tool.names.items() if called not in self.tools]
                if left:
                    yield tool.model_copy(update={"tools": left})
            else:
                yield self.tools.get(names_of(tool)[0], tool)

    def _merge(self, tools: Sequence[AnyTool]) -> Iterator[AnyTool]:
        known = {tool.name: tool for tool in tools if isinstance(tool, CannedTool)}
        merged = {
            name: tool.model_copy(update={"rules": _together(known[name].rules, tool.rules)})
            for name, tool in self.tools.items()
            if name in known
        }
        missing = {name: tool for name, tool in self.tools.items() if name not in known}
        for tool in Recording(self.tools | merged)._replace(tools):
            yield tool
            missing.pop(names_of(tool)[0], None)
        yield from missing.values()


class _OtherwiseError(Exception):
    """Two recordings have different results for the same arguments."""


def record_tools(agent: AgentSpec, trial: Trial) -> Recording | None:
    """Return what the agent's own tools answered; None if it has none that could be recorded.

    Arguments that would probably differ the next time may be anything.
    """
    tools = {
        name: tool
        for tool in agent.given_tools
        if isinstance(tool, HttpTool | McpTools)
        for name in names_of(tool)
    }
    if not tools:
        return None
    calls = [call for call in trial.tool_calls if call.name in tools]
    # A recorded tool gives the same answer next time.
    answers = [json_text(call.result, None) for call in calls]
    known = KnownValues.before(trial, "\n".join(answers))
    made: dict[str, CannedTool] = {}
    words: list[str] = []
    for name, tool in tools.items():
        own = [call for call in calls if call.name == name]
        rules, problems = _rules(name, own, known)
        try:
            made[name] = _canned_tool(name, tool, own, rules, trial)
        except ValidationError:
            words.append(
                f"{name} stays as it is: a canned tool cannot have this name or these results."
            )
            continue
        words += [_answers_text(name, own), *problems]
    return Recording(made, tuple(words))


def _answers_text(name: str, calls: Sequence[ToolCall]) -> str:
    if not calls:
        return f"{name} was not called: it answers with an error."
    return f"{name} answers as recorded; it was called {times(len(calls))}."


def _rules(
    name: str, calls: Sequence[ToolCall], known: KnownValues
) -> tuple[list[CannedRule], list[str]]:
    problems: list[str] = []
    loose = [(_arguments(call, known), call) for call in calls]
    exact = [(_arguments(call, None), call) for call in calls]
    kept: list[tuple[dict[str, object], ToolCall]] = []
    for (when, call), (literal, _) in zip(loose, exact, strict=True):
        alike = [other for pattern, other in loose if equal(pattern, when)]
        is_clear = all(equal(other.result, call.result) for other in alike)
        pattern = when if is_clear else literal
        first = next(
            (other for known_pattern, other in kept if equal(known_pattern, pattern)), None
        )
        if call.result is None:
            problems.append(
                f"{name} returned null, which a canned tool cannot: it answers with an error."
            )
        elif first is None:
            kept.append((pattern, call))
        elif not equal(first.result, call.result):
            problems.append(
                f"{name} was called again with the same arguments and answered otherwise: it always"
                " answers as it did first."
            )
    rules = [
        CannedRule.model_validate({"when": when, "result": in_texts(call.result, escape_braces)})
        for when, call in kept
    ]
    return _specific_first(rules), list(dict.fromkeys(problems))


def _arguments(call: ToolCall, known: KnownValues | None) -> dict[str, object]:
    parts = split_value(call.args, [], known=known or KnownValues(""), key="argument")
    kept = {part.key for part in parts if known is None or not part.doubt}
    return compose_matchers(parts, kept)


def _specific_first(rules: Iterable[CannedRule]) -> list[CannedRule]:
    return sorted(rules, key=lambda rule: -len(json_text(rule.when, None)))


def _together(known: Sequence[CannedRule], new: Sequence[CannedRule]) -> list[CannedRule]:
    rules = [rule for rule in known if rule.error != NOT_RECORDED]
    for rule in new:
        same = next((other for other in rules if equal(other.when, rule.when)), None)
        if rule.error == NOT_RECORDED:
            continue
        if same is None:
            rules.append(rule)
        elif not (equal(same.result, rule.result) and same.error == rule.error):
            raise _OtherwiseError
    return _specific_first(rules) or list(known)


def _canned_tool(
    name: str,
    tool: HttpTool | McpTools,
    calls: Sequence[ToolCall],
    rules: Sequence[CannedRule],
    trial: Trial,
) -> CannedTool:
    if isinstance(tool, HttpTool):
        description, parameters = tool.description, tool.parameters
    else:
        # Only the server knows the rest.
        listed = next((known.description for known in trial.tools if known.name == name), "")
        description, parameters = escape_braces(listed), _parameters(calls)
    return CannedTool.model_validate(
        {
            "name": name,
            "description": description,
            "parameters": parameters,
            "retrieval": tool.retrieval,
            "rules": [rule.model_dump() for rule in rules] or [{"error": NOT_RECORDED}],
        }
    )


def _parameters(calls: Sequence[ToolCall]) -> dict[str, object]:
    """Return a schema of the arguments that were passed."""
    properties = {
        name: {"type": kind} if (kind := _TYPES.get(type(value))) else {}
        for call in calls
        for name, value in call.args.items()
    }
    return {"type": "object"} | ({"properties": properties} if properties else {})


def _valid(agent: AgentSpec, changes: dict[str, Any], tools: Iterable[AnyTool]) -> AgentSpec:
    dumped = agent.model_dump(mode="json", by_alias=True, exclude_defaults=True) | changes
    dumped["tools"] = [
        tool if isinstance(tool, str) else tool.model_dump(mode="json", by_alias=True)
        for tool in tools
    ]
    return AgentSpec.model_validate(dumped)
