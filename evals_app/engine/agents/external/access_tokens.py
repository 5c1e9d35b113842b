"""Access tokens of agents over HTTP: OAuth 2 client credentials.

A token is fetched once and shared by all conversations of this process until shortly before it
expires. It is sent to the agent and stored nowhere.
"""

import asyncio
import base64
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote_plus
from weakref import WeakKeyDictionary

from evals_app.engine.agents.headers import forms_of, sent_headers
from evals_app.engine.basics.errors import ConfigurationError, UnavailableError
from evals_app.engine.network.web import Web, WebAnswer, WebError
from evals_app.engine.specs.outside_spec import OAuthSpec

_FETCH_S = 30.0
_MAX_BYTES = 100_000
_LIFETIME_S = 300.0  # of a token without an expiry time
_MARGIN_S = 30.0  # before it expires, or a tenth of a short lifetime
_TOO_MANY, _MIN_SERVER_ERROR = 429, 500


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    until: float  # of the monotonic clock


_tokens: dict[str, _Token] = {}
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = WeakKeyDictionary()


class AccessToken:
    """The token of one agent: `web` hides it in what servers send."""

    def __init__(
        self,
        spec: OAuthSpec,
        *,
        web: Web,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raise ConfigurationError if the secret is not set or no longer permitted."""
        self._spec = spec
        self._web = web
        self._clock = clock
        sent = sent_headers(spec.secret, urls=[spec.token_url], environ=environ)
        self._secret = sent.get("client_secret", "")
        web.add_secrets(forms_of(sent.values()))
        known = hashlib.sha256(self._secret.encode()).hexdigest()
        self._key = f"{spec.model_dump_json()} {known}"

    async def value(self) -> str:
        """Return a token that is still valid, fetched if there is none.

        Raises:
            ConfigurationError: the server refuses this client.
            UnavailableError: the server does not answer.
        """
        locks = _locks.setdefault(asyncio.get_running_loop(), {})
        async with locks.setdefault(self._key, asyncio.Lock()):
            token = _tokens.get(self._key)
            if token is None or token.until <= self._clock():
                token = _tokens[self._key] = await self._fetch()
        self._web.add_secrets(forms_of([token.value]))
        return token.value

    def forget(self, value: str | None) -> None:
        """Fetch a new token next time, unless one was fetched meanwhile."""
        if (token := _tokens.get(self._key)) is not None and token.value == value:
            del _tokens[self._key]

    async def _fetch(self) -> _Token:
        spec = self._spec
        form = {"grant_type": "client_credentials"}
        form |= {"scope": spec.scope} if spec.scope else {}
        form |= {"audience": spec.audience} if spec.audience else {}
        headers = {"accept": "application/json"}
        if not self._secret:  # the certificate says who asks
            form |= {"client_id": spec.client_id}
        elif spec.secret_in == "body":  # noqa: S105 - no password
            form |= {"client_id": spec.client_id, "client_secret": self._secret}
        else:
            pair = f"{quote_plus(spec.client_id)}:{quote_plus(self._secret)}"
            basic = base64.b64encode(pair.encode()).decode()
            self._web.add_secrets([basic])
            headers["authorization"] = f"Basic {basic}"
        asked_at = self._clock()
        try:
            async with asyncio.timeout(_FETCH_S):
                answer = await self._web.ask(
                    "POST",
                    spec.token_url,
                    headers=headers,
                    form=form,
                    most_bytes=_MAX_BYTES,
                    hides=False,  # it may be a token that was fetched before
                )
        except WebError as exc:
            raise UnavailableError(
                f"The agent's access token could not be fetched. {exc}"
            ) from None
        except TimeoutError:
            raise UnavailableError(
                f"The agent's access token could not be fetched: {spec.token_url} did not answer"
                f" within {_FETCH_S:g} s."
            ) from None
        return _read(answer, spec.token_url, asked_at=asked_at, hide=self._web.hide)


def _read(answer: WebAnswer, url: str, *, asked_at: float, hide: Callable[[str], str]) -> _Token:
    if not answer.is_ok:
        # Hidden before it is cut: half a secret would not be recognised.
        problem = replace(answer, text=hide(answer.text)).problem
        message = f"The agent's access token could not be fetched: {url} answered with {problem}"
        is_busy = answer.status == _TOO_MANY or answer.status >= _MIN_SERVER_ERROR
        raise UnavailableError(message) if is_busy else ConfigurationError(message)
    try:
        body = json.loads(answer.text)
    except (ValueError, RecursionError):
        body = None
    value = body.get("access_token") if isinstance(body, dict) else None
    if not (isinstance(value, str) and value and value.isascii() and value.isprintable()):
        # Its answer may be a secret.
        raise ConfigurationError(f"The answer of {url} is not JSON with a text under access_token.")
    kind = str(body.get("token_type") or "bearer")
    if kind.lower() != "bearer":
        raise ConfigurationError(
            hide(f"{url} gives tokens of the type {kind[:50]!r}; only bearer is supported.")
        )
    lifetime = _seconds(body.get("expires_in"))
    return _Token(value, asked_at + lifetime - min(_MARGIN_S, lifetime / 10))


def _seconds(written: Any) -> float:
    try:
        seconds = float(written)
    except (TypeError, ValueError):
        return _LIFETIME_S
    return seconds if 0 <= seconds < float("inf") else _LIFETIME_S
