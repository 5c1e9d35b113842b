"""What several dialects write in the same way: expected values, judges and metadata."""

import json
from collections.abc import Iterator, Mapping

from evals_app.engine.specs.files import content_problem
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import text_of
from evals_app.formats.reading.problems import Json

MAX_TAG_CHARS = 200
NO_FILE = "{} is not in this import, or cannot be shown, so it is not attached."
NO_JUDGE = (
    "There is no such model of a provider here. The judge of the suite or the site decides. Add the "
    "provider to be judged by this model."
)
_NO_TAG = (
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


class LostCheckError(Exception):
    """A check, or a key of one, that has no equal here; the message says what to do instead."""


def checks_of_grader(
    spot: Spot, kind: str, name: str | None, weight: float, checks: Iterator[Json]
) -> Iterator[Json]:
    """Return the checks that a grader is, which share its weight; report one that has no equal."""
    try:
        read = list(checks)
    except LostCheckError as lost:
        spot.lose(f"{kind} is left out. {lost}", checks=1)
        return
    named = {"name": name[:200]} if name else {}
    total = sum(check.get("weight", 1.0) for check in read)
    for check in read:
        share = weight * check.get("weight", 1.0) / total if total else 0.0
        yield {**named, **check, "weight": round(share, 6)}


def can_be_shown(spot: Spot, path: str) -> bool:
    """Whether a file, by its path from the one of a place, is here and can be shown to an agent."""
    content = spot.reading.around.content(spot.document, path)
    is_outside = path.startswith("/") or ".." in path
    return content is not None and not is_outside and not content_problem(path, content)


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


def tags_of(spot: Spot, metadata: Mapping[str, object]) -> list[str]:
    """Return metadata as tags such as category=math; report the keys of which something is left out."""
    tags: list[str] = []
    for key, value in metadata.items():
        items = value if isinstance(value, list) else [value]
        texts = [f"{key}={text_of(item)}" for item in items if isinstance(item, str | int | float)]
        short = [text for text in texts if len(text) <= MAX_TAG_CHARS]
        if value and (not texts or len(short) < len(texts)):
            (spot.at(key) if isinstance(spot.value, dict) else spot).lose(_NO_TAG)
        tags += short
    return tags


def as_parameter(value: object) -> object:
    """Return a value as a parameter of a case: lists and mappings become JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
