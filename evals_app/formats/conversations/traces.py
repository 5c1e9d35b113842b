"""Conversations in traces: OTLP spans under the conventions for generative AI.

One trace is one turn. Traces with the same id of a conversation or session are one conversation.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from evals_app.engine.record.trial import Message, TurnRecord
from evals_app.engine.running.spans import AgentSpan, Tree, calls_of, usage_of
from evals_app.formats.conversations.messages import AGENT, USER, MessageReader, system_prompt_of
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from evals_app.formats.conversations.times import TimeReader
from fixtures_app.ground.strict_json import Json

_SESSIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
    "thread.id",
)
_INPUTS = ("gen_ai.input.messages", "gen_ai.prompt", "input.value", "traceloop.entity.input")
_OUTPUTS = (
    "gen_ai.output.messages",
    "gen_ai.completion",
    "output.value",
    "traceloop.entity.output",
)
_NUMBERED_INPUTS = ("llm.input_messages", "gen_ai.prompt")
_NUMBERED_OUTPUTS = ("llm.output_messages", "gen_ai.completion")
_AGENTS = ("gen_ai.agent.name", "agent.name", "service.name")
_SYSTEM = ("gen_ai.system_instructions",)
NO_MODEL = "Traces without a call of a model."
NO_MESSAGE = (
    "Traces without a message of a user. Many agents record messages only where they are"
    " asked to, for example by OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT."
)
_NS = 1_000_000_000
_NS_IN_MS = 1_000_000


def session_of(span: AgentSpan) -> str:
    """Return the id of the conversation or session that a span names; empty if it names none."""
    return str(span.first(_SESSIONS) or "")


def conversations_in_traces(
    spans: Sequence[tuple[str, AgentSpan]], file: ConversationFile
) -> Iterator[RecordedConversation]:
    """Read spans, each with the id of its trace."""
    traces: dict[str, list[AgentSpan]] = {}
    for trace_id, span in spans:
        traces.setdefault(trace_id, []).append(span)
    talks: dict[str, list[list[AgentSpan]]] = {}
    for trace_id, found in traces.items():
        session = next(filter(None, map(session_of, found)), "")
        talks.setdefault(session or trace_id, []).append(found)
    for key, of_talk in talks.items():
        of_talk.sort(key=lambda found: min(span.start_ns for span in found))
        if (conversation := _conversation(key, of_talk, file)) is not None:
            yield conversation


def _conversation(
    key: str, traces: Sequence[Sequence[AgentSpan]], file: ConversationFile
) -> RecordedConversation | None:
    turns: list[TurnRecord] = []
    history: tuple[Message, ...] = ()
    prompt = ""
    for spans in traces:
        reader = MessageReader(file)
        turn = _turn(spans, reader, len(turns) + 1)
        if turn is None:
            file.lose(NO_MESSAGE if any(map(_is_by_a_model, spans)) else NO_MODEL)
            continue
        if not turns:
            prompt, history = system_prompt_of(reader.said), _before(reader)
        turns.append(turn)
    if not turns:
        return None
    first = min((span for spans in traces for span in spans), key=lambda span: span.start_ns)
    return RecordedConversation(
        id=key,
        turns=tuple(turns),
        history=history,
        happened_at=TimeReader().read(first.start_ns // _NS),
        agent=str(next((name for span in traces[0] if (name := span.first(_AGENTS))), "")),
        system_prompt=prompt,
        place=file.name,
    )


def _turn(spans: Sequence[AgentSpan], reader: MessageReader, number: int) -> TurnRecord | None:
    """Return the turn of a trace; `reader` has then read what its first model call was given."""
    ids = {span.span_id for span in spans}
    tops = [span for span in spans if span.parent_id not in ids]
    tree = Tree(spans, [span.parent_id for span in tops])
    models = [span for span in tree.spans if span.kind == "model"]
    asking = models or tops or tree.spans  # each may name another as its parent
    reader.read(_prompt(asking[0]))
    reader.read(_messages_of(asking[0], _INPUTS, _NUMBERED_INPUTS, USER))
    asked = [one for one in reader.said if one.role == USER]
    if not asked:
        return None
    answer = MessageReader(reader.file).read(
        _messages_of(asking[-1], _OUTPUTS, _NUMBERED_OUTPUTS, AGENT)
    )
    reply = "\n\n".join(one.text for one in answer.said if one.text)
    calls = calls_of(tree.spans, tree)
    begin, end = min(span.start_ns for span in spans), max(span.end_ns for span in spans)
    models_used = [
        name
        for span in models
        if (name := span.first(("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")))
    ]
    return TurnRecord(
        number,
        asked[-1].text,
        reply=reply,
        messages=(Message.of_agent(reply, calls),),
        error=next((span.error for span in tops if span.error), None),
        usage=usage_of(tree.spans, tree),
        latency_ms=max(0, end - begin) / _NS_IN_MS,
        model=str(models_used[-1]) if models_used else None,
    )


def _is_by_a_model(span: AgentSpan) -> bool:
    return span.kind != "other" or any(name.startswith("gen_ai.") for name in span.attributes)


def _before(reader: MessageReader) -> tuple[Message, ...]:
    """Return what was said before the last message of the user."""
    spoken = [one for one in reader.said if one.role in (USER, AGENT)]
    last = max((n for n, one in enumerate(spoken) if one.role == USER), default=0)
    return tuple(
        Message("user", one.text) if one.role == USER else Message.of_agent(one.text)
        for one in spoken[:last]
        if one.text
    )


def _prompt(span: AgentSpan) -> list[Json]:
    found = span.read(_SYSTEM)
    return [{"role": "system", "content": found}] if isinstance(found, str | list) and found else []


def _messages_of(
    span: AgentSpan, names: Sequence[str], numbered: Sequence[str], role: str
) -> list[Json]:
    """Return messages of a model call: in one attribute, or in one for each part of each message."""
    for prefix in numbered:
        if found := _numbered_messages(span.attributes, prefix, role):
            return found
    value = span.read(names)
    if isinstance(value, dict):
        value = next(
            (
                value[key]
                for key in ("messages", "input", "output", "content", "query", "question")
                if key in value
            ),
            value,
        )
    if isinstance(value, list):
        return [{"role": role, **item} if isinstance(item, dict) else item for item in value]
    if isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False)
    return [{"role": role, "content": value}] if isinstance(value, str) and value else []


def _numbered_messages(attributes: Mapping[str, Json], prefix: str, role: str) -> list[Json]:
    """Return messages written as `prefix.0.role`, `prefix.0.content` or `prefix.0.message.role`."""
    found: dict[int, dict[str, Json]] = {}
    for name, value in attributes.items():
        if name.startswith(f"{prefix}."):
            number, _, key = name[len(prefix) + 1 :].partition(".")
            key = key.removeprefix("message.")
            if number.isdecimal() and key in ("role", "content"):
                found.setdefault(int(number), {"role": role})[key] = value
    return [found[number] for number in sorted(found)]
