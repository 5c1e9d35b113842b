"""Families of models: one that is judged by its kin is judged too well."""

import re
from collections.abc import Iterable

# Names as providers and resellers write them: anthropic.claude-..., meta-llama/Llama-...
_FAMILIES = {
    "Claude": r"claude",
    "GPT": r"gpt|codex|(^|/)o[1-9](-|$)",
    "Gemini": r"gemini|gemma",
    "Llama": r"llama",
    "Mistral": r"mistral|mixtral|ministral|magistral|codestral|devstral",
    "Qwen": r"qwen|qwq",
    "DeepSeek": r"deepseek",
    "Grok": r"grok",
    "Command": r"command-[ar]",
    "Nova": r"(^|[./])nova-",
    "Kimi": r"kimi",
    "GLM": r"(^|/)glm-",
    "Phi": r"(^|/)phi-",
}


def family_of(model: str) -> str | None:
    """Name the family of a model by its name; None if it tells nothing."""
    known = ((name, re.search(pattern, model.lower())) for name, pattern in _FAMILIES.items())
    return next((name for name, found in known if found), None)


def shared_family(judges: Iterable[str], agents: Iterable[str]) -> str | None:
    """Name a family that has models on both sides."""
    families = {family_of(each) for each in agents} - {None}
    return next((family for each in judges if (family := family_of(each)) in families), None)


def kinship_warning(judges: Iterable[str], agents: Iterable[str]) -> str:
    """Say that a judge is of the agent's family; empty if none is."""
    family = shared_family(judges, agents)
    if family is None:
        return ""
    return (
        f"Judge and agent are both {family} models. A model tends to prefer answers of its own "
        "kind: compare its verdicts with those of a judge from another family."
    )
