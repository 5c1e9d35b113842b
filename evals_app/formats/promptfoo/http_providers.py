"""HTTP providers: agents at a web address, as far as their requests can be written here.

Source: https://www.promptfoo.dev/docs/providers/http/
"""

import json
import re
from collections.abc import Mapping
from typing import get_args
from urllib.parse import parse_qsl

from evals_app.engine.basics.template import in_texts, texts_in
from evals_app.engine.specs.sending_spec import WITHOUT_BODY, Method
from evals_app.engine.specs.tool_spec import OURS, host_problem, looks_secret
from evals_app.formats.promptfoo.shapes import ProviderOptions
from evals_app.formats.promptfoo.source import ProjectSpot
from evals_app.formats.reading.problems import Json

_READ = frozenset(
    {"url", "method", "headers", "body", "queryParams", "transformResponse", "responseParser"}
)
_BRACES = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")
_OURS = {"prompt": "{{input}}", "sessionId": "{{session_id}}"}
_ENVIRONMENT = re.compile(r"\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}")
_PLACE = re.compile(
    r"(?:\(?\s*json\s*\)?\s*=>\s*)?json((?:\??\.[A-Za-z_]\w*|\[(?:-?\d+|'[^']*'|\"[^\"]*\")\])+)"
)
_FORMATS = {"application/x-www-form-urlencoded": "form", "multipart/form-data": "multipart"}
_TLS = (
    "Files of certificates are not read on import. Put certificate and key into environment variables"
    " and write them under client_certificate."
)


def http_agent(spot: ProjectSpot, provider: ProviderOptions) -> Json | None:
    """Return the agent that an HTTP provider is; None if it is none, or asks what ours cannot."""
    config, address = provider.config, str(provider.id)
    url = config.get("url") if address in ("http", "https") else address
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return None
    written = spot.at("config")
    url, _, in_address = url.partition("?")
    query = dict(parse_qsl(in_address, keep_blank_values=True))
    more, body = config.get("queryParams"), _body(config.get("body"))
    query |= more if isinstance(more, dict) else {}
    method = str(config.get("method") or ("GET" if body is None else "POST")).upper()
    if method in WITHOUT_BODY:
        body = None
    sent = (url, query, body)
    variables = {match[1] for text in texts_in(list(sent)) for match in _BRACES.finditer(text)}
    is_asked = "prompt" in variables and variables <= _OURS.keys()
    if method not in get_args(Method) or host_problem(url) or not is_asked:
        return None
    headers, form = _headers(written.at("headers"))
    for key in config.keys() - _READ:
        written.at(key).lose(_TLS if key == "tls" else "Nothing here does the same. Left out.")
    agent: Json = {
        "driver": "http",
        "url": _in_our_words(url),
        "method": method,
        "headers": headers,
    }
    agent |= {"query": _in_our_words(query)} if query else {}
    agent |= {} if body is None else {"request": _in_our_words(body), "request_format": form}
    return agent | _response(written)


def _body(written: object) -> object:
    """Return the fields of a body, which may be JSON as text; any other text cannot be one."""
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except (ValueError, RecursionError):
            return None
    return written if isinstance(written, dict) else None


def _in_our_words(value: object) -> object:
    def rename(text: str) -> str:
        return _BRACES.sub(lambda match: _OURS[match[1]], text)

    return in_texts(value, rename)


def _headers(spot: ProjectSpot) -> tuple[Json, str]:
    """Return the headers that can be sent, and how the body is."""
    headers: Json = {}
    form = "json"
    for name, value in (spot.value if isinstance(spot.value, Mapping) else {}).items():
        text = str(value)
        if name.lower() == "content-type":
            form = _FORMATS.get(text.partition(";")[0].strip().lower(), "json")
        elif name.lower() in OURS:
            continue
        elif (variable := _ENVIRONMENT.fullmatch(text.strip())) is not None:
            headers[name] = {"env": variable[1]}
        elif "{{" in text or looks_secret(name, text):
            spot.at(name).lose(
                "Put the whole value of this header into an environment variable, and add the header"
                " to the agent as {env: NAME}."
            )
        else:
            headers[name] = text
    return headers, form


def _response(config: ProjectSpot) -> Json:
    """Return where the reply has its text, if that is a place and not a program."""
    for key in ("transformResponse", "responseParser"):
        here = config.at(key)
        if here.value in (None, "text", "json"):
            continue
        match = _PLACE.fullmatch(here.value.strip()) if isinstance(here.value, str) else None
        if match is not None:
            return {"response": {"text": match[1].replace("?.", ".").removeprefix(".")}}
        here.lose("Code does not run on import. Write under response where the reply has its text.")
    return {}
