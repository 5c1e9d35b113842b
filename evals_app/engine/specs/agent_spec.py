"""What a person writes about agents: what is tested, and how it is made to answer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import InitErrorDetails, core_schema

from evals_app.engine.basics.permits import is_frozen, refuse_if
from evals_app.engine.callables.references import (
    callable_problem,
    command_problem,
    interpreter_problem,
)
from evals_app.engine.specs.base_spec import (
    MILLISECONDS,
    SECONDS,
    ModelRef,
    ModelSpec,
    Name,
    Pattern,
    Slug,
    Spec,
    Template,
    fields_of,
    is_unset,
)
from evals_app.engine.specs.inventory import Abilities
from evals_app.engine.specs.model_settings import AgentSettings, setting_problems
from evals_app.engine.specs.outside_spec import OAuthSpec, PaceSpec, PollSpec, RateGroup
from evals_app.engine.specs.sending_spec import (
    AgentUrl,
    CertificateSpec,
    Method,
    Query,
    RequestFormat,
    sending_problems,
)
from evals_app.engine.specs.tool_spec import (
    AnyTool,
    Headers,
    looks_up,
    misplaced_variables,
    names_of,
    written_names,
)
from evals_app.engine.specs.wire_spec import (
    AGENT_SESSION,
    SESSION,
    Places,
    RequestBody,
    StreamSpec,
    sent_keys,
)
from fixtures_app.ground.spec_errors import error_at, taken_apart

Driver = Literal["model", "http", "python", "command", "connected", "scripted"]
Protocol = Literal["json", "openai-chat"]
CallSource = Literal["reply", "spans"]

MAX_LANE_CHARS = 100
# The only rule of an agent whose developer has still to say how it is reached.
NOT_CONNECTED = "This agent is not connected yet: its developer has not answered."
MAX_OFFERS = 3  # of one message to computers: each may be lost
SPANS_WAIT_S = 15.0  # most exporters send every 5 s


class ScriptedUsage(Spec):
    """Tokens that a scripted rule reports, to test limits offline."""

    input_tokens: int = Field(description="Prompt tokens.", ge=0)
    output_tokens: int = Field(description="Response tokens.", ge=0)


class ScriptedCall(Spec):
    """A tool call that a scripted rule makes."""

    tool: Name = Field(description="One of the agent's tools.")
    args: dict[str, object] = Field(
        default_factory=dict, description="May contain {{input}} and {{result.N.path}}."
    )


class ScriptedRule(Spec):
    """When the message matches, call these tools, then reply or fail.

    `when` is an RE2 pattern searched in the message, case-insensitively; `turn` a 1-based
    position. In `reply` and in later `args`, `{{input}}` is the message and `{{result.N.path}}`
    the N-th result of this turn.
    """

    when: Pattern | None = Field(
        default=None,
        description="RE2 pattern searched in the message, ignoring case. By default, every message.",
    )
    turn: int | None = Field(default=None, description="Only in this turn, counted from 1.", ge=1)
    calls: list[ScriptedCall] = Field(
        default_factory=list, description="Tool calls, made in this order."
    )
    reply: str | None = Field(
        default=None, description="The reply. It may contain {{input}} and {{result.N.path}}."
    )
    delay_ms: int = Field(
        default=0,
        description="How long the reply takes.",
        ge=0,
        le=3_600_000,
        json_schema_extra=MILLISECONDS,
    )
    error: str | None = Field(default=None, description="The error instead of a reply.")
    usage: ScriptedUsage | None = Field(
        default=None, description="Tokens it reports. By default, unknown."
    )

    @model_validator(mode="after")
    def _replies_or_fails(self) -> Self:
        if self.reply is None and self.error is None:
            raise ValueError("A rule needs a reply or an error.")
        if self.reply is not None and self.error is not None:
            raise ValueError("A rule cannot have both a reply and an error. Remove one.")
        return self


Command = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=4000)]],
    Field(min_length=1, max_length=100),
    refuse_if(command_problem, once=True),
]


def _importable(reference: str, info: ValidationInfo) -> str:
    # An invalid interpreter is reported by itself.
    if not is_frozen(info) and "interpreter" in info.data:
        interpreter = info.data["interpreter"]
        if problem := callable_problem(reference, "agent", interpreter=interpreter):
            raise ValueError(problem)
    return reference


class AgentSpec(Spec):
    """What is tested: a driver with its settings, system prompt and tools."""

    # It reads agents of any driver. Each driver is a class below, with the keys that it uses.
    label: ClassVar[str]
    # The key without which it cannot work, and what that is.
    needed: ClassVar[tuple[str, str] | None]
    protocols: ClassVar[Mapping[str, Protocol]] = {}  # without which keys have no effect

    agent: Name = Field(title="Name", description="Prompts can use it as {{agentName}}.")
    slug: Slug = Field(title="Slug", description="Its name in files, suites and commands.")
    description: str = Field(default="", title="Description", description="For people only.")
    driver: Driver = Field(
        default="model",
        title="Type",
        description="How it answers: by a model with tools, over HTTP, by a Python callable, by a"
        " program, by a program on someone's computer, or by rules.",
    )

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        if cls is not AgentSpec:
            return handler(source)
        choices = {driver: handler.generate_schema(spec) for driver, spec in _READ.items()}
        union = core_schema.tagged_union_schema(
            choices,
            "driver",
            custom_error_type="literal_error",
            custom_error_context={"expected": " or ".join(map(repr, DRIVERS))},
        )
        return core_schema.no_info_wrap_validator_function(_read, union)

    @classmethod
    def members(cls) -> Iterable[type[Spec]]:
        return DRIVERS.values() if cls is AgentSpec else ()

    @property
    def asked_model(self) -> ModelSpec | None:
        """Return the model that Evalwell asks in its place."""
        return getattr(self, "model", None)

    @property
    def sent_prompt(self) -> str:
        """Return the system prompt that Evalwell sends."""
        return getattr(self, "system_prompt", "")

    @property
    def given_tools(self) -> Sequence[AnyTool]:
        """Return the tools that Evalwell gives it."""
        return getattr(self, "tools", ())

    @property
    def tool_names(self) -> list[str]:
        """Return the names of all tools that it may call."""
        return [name for tool in self.given_tools for name in names_of(tool)]

    @property
    def world_tools(self) -> list[str]:
        """Return the names of its tools that worlds have."""
        return [tool for tool in self.given_tools if isinstance(tool, str)]

    @property
    def abilities(self) -> Abilities:
        """Return which tools it has, and whether it looks up knowledge outside its world."""
        return abilities_of(self.driver, self.given_tools)

    @property
    def rate_group(self) -> RateGroup | None:
        """Return its limits that all processes share; None if it has none."""
        return None

    @property
    def spans_waited_s(self) -> float | None:
        """Return how long to wait for its spans; None if they are not read."""
        return None

    @model_validator(mode="wrap")
    @classmethod
    def _fits_its_driver(
        cls, data: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        errors = list[InitErrorDetails]()
        if isinstance(data, dict):
            errors += cls._misfits(data)
            foreign = fields_of(AgentSpec).keys() - cls.model_fields.keys()
            data = {key: value for key, value in data.items() if key not in foreign}
        try:
            spec = handler(data)
        except ValidationError as exc:
            places = {error.get("loc") for error in errors}
            others = (error for error in taken_apart(exc) if error.get("loc") not in places)
            errors = [*others, *errors]
        else:
            errors += spec._conflicts(info)  # noqa: SLF001 - of this very class
        if errors:
            raise ValidationError.from_exception_data("AgentSpec", errors)
        return spec

    @classmethod
    def _misfits(cls, written: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Yield errors for the key that the driver needs, and for keys that it does not use."""
        driver = written.get("driver", "model")
        if cls.needed is not None and not written.get(cls.needed[0]):
            key, example = cls.needed
            message = f"An agent with driver {driver} needs {example}."
            yield error_at("needed_key", message, (key,), written.get(key))
        yield from setting_problems(written)
        for key, drivers in misplaced_keys(written).items():
            protocols = ((owner, DRIVERS[owner].protocols.get(key)) for owner in drivers)
            owners = " or ".join(
                f"{owner} with protocol {protocol}" if protocol else owner
                for owner, protocol in protocols
            )
            message = f"{key} is only for driver {owners}, but this agent has driver {driver}."
            yield error_at("foreign_key", message, (key,), written[key])

    def _conflicts(self, info: ValidationInfo) -> Iterator[InitErrorDetails]:
        """Yield errors for what is valid alone, but not together."""
        yield from ()


