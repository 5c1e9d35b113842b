"""Spans of an agent's own work, and what they add to its turns.

They follow the conventions of OpenTelemetry for generative AI, OpenInference or OpenLLMetry. A
span belongs to the turn whose span is among its ancestors. A turn has one source: calls that the
reply states are never mixed with those of spans.
"""

import json
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from evals_app.engine.agents.external.reply import RETRIEVED
from evals_app.engine.agents.tools.tool_calls import json_or_text, tool_result
from evals_app.engine.record.tool_results import mcp_error
from evals_app.engine.record.trial import Chunk, Message, ToolCall, Trial, TurnRecord
from evals_app.engine.record.usage import Usage, total_usage
from evals_app.engine.specs.base_spec import MAX_INTEGER
from fixtures_app.ground.strict_json import Json, JsonObject

_NS_IN_MS = 1_000_000
_MAX_OF_A_NAME = 200  # characters
_MAX_WRITTEN = 100_000  # characters of a Python value that is read as one

# The names in each convention, the current ones first.
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
_ARGUMENTS = (
    *("gen_ai.tool.call.arguments", "gen_ai.tool.arguments", "tool_arguments"),
    *("traceloop.entity.input", "input.value", "input"),
)
_CALL_IDS = ("gen_ai.tool.call.id", "tool_call.id")
_RESULTS = (
    *("gen_ai.tool.call.result", "gen_ai.tool.result", "tool_response"),
    *("traceloop.entity.output", "output.value", "output"),
)
_INPUT_TOKENS = (
    *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    *("llm.token_count.prompt", "llm.usage.prompt_tokens"),
)
_OUTPUT_TOKENS = (
    *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    *("llm.token_count.completion", "llm.usage.completion_tokens"),
)
_CACHED_TOKENS = (
    *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
    "llm.token_count.prompt_details.cache_read",
)
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_QUERIES = ("gen_ai.retrieval.query.text", "db.query.text", "input.value", "traceloop.entity.input")
# Keys around the arguments, as OpenLLMetry writes them.
_WRAPPERS = {"inputs", "input_str", "args", "kwargs", "tags", "metadata", "run_id", "parent_run_id"}
_FOR_TOOLS = {"tool_calls", "tool_call", "tool_use"}
_MODEL_OPERATIONS = {"chat", "text_completion", "generate_content"}


@dataclass(frozen=True, slots=True)
class AgentSpan:
    """A piece of an agent's work; its times are those of its machine, in ns since 1970."""

    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    error: str | None = None

    def to_json(self) -> JsonObject:
        return asdict(self)

    @property
    def duration_ms(self) -> float:
        return max(0, self.end_ns - self.start_ns) / _NS_IN_MS

    @property
    def kind(self) -> str:
        """What it is: tool, model, retrieval, or anything else."""
        operation, inference, loop, request = (  # of any type: agents may send anything
            f"{self.attributes.get(name, '')}".lower()
            for name in (
                *("gen_ai.operation.name", "openinference.span.kind"),
                *("traceloop.span.kind", "llm.request.type"),
            )
        )
        if operation == "execute_tool" or inference == "tool" or loop == "tool":
            return "tool"
        if (
            operation in _MODEL_OPERATIONS
            or inference == "llm"
            or request in {"chat", "completion"}
        ):
            return "model"
        if operation == "retrieval" or inference == "retriever":
            return "retrieval"
        if operation == "embeddings" or inference == "embedding":
            return "embeddings"
        return "other"

    def first(self, names: Iterable[str]) -> Any:
        """Return the first of these attributes that it has; None if it has none."""
        return next((self.attributes[name] for name in names if name in self.attributes), None)

    def read(self, names: Iterable[str]) -> object:
        """Return the first of these attributes; JSON in a text is read."""
        value = self.first(names)
        return tool_result(self.name, json_or_text(value) if isinstance(value, str) else value)


@dataclass(frozen=True, slots=True)
class ReceivedSpans:
    """The spans of a trace so far; `refused` spans exceeded the limit."""

    spans: tuple[AgentSpan, ...] = ()
    refused: int = 0


