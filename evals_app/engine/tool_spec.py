"""What a person writes about tools that no world has: canned ones, HTTP requests, MCP servers."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from evals_app.engine.addresses import url_problem
from evals_app.engine.json_data.schema_problems import schema_problems
from evals_app.engine.matchers import Matcher
from evals_app.engine.permits import is_frozen, permits
from evals_app.engine.spec import Name, Slug, Spec, Template, Variable, located, taken_apart
from evals_app.engine.template import unknown_variable

MAX_HEADERS = 50
ARGUMENT = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")

# Words of a header's name under which a key stands, and how keys begin.
_SECRETIVE = re.compile(
    r"(?:^|[-_])(?:api-?key|key|secret|token|password|auth|authorization|cookie|credentials?)(?:$|[-_])",
    re.IGNORECASE,
)
_LOOKS_LIKE_A_KEY = re.compile(
    r"(?:bearer|basic|token)\s+\S|sk-\w|gh[pousr]_\w|xox[abp]-\w|eyJ\w{8}", re.IGNORECASE
)
_OURS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept"}
    | {"accept-encoding", "expect", "te", "trailer", "upgrade", "keep-alive", "traceparent"}
)


class FromEnvironment(Spec):
    """A value that stays in the environment."""

    env: Annotated[Variable, Field(description="Name of the environment variable.")]


HeaderValue = Annotated[str, Field(max_length=4000)] | FromEnvironment


def _headers(
    written: Any,  # noqa: ANN401 - whatever was written
    handler: ValidatorFunctionWrapHandler,
    info: ValidationInfo,
) -> Any:  # noqa: ANN401 - what the handler gives
    # Whatever else is wrong with headers: that a key stands in one is told at once.
    items = written.items() if isinstance(written, dict) else ()
    found = {
        name: problem
        for name, value in items
        if isinstance(name, str)
        and (problem := _header_problem(name, value, written, is_new=not is_frozen(info)))
    }
    # What stands there may be a key, so no error shows it.
    errors = [located("header", problem, (name,), "") for name, problem in found.items()]
    try:
        headers = handler(written)
    except ValidationError as exc:
        errors += [each for each in taken_apart(exc) if (each.get("loc") or ("",))[0] not in found]
    if errors:
        raise ValidationError.from_exception_data("headers", errors)
    return headers


def _header_problem(
    name: str,
    value: Any,  # noqa: ANN401 - whatever was written
    headers: Mapping[Any, Any],
    *,
    is_new: bool,
) -> str | None:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", name):
        return "The name of a header has letters, digits and hyphens, for example X-Tenant."
    if name.lower() in _OURS:
        return f"{name} is set with each request; leave it out."
    if sum(str(each).lower() == name.lower() for each in headers) > 1:
        return "This header stands twice; upper and lower case are the same."
    if isinstance(value, str):
        return _text_problem(name, value)
    variable = value.env if isinstance(value, FromEnvironment) else _variable_in(value)
    if is_new and variable and not permits().variable(variable):
        known = ", ".join(permits().variables) or "none"
        return (
            f"The operator does not permit {variable} in headers (EVALS_HEADER_VARIABLES);"
            f" permitted: {known}."
        )
    return None


def _text_problem(name: str, text: str) -> str | None:
    if not re.fullmatch(r"[ -~]*", text):
        return "A header is one line of plain letters."
    if _SECRETIVE.search(name) or _LOOKS_LIKE_A_KEY.match(text):
        return "This looks like a key. Keep it in the environment and write {env: NAME}."
    return None


def _variable_in(written: Any) -> str:  # noqa: ANN401 - whatever was written
    """Give the variable that is named; none if it is no name of one, which is refused elsewhere."""
    name = written.get("env") if isinstance(written, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"\w+", name) else ""


Headers = Annotated[dict[str, HeaderValue], Field(max_length=MAX_HEADERS), WrapValidator(_headers)]


def header_variables(headers: Mapping[str, HeaderValue]) -> Iterator[str]:
    """Give the environment variables that headers hold."""
    return (value.env for value in headers.values() if isinstance(value, FromEnvironment))


def _called(url: str, info: ValidationInfo) -> str:
    problem = url_problem(url, permitted=permits().hosts) if not is_frozen(info) else None
    if problem:
        raise ValueError(problem)
    return url


def _called_template(url: str, info: ValidationInfo) -> str:
    # Who is asked is settled when it is written; what is asked for may depend on case and call.
    if "{" in re.split(r"[/?]", url.partition("://")[2], maxsplit=1)[0]:
        msg = "Only what comes after the host may hold {argument} and {{variables}}."
        raise ValueError(msg)
    _called(re.sub(r"\{\{.*?\}\}", "x", url), info)
    return url


CalledUrl = Annotated[str, Field(max_length=2000), AfterValidator(_called)]
CalledTemplate = Annotated[Template, Field(max_length=2000), AfterValidator(_called_template)]


def _tool_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", value):
        msg = "A tool's name has letters, digits, points, hyphens and underscores: orders.find."
        raise ValueError(msg)
    return value


def _json_schema(value: dict[str, Any]) -> dict[str, Any]:
    if problems := schema_problems(value):
        place, problem = problems[0]
        where = ".".join(map(str, place)) + ": " if place else ""
        msg = f"{where}{problem}"
        raise ValueError(msg)
    if value.get("type") != "object":
        msg = "Arguments are an object: begin with {type: object, properties: {...}}."
        raise ValueError(msg)
    return value


def _known_variables(value: Any) -> Any:  # noqa: ANN401 - any JSON
    for text in texts_in(value):
        if problem := unknown_variable(text):
            raise ValueError(problem)
    return value


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Give every text inside lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


ToolName = Annotated[str, Field(max_length=100), AfterValidator(_tool_name)]
Parameters = Annotated[
    dict[str, Any],
    Field(description="JSON Schema of its arguments."),
    AfterValidator(_json_schema),
]
Retrieval = Annotated[
    str | None,
    Field(
        description="Where the result lists fetched chunks (id, text), for example data.chunks;"
        " left out: it fetches none.",
        pattern=r"^[^.\s]+(?:\.[^.\s]+)*$",
    ),
]


class CannedRule(Spec):
    """When the arguments match, return this result or this error; no `when` matches every call."""

    when: dict[str, Matcher] = Field(
        default_factory=dict,
        description="What arguments must be: a value, or one of {fuzzy: x}, {regex: p}, "
        "{any_of: [...]}, {contains: x}, {present: true|false}.",
    )
    result: Annotated[
        Any,
        Field(description="What it returns, any JSON; texts in it may hold variables."),
        AfterValidator(_known_variables),
    ] = None
    error: Annotated[
        Template | None,
        Field(description="What it fails with, instead of a result; may hold variables."),
    ] = None

    @model_validator(mode="after")
    def _answers(self) -> Self:
        if (self.result is None) == (self.error is None):
            msg = "A rule of a tool needs a result or an error, and not both."
            raise ValueError(msg)
        return self


class OwnTool(Spec):
    """What every tool says of itself that no world has."""

    name: ToolName = Field(description="How the agent calls it.")
    description: Annotated[
        Template, Field(description="What it is for, as the agent is told; may hold variables.")
    ] = ""
    parameters: Parameters = Field(default_factory=lambda: {"type": "object"})
    retrieval: Retrieval = None


class CannedTool(OwnTool):
    """A tool whose answers are written down: of its rules the first that matches the call answers.

    A call that no rule matches gets an error.
    """

    rules: Annotated[list[CannedRule], Field(description="What it answers.", min_length=1)]


class HttpTool(OwnTool):
    """A tool that asks a server.

    Arguments go into `{argument}` of the URL, else into the query of GET and DELETE, else into a
    JSON body. What comes back is JSON or text.
    """

    url: CalledTemplate = Field(
        description="Where it asks; after the host it may hold {argument} and variables."
    )
    method: Annotated[
        Literal["GET", "POST", "PUT", "PATCH", "DELETE"], Field(description="How it asks.")
    ] = "POST"
    headers: Headers = Field(
        default_factory=dict,
        description="Sent along: texts, which may hold variables, or {env: NAME}.",
    )

    @model_validator(mode="after")
    def _knows_its_arguments(self) -> Self:
        known = self.parameters.get("properties") or {}
        errors = [
            located(
                "unknown_argument",
                f"{{{name}}} is none of its arguments. Known: {', '.join(known) or 'none'}.",
                ("url",),
                self.url,
            )
            for name in ARGUMENT.findall(self.url)
            if name not in known
        ]
        errors += [
            located("unknown_variable", problem, ("headers", name), "")
            for name, value in self.headers.items()
            if isinstance(value, str) and (problem := unknown_variable(value))
        ]
        if errors:
            raise ValidationError.from_exception_data("HttpTool", errors)
        return self


def _permitted_server(name: str, info: ValidationInfo) -> str:
    known = permits().mcp_servers
    if not is_frozen(info) and name not in known:
        servers = ", ".join(known) or "none"
        msg = (
            f"The operator has set up no MCP server {name!r} (EVALS_MCP_SERVERS); known: {servers}."
        )
        raise ValueError(msg)
    return name


class McpTools(Spec):
    """Tools of an MCP server. The agent calls them `server.tool`."""

    mcp: Annotated[
        Slug,
        AfterValidator(_permitted_server),
        Field(description="Name of a server that the operator has set up."),
    ]
    tools: Annotated[
        list[Name], Field(description="Names of its tools, as the server knows them.", min_length=1)
    ]
    retrieval: Retrieval = None

    @property
    def names(self) -> dict[str, str]:
        """Give what the agent calls each tool, and what the server does."""
        return {f"{self.mcp}.{tool}": tool for tool in self.tools}


def _kind_of_tool(written: Any) -> str:  # noqa: ANN401 - whatever was written
    if isinstance(written, dict):
        if "mcp" in written:
            return "mcp tools"
        return "http tool" if "url" in written else "canned tool"
    if isinstance(written, McpTools):
        return "mcp tools"
    if isinstance(written, OwnTool):
        return "http tool" if isinstance(written, HttpTool) else "canned tool"
    return "name of a tool"


# The tags stand in the places of pydantic's errors, where no key is called like that.
AnyTool = Annotated[
    Annotated[Name, Tag("name of a tool")]
    | Annotated[CannedTool, Tag("canned tool")]
    | Annotated[HttpTool, Tag("http tool")]
    | Annotated[McpTools, Tag("mcp tools")],
    Discriminator(_kind_of_tool),
]


def looks_up(tool: Any) -> bool:  # noqa: ANN401 - a tool, or one as it is stored
    """Tell whether a tool finds knowledge that is in no fixture."""
    if isinstance(tool, dict):
        return bool(tool.get("retrieval"))
    return bool(getattr(tool, "retrieval", None))


def written_names(written: Any) -> tuple[str, ...]:  # noqa: ANN401 - a tool, or one as it is stored
    """Give the names under which an agent calls a tool that was written some time ago."""
    if not isinstance(written, dict):
        return names_of(written)
    if "mcp" in written:
        return tuple(f"{written['mcp']}.{tool}" for tool in written["tools"])
    return (written["name"],)


def names_of(tool: AnyTool) -> tuple[str, ...]:
    """Give the names under which an agent calls what is written in one place of its tools."""
    if isinstance(tool, str):
        return (tool,)
    return tuple(tool.names) if isinstance(tool, McpTools) else (tool.name,)
