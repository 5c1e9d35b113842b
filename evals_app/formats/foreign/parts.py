"""What several dialects write in the same way: expected values, judges and metadata."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.foreign.words import text_of
from evals_app.formats.reading.problems import Json

MAX_TAG_CHARS = 200
NO_JUDGE = (
    "There is no such model of a provider here. The judge of the suite or the site decides. Add the "
    "provider to be judged by this model."
)
NO_TAG = (
    f"Texts and numbers of up to {MAX_TAG_CHARS} characters become tags. This metadata is left out."
)
SAME_MEANING = "The reply says the same as the expected answer."
# Our providers by the names that frameworks give them.
_PROVIDERS = {
    **{name: name for name in ("anthropic", "groq", "ollama", "openai", "openrouter")},
    **dict.fromkeys(("openai-chat", "openai-responses"), "openai"),
    **dict.fromkeys(("google", "google-gla", "gemini"), "gemini"),
    **dict.fromkeys(("azure", "azure_openai"), "azure_openai"),
}


def same_as(value: object) -> Json:
    """Return the check that the reply is this and nothing else: a text, or JSON."""
    if isinstance(value, str):
        return {"type": "exact_match", "value": value}
    return {"type": "json_schema", "schema": {"const": value}}


def judge_check(criteria: str) -> Json:
    """Return the check that a reply meets some criteria."""
    return {"type": "llm_judge", "criteria": criteria, "scale": "pass_fail"}


def judge_named(written: str, around: ReaderContext) -> str | None:
    """Return the model that `provider:model` means; None: its provider is not here."""
    name, _, model = written.partition(":")
    provider = _PROVIDERS.get(name)
    return f"{provider}/{model}" if model and provider in around.providers else None


def tags_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return metadata as tags such as category=math."""
    return [tag for key, value in metadata.items() for tag in _tags(key, value) if _fits(tag)]


def keys_without_tag(metadata: Mapping[str, Any]) -> Sequence[str]:
    """Return the keys of metadata that does not become a tag."""
    return [
        key
        for key, value in metadata.items()
        if value and not (_tags(key, value) and all(map(_fits, _tags(key, value))))
    ]


def _tags(key: str, value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [f"{key}={text_of(item)}" for item in items if isinstance(item, str | int | float)]


def _fits(tag: str) -> bool:
    return len(tag) <= MAX_TAG_CHARS


def as_parameter(value: object) -> object:
    """Return a value as a parameter of a case: lists and mappings become JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