_MODEL: Any = {
    "title": "Model",
    "description": "provider/model, for example anthropic/claude-haiku-5-5. A name that begins"
    " with claude-, gpt- or gemini- needs no provider.",
}
SystemPrompt = Annotated[
    Template,
    Field(
        title="System prompt",
        description="It may contain {{threadContext.channel}}, {{threadContext.params.NAME}},"
        " {{agentName}}, {{datetime}}, {{currentTime}} and {{currentDate}}.",
    ),
]


class InsideAgent(AgentSpec):
    """An agent that Evalwell gives tools."""

    # Judges use the prompt and the model of a scripted agent, too.
    model: ModelRef | None = Field(default=None, **_MODEL)
    system_prompt: SystemPrompt = ""
    tools: list[AnyTool] = Field(
        default_factory=list,
        title="Test data tools",
        description="What it may call: test data tools, tools with canned answers, HTTP requests,"
        " tools of MCP servers.",
    )
    settings: AgentSettings = Field(
        default=AgentSettings(),
        title="Settings",
        description="Limits of its model, and the format of its replies.",
    )

    def _conflicts(self, info: ValidationInfo) -> Iterator[InitErrorDetails]:
        first: dict[str, int] = {}
        for n, tool in enumerate(self.tools):
            for name in names_of(tool):
                if (known := first.setdefault(name, n)) != n:
                    message = (
                        f"Tool {known + 1} is also called {name!r}; names of tools must be unique."
                    )
                    yield error_at("repeated_tool", message, ("tools", n), name)