class Tree:
    """The spans of a trace below the turns of a conversation, in the order in which they began."""

    def __init__(self, spans: Iterable[AgentSpan], turn_ids: Iterable[str]) -> None:
        self.spans = sorted(spans, key=lambda span: (span.start_ns, -span.end_ns))
        self._by_id = {span.span_id: span for span in self.spans}
        self._turn_ids = [span_id for span_id in turn_ids if span_id]
        self._tops = {span.span_id: self._top(span) for span in self.spans}
        if len(self._turn_ids) == 1:  # with a single turn, missing spans in between do not matter
            self._tops = dict.fromkeys(self._tops, self._turn_ids[0])

    def _top(self, span: AgentSpan) -> str:
        """Return the id at which the chain of its parents leaves the spans that arrived."""
        seen = {span.span_id}
        while (parent := self._by_id.get(span.parent_id)) and parent.span_id not in seen:
            seen.add(parent.span_id)
            span = parent
        return span.parent_id

    def of_turn(self, span_id: str) -> list[AgentSpan]:
        return [span for span in self.spans if self._tops[span.span_id] == span_id]

    @property
    def strays(self) -> list[AgentSpan]:
        """The spans whose turn is unknown."""
        return [span for span in self.spans if self._tops[span.span_id] not in self._turn_ids]

    @property
    def has_gaps(self) -> bool:
        """Whether a span's parent has not arrived."""
        known = {*self._by_id, *self._turn_ids}
        return any(span.parent_id not in known for span in self.spans)

    def is_enclosed(self, span_id: str) -> bool:
        """Return whether a span arrived that encloses all the work of a turn.

        It ends last, so all others of its process have arrived.
        """
        return any(
            span.kind == "other" and span.parent_id == span_id for span in self.of_turn(span_id)
        )

    def above(self, span: AgentSpan) -> Iterator[AgentSpan]:
        """Return the ancestors of a span, the nearest first."""
        seen = {span.span_id}
        while (parent := self._by_id.get(span.parent_id)) and parent.span_id not in seen:
            seen.add(parent.span_id)
            yield parent
            span = parent


def is_complete(trial: Trial, received: ReceivedSpans) -> bool:
    """Return whether all that the turns wait for has arrived."""
    tree = Tree(received.spans, (turn.span_id for turn in trial.turns))
    waiting = [turn for turn in trial.turns if _waits(turn)]
    return not tree.has_gaps and all(tree.is_enclosed(turn.span_id) for turn in waiting)


def _waits(turn: TurnRecord) -> bool:
    # A failed turn may have never reached the agent.
    return not turn.reports_calls and turn.error is None


def with_spans(trial: Trial, received: ReceivedSpans, *, waited_s: float) -> Trial:
    """Return the trial with the calls and tokens that its spans report.

    `waited_s` is how long they were waited for after the last reply.
    """
    tree = Tree(received.spans, (turn.span_id for turn in trial.turns))
    turns = tuple(_turn_with(turn, tree, received, waited_s=waited_s) for turn in trial.turns)
    return trial.but(turns=turns, span_count=len(received.spans))


def _turn_with(
    turn: TurnRecord, tree: Tree, received: ReceivedSpans, *, waited_s: float
) -> TurnRecord:
    spans = tree.of_turn(turn.span_id)
    if turn.reports_calls:
        if any(span.kind == "tool" for span in spans):
            note = "The reply has tool calls, so those in its spans are not used."
            return replace(turn, notes=(*turn.notes, note))
        return turn
    if turn.error is not None and not tree.is_enclosed(turn.span_id):
        return turn  # the agent may still be working, or was never asked
    if problem := _missing(spans, tree, received, waited_s=waited_s):
        # Of a failed turn, calls are unknown anyway.
        return replace(turn, calls_missing=problem if turn.error is None else "")
    calls = calls_of(spans, tree)
    models = [span for span in spans if span.kind == "model"]
    message = (Message("assistant", "", calls),) if calls else ()
    notes = [f"Tool calls, tokens and model come from {_number(spans)}."]
    if tree.has_gaps or not tree.is_enclosed(turn.span_id):
        notes.append(
            "The span around the turn, or the parent of a span, did not arrive within"
            f" {waited_s:g} s, so other spans may be missing, too."
        )
    return replace(
        turn,
        messages=(*message, *turn.messages),
        reports_calls=True,
        usage=turn.usage if turn.usage != Usage() else usage_of(spans, tree),
        model=turn.model or _model_of(models),
        notes=(*turn.notes, *notes),
    )


