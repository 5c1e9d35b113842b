"""The spec of how messages are sent to an agent over HTTP: method, query, body and certificate."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field
from pydantic_core import InitErrorDetails

from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.basics.template import variables_in
from evals_app.engine.specs.base_spec import Spec
from evals_app.engine.specs.tool_spec import (
    FromEnvironment,
    host_problem,
    looks_secret,
    template_problem,
    variable_problem,
)
from evals_app.engine.specs.wire_spec import (
    MESSAGES,
    SESSION,
    THIS_MESSAGE,
    sent_keys,
    variables_problem,
)
from fixtures_app.ground.spec_errors import error_at
from fixtures_app.ground.strict_json import JsonObject

Method = Literal["POST", "GET", "PUT", "PATCH", "DELETE"]
RequestFormat = Literal["json", "form", "multipart"]
WITHOUT_BODY: Collection[Method] = ("GET", "DELETE")

FILES = "files"
_NO_MESSAGE = (
    'The request has no message. Write {{input}} where it goes: {"question": "{{input}}"}.'
)
_FIELDS = 'Write the fields of the body in request, for example {"message": "{{input}}"}.'


def _query_problem(query: JsonObject) -> str | None:
    for name, value in query.items():
        if isinstance(value, dict):
            return (
                f"{name} has keys with values. A parameter is a text, a number or a list of them."
            )
        if isinstance(value, str) and not variables_in(value) and looks_secret(name, value):
            return f"{name} looks like a key. Send it in a header, as {{env: NAME}}."
    return variables_problem(query)


_NOT_IN_PATH = {
    FILES: "Send them in the request.",
    "history": "Send it in the request or in query.",
    MESSAGES: "Send them in the request or in query.",
    SESSION: "It is unknown in the first turn. Send it in the request, in query or in a header.",
}


def _path_problem(url: str) -> str | None:
    path, _, query = url.partition("?")
    if variables_in(query):
        return 'Variables after ? belong into query: {q: "{{input}}"}.'
    if problem := variables_problem({"url": path}):
        return problem
    for key in sent_keys(path):
        if key in _NOT_IN_PATH:
            return f"{{{{{key}}}}} cannot be part of a path. {_NOT_IN_PATH[key]}"
    return None


AgentUrl = Annotated[
    str,
    Field(max_length=2000),
    refuse_if(host_problem),
    refuse_if(template_problem, once=True),
    refuse_if(_path_problem, once=True),
]
Query = Annotated[dict[str, object], Field(max_length=100), refuse_if(_query_problem)]


def _secret_problem(secret: FromEnvironment) -> str | None:
    return variable_problem(secret.env)


_Pem = Annotated[FromEnvironment, refuse_if(_secret_problem, once=True)]


class CertificateSpec(Spec):
    """The client certificate that an agent over HTTPS asks for (mutual TLS).

    Each variable has the content of a PEM file, or the path of one on the machine of the workers.
    """

    certificate: _Pem = Field(
        title="Certificate",
        description="Name of the environment variable with the certificate and those between it and"
        " its authority. In files: {env: NAME}.",
    )
    key: _Pem | None = Field(
        default=None,
        title="Private key",
        description="Name of the environment variable with the key. By default, the key is beside"
        " the certificate.",
    )
    password: _Pem | None = Field(
        default=None,
        title="Password of the key",
        description="Name of the environment variable with it. By default, the key has none.",
    )

    @property
    def variables(self) -> dict[str, FromEnvironment]:
        """Return what is read from the environment, by key."""
        named = {"certificate": self.certificate, "key": self.key, "password": self.password}
        return {name: value for name, value in named.items() if value is not None}


def sending_problems(
    method: Method,
    url: str,
    query: JsonObject | Mapping[str, object],
    request: object,
    form: RequestFormat,
) -> Iterator[InitErrorDetails]:
    """Yield errors for what a request cannot be."""
    sent = {key for place in (url, query, request) for key in sent_keys(place)}
    has_message = not sent.isdisjoint(THIS_MESSAGE)
    if method in WITHOUT_BODY:
        if request is not None:
            message = (
                f"{method} sends no body. Write these keys under query, or choose another method."
            )
            yield error_at("no_body", message, ("request",), request)
        if form != "json":
            message = f"{method} sends no body. Leave this out, or choose another method."
            yield error_at("no_body", message, ("request_format",), form)
        if not has_message:
            message = (
                f"{method} needs the message in query or in the path of the address. Write {{{{input}}}}"
                ' there: {"q": "{{input}}"}.'
            )
            yield error_at("no_message", message, ("query",), query)
    elif request is None:
        if form != "json":
            yield error_at("no_fields", _FIELDS, ("request_format",), form)
    elif not has_message:
        yield error_at("no_message", _NO_MESSAGE, ("request",), request)
    if form == "form" and FILES in sent_keys(request):
        message = "A form sends no files. Write request_format: multipart, or leave {{files}} out."
        yield error_at("no_files", message, ("request",), request)
    if FILES in sent_keys(query):
        message = "Files cannot be part of an address. Send them in the request."
        yield error_at("no_files", message, ("query",), query)