class ModelAgent(InsideAgent):
    """A model with tools."""

    label = "A model with tools"
    needed = ("model", "a model, for example anthropic/claude-haiku-5-5")

    driver: Literal["model"] = "model"
    model: ModelRef = Field(**_MODEL)


class OutsideAgent(AgentSpec):
    """An agent that brings a model and tools of its own."""

    tool_calls_from: CallSource = Field(
        default="reply",
        title="Tool calls from",
        description="For drivers http, python, command and connected. reply: from its replies."
        " spans: from OpenTelemetry spans that it sends, for turns whose reply has no tool_calls.",
    )
    spans_wait_s: float | None = Field(
        default=None,
        title="Max wait for spans (s)",
        description="How long to wait for late spans after the last reply of a conversation. By"
        f" default, {SPANS_WAIT_S:g} s.",
        json_schema_extra=SECONDS,
        gt=0,
        le=300,
    )

    @property
    def spans_waited_s(self) -> float | None:
        if self.tool_calls_from != "spans":
            return None
        return self.spans_wait_s or SPANS_WAIT_S

    def _conflicts(self, info: ValidationInfo) -> Iterator[InitErrorDetails]:
        if self.tool_calls_from != "spans" and self.spans_wait_s is not None:
            message = "spans_wait_s has no effect without tool_calls_from: spans."
            yield error_at("no_spans", message, ("spans_wait_s",), self.spans_wait_s)


