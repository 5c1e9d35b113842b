"""The kinds of providers, and what is known about each before anything is sent: one table.

Settings that a kind lacks are left out, with a note; what single models refuse is learned from
their answers.
"""

from dataclasses import dataclass
from typing import Literal

Api = Literal["anthropic", "openai"]

PDF = "application/pdf"

_IMAGES = frozenset({"image/jpeg", "image/png", "image/webp"})
_GIF = frozenset({"image/gif"})
_MAX_TEXTS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKind:
    """How models of a kind are reached, and what they take.

    `api` is the one it speaks, None if there is none. Without `base_url` each site has its own.
    `base_url_env` is the variable that its SDK would read. Without `key_env` it needs no key.
    `lacks` are the settings of a ModelCall that none of its models accepts, `media_types` the files
    that may be shown to them. Without `embedding_model` users of its embeddings must name one.
    `has_responses`: models that the chat API does not serve are served by the Responses API.
    `has_json_mode`: replies may be any JSON object, without a schema.
    `more_hosts` may be sent its key, too; the name of one may begin with *.
    """

    label: str
    api: Api | None = None
    base_url: str | None = None
    base_url_env: str | None = None
    key_env: str | None = None
    max_tokens_parameter: str = "max_completion_tokens"
    lacks: frozenset[str] = frozenset()
    media_types: frozenset[str] = _IMAGES
    has_embeddings: bool = False
    embedding_model: str | None = None
    most_texts: int = _MAX_TEXTS  # embedded in one call
    has_responses: bool = False
    has_json_mode: bool = True
    more_hosts: tuple[str, ...] = ()


KINDS: dict[str, ApiKind] = {
    "anthropic": ApiKind(
        label="Anthropic",
        api="anthropic",
        base_url="https://api.anthropic.com",
        base_url_env="ANTHROPIC_BASE_URL",
        key_env="ANTHROPIC_API_KEY",
        max_tokens_parameter="max_tokens",
        lacks=frozenset({"seed", "top_logprobs"}),
        has_json_mode=False,
        media_types=_IMAGES | _GIF | {PDF},
    ),
    "openai": ApiKind(
        label="OpenAI",
        api="openai",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        key_env="OPENAI_API_KEY",
        media_types=_IMAGES | _GIF | {PDF},
        has_responses=True,
        has_embeddings=True,
        embedding_model="text-embedding-3-small",
        more_hosts=("*.api.openai.com",),  # of regions
    ),
    "azure_openai": ApiKind(
        label="Azure OpenAI",
        api="openai",
        key_env="AZURE_OPENAI_API_KEY",
        media_types=_IMAGES | _GIF,
        has_responses=True,
        has_embeddings=True,  # models are named as they were deployed
        more_hosts=(
            *("*.openai.azure.com", "*.openai.azure.us"),
            *("*.services.ai.azure.com", "*.cognitiveservices.azure.com"),
        ),
    ),
    "gemini": ApiKind(
        label="Gemini",
        api="openai",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_env="GEMINI_API_KEY",
        has_embeddings=True,
        embedding_model="gemini-embedding-001",
        most_texts=100,
    ),
    "groq": ApiKind(
        label="Groq",
        api="openai",
        base_url="https://api.groq.com/openai/v1",
        key_env="GROQ_API_KEY",
        lacks=frozenset({"top_logprobs"}),
    ),
    "openrouter": ApiKind(
        label="OpenRouter",
        api="openai",
        base_url="https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
        media_types=_IMAGES | _GIF | {PDF},
        has_embeddings=True,
        embedding_model="openai/text-embedding-3-small",
    ),
    "ollama": ApiKind(
        label="Ollama",
        api="openai",
        base_url="http://localhost:11434/v1",
        max_tokens_parameter="max_tokens",
        has_embeddings=True,
        embedding_model="nomic-embed-text",
    ),
    "scripted": ApiKind(label="Scripted (offline)", media_types=frozenset()),
}

USUAL_KEYS = tuple(kind.key_env for kind in KINDS.values() if kind.key_env)


def variable_of(kind: str, named: str | None) -> str:
    """Return the name of the variable with the key, empty if none is needed.

    `named` is the provider's own variable.
    """
    known = KINDS.get(kind)  # a new row may have none yet
    return (named or known.key_env or "") if known and known.api else ""
