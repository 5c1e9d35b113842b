"""Tools that call a server."""

import asyncio
import os
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from evals_app.engine.agents.headers import sent_headers
from evals_app.engine.agents.tools.tool_calls import (
    CheckedTool,
    as_text,
    json_or_text,
    tool_error,
    tool_result,
)
from evals_app.engine.network.web import Web, WebError
from evals_app.engine.specs.tool_spec import ARGUMENT, HttpTool

MAX_RESULT_BYTES = 1_000_000
CALL_S = 30.0
_IN_QUERY = ("GET", "DELETE")


class HttpRequests(CheckedTool):
    """Makes a request of each call.

    Raises:
        ConfigurationError: a header's variable is not set, or the address may not be called.
    """

    def __init__(
        self, tool: HttpTool, *, web: Web, environ: Mapping[str, str] = os.environ
    ) -> None:
        super().__init__(tool)
        self._tool = tool
        self._web = web
        self._headers = sent_headers(tool.headers, urls=[tool.url], environ=environ)

    async def _answer(self, args: Mapping[str, object]) -> object:
        if problem := self._unusable(args):
            return self._invalid(problem)
        try:
            url, body = self._request(args)
        except (ValueError, RecursionError) as exc:  # half a character among them
            return self._invalid(f"they cannot be part of an address ({type(exc).__name__}).")
        try:
            async with asyncio.timeout(CALL_S):
                answer = await self._web.ask(
                    self._tool.method,
                    url,
                    headers=self._headers,
                    body=body,
                    most_bytes=MAX_RESULT_BYTES,
                )
        except TimeoutError:
            return tool_error("timeout", f"{self.name} did not answer within {CALL_S:g} s.")
        except WebError as exc:
            return tool_error("unavailable", str(exc))
        if not answer.is_ok:
            return tool_error("refused", f"The server answered with {answer.problem}")
        return tool_result(self.name, json_or_text(answer.text))

    def _unusable(self, args: Mapping[str, object]) -> str | None:
        """State which argument cannot be part of the path."""
        for name in ARGUMENT.findall(self._tool.url):
            value = args.get(name)
            if not isinstance(value, str | int) or str(value).strip(".") == "":
                return f"{name} is required and cannot be {as_text(value)}."
        return None

    def _request(self, args: Mapping[str, object]) -> tuple[str, object]:
        placed = set(ARGUMENT.findall(self._tool.url))
        url = ARGUMENT.sub(lambda match: quote(as_text(args[match[1]]), safe=""), self._tool.url)
        rest = {name: value for name, value in args.items() if name not in placed}
        if self._tool.method not in _IN_QUERY:
            return url, rest
        query = urlencode(
            [
                (name, as_text(item))
                for name, value in rest.items()
                for item in (value if isinstance(value, list) else [value])
            ]
        )
        return (f"{url}{'&' if '?' in url else '?'}{query}" if query else url), None