class HttpAgent(OutsideAgent):
    """An agent over HTTP."""

    label = "An agent over HTTP"
    needed = ("url", "an address, for example https://agent.example.org/chat")
    protocols = {
        **dict.fromkeys(("remote_model", "system_prompt"), "openai-chat"),
        **dict.fromkeys(("method", "query", "request", "request_format"), "json"),
        **dict.fromkeys(("response", "poll"), "json"),
    }

    driver: Literal["http"]
    system_prompt: SystemPrompt = ""
    url: AgentUrl = Field(
        title="Address",
        description="For driver http: messages are sent to it. With protocol json, its path may contain"
        " the variables of request that are a text or a number.",
    )
    headers: Headers = Field(
        default_factory=dict,
        title="Headers",
        description="For driver http: sent with each message, as texts or as {env: NAME}.",
    )
    protocol: Protocol = Field(
        default="json",
        title="Protocol",
        description="For driver http. json: our own keys with the message, the earlier messages,"
        " channel and parameters, or those of request and response. openai-chat: chat completions, as many model servers have.",
    )
    method: Method = Field(
        default="POST",
        title="Method",
        description="For protocol json: the HTTP method. GET and DELETE have no body, so the message"
        " goes into query, or into the path of the address.",
        json_schema_extra={"words": {name: name for name in get_args(Method)}},
        exclude_if=lambda method: method == "POST",
    )
    query: Query = Field(
        default_factory=dict,
        title="Query parameters",
        description="For protocol json: added to the address, with the variables of request. By"
        " default, none.",
        exclude_if=is_unset,
    )
    request: RequestBody | None = Field(
        default=None,
        title="Request",
        description="For protocol json: the JSON that your agent expects, with {{input}} where the"
        " message goes. By default, our own keys. Also: {{history}}, {{messages}}, {{session_id}},"
        " {{channel}}, {{context_params.NAME}}, {{case}}, {{trial}}, {{clock}} and {{files}}.",
    )
    request_format: RequestFormat = Field(
        default="json",
        title="Request is sent as",
        description="For protocol json: form sends the keys of request as the fields of a form, and"
        " multipart also the files of the turn, with {{files}} as a field.",
        json_schema_extra={
            "words": {
                "json": "JSON",
                "form": "A form (URL-encoded)",
                "multipart": "A form with files (multipart)",
            }
        },
        exclude_if=lambda form: form == "json",
    )
    response: Places | None = Field(
        default=None,
        title="Places in the reply",
        description="For protocol json: where your agent's JSON has the text and the tool calls. By"
        " default, under our own keys.",
    )
    stream: StreamSpec | None = Field(
        default=None,
        title="Stream",
        description="For driver http: how it sends its reply in pieces. By default, all at once.",
    )
    poll: PollSpec | None = Field(
        default=None,
        title="Job",
        description="For protocol json: how to wait for an agent that answers later. By default, its"
        " first answer is the reply.",
    )
    oauth: OAuthSpec | None = Field(
        default=None,
        title="Access token",
        description="For driver http: where it gets an access token (OAuth 2 client credentials). By"
        " default, none.",
    )
    client_certificate: CertificateSpec | None = Field(
        default=None,
        title="Client certificate",
        description="For driver http: what Evalwell shows to an agent that asks for a certificate"
        " (mutual TLS). By default, none.",
        exclude_if=is_unset,
    )
    keeps_cookies: bool = Field(
        default=False,
        title="Keep cookies",
        description="For driver http: cookies that the agent sets are sent back to it for the rest of"
        " the conversation. By default, they are ignored.",
        exclude_if=is_unset,
    )
    pace: PaceSpec | None = Field(
        default=None,
        title="Pace",
        description="For driver http: how often it may be called. By default, no limit.",
    )
    remote_model: str | None = Field(
        default=None,
        title="Model",
        description="For protocol openai-chat: the model to request. By default, none.",
        min_length=1,
        max_length=200,
    )

    @property
    def rate_group(self) -> RateGroup | None:
        if self.pace is None:
            return None
        slug = f"agent:{self.slug}"[:MAX_LANE_CHARS]
        return RateGroup(slug, self.pace.max_concurrency, self.pace.requests_per_minute)

    @property
    def called_urls(self) -> list[str]:
        """Return the addresses that are sent its headers."""
        return [url for url in (self.url, self.poll and self.poll.url) if url]

    @property
    def certified_urls(self) -> list[str]:
        """Return the addresses that are shown its client certificate."""
        return [*self.called_urls, *([self.oauth.token_url] if self.oauth else [])]

    def _conflicts(self, info: ValidationInfo) -> Iterator[InitErrorDetails]:
        yield from super()._conflicts(info)
        for name in self.headers if self.oauth is not None else ():
            if name.lower() == "authorization":
                message = "The access token is sent in this header. Remove it, or leave oauth out."
                yield error_at("oauth", message, ("headers", name), "")
        if self.stream is not None and self.poll is not None:
            message = "An agent can answer in pieces or later, not both. Leave out stream or poll."
            yield error_at("stream", message, ("poll",), None)
        if self.stream is not None and self.protocol == "openai-chat":
            yield from _not_of_chats(self.stream)
        if self.protocol == "openai-chat" and [*sent_keys(self.url)]:
            message = "Only with protocol json may an address contain variables."
            yield error_at("no_variables", message, ("url",), self.url)
        yield from self._half_sessions()
        yield from sending_problems(
            self.method, self.url, self.query, self.request, self.request_format
        )
        yield from self._certificate_problems(info)
        for url in self.called_urls:
            yield from misplaced_variables(self.headers, url, info, at=("headers",))

    def _certificate_problems(self, info: ValidationInfo) -> Iterator[InitErrorDetails]:
        """Yield errors for a certificate that these addresses are not shown."""
        needing = {"url": self.url}
        if self.oauth is not None and self.oauth.client_secret is None:
            needing["oauth.token_url"] = self.oauth.token_url
        if self.client_certificate is None:
            if len(needing) > 1:
                message = (
                    "Write the variable with the secret; or, if the server wants a certificate instead,"
                    " which one, under client_certificate."
                )
                yield error_at("no_secret", message, ("oauth", "client_secret"), None)
            return
        for key, url in needing.items():
            if not url.startswith("https://"):
                message = f"A client certificate is shown only over https://. Change {key}."
                yield error_at("no_tls", message, ("client_certificate",), None)
        variables = self.client_certificate.variables
        for url in self.certified_urls:
            yield from misplaced_variables(variables, url, info, at=("client_certificate",))

    def _half_sessions(self) -> Iterator[InitErrorDetails]:
        """Yield errors for a session of the agent that is sent and not read, or the other way round."""
        sent: list[tuple[str, ...]] = [
            ("headers", name)
            for name, value in self.headers.items()
            if isinstance(value, str) and AGENT_SESSION in value
        ]
        sent += [(key,) for key in ("query", "request") if SESSION in sent_keys(getattr(self, key))]
        place = None if self.response is None else self.response.session_id
        if sent and place is None:
            message = (
                f"Write in response.session_id where the reply has the id for {AGENT_SESSION}."
            )
            yield error_at("session", message, sent[0], "")
        if place is not None and not sent:
            message = f"Write {AGENT_SESSION} in the request or in a header, or leave this out."
            yield error_at("session", message, ("response", "session_id"), place)


