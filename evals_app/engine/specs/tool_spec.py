"""The specs of tools outside worlds: canned ones, HTTP requests, MCP servers."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import InitErrorDetails

from evals_app.engine.basics.matchers import Matcher
from evals_app.engine.basics.permits import is_frozen, must_match, permits, refuse_if
from evals_app.engine.basics.template import texts_in, unknown_variable
from evals_app.engine.network.addresses import url_problem
from evals_app.engine.network.key_places import header_problem
from evals_app.engine.specs.base_spec import Name, Slug, Spec, Template, Variable
from fixtures_app.ground.schema_problems import schema_problems
from fixtures_app.ground.spec_errors import error_at, taken_apart
from fixtures_app.ground.strict_json import JsonObject

MAX_HEADERS = 50
ARGUMENT = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")

# Words in the names of headers with keys, and how keys begin.
_SECRETIVE = re.compile(
    r"(?:^|[-_])(?:api-?key|key|secret|token|password|auth|authorization|cookie|credentials?)(?:$|[-_])",
    re.IGNORECASE,
)
_LOOKS_LIKE_A_KEY = re.compile(
    r"(?:bearer|basic|token)\s+\S|sk-\w|gh[pousr]_\w|xox[abp]-\w|eyJ\w{8}", re.IGNORECASE
)
OURS = frozenset(  # headers that are set automatically
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept"}
    | {"accept-encoding", "expect", "te", "trailer", "upgrade", "keep-alive", "traceparent"}
)


class FromEnvironment(Spec):
    """A value from an environment variable."""

    env: Variable = Field(description="Name of the environment variable.")


HeaderValue = Annotated[str, Field(max_length=4000)] | FromEnvironment


def _headers(written: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
    # A key in a header is always reported, even if other errors exist.
    items = written.items() if isinstance(written, dict) else ()
    problems = {
        name: problem
        for name, value in items
        if isinstance(name, str)
        and (problem := _header_problem(name, value, written, is_new=not is_frozen(info)))
    }
    # The value may be a key, so no error shows it.
    errors = [error_at("header", problem, (name,), "") for name, problem in problems.items()]
    try:
        headers = handler(written)
    except ValidationError as exc:
        errors += [
            error for error in taken_apart(exc) if (error.get("loc") or ("",))[0] not in problems
        ]
    if errors:
        raise ValidationError.from_exception_data("headers", errors)
    return headers


def _header_problem(
    name: str, value: object, headers: Mapping[object, object], *, is_new: bool
) -> str | None:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", name):
        return "The name of a header consists of letters, digits and hyphens, for example X-Tenant."
    if name.lower() in OURS:
        return f"{name} is set automatically; leave it out."
    if sum(str(other).lower() == name.lower() for other in headers) > 1:
        return "This header appears twice; case is ignored."
    if isinstance(value, str):
        return _text_problem(name, value)
    if not is_new:
        return None
    return variable_problem(
        value.env if isinstance(value, FromEnvironment) else _variable_in(value)
    )


def variable_problem(variable: str) -> str | None:
    """Explain why a server cannot be sent the value of an environment variable; None if it can."""
    if not variable or permits().variable(variable):
        return None
    known = ", ".join(permits().variables) or "none"
    return (
        f"Your administrator does not permit {variable} in headers (EVALS_HEADER_VARIABLES);"
        f" permitted: {known}."
    )


def _text_problem(name: str, text: str) -> str | None:
    if not re.fullmatch(r"[ -~]*", text):
        return "A header must be one line of ASCII characters."
    if looks_secret(name, text):
        return "This looks like a key. Keep it in an environment variable and write {env: NAME}."
    return None


def looks_secret(name: str, text: str) -> bool:
    """Return whether a header seems to have a key, which must be in an environment variable."""
    return bool(_SECRETIVE.search(name) or _LOOKS_LIKE_A_KEY.match(text))


def _variable_in(written: object) -> str:
    """Return the variable that is named; empty if it is not a valid name, which is refused elsewhere."""
    name = written.get("env") if isinstance(written, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"\w+", name) else ""


Headers = Annotated[dict[str, HeaderValue], Field(max_length=MAX_HEADERS), WrapValidator(_headers)]


def header_variables(headers: Mapping[str, HeaderValue]) -> Iterator[str]:
    """Return the environment variables in headers."""
    return (value.env for value in headers.values() if isinstance(value, FromEnvironment))


def _url_problem(url: str) -> str | None:
    return url_problem(url, permitted=permits().hosts)


def without_variables(url: str) -> str:
    """Return a URL with something in place of its variables, which are not part of the host."""
    return re.sub(r"\{\{.*?\}\}", "x", url)


def template_problem(url: str) -> str | None:
    """Explain why a URL with variables cannot be called; None if it can."""
    return _url_problem(without_variables(url))


def misplaced_variables(
    values: Mapping[str, HeaderValue], url: str, info: ValidationInfo, *, at: tuple[str, ...] = ()
) -> Iterator[InitErrorDetails]:
    """Yield errors for variables that may not be sent to this address, when it is written.

    `at` is the path of the values.
    """
    for name, value in values.items() if not is_frozen(info) else ():
        if not isinstance(value, FromEnvironment):
            continue
        if problem := header_problem(value.env, without_variables(url)):
            yield error_at("variable_place", problem, (*at, name), "")


def host_problem(url: str) -> str | None:
    """Describe what is wrong with variables in the host of a URL; None if there are none."""
    # The host is fixed when it is written; the rest may depend on case and call.
    if "{" in re.split(r"[/?]", url.partition("://")[2], maxsplit=1)[0]:
        return "Only the part after the host may contain {argument} and {{variables}}."
    return None


def _schema_problem(schema: JsonObject) -> str | None:
    if problems := schema_problems(schema):
        return str(problems[0])
    if schema.get("type") != "object":
        return "The arguments must be an object: begin with {type: object, properties: {...}}."
    return None


def _variables_problem(value: object) -> str | None:
    return next(filter(None, map(unknown_variable, texts_in(value))), None)


CalledUrl = Annotated[str, Field(max_length=2000), refuse_if(_url_problem, once=True)]
CalledTemplate = Annotated[
    Template,
    Field(max_length=2000),
    refuse_if(host_problem),
    refuse_if(template_problem, once=True),
]
ToolName = Annotated[
    str,
    Field(max_length=100),
    must_match(
        r"[A-Za-z_][A-Za-z0-9_.-]*",
        "The name of a tool consists of letters, digits, points, hyphens and underscores, for example orders.find.",
    ),
]
Parameters = Annotated[
    dict[str, Any], Field(description="JSON Schema of its arguments."), refuse_if(_schema_problem)
]
Retrieval = Annotated[
    str | None,
    Field(
        description="Where the result lists retrieved chunks (id, text), for example data.chunks. By"
        " default, it retrieves none.",
        pattern=r"^[^.\s]+(?:\.[^.\s]+)*$",
    ),
]


class CannedRule(Spec):
    """When the arguments match, return this result or error; without `when`, every call matches."""

    when: dict[str, Matcher] = Field(
        default_factory=dict,
        description="What the arguments must be: a value, or one of {fuzzy: x}, {regex: p}, "
        "{any_of: [...]}, {contains: x}, {present: true|false}.",
    )
    result: Annotated[
        Any,
        Field(description="What it returns, any JSON. Texts in it may contain variables."),
        refuse_if(_variables_problem),
    ] = None
    error: Template | None = Field(
        default=None, description="The error instead of a result. It may contain variables."
    )

    @model_validator(mode="after")
    def _answers(self) -> Self:
        if (self.result is None) == (self.error is None):
            raise ValueError("A rule of a tool needs either a result or an error.")
        return self


class OwnTool(Spec):
    """What all tools have that are not part of worlds."""

    name: ToolName = Field(description="Its name for the agent.")
    description: Template = Field(
        default="", description="Its purpose, for the agent. It may contain variables."
    )
    parameters: Parameters = Field(default_factory=lambda: {"type": "object"})
    retrieval: Retrieval = None


class CannedTool(OwnTool):
    """A tool with prepared answers: the first rule that matches the call answers.

    A call without a matching rule returns an error.
    """

    rules: list[CannedRule] = Field(description="What it answers.", min_length=1)


class HttpTool(OwnTool):
    """A tool that sends a request to a server.

    Arguments are filled into `{argument}` of the URL; others are sent in the query of GET and DELETE,
    or else in a JSON body. The answer is JSON or text.
    """

    url: CalledTemplate = Field(
        description="The address. After the host it may contain {argument} and variables."
    )
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = Field(
        default="POST", description="The HTTP method."
    )
    headers: Headers = Field(
        default_factory=dict,
        description="Sent with each request: texts, which may contain variables, or {env: NAME}.",
    )

    @model_validator(mode="after")
    def _knows_its_arguments(self, info: ValidationInfo) -> Self:
        known = self.parameters.get("properties") or {}
        errors = [
            error_at(
                "unknown_argument",
                f"{{{name}}} is not one of its arguments. Known: {', '.join(known) or 'none'}.",
                ("url",),
                self.url,
            )
            for name in ARGUMENT.findall(self.url)
            if name not in known
        ]
        errors += [
            error_at("unknown_variable", problem, ("headers", name), "")
            for name, value in self.headers.items()
            if isinstance(value, str) and (problem := unknown_variable(value))
        ]
        errors += misplaced_variables(self.headers, self.url, info, at=("headers",))
        if errors:
            raise ValidationError.from_exception_data("HttpTool", errors)
        return self


def _server_problem(name: str) -> str | None:
    known = permits().mcp_servers
    if name in known:
        return None
    servers = ", ".join(known) or "none"
    return f"There is no MCP server {name!r} (EVALS_MCP_SERVERS). Known: {servers}."


class McpTools(Spec):
    """Tools of an MCP server. The agent calls them `server.tool`."""

    mcp: Annotated[
        Slug,
        refuse_if(_server_problem, once=True),
        Field(description="Name of a server that your administrator has set up."),
    ]
    tools: list[Name] = Field(
        description="Names of its tools, as the server knows them.", min_length=1
    )
    retrieval: Retrieval = None

    @property
    def names(self) -> dict[str, str]:
        """The names of the tools on the server, by those for the agent."""
        return {f"{self.mcp}.{tool}": tool for tool in self.tools}


def _kind_of_tool(written: object) -> str:
    if isinstance(written, dict):
        if "mcp" in written:
            return "mcp tools"
        return "http tool" if "url" in written else "canned tool"
    if isinstance(written, McpTools):
        return "mcp tools"
    if isinstance(written, OwnTool):
        return "http tool" if isinstance(written, HttpTool) else "canned tool"
    return "name of a tool"


# The tags appear in the places of pydantic's errors; no key has such a name.
AnyTool = Annotated[
    Annotated[Name, Tag("name of a tool")]
    | Annotated[CannedTool, Tag("canned tool")]
    | Annotated[HttpTool, Tag("http tool")]
    | Annotated[McpTools, Tag("mcp tools")],
    Discriminator(_kind_of_tool),
]


def looks_up(tool: object) -> bool:
    """Return whether a tool looks up knowledge outside fixtures."""
    if isinstance(tool, dict):
        return bool(tool.get("retrieval"))
    return bool(getattr(tool, "retrieval", None))


def written_names(written: Any) -> tuple[str, ...]:
    """Return the names by which an agent calls a stored tool."""
    if not isinstance(written, dict):
        return names_of(written)
    if "mcp" in written:
        return tuple(f"{written['mcp']}.{tool}" for tool in written["tools"])
    return (written["name"],)


def names_of(tool: AnyTool) -> tuple[str, ...]:
    """Return the names by which an agent calls one entry of its tools."""
    if isinstance(tool, str):
        return (tool,)
    return tuple(tool.names) if isinstance(tool, McpTools) else (tool.name,)