def _missing(
    spans: Sequence[AgentSpan], tree: Tree, received: ReceivedSpans, *, waited_s: float
) -> str | None:
    """Explain why the calls of a turn are unknown; None if they are known."""
    if received.refused:
        return (
            "The agent sent too many spans, or too large ones: at least"
            f" {received.refused} could not be stored."
        )
    if tree.strays:
        return (
            f"The parents of {_number(tree.strays)} did not arrive, so it is unclear which turns they"
            " belong to."
        )
    if not spans:
        return f"No span of this turn arrived within {waited_s:g} s of the last reply."
    if not any(span.kind == "tool" for span in spans) and any(map(_asks_for_tools, spans)):
        return "Its model asked for tool calls, but no span of a tool call arrived."
    return None


def _number(spans: Sequence[AgentSpan]) -> str:
    return "1 span" if len(spans) == 1 else f"{len(spans)} spans"


def calls_of(spans: Iterable[AgentSpan], tree: Tree) -> tuple[ToolCall, ...]:
    """Return the tool calls of a turn, with the documents that were retrieved.

    A call that two instrumentations noted is one call. Documents belong to the call that retrieved
    them, otherwise to the last call, as in replies.
    """
    spans = list(spans)
    asked = _requested_arguments(spans)
    calls: dict[str, ToolCall] = {}  # by span
    seen: set[str] = set()
    loose: list[AgentSpan] = []
    for span in spans:
        above = list(tree.above(span))
        if span.kind == "retrieval":
            owner = next((other for other in above if other.span_id in calls), None)
            if owner is None:
                loose.append(span)
            else:
                calls[owner.span_id] = _with_documents(calls[owner.span_id], [span])
        elif span.kind == "tool":
            call, call_id = _call(span, asked), span.first(_CALL_IDS)
            is_noted = any(other.kind == "tool" and _name_of(other) == call.name for other in above)
            if is_noted or (call_id and f"{call_id}" in seen):
                continue
            seen.add(f"{call_id}")
            calls[span.span_id] = call
    made = list(calls.values())
    if loose:
        *others, last = made or [ToolCall(RETRIEVED, {"query": loose[0].read(_QUERIES)})]
        made = [*others, _with_documents(last, loose)]
    return tuple(made)


def _name_of(span: AgentSpan) -> str:
    name = span.first(_TOOL_NAMES) or span.name.removeprefix("execute_tool ") or "tool"
    return f"{name}"[:_MAX_OF_A_NAME]


def _call(span: AgentSpan, asked: Mapping[str, JsonObject]) -> ToolCall:
    """Return the call that a span notes; `asked` has what models asked for, by the ids of calls."""
    name = _name_of(span)
    result, call_id, error = _outcome(span.read(_RESULTS))
    arguments = _arguments(span)
    if not isinstance(arguments, dict):
        call_id = call_id or span.first(_CALL_IDS)
        # OpenInference has only the value where LangChain's tool takes one argument.
        arguments = asked.get(f"{call_id}", {} if arguments in (None, "") else {"input": arguments})
    return ToolCall(
        name,
        arguments,
        tool_result(name, result),
        span.error or error or mcp_error(result),
        duration_ms=span.duration_ms,
    )


def _arguments(span: AgentSpan) -> Json:
    """Return the arguments of a call: an object, or what is written instead of one."""
    written = span.first(_ARGUMENTS)
    value = span.read(_ARGUMENTS)
    if isinstance(value, str) and value.startswith("{") and len(value) < _MAX_WRITTEN:
        # LangChain writes arguments as Python does.
        with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            plain = json.dumps(literal_eval(value), allow_nan=False)
            value = tool_result(span.name, json.loads(plain))
    if not isinstance(value, dict):
        return value if isinstance(value, list) else written
    for key in ("inputs", "kwargs"):  # OpenLLMetry's
        if isinstance(value.get(key), dict) and value.keys() <= _WRAPPERS:
            return dict(value[key])
    return {str(key): part for key, part in value.items()}