def _not_of_chats(stream: StreamSpec) -> Iterator[InitErrorDetails]:
    """Yield errors for what a stream of chat completions cannot be."""
    if stream.format != "sse":
        message = "Chat completions are streamed as server-sent events. Write sse."
        yield error_at("stream", message, ("stream", "format"), stream.format)
    if stream.text_events:
        message = "Events of chat completions have no names. Leave this out."
        yield error_at("stream", message, ("stream", "text_events"), stream.text_events)


class PythonAgent(OutsideAgent):
    """A Python function."""

    label = "A Python function"
    needed = ("callable", "a callable, for example my_agents.support:answer")

    driver: Literal["python"]
    # Before the function, which is looked for in it.
    interpreter: (
        Annotated[str, Field(max_length=100), refuse_if(interpreter_problem, once=True)] | None
    ) = Field(
        default=None,
        title="Interpreter",
        description="For driver python: the name of a Python with other packages, if your administrator has"
        " set one up. By default, Evalwell's own Python.",
    )
    callable: Annotated[str, Field(max_length=300), AfterValidator(_importable)] = Field(
        title="Function",
        description="For driver python: module.path:name, if your administrator permits it.",
    )


class CommandAgent(OutsideAgent):
    """A program."""

    label = "A program"
    needed = ("command", "a program with its arguments, for example [my-agent, --json]")

    driver: Literal["command"]
    command: Command = Field(
        title="Program and arguments",
        description="For driver command: a program that your administrator permits, and its arguments.",
    )


class ConnectedAgent(OutsideAgent):
    """A program on a computer that connects to the site."""

    label = "A program on someone's computer"
    needed = None

    driver: Literal["connected"]
    if_lost: Literal["again", "fail"] = Field(
        default="again",
        title="If a computer is lost",
        description="For driver connected: what happens to a message whose computer was lost before it"
        f" answered. again: it is sent again, at most {MAX_OFFERS} times in all. fail: the conversation"
        " is errored, for agents that must not do the same twice.",
        json_schema_extra={
            "words": {"again": "Send its message again", "fail": "End the conversation (errored)"}
        },
    )


