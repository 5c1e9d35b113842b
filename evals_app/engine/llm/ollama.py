"""Find the models of an Ollama server."""

import asyncio
import json
from typing import Any

from evals_app.engine.basics.errors import ConfigurationError, WebError
from evals_app.engine.network.key_places import permitted_hosts
from evals_app.engine.network.provider_kinds import KINDS
from evals_app.engine.network.web import Web

_MAX_BYTES = 1_000_000


async def find_embedding_model(base_url: str | None, *, patience_s: float = 1.0) -> str | None:
    """Name a model for embeddings that the server has; None if it does not answer in time.

    The default one first, then any whose name contains embed.
    """
    kind = KINDS["ollama"]
    address = f"{(base_url or kind.base_url or '').rstrip('/')}/models"
    try:
        async with Web(permitted=permitted_hosts()) as web, asyncio.timeout(patience_s):
            answer = await web.ask("GET", address, headers={}, most_bytes=_MAX_BYTES)
        body: Any = json.loads(answer.text)
        names = [str(model["id"]) for model in body["data"]]
    except (ConfigurationError, WebError, TimeoutError):
        return None  # there is no server, or none that may be called
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    usual = kind.embedding_model or ""
    named = [name for name in names if name.partition(":")[0] == usual]
    return next(iter([*named, *(name for name in names if "embed" in name.lower())]), None)
