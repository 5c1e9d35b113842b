"""The spec of an agent with its own JSON: the request, and places in its reply.

A reply may arrive as a stream of events; the places then begin at each event.
"""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.basics.template import texts_in, variables_in
from evals_app.engine.specs.base_spec import Spec
from fixtures_app.ground.json_paths import parse_path
from fixtures_app.ground.nesting import TOO_DEEP, is_too_deep
from fixtures_app.ground.spec_errors import error_at
from fixtures_app.ground.strict_json import JsonObject
from fixtures_app.ground.words import near

SESSION = "agent_session_id"
AGENT_SESSION = "{{agent_session_id}}"  # what the agent calls the conversation, read from its reply
MESSAGES = "messages"  # the earlier messages and this one, as chat APIs take them
THIS_MESSAGE = ("input", MESSAGES)
SENT = (
    *("input", "history", MESSAGES, "session_id", "channel", "context_params"),
    *("case", "trial", "clock", "files", SESSION),
)


def sent_keys(body: object) -> Iterator[str]:
    """Yield what a request asks for: the first key of each variable in it.

    Raises:
        ValueError: the name of a variable cannot be read.
    """
    for text in texts_in(body):
        for name in variables_in(text):
            yield str((parse_path(name) or ("",))[0])


def variables_problem(body: JsonObject) -> str | None:
    """Explain which variable of a request cannot be filled in; None if each can."""
    if is_too_deep(body):
        return f"This is {TOO_DEEP}."
    try:
        keys = list(sent_keys(body))
    except ValueError as error:
        return str(error)
    for key in keys:
        if key not in SENT:
            known = ", ".join(f"{{{{{name}}}}}" for name in SENT)
            return (
                f"Unknown variable {{{{{key}}}}}.{near(key, SENT)} Known: {known}."
                " To write literal braces, use \\{{."
            )
    return None


def _path_problem(path: str) -> str | None:
    try:
        parse_path(path)
    except ValueError as error:
        return str(error)
    return None


RequestBody = Annotated[dict[str, object], refuse_if(variables_problem)]
Place = Annotated[str, Field(min_length=1), refuse_if(_path_problem)]


class Places(Spec):
    """Where the JSON of an agent has what Evalwell reads: paths such as `messages[-1].content`.

    `$` is all of it. The paths of the parts of a tool call are relative to the call.
    """

    text: Place = Field(
        title="Text", description="Where the reply has its text, for example data.answer."
    )
    tool_calls: Place | None = Field(
        default=None,
        title="Tool calls",
        description="Where it lists its tool calls, for example data.steps. By default, they are"
        " unknown.",
    )
    name: Place | None = Field(
        default=None,
        title="Tool of a call",
        description="Where each call names its tool, for example tool or function.name.",
    )
    arguments: Place | None = Field(
        default=None,
        title="Arguments of a call",
        description="Where each call has its arguments: an object, or its JSON as text. By default,"
        " calls have none.",
    )
    result: Place | None = Field(
        default=None,
        title="Result of a call",
        description="Where each call has what the tool returned. By default, unknown.",
    )
    input_tokens: Place | None = Field(
        default=None,
        title="Prompt tokens",
        description="Where the reply counts them, for example usage.prompt_tokens. By default,"
        " unknown.",
    )
    output_tokens: Place | None = Field(
        default=None,
        title="Response tokens",
        description="Where the reply counts them. By default, unknown.",
    )

    session_id: Place | None = Field(
        default=None,
        title="Agent's session id",
        description="Where the reply has the id of a session that your agent opened. The next turn"
        f" sends it back as {AGENT_SESSION}, in the request or in a header.",
    )

    @model_validator(mode="after")
    def _knows_its_calls(self) -> Self:
        inside = {key: getattr(self, key) for key in ("name", "arguments", "result")}
        error = None
        if self.tool_calls is None:
            if key := next((key for key, path in inside.items() if path), None):
                message = "Write in tool_calls where the list of calls is, or leave this out."
                error = error_at("no_calls", message, (key,), inside[key])
        elif self.name is None:
            message = "Write where each tool call has the name of its tool, for example tool."
            error = error_at("no_name", message, ("name",), None)
        if error:
            raise ValidationError.from_exception_data("Places", [error])
        return self


class StreamSpec(Spec):
    """How an agent sends its reply in pieces: a stream of events.

    The places of the reply are relative to each event. The pieces of the text are joined, and so are
    lists of tool calls; of other values, the last one counts. The data `[DONE]` ends the stream.
    """

    format: Literal["sse", "ndjson"] = Field(
        title="Reply arrives",
        description="How your agent sends it.",
        json_schema_extra={
            "words": {
                "sse": "In pieces, as server-sent events",
                "ndjson": "In pieces, as lines of JSON",
            },
            "none": "All at once",
        },
    )
    text_events: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=list,
        title="Text events",
        description="Names of the events whose text belongs to the reply: the name of a server-sent"
        " event, or what its JSON has under type. By default, all events.",
        max_length=50,
    )