class ScriptedAgent(InsideAgent):
    """Rules that answer without a model."""

    label = "Scripted (offline)"
    needed = ("rules", "at least one rule")

    driver: Literal["scripted"]
    rules: list[ScriptedRule] = Field(
        title="Rules",
        description="For driver scripted: the first rule that matches applies.",
    )

    @property
    def is_waiting(self) -> bool:
        """Whether its developer has still to say how it is reached."""
        return [rule.error for rule in self.rules] == [NOT_CONNECTED]

    def unreached_rules(self) -> tuple[int, str]:
        """Return the first rule that never applies, from 0, and why; an empty text if each may."""
        catch_alls = (n for n, rule in enumerate(self.rules) if not (rule.when or rule.turn))
        first = next(catch_alls, len(self.rules)) + 1
        if not (below := len(self.rules) - first) > 0:
            return 0, ""
        never = "The rule below it is" if below == 1 else f"The {below} rules below it are"
        return (
            first,
            f"Rule {first} answers any message. {never} never reached. Move it to the end.",
        )

    def _conflicts(self, info: ValidationInfo) -> Iterator[InitErrorDetails]:
        yield from super()._conflicts(info)
        known = self.tool_names
        for r, rule in enumerate(self.rules):
            for c, call in enumerate(rule.calls):
                if call.tool not in known:
                    yield error_at(
                        "unknown_tool",
                        f"Rule {r + 1} calls {call.tool!r}, which is not one of this agent's tools.",
                        ("rules", r, "calls", c, "tool"),
                        call.tool,
                    )


class RecordedAgent(OutsideAgent):
    """Who answered in conversations that happened outside: only in snapshots, and never asked."""

    label = "Recorded"

    driver: Literal["recorded"]  # type: ignore[assignment]  # no one can write it

    @classmethod
    def _misfits(cls, written: Mapping[str, object]) -> Iterator[InitErrorDetails]:  # noqa: ARG003
        yield from ()

    def _conflicts(self, info: ValidationInfo) -> Iterator[InitErrorDetails]:
        if not is_frozen(info):
            known = " or ".join(map(repr, DRIVERS))
            yield error_at("unknown_driver", f"Input should be {known}", ("driver",), self.driver)


DRIVERS: Mapping[str, type[AgentSpec]] = {
    "model": ModelAgent,
    "http": HttpAgent,
    "python": PythonAgent,
    "command": CommandAgent,
    "connected": ConnectedAgent,
    "scripted": ScriptedAgent,
}
RECORDED = "recorded"
_READ: Mapping[str, type[AgentSpec]] = {**DRIVERS, RECORDED: RecordedAgent}
OUTSIDE = frozenset(name for name, spec in _READ.items() if issubclass(spec, OutsideAgent))


def _read(data: object, read: ValidatorFunctionWrapHandler) -> object:
    """Read an agent by its driver. The places of errors are those in files, without its name."""
    try:
        return read({"driver": "model"} | data if isinstance(data, dict) else data)
    except ValidationError as exc:
        errors = taken_apart(exc)
        for error in errors:
            error["loc"] = error["loc"][1:] if error["loc"] else ("driver",)
        raise ValidationError.from_exception_data("AgentSpec", errors) from None


def abilities_of(driver: str, tools: Sequence[object]) -> Abilities:
    """Return what an agent can do by its driver and its tools, as specs or as stored."""
    if driver in OUTSIDE:
        return Abilities()
    names = (name for tool in tools for name in written_names(tool))
    return Abilities(frozenset(names), finds_elsewhere=any(map(looks_up, tools)))


def misplaced_keys(written: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the keys that the driver does not use, each with the drivers that do."""
    spec, protocol = DRIVERS[written.get("driver", "model")], written.get("protocol", "json")
    return {
        key: [driver for driver, other in DRIVERS.items() if key in other.model_fields]
        for key, info in fields_of(AgentSpec).items()
        if key not in spec.model_fields or spec.protocols.get(key, protocol) != protocol
        if not _is_default(info, written.get(key))
    }


def _is_default(info: FieldInfo, value: object) -> bool:
    default = info.get_default(call_default_factory=True)
    if isinstance(default, BaseModel) and isinstance(value, dict):
        return value.items() <= default.model_dump().items()
    return value in (None, "", [], {}) or value == default
