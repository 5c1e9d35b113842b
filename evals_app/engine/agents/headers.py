"""Headers as they are sent: values from the environment are read when a conversation begins."""

import json
import os
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from evals_app.engine.basics.errors import AgentError, ConfigurationError
from evals_app.engine.basics.permits import permits
from evals_app.engine.network.key_places import header_problem
from evals_app.engine.specs.tool_spec import FromEnvironment, HeaderValue, without_variables
from fixtures_app.ground.quoting import cut_middle


def sent_headers(
    headers: Mapping[str, HeaderValue],
    *,
    urls: Iterable[str],
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Fill in variables of the environment for requests to these addresses.

    Raises:
        ConfigurationError: one is not set, or not permitted there any more.
    """
    return {
        name: _value(value.env, urls, environ) if isinstance(value, FromEnvironment) else value
        for name, value in headers.items()
    }


def header_text(text: str) -> str:
    """Return what an agent has sent as it goes into a header.

    Raises:
        AgentError: it is not one line of ASCII text.
    """
    if not (text.isascii() and text.isprintable()):
        raise AgentError(
            f"The agent's session id cannot be sent in a header: {cut_middle(text)}. A header is one"
            " line of ASCII text."
        )
    return text


def secrets_of(
    headers: Iterable[Mapping[str, HeaderValue]], *, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the texts to hide in answers of servers, also in the forms of JSON and addresses."""
    values = [value for mapping in headers for value in mapping.values()]
    variables = {value.env for value in values if isinstance(value, FromEnvironment)}
    return forms_of(value for name in variables if (value := environ.get(name, "").strip()))


def forms_of(secrets: Iterable[str]) -> list[str]:
    """Return secrets as they are, and in the forms of JSON and addresses."""
    return [
        form
        for secret in secrets
        for form in dict.fromkeys(
            (secret, json.dumps(secret)[1:-1], quote(secret, safe="", errors="replace"))
        )
    ]


def read_variable(variable: str, urls: Iterable[str], environ: Mapping[str, str]) -> str:
    """Return the value of a variable for requests to these addresses.

    Raises:
        ConfigurationError: it is not set, or not permitted there any more.
    """
    if not permits().variable(variable):
        raise ConfigurationError(f"Your administrator does not permit {variable} in headers.")
    for url in urls:
        if problem := header_problem(variable, without_variables(url)):
            raise ConfigurationError(problem)
    value = environ.get(variable, "").strip()
    if not value:
        raise ConfigurationError(f"The environment variable {variable} is not set.")
    return value


def _value(variable: str, urls: Iterable[str], environ: Mapping[str, str]) -> str:
    value = read_variable(variable, urls, environ)
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(
            f"The environment variable {variable} must be a single line of plain ASCII text."
        )
    return value