def _outcome(result: Any) -> tuple[object, str | None, str | None]:
    """Take a result out of LangChain's message around it; also return the call's id and its error."""
    match result:
        case {"output": output} if result.keys() <= {"output", "kwargs"}:  # OpenLLMetry's
            return _outcome(output)
        case {"type": "tool", "data": {"content": _} as message}:
            pass
        case {"lc": _, "kwargs": {"content": _} as message}:
            pass
        case {"type": "tool", "content": _}:
            message = result
        case _:
            return result, None, None
    content = message["content"]
    error = f"{content}" if message.get("status") == "error" else None
    read = json_or_text(content) if isinstance(content, str) else content
    return read, message.get("tool_call_id"), error


def _asks_for_tools(span: AgentSpan) -> bool:
    """Return whether it is a model call whose reply asks for a tool call."""
    reasons = span.read(["gen_ai.response.finish_reasons"])
    has_reason = isinstance(reasons, list) and bool(_FOR_TOOLS.intersection(map(str, reasons)))
    return has_reason or bool(_requested_arguments([span]))


def _requested_arguments(spans: Iterable[AgentSpan]) -> dict[str, JsonObject]:
    """Return the arguments with which models asked for calls, by the ids of the calls."""
    asked: dict[str, JsonObject] = {}
    for span in spans:
        for name, call_id in span.attributes.items():
            if name.startswith("llm.output_messages.") and name.endswith(".tool_call.id"):
                place = name.removesuffix("id")
                arguments = span.read([f"{place}function.arguments"])
                if isinstance(arguments, dict):
                    asked[f"{call_id}"] = arguments
    return asked


def _with_documents(call: ToolCall, spans: Iterable[AgentSpan]) -> ToolCall:
    chunks = tuple(chunk for span in spans for chunk in _documents(span))
    return replace(call, chunks=(*call.chunks, *chunks), is_retrieval=True)


def _documents(span: AgentSpan) -> Iterator[Chunk]:
    listed = span.read(["gen_ai.retrieval.documents"])
    documents = listed if isinstance(listed, list) else list(_numbered_documents(span.attributes))
    for number, document in enumerate(documents, 1):
        if isinstance(document, Mapping):
            text = document.get("content", document.get("text", ""))
            yield Chunk(
                f"{document.get('id') or number}", text if isinstance(text, str) else str(text)
            )


def _numbered_documents(attributes: Mapping[str, object]) -> Iterator[JsonObject]:
    """Return the documents of OpenInference: retrieval.documents.0.document.content, and so on."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        match name.split(".", 4):
            case ["retrieval", "documents", number, "document", key] if number.isdecimal():
                found.setdefault(int(number), {})[key] = value
    yield from (found[number] for number in sorted(found))


def usage_of(spans: Sequence[AgentSpan], tree: Tree) -> Usage:
    """Return the tokens of a turn: of its model calls, else of the agents that report a sum.

    A call inside another one is the same call, noted by two instrumentations.
    """
    models = [span for span in spans if span.kind == "model"]
    counting = models or [span for span in spans if span.first(_INPUT_TOKENS) is not None]
    outermost = {span.span_id for span in counting}
    usages = [
        _tokens(span)
        for span in counting
        if not any(other.span_id in outermost for other in tree.above(span))
    ]
    return total_usage(usages) if usages else Usage()


def _tokens(span: AgentSpan) -> Usage:
    given, answered = _count(span.first(_INPUT_TOKENS)), _count(span.first(_OUTPUT_TOKENS))
    cached = _count(span.first(_CACHED_TOKENS)) or 0
    if given is None or cached > given:
        return Usage(given, answered)
    return Usage(given - cached, answered, cache_read=cached)


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INTEGER
    return value if is_count else None


def _model_of(models: Sequence[AgentSpan]) -> str | None:
    names = [span.first(_MODELS) for span in models]
    return next((f"{name}"[:_MAX_OF_A_NAME] for name in reversed(names) if name), None)
