"""One request to an agent over HTTP before it is saved: as pasted, or as a run would send it.

`keys` are headers that are stored nowhere. Their values are hidden in what the server answers.
"""

import asyncio
import secrets
from collections.abc import Mapping
from http import HTTPStatus

from evals_app.engine.agents.external.http import HttpSession, web_for
from evals_app.engine.agents.external.outside import Outside
from evals_app.engine.agents.external.sending import OutgoingRequest
from evals_app.engine.agents.headers import forms_of
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.errors import AgentError, ReplyMismatchError
from evals_app.engine.basics.template import plain
from evals_app.engine.network.web import Web, WebError
from evals_app.engine.record.trial import TurnRecord
from evals_app.engine.specs.agent_spec import HttpAgent
from evals_app.engine.specs.sending_spec import WITHOUT_BODY, Method

TIMEOUT_S = 30.0
MAX_BYTES = 100_000  # of a reply in which a person chooses places
_SILENT = f"The agent did not answer within {TIMEOUT_S:g} s."


def _setting(system_prompt: str = "") -> Setting:
    return Setting(plain(system_prompt), session_id=secrets.token_hex(16), case="Test")


def _secret_forms(keys: Mapping[str, str]) -> list[str]:
    # A server may repeat a key with or without its scheme.
    texts = [text for value in keys.values() for text in (value, value.rpartition(" ")[2])]
    return forms_of(filter(None, texts))


async def send_once(
    method: Method, request: OutgoingRequest, *, headers: Mapping[str, str], keys: Mapping[str, str]
) -> str:
    """Return a server's answer to a request; without a body, POST sends the usual one.

    Raises:
        AgentError: it does not answer, or with an error.
        ConfigurationError: the address may not be called.
    """
    body = request.body
    if body is None and request.content is None and method not in WITHOUT_BODY:
        body = Outside(_setting()).request(Exchange(1, "Hello", TIMEOUT_S))
    async with Web(secrets=_secret_forms(keys)) as web:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await web.ask(
                    method,
                    request.url,
                    headers={**headers, **keys, **request.headers},
                    body=body,
                    content=request.content,
                    most_bytes=MAX_BYTES,
                )
        except WebError as error:
            raise AgentError(f"The agent did not answer. {error}") from None
        except TimeoutError:
            raise AgentError(_SILENT) from None
    if not answer.is_ok:
        raise AgentError(f"The agent answered with {answer.problem}")
    if answer.status == HTTPStatus.ACCEPTED:
        raise AgentError(
            "The agent answers later (202 Accepted). Paste the reply that it has in the end, and fill"
            " in “Agent answers later” on the page of the agent."
        )
    return answer.text


async def ask_once(agent: HttpAgent, message: str, *, keys: Mapping[str, str]) -> TurnRecord:
    """Send a message through the driver that runs use, and return the result.

    Raises:
        ConfigurationError: the agent cannot be asked.
    """
    exchange = Exchange(1, message, TIMEOUT_S)
    error = None
    async with web_for(agent, secrets=_secret_forms(keys)) as web:
        session = HttpSession(agent, setting=_setting(agent.system_prompt), web=web, headers=keys)
        try:
            async with asyncio.timeout(TIMEOUT_S) as timer:
                with exchange.run_clock(timer):
                    await session.respond(exchange)
        except (AgentError, ReplyMismatchError) as exc:
            error = str(exc)
        except TimeoutError:
            error = _SILENT
    return exchange.record(error=error)
