"""Ask an Ollama server which models it has."""

from typing import Any

from evals_app.engine.llm.kinds import KINDS


def find_embedding_model(base_url: str | None, *, patience_s: float = 1.0) -> str | None:
    """Name a model for embeddings that the server has; None if it does not answer in time.

    The usual one first, then any that is called so.
    """
    import httpx2  # noqa: PLC0415 - only runs that compare texts without any key need it

    kind = KINDS["ollama"]
    address = f"{(base_url or kind.base_url or '').rstrip('/')}/models"
    try:
        body: Any = httpx2.get(address, timeout=patience_s).json()
        names = [str(each["id"]) for each in body["data"]]
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError, RecursionError):
        return None
    usual = kind.embedding_model or ""
    named = [name for name in names if name.partition(":")[0] == usual]
    return next(iter([*named, *(name for name in names if "embed" in name.lower())]), None)
