"""Executions as traces of OpenTelemetry: spans by its conventions for generative AI, as OTLP/JSON.

A turn is the span that its agent was sent as `traceparent`, so that the agent's own spans are below
it. What a transcript does not record follows from it: turns follow each other without a gap, tool
calls begin with their turn, and judges are asked when the conversation ends.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evals_app.engine.record.grade import GradedAssertion
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.tool_results import error_of
from evals_app.engine.record.trial import ToolCall, TurnRecord, Verdict
from evals_app.engine.record.usage import Usage
from evals_app.engine.running.run_gateway import Outcome
from fixtures_app.ground.quoting import cut_middle

PATH = "/v1/traces"  # below the address of a collector
MAX_CHARS = 20_000  # of one text
_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
_NS_IN_MS = 1_000_000
_RESULTS = {Verdict.PASSED: "pass", Verdict.FAILED: "fail"}

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SpanSource:
    """Where executions come from."""

    run_id: int
    suite: str
    agent: str


def request_of(spans: Sequence[JsonObject]) -> JsonObject:
    """Return the request with which spans are exported."""
    resource = {"attributes": _attributes({"service.name": "evalwell"})}
    scope = {"scope": {"name": "evalwell"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def spans_of(
    outcome: Outcome, source: SpanSource, *, ended_at: datetime, with_content: bool
) -> list[JsonObject]:
    """Return the spans of an execution, its own first.

    `with_content` adds what was said: messages, arguments and results of tools, and reasons of
    grades, which quote them.
    """
    return _Writer(outcome, source, with_content=with_content).spans(_ns(ended_at))


def _ns(moment: datetime) -> int:
    return int(moment.timestamp() * 1000) * _NS_IN_MS


class _Writer:
    """Writes the spans of one execution."""

    def __init__(self, outcome: Outcome, source: SpanSource, *, with_content: bool) -> None:
        self._outcome = outcome
        self._trial = outcome.trial
        self._source = source
        self._with_content = with_content
        # A conversation that is graded again has been exported before.
        self._is_again = outcome.job.stored is not None
        known = None if self._is_again else self._trial.trace_id
        self._trace_id = known or secrets.token_hex(16)
        self._root_id = secrets.token_hex(8)

    def spans(self, ended: int) -> list[JsonObject]:
        began = ended
        if self._trial.started_at and not self._is_again:
            began = _ns(datetime.fromisoformat(self._trial.started_at))
        spans: list[JsonObject] = []
        at = began
        for turn in () if self._is_again else self._trial.turns:
            spans += self._turn(turn, at)
            at += _duration((turn.latency_ms or 0) + turn.waited_ms)
        spans += (self._judge(call, at) for call in self._outcome.judge_calls if not call.is_reused)
        last = max([ended, *(int(span["endTimeUnixNano"]) for span in spans)])
        return [self._root(began, last), *spans]

    def _root(self, began: int, ended: int) -> JsonObject:
        decision = self._outcome.decision
        verdict = decision.verdict if decision else None
        attributes = {
            "test.suite.name": self._source.suite,
            "test.case.name": self._trial.case,
            "test.case.result.status": _RESULTS.get(verdict) if verdict else None,
            "evalwell.run.id": self._source.run_id,
            "evalwell.execution.id": self._outcome.job.id,
            "evalwell.trial": self._trial.number,
            "evalwell.user.model": self._trial.user_model,
            "evalwell.user.is_simulated": self._outcome.job.case.simulated_user is not None or None,
            "evalwell.verdict": verdict.value if verdict else None,
            "evalwell.score": decision.score if decision else None,
            "evalwell.cause": decision.cause.value if decision and decision.cause else None,
            "evalwell.reason": _text(decision.reason) if decision and self._with_content else None,
        }
        span = self._span(
            f"evaluate {self._trial.case}", began, ended, attributes, span_id=self._root_id
        )
        is_error = verdict is Verdict.ERRORED
        whole = [grade for grade in self._outcome.graded if grade.turn is None or self._is_again]
        return span | {
            "events": list(self._grades(whole, ended)),
            "status": {"code": _ERROR} if is_error else {},
        }

    def _turn(self, turn: TurnRecord, began: int) -> Iterator[JsonObject]:
        ended = began + _duration((turn.latency_ms or 0) + turn.waited_ms)
        span_id = turn.span_id or secrets.token_hex(8)
        attributes: JsonObject = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": self._source.agent,
            "gen_ai.conversation.id": self._trace_id,
            "gen_ai.response.model": turn.model,
            "evalwell.turn": turn.index,
            **_tokens(turn.usage),
        }
        if self._with_content:
            attributes["gen_ai.input.messages"] = _message("user", turn.user)
            attributes["gen_ai.output.messages"] = _message(
                "assistant", turn.reply, reasoning=turn.reasoning
            )
        span = self._span(
            f"invoke_agent {self._source.agent}",
            began,
            ended,
            attributes | ({"error.type": "agent"} if turn.error else {}),
            span_id=span_id,
            parent=self._root_id,
            kind=_CLIENT,
        )
        grades = [grade for grade in self._outcome.graded if grade.turn == turn.index]
        status = {"code": _ERROR, "message": turn.error if self._with_content else ""}
        yield span | {
            "events": list(self._grades(grades, ended)),
            "status": status if turn.error else {},
        }
        # An agent that sends spans exports its calls itself.
        for call in turn.tool_calls if self._trial.span_count is None else ():
            yield self._tool(call, began, parent=span_id)

    def _tool(self, call: ToolCall, began: int, *, parent: str) -> JsonObject:
        attributes: JsonObject = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "evalwell.duration": None if call.duration_ms is not None else "unknown",
        }
        if self._with_content:
            attributes["gen_ai.tool.call.arguments"] = _text(json.dumps(call.args))
            attributes["gen_ai.tool.call.result"] = _text(json.dumps(call.result))
        # A span needs an end, even if the time is unknown.
        ended = began + _duration(call.duration_ms or 0)
        is_failed = error_of(call) is not None
        failed = {"error.type": "tool"} if is_failed else {}
        span = self._span(
            f"execute_tool {call.name}", began, ended, attributes | failed, parent=parent
        )
        return span | {"status": {"code": _ERROR} if is_failed else {}}

    def _judge(self, call: JudgeCall, began: int) -> JsonObject:
        attributes: JsonObject = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": call.provider,
            "gen_ai.request.model": call.asked_model,
            "gen_ai.response.model": call.model,
            "evalwell.purpose": call.purpose,
            **_tokens(call.usage),
        }
        if self._with_content:
            attributes["gen_ai.input.messages"] = _message("user", call.prompt)
            attributes["gen_ai.output.messages"] = _message("assistant", call.reply)
        ended = began + _duration(call.latency_ms + call.waited_ms)
        name = f"chat {call.asked_model or call.model}"
        return self._span(name, began, ended, attributes, parent=self._root_id, kind=_CLIENT)

    def _grades(self, grades: Sequence[GradedAssertion], at: int) -> Iterator[JsonObject]:
        """Return an event for each grade."""
        for graded in grades:
            grade = graded.grade
            labels = {True: "pass", False: "fail", None: grade.status.value}
            attributes = {
                "gen_ai.evaluation.name": graded.type,
                "gen_ai.evaluation.score.value": grade.score,
                "gen_ai.evaluation.score.label": labels[grade.passed],
                # Labels and reasons quote what people wrote and agents said.
                "gen_ai.evaluation.explanation": _text(grade.reason)
                if self._with_content
                else None,
                "evalwell.check": graded.label if self._with_content else None,
            }
            yield {
                "name": "gen_ai.evaluation.result",
                "timeUnixNano": str(at),
                "attributes": _attributes(attributes),
            }

    def _span(
        self,
        name: str,
        began: int,
        ended: int,
        attributes: Mapping[str, object],
        *,
        span_id: str = "",
        parent: str = "",
        kind: int = _INTERNAL,
    ) -> JsonObject:
        return {
            "traceId": self._trace_id,
            "spanId": span_id or secrets.token_hex(8),
            **({"parentSpanId": parent} if parent else {}),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": str(began),
            "endTimeUnixNano": str(ended),
            "attributes": _attributes(attributes),
        }


def _duration(milliseconds: float) -> int:
    return int(milliseconds * _NS_IN_MS)


def _tokens(usage: Usage) -> JsonObject:
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.response_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read or None,
    }


def _text(text: str) -> str:
    return cut_middle(text, MAX_CHARS)


def _message(role: str, text: str, *, reasoning: str = "") -> str:
    parts = [{"type": "text", "content": _text(text)}]
    if reasoning:
        parts.insert(0, {"type": "reasoning", "content": _text(reasoning)})
    return json.dumps([{"role": role, "parts": parts}])


def _attributes(values: Mapping[str, object]) -> list[JsonObject]:
    """Write attributes; unknown ones are left out."""
    return [
        {"key": key, "value": _value(value)}
        for key, value in values.items()
        if value is not None and value != ""
    ]


def _value(value: object) -> JsonObject:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value}
